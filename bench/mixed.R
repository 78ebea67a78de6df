# R_LIBS=.lib Rscript bench/mixed.R [points] [levels] [family] [bam|alone] [smooths]
#
# A model with up to four smooth terms s() (argument `smooths`), a random intercept whose levels are the cells of a
# grid, and a field of Matern 3/2, fitted by Vecchia's approximation with its default number of neighbours. `family` is
# gaussian, poisson or tweedie (default: 1e5 points, 1000 levels, gaussian, four smooths). All parameters are estimated;
# then 10,000 new points are predicted with standard errors. With `bam`, mgcv::bam(discrete = TRUE) fits the same
# smooths and levels with a thin-plate spline of 100 coefficients in place of the field.
#
# Columns: elapsed seconds and CPU seconds of the fit, elapsed seconds of the prediction, number of likelihoods,
# log-likelihood, the root mean square error of the linear predictor at the new points, the coverage of its 95 %
# intervals in %, and the peak memory of the process in GB.

library(kernops)
options(width = 160)
arguments <- commandArgs(TRUE)
argument <- \(k, default) if (length(arguments) >= k) arguments[[k]] else default
n <- as.numeric(argument(1, 1e5))
levels <- as.numeric(argument(2, 1000))
name <- argument(3, "gaussian")
beside <- identical(argument(4, ""), "bam")
smooths <- seq_len(as.numeric(argument(5, 4)))
model <- \(...) stats::reformulate(c(sprintf("s(e%d)", smooths), ...), "y", env = globalenv())

simulated <- function(n, waves = 300) withr::with_seed(1, {
  d <- data.frame(a = runif(n), b = runif(n), e1 = runif(n), e2 = runif(n), e3 = runif(n), e4 = runif(n))
  side <- ceiling(sqrt(levels))
  d$g <- factor(floor(d$a * side) * side + floor(d$b * side))
  # frequencies of Matern 3/2 with range 0.1
  frequency <- matrix(rnorm(2 * waves), waves) / sqrt(rchisq(waves, 3) / 3) * sqrt(3) / 0.1
  sum_of_waves <- keops_kernel("Sum_Reduction(Cos((x | w) + b), 1)", c("x = Vi(2)", "w = Vj(2)", "b = Vj(1)"))
  field <- sqrt(2 / waves) * as.vector(sum_of_waves(list(as.matrix(d[1:2]), frequency, runif(waves, 0, 2 * pi))))
  effects <- with(d, list(sin(6 * e1) / 2, cos(5 * e2) / 2, e3, (e4 - 0.5)^2))
  d$eta <- 0.5 + 0.5 * field + Reduce(`+`, effects[smooths]) +
    rnorm(nlevels(d$g), sd = 0.4)[d$g]
  d$y <- switch(name, gaussian = d$eta + rnorm(n, sd = 0.5), poisson = rpois(n, exp(d$eta)), tweedie = {
    # a Poisson number of gamma variables: power 1.5 and dispersion 1
    count <- rpois(n, 2 * exp(d$eta / 2))
    ifelse(count > 0, rgamma(n, pmax(count, 1), scale = exp(d$eta / 2) / 2), 0)
  })
  d
})

peak <- function() {
  line <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024^2
}
row_of <- function(method, fit_by, predict_by, count) {
  fitting <- system.time(fit <- fit_by())
  predicting <- system.time(p <- predict_by(fit))
  print(data.frame(
    method, n, levels = nlevels(data$g), family = name, "fit, s" = fitting[["elapsed"]],
    "cores, s" = sum(fitting[1:2]), "predict, s" = predicting[["elapsed"]], likelihoods = count(fit),
    "log-likelihood" = as.numeric(logLik(fit)), RMSE = sqrt(mean((p$fit - new$eta)^2)),
    "coverage, %" = 100 * mean(abs(p$fit - new$eta) < 1.96 * p$se.fit), GB = peak(), check.names = FALSE
  ), row.names = FALSE, digits = 6)
  invisible(fit)
}

data <- simulated(n + 1e4)
new <- data[n + 1:1e4, ]
data <- data[seq_len(n), ]
fit <- row_of(
  "gp", \() gp(model("(1 | g)"), data, ~ a + b,
               if (name == "gaussian") matern(3/2) + nugget() else matern(3/2), "vecchia",
               family = switch(name, gaussian = gaussian(), poisson = poisson(), tweedie = gp_family("tweedie")),
               control = gp_control(progress = if (n > 1e5) "steps" else "none")),
  \(fit) suppressMessages(predict(fit, new, se.fit = TRUE, interval = "confidence", type = "link")),
  \(fit) fit$search$evaluations
)
print(fit)
print(summary(fit, cost = TRUE)$cost)
if (beside) suppressPackageStartupMessages(library(mgcv))
if (beside) row_of(
  "bam", \() mgcv::bam(model("s(g, bs = \"re\")", "s(a, b, k = 100)"), data = data,
                       family = switch(name, gaussian = gaussian(), poisson = poisson(), tweedie = mgcv::tw()),
                       discrete = TRUE, nthreads = 2),
  \(fit) predict(fit, new, se.fit = TRUE), \(fit) NA
)
