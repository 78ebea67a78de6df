# Methods of package emmeans, which are found once it is loaded: marginal means of the trend.

#' @exportS3Method emmeans::recover_data
recover_data.gp <- function(object, data = NULL, ...) {
  refuse_several(object, "Marginal means are")
  if (has_smooths(object)) stop_kernops("input", "Marginal means are for fits without smooths such as {.code s(x)}.")
  emmeans::recover_data(object$call, stats::delete.response(object$parts$terms), object$na.action, data = data,
                        frame = object$parts$frame, ...)
}

#' @exportS3Method emmeans::emm_basis
emm_basis.gp <- function(object, trms, xlev, grid, ...) {
  if (!length(object$beta)) stop_kernops("input", "Marginal means need a trend whose coefficients are estimated.")
  frame <- stats::model.frame(trms, grid, na.action = stats::na.pass, xlev = xlev)
  list(X = stats::model.matrix(trms, frame, contrasts.arg = object$parts$contrasts), bhat = object$beta,
       nbasis = matrix(NA), V = vcov(object), dffun = function(k, dfargs) Inf, dfargs = list(), misc = list())
}
