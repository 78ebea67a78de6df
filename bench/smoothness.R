# R_LIBS=.lib Rscript bench/smoothness.R [points of the largest fit]
#
# The cost of estimating the smoothness of a Matern covariance, matern(NA): times of a likelihood with its gradient, and
# of whole fits, compared with matern(3/2), whose closed form needs no Bessel functions. Two threads.

library(kernops)
largest <- as.numeric(c(commandArgs(TRUE), 1e5)[[1]])
internal <- asNamespace("kernops")
options(kernops.threads = 2)

seconds <- function(code, runs) {
  code <- substitute(code)
  frame <- parent.frame()
  min(vapply(seq_len(runs), \(run) system.time(eval(code, frame))[["elapsed"]], 0))
}

# A field with some 80 points within its range, observed with noise.
field <- function(n, nu, seed = 1) {
  data <- withr::with_seed(seed, data.frame(x = runif(n), y = runif(n)))
  model <- gp(z ~ 0, transform(data[1:40, ], z = x), ~ x + y, matern(nu, 1, 5 / sqrt(n)), "exact", "none")
  data$z <- as.vector(simulate(model, 1, seed = seed, newdata = data, conditional = FALSE))
  transform(data, z = z + withr::with_seed(seed + 1, rnorm(n, sd = 0.2)))
}

# Likelihoods at nu = 0.6, and at a range within which some 80 points lie. An exact gradient overwrites the factor, so
# the time of a gradient includes the time of a value.
likelihood <- function(covariance, data, method) {
  fit <- gp(z ~ 1, data[1:40, ], ~ x + y, covariance, "exact", "none")
  range <- 5 / sqrt(nrow(data))
  fit$data <- list(y = data$z, x = matrix(1, nrow(data)), u = as.matrix(data[c("x", "y")]), noise = numeric(nrow(data)),
                   weights = rep(1, nrow(data)))
  how <- list(reml = FALSE, backend = "cpu", precision = "float64", method = method,
              control = gp_control(neighbours = 30))
  evaluate <- internal$likelihood_for(fit$data, fit$model, how)$evaluate
  theta <- replace(unname(fit$theta), 2, range)
  both <- \() evaluate(theta, TRUE, search = TRUE)$gradient()
  both()
  seconds(both(), 5)
}
open <- matern(NA, 1, 0.1)
open$parameters$nu <- 0.6
covariances <- list(closed = matern(3/2, 1, 0.1), "nu = 0.6" = matern(0.6, 1, 0.1), "nu = NA" = open)

for (n in unique(c(1000, 2000, 1e4, largest))) {
  method <- if (n <= 2000) "exact" else "vecchia"
  data <- field(n, 3/2)
  each <- vapply(covariances, \(k) likelihood(k + nugget(0.04), data, method), 0)
  cat(sprintf("%s, n = %g, likelihood and gradient, ms:", method, n), sprintf("%s %.1f", names(each), 1e3 * each),
      sprintf("(nu = NA / closed: %.2f)", each[[3]] / each[[1]]), "\n")
  for (nu in c(0.4, 3/2, 2.5)) {
    data <- field(n, nu, 3)
    fit_of <- function(k) {
      took <- seconds(fit <- suppressWarnings(gp(z ~ 1, data, ~ x + y, k + nugget(), method)), if (n <= 2000) 3 else 1)
      list(seconds = took, value = as.numeric(logLik(fit)), nu = coef(fit, "covariance")["matern.nu"])
    }
    fits <- lapply(list(matern(3/2), matern(NA)), fit_of)
    cat(sprintf("  fit of a field of nu = %.1f: %.2f s, %.2f s, ratio %.2f; log-likelihood %+.2f, nu %.2f\n", nu,
                fits[[1]]$seconds, fits[[2]]$seconds, fits[[2]]$seconds / fits[[1]]$seconds,
                fits[[2]]$value - fits[[1]]$value, fits[[2]]$nu))
  }
}
