# Scales describe responses, or means of responses, that are functions of a normal variable eta. A scale is a list:
#
#   back(eta), forward(y)   the increasing function of eta, and its inverse; the inverse is infinite for y outside the
#                           range of responses
#   mean(mean, variance, lagrange)   the mean of back(eta). With the Lagrange multipliers `lagrange` of the trend, the
#                           means are unbiased on average over realisations of the field; with `lagrange = 0`, the
#                           means are means given the data
#   variance(mean, variance)   the variance of back(eta) given the data
#   covariance(mean, joint, own)   the covariance matrix of back(eta), if eta has the covariance matrix `joint` plus an
#                           independent term with variance `own` in each element
#   nugget                  the variance of an independent term in eta of each observation; mean() averages over this
#                           term
#   linear                  TRUE if back() is linear, so that means of responses over blocks are normal
#
# All functions accept vectors; `mean` and `variance` also accept matrices. The scale of a Gaussian fit is NULL.
predictive_scale <- function(object) UseMethod("predictive_scale")

predictive_scale.gp <- function(object) if (!is.null(object$transform)) boxcox_scale(object$transform$lambda)

predictive_scale.gp_family_fit <- function(object) link_scale(object)

# The scale of the mean of the response of a family given the field: back() is the inverse link.
link_scale <- function(object) {
  nugget <- nugget_of(object)
  # the environment of the functions must not contain the whole fit, because there may be a scale for each of many draws
  # of the parameters
  object <- object[c("family", "phi")]
  back <- function(eta) mean_of(object, eta)
  list(
    back = back,
    forward = function(y) object$family$density$predictor(y, object$phi),
    mean = function(mean, variance, lagrange) average(mean, sqrt(variance), back),
    variance = function(mean, variance) {
      centre <- average(mean, sqrt(variance), back)
      average(mean, sqrt(variance), function(eta) (back(eta) - centre)^2)
    },
    covariance = function(mean, joint, own) transformed_covariance(back, mean, joint, own),
    nugget = nugget,
    linear = object$family$link == "identity"
  )
}

mean_of <- function(object, eta) object$family$density$mean(eta, object$phi, object$family$link)

# Responses after a Box-Cox transformation. For lambda < 0, moments may not exist; expansions in the variance replace
# the moments.
boxcox_scale <- function(lambda) {
  force(lambda)
  back <- function(eta) boxcox_back(eta, lambda)
  list(
    back = back,
    forward = function(y) boxcox(pmax(y, 0), lambda),
    mean = function(mean, variance, lagrange) back_mean(mean, variance, lagrange, lambda),
    variance = function(mean, variance) back_error(mean, variance, lambda)^2,
    covariance = function(mean, joint, own) {
      if (lambda == 0) return(expm1(joint) * tcrossprod(exp(mean + (diag(joint) + own) / 2)))
      if (lambda == 1) return(joint)
      if (lambda < 0) return(joint * tcrossprod(pmax(1 + lambda * mean, 0)^(1 / lambda - 1)))
      transformed_covariance(back, mean, joint, own)
    },
    nugget = 0,
    linear = FALSE
  )
}
