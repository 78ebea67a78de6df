# R_LIBS=.lib Rscript bench/all_neighbours.R [points]
#
# Vecchia's approximation equals the exact method if all other points are neighbours. The script checks this equality:
# for each covariance and each kind of result (log-likelihood, gradient, information, predictions, standard errors), it
# prints the largest difference between the two methods, relative to the largest number of this kind. 2000 points take
# an hour of one core, because each conditioning set has a separate Cholesky factor. Each covariance is checked in a
# separate process, in parallel.

library(kernops)
suppressMessages(library(testthat))
n <- as.integer(c(commandArgs(TRUE), 2000)[[1]])
internal <- asNamespace("kernops")
helpers <- new.env()
for (file in c("helper-gp.R", "helper-vecchia.R")) sys.source(file.path("tests/testthat", file), helpers)
covariances <- helpers$vecchia_covariances()[c("exponential", "matern32", "matern52", "squared_exponential", "own")]

data <- withr::with_seed(7, helpers$smooth_case(n))
new <- data[1:15, ] + 0.013
control <- gp_control(neighbours = n - 1)
difference <- \(a, b) max(abs(unlist(a) - unlist(b))) / max(abs(unlist(b)))

# tr(V^-1 dV_a V^-1 dV_b) for all parameters a and b, by functions of base R
information <- function(fit) {
  at <- list(theta = fit$theta, x = fit$data$u, y = fit$data$u)
  own <- names(fit$theta) == "nugget.variance"
  inverse <- chol2inv(chol(internal$covariance_matrix(fit$model)(at) + diag(fit$theta[[which(own)]], n)))
  slopes <- matrix(internal$covariance_derivatives(fit$model)(at), n * n)
  slopes[, own] <- diag(n)
  crossprod(apply(slopes, 2, \(slope) inverse %*% matrix(slope, n)),
            apply(slopes, 2, \(slope) matrix(slope, n) %*% inverse))
}

compare <- function(covariance) {
  by <- \(method, ...) gp(z ~ w, data, ~ a + b, covariance, method, "none", ...)
  exact <- by("exact")
  fit <- by("vecchia", control = control)
  how <- list(method = "vecchia", reml = FALSE, control = control)
  state <- internal$vecchia_likelihood(fit$data, fit$model, how)$evaluate(fit$theta, FALSE, TRUE)
  expected <- internal$exact_likelihood(exact$data, exact$model, FALSE)$evaluate(exact$theta)
  p <- lapply(list(fit, exact), predict, new, se.fit = TRUE, interval = "confidence")
  data.frame(loglik = difference(fit$loglik, exact$loglik),
             gradient = difference(state$gradient(), expected$gradient()),
             information = difference(state$information(FALSE), information(exact)),
             mean = difference(p[[1]]$fit, p[[2]]$fit), "standard error" = difference(p[[1]]$se.fit, p[[2]]$se.fit),
             check.names = FALSE)
}

options(kernops.threads = max(1, internal$threads() %/% length(covariances)))
rows <- parallel::mclapply(covariances, compare, mc.cores = min(length(covariances), parallel::detectCores()))
print(do.call(rbind, rows), digits = 2)
