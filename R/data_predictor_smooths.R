# Smooths in the linear predictor of a parameter, such as ~ z + s(x, y), add columns to the model matrix of the
# predictor (data_predictors.R). In the basis of each smooth, functions without a penalty come first. The coefficients
# of the functions that follow are independent normal variables with an estimated variance (gp_noise_field.R).

# Adds smooths to the column of a predictor; their bases are not yet constructed. `fixed` is the formula without
# smooths.
with_predictor_smooths <- function(column, data, call) {
  parts <- split_effects(column$formula[[2]])
  if (!length(parts$effects) || !is.null(column$smooths)) return(column)
  env <- environment(column$formula)
  column$fixed <- stats::as.formula(call("~", parts$rest %||% 1), env)
  column$smooths <- lapply(parts$effects, function(e) {
    smooth <- with_factors(smooth_leaf(e, env, call = call), data, call)$sees[[1]]
    if (length(smooth$factors) || !is.null(smooth$among)) {
      stop_kernops("input", "The smooth {.code {smooth$label}} of a predictor must have numeric variables.",
                   call = call)
    }
    smooth
  })
  column
}

# The values of the smooths' variables at n rows of the data, a matrix for each smooth.
smooth_variables_of <- function(column, data, n, call) {
  lapply(column$smooths, function(smooth) as.matrix(values_of_column(smooth, data, n, call)))
}

# The smooths with their bases for the rows of the observations.
settled_predictor_smooths <- function(column, rows, data, n, call) {
  values <- smooth_variables_of(column, data, n, call)
  Map(function(smooth, values) {
    smooth$fitted <- lapply(covariates(smooth, data, n, call), prototype)
    smooth <- with_basis(smooth, values[rows, , drop = FALSE], call)
    if (length(smooth$basis$S) == 1) return(smooth)
    stop_kernops("input", c("The smooth {.code {smooth$label}} of a predictor must have one penalty.",
                            i = "{.code s(x)} and {.code s(x, y)} have one."), call = call)
  }, column$smooths, values)
}

# The columns of the smooths for rows with the given values of their variables.
smooth_columns <- function(smooths, values) {
  do.call(cbind, Map(function(smooth, values) {
    both <- smooth_functions(smooth, values)
    random <- both$values
    colnames(random) <- sprintf("%s[%d]", smooth$title, seq_len(ncol(random)))
    cbind(`colnames<-`(both$trend, colnames(smooth$trend)), random)
  }, smooths, values))
}

# For each smooth, the positions of its random coefficients among the columns; the first `fixed` columns do not belong
# to smooths.
random_columns <- function(smooths, fixed) {
  widths <- vapply(smooths, function(smooth) c(ncol(smooth$trend), ncol(smooth$random)), integer(2))
  last <- fixed + cumsum(colSums(widths))
  stats::setNames(Map(function(last, width) seq(to = last, length.out = width), last, widths[2, ]),
                  vapply(smooths, `[[`, "", "title"))
}
