# R_LIBS=.lib Rscript bench/surrogates.R [designs]
#
# Surrogates of test functions on the unit cube. For fits to n values with gradients, to 2 n values and to (1 + D) n
# values, the script prints root mean squared errors at 2,000 points relative to the standard deviation of the function:
# means and ratios over random Latin hypercubes. An adjoint program computes a gradient in about the time of a value, so
# that n values with gradients take as long as 2 n values. If gradients are computed by differences, n values with
# gradients take as long as (1 + D) n values. Then the script measures the times of update() and of gp_propose() for a
# fit to 1,000 evaluations in 12 coordinates.

library(kernops)
designs <- as.integer(c(commandArgs(TRUE), 10)[[1]])

scaled <- function(f, low, high) function(x) f(t(low + t(x) * (high - low)))
hartmann <- function(A, P) function(x) {
  weights <- c(1, 1.2, 3, 3.2)
  -rowSums(vapply(1:4, \(i) weights[[i]] * exp(-colSums(A[i, ] * (t(x) - P[i, ])^2)), numeric(nrow(x))))
}
functions <- list(
  branin = list(d = 2, f = scaled(\(x) {
    (x[, 2] - 5.1 * x[, 1]^2 / (4 * pi^2) + 5 * x[, 1] / pi - 6)^2 + 10 * (1 - 1 / (8 * pi)) * cos(x[, 1]) + 10
  }, c(-5, 0), c(10, 15))),
  hartmann3 = list(d = 3, f = hartmann(
    rbind(c(3, 10, 30), c(0.1, 10, 35), c(3, 10, 30), c(0.1, 10, 35)),
    rbind(c(3689, 1170, 2673), c(4699, 4387, 7470), c(1091, 8732, 5547), c(381, 5743, 8828)) / 1e4
  )),
  hartmann6 = list(d = 6, f = hartmann(
    rbind(c(10, 3, 17, 3.5, 1.7, 8), c(0.05, 10, 17, 0.1, 8, 14), c(3, 3.5, 1.7, 10, 17, 8),
          c(17, 8, 0.05, 10, 0.1, 14)),
    rbind(c(1312, 1696, 5569, 124, 8283, 5886), c(2329, 4135, 8307, 3736, 1004, 9991),
          c(2348, 1451, 3522, 2883, 3047, 6650), c(4047, 8828, 8732, 5743, 1091, 381)) / 1e4
  )),
  borehole = list(d = 8, f = scaled(\(x) {
    ratio <- log(x[, 2] / x[, 1])
    2 * pi * x[, 3] * (x[, 4] - x[, 6]) /
      (ratio * (1 + 2 * x[, 7] * x[, 3] / (ratio * x[, 1]^2 * x[, 8]) + x[, 3] / x[, 5]))
  }, c(0.05, 100, 63070, 990, 63.1, 700, 1120, 9855), c(0.15, 50000, 115600, 1110, 116, 820, 1680, 12045))),
  piston = list(d = 7, f = scaled(\(x) {
    A <- x[, 5] * x[, 2] + 19.62 * x[, 1] - x[, 4] * x[, 3] / x[, 2]
    V <- x[, 2] / (2 * x[, 4]) * (sqrt(A^2 + 4 * x[, 4] * x[, 5] * x[, 3] / x[, 7] * x[, 6]) - A)
    2 * pi * sqrt(x[, 1] / (x[, 4] + x[, 2]^2 * x[, 5] * x[, 3] / x[, 7] * x[, 6] / V^2))
  }, c(30, 0.005, 0.002, 1000, 90000, 290, 340), c(60, 0.02, 0.01, 5000, 110000, 296, 360)))
)

hypercube <- \(n, d) (vapply(seq_len(d), \(k) sample(n), numeric(n)) - matrix(runif(n * d), n)) / n
gradient <- function(f, x, k, h = 1e-3) {
  weights <- c(-1, 9, -45, 45, -9, 1) / 60 / h
  rowSums(mapply(\(shift, w) w * f(replace(x, cbind(seq_len(nrow(x)), k), x[, k] + shift)), h * c(-3:-1, 1:3), weights))
}
table_of <- function(x, f, gradients = FALSE) {
  d <- data.frame(x = x, y = f(x))
  names(d) <- c(paste0("x", seq_len(ncol(x))), "y")
  if (gradients) for (k in seq_len(ncol(x))) d[[paste0("g", k)]] <- gradient(f, x, k)
  d
}

compare <- function(name, seed) {
  set.seed(seed)
  d <- functions[[name]]$d
  f <- functions[[name]]$f
  n <- if (d > 3) 3 * d else 5 * d
  new <- table_of(matrix(runif(2000 * d), 2000), f)
  variables <- reformulate(paste0("x", seq_len(d)))
  fit <- function(n, gradients) {
    train <- table_of(hypercube(n, d), f, gradients)
    slopes <- if (gradients) lapply(seq_len(d), \(k) as.formula(paste0("g", k, " ~ x", k)))
    seconds <- system.time(fit <- suppressWarnings(suppressMessages(
      gp(y ~ 1, train, variables, matern(5/2, ard = TRUE), starts = 1, derivatives = slopes)
    )))
    c(error = sqrt(mean((predict(fit, new) - new$y)^2)) / sd(new$y), seconds = sum(seconds[1:2]))
  }
  enhanced <- fit(n, TRUE)
  twice <- fit(2 * n, FALSE)
  all <- fit((1 + d) * n, FALSE)
  data.frame(name, n, enhanced = enhanced[[1]], twice = twice[[1]], all = all[[1]], seconds = enhanced[[2]],
             seconds_twice = twice[[2]], seconds_all = all[[2]])
}

rows <- NULL
for (seed in seq_len(designs)) for (name in names(functions)) {
  rows <- rbind(rows, compare(name, seed))
}
means <- aggregate(. ~ name, rows, mean)
means$better <- tapply(rows$enhanced < rows$twice, rows$name, sum)[means$name]
means$better_all <- tapply(rows$enhanced < rows$all, rows$name, sum)[means$name]
print(means, digits = 3)

set.seed(1)
x <- matrix(runif(1003 * 12), 1003)
d <- table_of(x, \(x) {
  sin(3 * x[, 1]) + 2 * x[, 2]^2 + x[, 3] * x[, 4] + cos(4 * x[, 5]) * x[, 6] + 0.3 * rowSums(x[, -(1:3)])
})
start <- d[1:1000, ]
fit <- gp(y ~ 1, start, reformulate(paste0("x", 1:12)), matern(5/2, ard = TRUE) + nugget(1e-6, fixed = "variance"))
for (k in 1:3) {
  update_time <- system.time(fit <- update(fit, newdata = d[1000 + k, ]))
  proposal_time <- system.time(gp_propose(fit, 0, 1))
  cat("update", update_time[1:3], "likelihoods", fit$search$evaluations, "proposal", proposal_time[1:3], "\n")
}
