# A predictive is an object that represents the predictive distributions of n numbers, one number for each new point or
# block. predict() computes its results from a predictive by these generic functions:
#
#   mean(x)              the n means
#   variance(x)          the n variances; their square roots are the column `se.fit`
#   quantile(x, p)       the n quantiles; p is a single probability, or has n probabilities
#   cdf(x, q, lower)     the n probabilities of values up to q, or above q with `lower = FALSE`; q is a single number,
#                        or has n numbers
#   draw(x, count)       `count` independent draws, a matrix with n rows
#
# and by generic functions that have a default method:
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
#   sample        draws, for means of responses over blocks                     predictive_sample.R
#   mixture       a weighted mixture of predictives of one kind, such as the    predictive_mixture.R
#                 predictives for draws of the parameters
#
# predictive_at(fit, points, request) returns the predictive of a fit (predict_distribution.R), and predictive_columns()
# computes the columns of a result from a predictive (predict_columns.R). A new transformation of the response requires
# a list of functions in predict_scale.R.

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
