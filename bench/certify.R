# R_LIBS=.lib Rscript bench/certify.R [cases] [observations] [cores]
#
# Compares certify() with method = "exact". Each random case has a design (random, clusters or tracks in the unit
# square), a smoothness, a range, a nugget, a number of neighbours and a trend. For each smoothness, the script prints
# the number of cases in which the exact log-likelihood, predictions and standard errors at 20 sites are within their
# bounds, the median difference of the log-likelihoods and the median length of the interval of the log-likelihood.
# `cores` is the number of cases that run at a time. Then the script prints the same numbers for the borehole function
# of 8 inputs (Morris, Mitchell and Ylvisaker 1993), one row for each number of neighbours, and the CPU seconds of fits
# with estimated parameters and of the certificates of these fits.

library(kernops)
arguments <- replace(c(200, 3000, 1), seq_along(commandArgs(TRUE)), as.numeric(commandArgs(TRUE)))
cases <- arguments[[1]]
n <- arguments[[2]]

designs <- list(
  random = function(n) matrix(runif(2 * n), n),
  clusters = function(n) matrix(runif(60), 30)[sample(30, n, TRUE), ] + matrix(rnorm(2 * n, sd = 0.03), n),
  tracks = function(n) cbind(runif(n), sample(20, n, TRUE) / 20 + rnorm(n, sd = 1e-3))
)
random_case <- function(number) {
  set.seed(number)
  nu <- c(0.5, 1.5, 2.5)[number %% 3 + 1]
  list(number = number, nu = nu, design = sample(names(designs), 1), range = exp(runif(1, log(0.03), log(0.5))),
       nugget = exp(runif(1, log(1e-4), 0)), neighbours = sample(c(5, 10, 20, 40), 1),
       trend = sample(c("1", "V1 + V2"), 1))
}
run_case <- function(number) {
  case <- random_case(number)
  d <- as.data.frame(designs[[case$design]](n))
  new <- data.frame(V1 = runif(20), V2 = runif(20))
  by <- function(formula, method) {
    gp(formula, d, ~ V1 + V2, matern(case$nu, 1, case$range) + nugget(case$nugget), method, "none",
       control = list(neighbours = case$neighbours))
  }
  d$z <- rnorm(n)
  d$z <- simulate(by(z ~ 1, "exact"), 1, number, conditional = FALSE, noise = TRUE)[[1]] + 3 * d$V1
  formula <- as.formula(paste("z ~", case$trend))
  fit <- by(formula, "vecchia")
  certificate <- certify(fit, new, seed = number)
  p <- certificate$predictions
  exact <- by(formula, "exact")
  kriged <- predict(exact, new, se.fit = TRUE, interval = "confidence")
  within <- function(x, low, high, slack) all(x >= low - slack & x <= high + slack)
  data.frame(nu = case$nu, loglik = within(exact$loglik, certificate$loglik$low, certificate$loglik$high, 1e-5),
             mean = within(kriged$fit, p$exact - p$error, p$exact + p$error, 1e-6),
             se = within(kriged$se.fit, p$se.low, p$se.high, 1e-6), difference = exact$loglik - fit$loglik,
             length = certificate$loglik$high - certificate$loglik$low, steps = certificate$steps)
}

if (cases > 0) {
  if (arguments[[3]] > 1) options(kernops.threads = 1)
  found <- do.call(rbind, parallel::mclapply(seq_len(cases), run_case, mc.cores = arguments[[3]],
                                             mc.preschedule = FALSE))
  rows <- lapply(split(found, found$nu), function(x) data.frame(
    smoothness = x$nu[[1]], cases = nrow(x), "log-likelihood" = sum(x$loglik), predictions = sum(x$mean),
    "standard errors" = sum(x$se), "exact - approximate" = median(x$difference), "largest" = max(x$difference),
    "length of interval" = median(x$length), steps = median(x$steps), check.names = FALSE
  ))
  cat(sprintf("%d cases of %d observations: certified intervals that contain the exact answer\n", cases, n))
  print(do.call(rbind, rows), digits = 2, row.names = FALSE)
}

borehole <- function(x) {
  low <- c(0.05, 100, 63070, 990, 63.1, 700, 1120, 9855)
  high <- c(0.15, 50000, 115600, 1110, 116, 820, 1680, 12045)
  x <- t(low + t(x) * (high - low))
  l <- log(x[, 2] / x[, 1])
  2 * pi * x[, 3] * (x[, 4] - x[, 6]) / (l * (1 + 2 * x[, 7] * x[, 3] / (l * x[, 1]^2 * x[, 8]) + x[, 3] / x[, 5]))
}
cpu <- function(code) sum(system.time(code)[c("user.self", "sys.self")])
measure <- function(label, fit_it, exact = TRUE) {
  seconds <- cpu(fit <- suppressWarnings(fit_it()))
  certifying <- cpu(certificate <- certify(fit))
  off <- generics::glance(certificate)
  exact <- if (exact) suppressWarnings(fit_it("exact", fit$covariance, "none"))$loglik
  data.frame(fit = label, verdict = off$verdict, low = off$exact.low - fit$loglik,
             exact = if (is.null(exact)) NA else exact - fit$loglik, high = off$exact.high - fit$loglik,
             "predictions off by" = off$prediction.rms, "se off by, %" = 100 * off$se.high, steps = certificate$steps,
             "fit, s" = seconds, "certify, s" = certifying, ratio = certifying / seconds, check.names = FALSE)
}
plane <- function(n) {
  set.seed(1)
  d <- data.frame(a = runif(n), b = runif(n))
  z <- sin(9 * d$a) * cos(7 * d$b) + sin(31 * d$a * d$b) / 3 + rnorm(n, sd = 0.1)
  function(method = "vecchia", covariance = matern(3/2) + nugget(), estimate = "ML") {
    gp(z ~ 1, data.frame(d, z), ~ a + b, covariance, method, estimate)
  }
}
eight <- function(n, m) {
  set.seed(1)
  x <- matrix(runif(8 * n), n, dimnames = list(NULL, paste0("x", 1:8)))
  y <- borehole(x)
  d <- data.frame(x, y = (y - mean(y)) / sd(y) + rnorm(n, sd = 0.01))
  field <- matern(7/2, range = c(2, 3, 4, 4, 4, 4, 4, 4)) + nugget()
  function(method = "vecchia", covariance = field, estimate = "ML") {
    gp(y ~ 1, d, reformulate(colnames(x)), covariance, method, estimate, control = list(neighbours = m, starts = 1))
  }
}
rows <- list(measure(sprintf("borehole, n = %d, m = 15", n), eight(n, 15)),
             measure(sprintf("borehole, n = %d, m = 60", n), eight(n, 60)),
             measure("plane, n = 3,000", plane(3000)), measure("plane, n = 10,000", plane(1e4)),
             measure("plane, n = 30,000", plane(3e4), exact = FALSE))
cat("\nCertificates of fits with estimated parameters: exact - approximate log-likelihood, CPU seconds\n")
print(do.call(rbind, rows), digits = 3, row.names = FALSE)
