# Fits of tables with gp(transform = ). Records contain the transformed response. Sums over all rows give the Jacobian
# of the likelihood and the norm of the response before the transformation, by which data sets are compared.

# The transformation for a table: NULL, or a list in the form of a result of as_transform().
transform_of_table <- function(x, call) {
  if (is.null(x)) return(NULL)
  lambda <- lambda_of(x, call)
  if (is.na(lambda)) {
    stop_kernops("input", c("The parameter of {.code transform = \"boxcox\"} must be given for a table that is read in
                             chunks.",
                            i = "{.code coef(fit, \"transform\")} of a fit to a sample of the rows is an estimate."),
                 call = call)
  }
  list(lambda = lambda, estimated = FALSE)
}

# The sample of rows with the transformed response. A response that is not positive is replaced and raises no error,
# because an error would report rows of the sample. The second pass over the table raises the error with the rows of the
# table.
transformed_sample <- function(parts, transform) {
  if (is.null(transform)) return(parts)
  positive <- parts$y[parts$y > 0]
  parts$y <- pmax(parts$y, if (length(positive)) min(positive) else 1)
  transformed(parts, transform$lambda)
}

# The transformed response of the rows of a chunk; `rows` are the row numbers in the table, for messages.
transformed_rows <- function(y, rows, transform, call) {
  if (is.null(transform)) return(y)
  check_positive_response(list(y = y, rows = rows), call)
  boxcox(y, transform$lambda)
}

# Two sums over records: the sum of the logarithms of the response, and the sum of the squares of the response.
sums_of_response <- function(records, transform) {
  if (is.null(transform)) return(NULL)
  y <- records[, "y"]
  if ("offset" %in% colnames(records)) y <- y + records[, "offset"]
  y <- boxcox_back(y, transform$lambda)
  c(logarithms = sum(log(y)), squares = sum(y^2))
}

# The Jacobian of all rows, see boxcox_jacobian().
jacobian_of_table <- function(blocks, transform) {
  if (is.null(transform)) 0 else (transform$lambda - 1) * blocks$of_response[["logarithms"]]
}
