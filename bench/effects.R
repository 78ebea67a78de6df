# Random effects with many levels, with Vecchia's approximation of the field: seconds of a likelihood, of its gradient
# and of 1,000 predictions with standard errors, and the peak memory of R. `Rscript bench/effects.R 1e4 1e5` prints a
# row for each number of observations and kind of levels. There are two kinds of levels. A level of the first kind is a
# site with 10 or 100 observations that are close in space, so that the precision matrix has a sparse factor. The
# observations of a level of the second kind are scattered over the whole domain, and the precision matrix has no sparse
# factor. With the argument `counts`, the script adds Poisson responses. The last column is the Monte Carlo error of the
# log-likelihood.
suppressMessages(library(kernops))

arguments <- commandArgs(TRUE)
sizes <- as.numeric(setdiff(arguments, "counts"))
if (!length(sizes)) sizes <- c(1e4, 1e5)

cases <- function(n) {
  q <- min(n / 10, 1e4)
  list(clustered = list(levels = q, spread = 0.4 / sqrt(q)), scattered = list(levels = q, spread = Inf))
}

observations <- function(n, case) {
  set.seed(1)
  q <- case$levels
  k <- sample(q, n, TRUE)
  near <- is.finite(case$spread)
  place <- function() if (near) stats::runif(q)[k] + stats::rnorm(n, sd = case$spread) else stats::runif(n)
  d <- data.frame(a = place(), b = place(), k = k)
  eta <- sin(5 * d$a) + stats::rnorm(q, sd = 0.7)[k]
  transform(d, z = eta + stats::rnorm(n, sd = 0.5), y = stats::rpois(n, exp(eta)))
}

seconds <- function(code) system.time(code)[["elapsed"]]

row_of <- function(n, kind, case, family = stats::gaussian()) {
  d <- observations(n, case)
  gc(reset = TRUE)
  covariance <- matern(3/2, 0.5, 0.3) + random_effect(~ 1 | k, 0.5)
  gaussian <- family$family == "gaussian"
  if (gaussian) covariance <- covariance + nugget(0.25)
  fit <- suppressWarnings(gp(if (gaussian) z ~ 1 else y ~ 1, d, ~ a + b, covariance, family = family,
                             method = "vecchia", estimate = "none", neighbours = 20))
  likelihood <- kernops:::likelihood_for(fit$response %||% fit$data, fit$outer %||% fit$model, fit$how)
  theta <- unname(fit$outer_theta %||% fit$theta)
  likelihood$evaluate(theta)
  state <- NULL
  value <- seconds(state <- likelihood$evaluate(1.01 * theta))
  gradient <- seconds(state$gradient())
  predict(fit, d[1, ], se.fit = TRUE, interval = "confidence", joint = FALSE)
  predicted <- seconds(predict(fit, d[seq_len(1000), ], se.fit = TRUE, interval = "confidence", joint = FALSE))
  cat(sprintf("| %g | %s | %g | %s | %.1f | %.1f | %.1f | %.0f | %s |\n", n, kind, case$levels,
              family$family, value, gradient, predicted, sum(gc()[, 6]),
              format(signif((state$logdet_error %||% 0) / 2, 2))))
}

`%||%` <- function(x, y) if (is.null(x)) y else x

cat("| n | levels | number | response | value (s) | gradient (s) | 1,000 predictions (s) | memory (MB) | error |\n",
    "|---|---|---|---|---|---|---|---|---|\n", sep = "")
for (n in sizes) {
  for (kind in names(cases(n))) row_of(n, kind, cases(n)[[kind]])
  if ("counts" %in% arguments) row_of(n, "clustered", cases(n)$clustered, stats::poisson())
}
