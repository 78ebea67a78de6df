# R_LIBS=.lib Rscript bench/sets.R [points]
#
# Vecchia's approximation with given neighbours: microseconds per point of a likelihood, and of a likelihood with its
# gradient and expected information, by the number of neighbours, covariance and instruction set, on one core. Then the
# script measures whole fits, and predictions with standard errors, on all cores.

library(kernops)
largest <- as.numeric(c(commandArgs(TRUE), 1e5)[[1]])
internal <- asNamespace("kernops")

seconds <- function(code, runs = 5) {
  code <- substitute(code)
  frame <- parent.frame()
  min(vapply(seq_len(runs), \(run) system.time(eval(code, frame))[["elapsed"]], 0))
}
table <- function(...) print(data.frame(..., check.names = FALSE), digits = 3, row.names = FALSE)
title <- function(...) cat("\n", sprintf(...), "\n", sep = "")

measure <- function(name, covariance, m, d = 2, isa = "", n = 20000) {
  data <- withr::with_seed(1, list(u = matrix(runif(n * d), n), y = rnorm(n), x = matrix(1, n, 1), noise = numeric(n),
                                   weights = rep(1, n)))
  model <- internal$covariance_model(covariance, d)
  theta <- model$parameters$value
  how <- list(reml = FALSE, backend = "cpu", control = gp_control(neighbours = m))
  with_kernops(threads = 1, isa = isa, {
    evaluate <- internal$vecchia_likelihood(data, model, how)$evaluate
    evaluate(theta)
    value <- seconds(evaluate(theta))
    all <- seconds(evaluate(theta, search = TRUE))
  })
  data.frame(covariance = name, d, m, isa = if (nzchar(isa)) isa else "best", parameters = length(theta),
             likelihood = 1e6 * value / n, "with gradient" = 1e6 * all / n, ratio = all / value, check.names = FALSE)
}

title("One core, microseconds/point")
exponential2 <- exponential(1, 0.1) + nugget(0.1)
rows <- c(
  lapply(c(10, 20, 30, 60), \(m) measure("exponential", exponential2, m)),
  list(measure("Matern 3/2", matern(3/2, 1, 0.1) + nugget(0.1), 30),
       measure("Matern 5/2 ARD", matern(5/2, 1, c(0.1, 0.2)) + nugget(0.1), 30),
       measure("Matern 3/2 ARD", matern(3/2, 1, rep(0.5, 10)) + nugget(0.1), 30, d = 10)),
  lapply(internal$cpu_isas()[-1], \(isa) measure("exponential", exponential2, 30, isa = isa))
)
table(do.call(rbind, rows))

# A field of Matern 3/2 with some 80 points within its range.
field <- function(n) {
  range <- 5 / sqrt(n)
  data <- withr::with_seed(1, data.frame(x = runif(n + n %/% 10), y = runif(n + n %/% 10)))
  model <- gp(z ~ 0, transform(data[1:40, ], z = x), ~ x + y, matern(3/2, 1, range) + nugget(0.05), "vecchia", "none")
  data$f <- as.vector(simulate(model, 1, seed = 1, newdata = data, conditional = FALSE))
  data$z <- data$f + withr::with_seed(2, rnorm(nrow(data), sd = sqrt(0.05)))
  split(data, seq_len(nrow(data)) > n)
}

whole <- function(n) {
  data <- field(n)
  fitting <- seconds(fit <- gp(z ~ 1, data[[1]], ~ x + y, matern(3/2) + nugget(), "vecchia",
                               control = gp_control(neighbours = 30)), 1)
  predicting <- seconds(at <- predict(fit, data[[2]], se.fit = TRUE, interval = "confidence"), 1)
  data.frame(n, "fit, seconds" = fitting, likelihoods = fit$search$evaluations[[1]],
             "neighbours of new" = fit$vecchia$local,
             "predict n / 10, seconds" = predicting, RMSE = sqrt(mean((at$fit - data[[2]]$f)^2)),
             "mean standard error" = mean(at$se.fit), check.names = FALSE)
}

title("Matern 3/2 with nugget, fit and predictions with standard errors, m = 30, %d cores", internal$threads())
table(do.call(rbind, lapply(unique(c(1e4, largest)), whole)))
