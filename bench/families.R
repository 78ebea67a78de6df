# Calibration of fits with a family: the share of 95 % intervals that contain the truth. The script simulates `count`
# fields per family, and computes intervals of the linear predictor at new points, of new observations at these points,
# and of the intercept.
#
#   Rscript bench/families.R [count]

library(kernops)

count <- c(as.integer(commandArgs(TRUE)), 200L)[[1]]
n <- 100
families <- list(
  poisson = list(poisson(), \(eta) rpois(length(eta), exp(eta))),
  binary = list(binomial(), \(eta) rbinom(length(eta), 1, plogis(eta))),
  `5 trials` = list(binomial(), \(eta) rbinom(length(eta), 5, plogis(eta)) / 5),
  negative_binomial = list(negative_binomial(), \(eta) rnbinom(length(eta), size = 3, mu = exp(eta))),
  Gamma = list(Gamma("log"), \(eta) rgamma(length(eta), 3, 3 / exp(eta))),
  student = list(student(4), \(eta) eta + 0.3 * rt(length(eta), 4))
)

one_fit <- function(seed, family) {
  set.seed(seed)
  x <- runif(n + 10, 0, 20)
  h <- as.matrix(dist(x)) * sqrt(3) / 2
  eta <- 1 + as.vector(t(chol((1 + h) * exp(-h) + diag(1e-10, n + 10))) %*% rnorm(n + 10))
  y <- family[[2]](eta)
  d <- data.frame(x, y, trials = if (all(y * 5 == round(y * 5)) && any(y != round(y))) 5 else 1)
  old <- seq_len(n)
  fit <- suppressWarnings(gp(y ~ 1, d[old, ], ~ x, matern(3/2), family = family[[1]], weights = d$trials[old]))
  link <- predict(fit, d[-old, ], interval = "confidence", type = "link")
  new <- predict(fit, d[-old, ], interval = "prediction")
  limits <- confint(fit, "(Intercept)")
  within <- \(x, table) mean(x >= table$lwr & x <= table$upr)
  c(field = within(eta[-old], link), new = if (d$trials[[1]] == 1) within(y[-old], new) else NA,
    intercept = limits[1] <= 1 && 1 <= limits[2])
}

for (name in names(families)) {
  found <- vapply(seq_len(count), one_fit, numeric(3), families[[name]])
  rownames(found) <- c("field", "new", "intercept")
  cat(sprintf("%-18s %s\n", name, paste(rownames(found), sprintf("%.3f", rowMeans(found, na.rm = TRUE)),
                                        collapse = "  ")))
}
