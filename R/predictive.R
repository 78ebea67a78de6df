# The contract of predictive distributions. A predictive has the distributions of n numbers, one for each new point or
# block. predict() computes its results from a predictive by these verbs:
#
#   mean(x)              the n means
#   variance(x)          the n variances; their square roots are the column `se.fit`
#   quantile(x, p)       the n quantiles; p is one probability, or one for each of the n
#   cdf(x, q, lower)     the n probabilities of values up to q, or beyond q with `lower = FALSE`; q is one number, or
#                        one for each of the n
#   draw(x, count)       `count` independent draws, a matrix with n rows
#
# and these, which have defaults:
#
#   predictor(x)         the n numbers of the column `fit`; default: the means
#   mix_quantile(x, mixture, p)   the quantiles of a mixture whose parts are of the class of x
#   merge_parts(x, mixture)   combines the parts of a mixture, which are of the class of x, if possible
#
# The kinds of predictives:
#
#   normal        the field, or new observations of a Gaussian fit              predictive.R
#   transformed   a monotone function of a normal variable: a transformed       predictive_transformed.R
#                 response, or the mean of the response of a family
#   observation   a new observation of a family                                 predictive_observation.R
#   sample        draws: means of responses over blocks                         predictive_sample.R
#   mixture       predictives of one kind, weighted: draws of the parameters    predictive_mixture.R
#
# predictive_at(fit, points, request) makes the predictive of a fit (predict_distribution.R), predictive_columns() its
# columns (predict_columns.R). A new transformation is a list of functions in predict_scale.R.

new_predictive <- function(kind, ...) structure(list(...), class = c(paste0("pred_", kind), "predictive"))

variance <- function(x) UseMethod("variance")
cdf <- function(x, q, lower = TRUE) UseMethod("cdf")
draw <- function(x, count) UseMethod("draw")
predictor <- function(x) UseMethod("predictor")
mix_quantile <- function(x, mixture, p) UseMethod("mix_quantile")
merge_parts <- function(x, mixture) UseMethod("merge_parts")

mean.predictive <- function(x, ...) x$mean

variance.predictive <- function(x) x$variance

predictor.predictive <- function(x) mean(x)

merge_parts.predictive <- function(x, mixture) mixture

# Draws by inversion of the distribution function, the default method.
draw.predictive <- function(x, count) {
  n <- length(mean(x))
  matrix(vapply(seq_len(count), function(k) quantile(x, stats::runif(n)), numeric(n)), n)
}

#' @importFrom stats quantile
NULL

# ---- Normal ----

# `variance` is NULL if only means were computed.
predictive_normal <- function(mean, variance = NULL) new_predictive("normal", mean = mean, variance = variance)

quantile.pred_normal <- function(x, p, ...) x$mean + stats::qnorm(p) * sqrt(x$variance)

cdf.pred_normal <- function(x, q, lower = TRUE) stats::pnorm(q, x$mean, sqrt(x$variance), lower.tail = lower)

mix_quantile.pred_normal <- function(x, mixture, p) {
  mixture_quantile(p, each_part(mixture, function(part) part$mean),
                   each_part(mixture, function(part) sqrt(part$variance)), mixture$weights)
}

# The p-quantiles of mixtures of normal distributions, by Newton's method between bounds. Each row of `mean` and `sd` is
# a mixture.
mixture_quantile <- function(p, mean, sd, weights, steps = 100) {
  each <- mean + stats::qnorm(p) * sd
  low <- apply(each, 1, min)
  high <- apply(each, 1, max)
  q <- as.vector(each %*% weights)
  for (step in seq_len(steps)) {
    excess <- as.vector(matrix(stats::pnorm(q, mean, sd), length(q)) %*% weights) - p
    low <- ifelse(excess < 0, q, low)
    high <- ifelse(excess >= 0, q, high)
    moved <- q - excess / as.vector(matrix(stats::dnorm(q, mean, sd), length(q)) %*% weights)
    moved <- ifelse(is.finite(moved) & moved >= low & moved <= high, moved, (low + high) / 2)
    done <- abs(moved - q) <= 1e-12 * (abs(q) + rowSums(sd))
    q <- moved
    if (all(done, na.rm = TRUE)) break
  }
  q
}
