# Parameters of a family may have linear predictors (gp_predictors.R). The covariates of a predictor are columns of
# points, in the form of a model matrix. Until settled_predictor() constructs this matrix, the column contains the row
# number in the data.

predictor_column <- function(formula, name) new_column("predictor", formula, paste("predictor of", name))

predictor_values <- function(column, data, n, call) {
  column <- with_predictor_smooths(column, data, call)
  smooth <- smooth_variables_of(column, data, n, call)
  data <- variables_of_predictor(column, data, n)
  if (!is.null(column$terms)) {
    x <- new_trend(column, column$terms, data, call)$x %||% matrix(0, n, column$width)
    return(if (length(smooth) && n) cbind(x, smooth_columns(column$smooths, smooth)) else x)
  }
  frame <- predictor_frame(column, data, n, call)
  complete <- Reduce(`&`, lapply(smooth, stats::complete.cases), stats::complete.cases(frame))
  replace(as.numeric(seq_len(n)), !complete, NA)
}

# The model frame of a predictor, with a row for each row of the data even if the formula has no variables.
variables_of_predictor <- function(column, data, n) {
  if (length(all.vars(column$fixed %||% column$formula))) data else data.frame(row.names = seq_len(n))
}

# The variables of the formula at some rows of the data, missing values included.
predictor_frame <- function(column, data, n, call, rows = seq_len(n)) {
  refuse <- function(kind, words) {
    stop_kernops(kind, paste("The {column$what} {.code {deparse1(column$formula)}}", words), call = call)
  }
  frame <- tryCatch(
    do.call(stats::model.frame, list(column$fixed %||% column$formula, data, subset = rows, na.action = stats::na.pass,
                                     drop.unused.levels = TRUE), quote = TRUE),
    error = function(e) refuse("input", paste("cannot be evaluated:", conditionMessage(e)))
  )
  if (nrow(frame) != length(rows)) refuse("dim", "must have one value for each of the {n} observations.")
  refuse_integer64(frame, call)
  frame
}

# Constructs the model matrix for the rows of the observations that are used. Returns the column and its values at these
# rows.
settled_predictor <- function(column, rows, data, n, call) {
  column <- with_predictor_smooths(column, data, call)
  smooths <- settled_predictor_smooths(column, rows, data, n, call)
  variables <- lapply(smooth_variables_of(column, data, n, call), function(x) x[rows, , drop = FALSE])
  data <- variables_of_predictor(column, data, n)
  frame <- predictor_frame(column, data, n, call, rows)
  terms <- attr(frame, "terms")
  x <- trend_matrix(terms, frame, call, column$what)
  if (length(smooths)) {
    column$smooths <- smooths
    column$random <- random_columns(smooths, ncol(x))
    contrasts <- attr(x, "contrasts")
    x <- structure(cbind(x, smooth_columns(smooths, variables)), contrasts = contrasts)
  }
  if (!ncol(x)) stop_kernops("input", "The {column$what} must have a column, as in {.code ~ 1}.", call = call)
  if (any(bad <- rowSums(!is.finite(x)) > 0)) {
    stop_kernops("input", "The {column$what} must be finite: see {cli::qty(sum(bad))}row{?s} {rows[bad]}.", call = call)
  }
  column[c("terms", "frame", "contrasts", "xlevels", "width", "names")] <- list(
    terms, lapply(frame, prototype), attr(x, "contrasts"), stats::.getXlevels(terms, frame), ncol(x), colnames(x)
  )
  list(column = column, values = unname_rows(x))
}
