# Methods of package emmeans, which are registered when emmeans is loaded: marginal means of the trend.

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
       nbasis = matrix(NA), V = vcov(object), dffun = function(k, dfargs) Inf, dfargs = list(),
       misc = response_scale(object))
}

# The scale that emmeans uses for `type = "response"`: the inverse link of a family, or the inverse of the
# transformation.
response_scale <- function(object) {
  if (is.null(object$transform)) return(emmeans::.std.link.labels(family(object), list()))
  lambda <- object$transform$lambda
  tran <- if (lambda == 0) "log" else list(
    linkfun = function(mu) boxcox(mu, lambda), linkinv = function(eta) boxcox_back(eta, lambda),
    mu.eta = function(eta) boxcox_back(eta, lambda)^(1 - lambda), valideta = function(eta) all(1 + lambda * eta > 0),
    name = paste0("Box-Cox (", signif(lambda, 3), ")")
  )
  list(tran = tran, inv.lbl = "response")
}
