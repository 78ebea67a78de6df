# Predictive distributions of monotone functions of a normal variable.

# `normal` is the predictive distribution of the normal variable, `scale` is the function (predictive_scale()), and
# `lagrange` are the Lagrange multipliers of the trend, with which means are unbiased; 0 gives means given the data.
predictive_transformed <- function(normal, scale, lagrange = 0) {
  new_predictive("transformed", normal = normal, scale = scale, lagrange = lagrange)
}

mean.pred_transformed <- function(x, ...) x$scale$mean(x$normal$mean, x$normal$variance, x$lagrange)

# The mean of a new observation, which averages over the independent variation of observations.
predictor.pred_transformed <- function(x) {
  x$scale$mean(x$normal$mean, x$normal$variance + x$scale$nugget, x$lagrange)
}

variance.pred_transformed <- function(x) x$scale$variance(x$normal$mean, x$normal$variance)

quantile.pred_transformed <- function(x, p, ...) x$scale$back(quantile(x$normal, p))

cdf.pred_transformed <- function(x, q, lower = TRUE) cdf(x$normal, x$scale$forward(q), lower)

mix_quantile.pred_transformed <- function(x, mixture, p) {
  normal <- predictive_mixture(lapply(mixture$parts, `[[`, "normal"), mixture$weights)
  x$scale$back(quantile(normal, p))
}
