# R_LIBS=.lib Rscript bench/gp.R [n ...]        default: 1000 2000 4000 10000, then fields::CO2, then bench/gp_gpu.R
#
# Comparison of kriging: maximises the likelihood and predicts 1000 points with standard errors. The RMSE is the error
# against the noise-free truth of a Matern 3/2 field on the unit square (range 0.1, noise sd 0.2). The script runs
# kernops, base R, and, if installed, gstat and fields once each; with KERNOPS_BENCH_SLOW=yes, it also runs fields for n
# > 1000. For CO2, a data set of fields, 24,633 observations predict 2000 others, and the RMSE is computed from these
# 2000.

library(kernops)
sizes <- as.integer(commandArgs(TRUE))
all_parts <- !length(sizes)
if (all_parts) sizes <- c(1000L, 2000L, 4000L, 10000L)
slow <- nzchar(Sys.getenv("KERNOPS_BENCH_SLOW"))
has <- function(name) requireNamespace(name, quietly = TRUE)
if (has("fields")) suppressMessages(library(fields))  # fields looks for its covariances in attached packages

matern32 <- function(h, range) (1 + h / range) * exp(-h / range)

# A draw of the field by many random cosines: the frequencies of Matern 3/2 have Student's t distribution with 3 degrees
# of freedom.
field <- function(n, range = 0.1, waves = 20000) {
  set.seed(n)
  u <- matrix(runif(2 * (n + 1000)), ncol = 2, dimnames = list(NULL, c("x", "y")))
  w <- matrix(rnorm(2 * waves), waves) / sqrt(rgamma(waves, 1.5, 1.5)) / (sqrt(3) * range)
  wave <- keops_kernel("Sum_Reduction(Cos((x | w) + t) * b, 1)", c("x = Vi(2)", "w = Vj(2)", "t = Vj(1)", "b = Vj(1)"))
  f <- as.vector(wave(list(u, w, runif(waves, 0, 2 * pi), rnorm(waves) * sqrt(2 / waves))))
  data.frame(u, f = f, z = f + rnorm(n + 1000, sd = 0.2))
}

ours <- function(d, new) {
  predict(gp(z ~ 1, d, ~ x + y, matern(3/2) + nugget()), new, se.fit = TRUE, interval = "none")$fit
}

iterative <- function(d, new) {
  predict(gp(z ~ 1, d, ~ x + y, matern(3/2) + nugget(), method = "iterative"), new)
}

fields_ml <- function(d, new) {
  fit <- fields::spatialProcess(d[c("x", "y")], d$z, smoothness = 1.5, mKrig.args = list(m = 1), REML = FALSE)
  fields::predictSE(fit, as.matrix(new[c("x", "y")]))
  as.vector(predict(fit, as.matrix(new[c("x", "y")])))
}

gstat_local <- function(d, new) {
  at <- function(d) sp::SpatialPointsDataFrame(as.matrix(d[c("x", "y")]), d)
  gstat::krige(z ~ 1, at(d), at(new), gstat::vgm(1, "Mat", 0.1, nugget = 0.04, kappa = 1.5), nmax = 50,
               debug.level = 0)$var1.pred
}

dense <- function(d, new) {
  at <- as.matrix(d[c("x", "y")])
  root <- chol(matern32(as.matrix(dist(at)), 0.1) + diag(0.04, nrow(d)))
  a <- backsolve(root, backsolve(root, d$z, transpose = TRUE))
  to <- as.matrix(new[c("x", "y")])
  h <- sqrt(pmax(outer(rowSums(to^2), rowSums(at^2), "+") - 2 * tcrossprod(to, at), 0))
  as.vector(matern32(h, 0.1) %*% a)
}

# Predictions on the globe. `covariance` is a function of the distance through the Earth, or of the distance along its
# surface.
co2_ours <- function(covariance) function(d, new) {
  predict(gp(y ~ 1, d, ~ lon + lat, covariance, estimate = "none", control = gp_control(probes = 0)), new)
}

co2_local <- function(theta) {
  model <- gstat::vgm(theta[[1]], "Mat", theta[[2]] / sqrt(3), nugget = theta[[3]], kappa = 1.5)
  at <- function(d) sp::SpatialPointsDataFrame(as.matrix(d[c("lon", "lat")]), d, proj4string = sp::CRS("+proj=longlat"))
  function(d, new) gstat::krige(y ~ 1, at(d), at(new), model, nmax = 50, debug.level = 0)$var1.pred
}

co2_fields <- function(d, new) {
  fit <- fields::fastTps(as.matrix(d[c("lon", "lat")]), d$y, aRange = 300, lon.lat = TRUE)
  as.vector(predict(fit, as.matrix(new[c("lon", "lat")])))
}

report <- function(name, n, predictor, d, new) {
  invisible(gc(reset = TRUE))
  time <- system.time(fit <- suppressWarnings(predictor(d, new)))[["elapsed"]]
  cat(sprintf("%-52s n = %6d  %8.2f s  RMSE %.4f  peak of R %5.0f MB\n", name, n, time, sqrt(mean((fit - new$f)^2)),
              sum(gc()[, 6])))
}

cat(R.version.string, ", kernops ", format(packageVersion("kernops")), ", ", parallel::detectCores(), " cores, BLAS ",
    basename(extSoftVersion()[["BLAS"]]), "\n", sep = "")
for (n in sizes) {
  d <- field(n)
  new <- d[n + 1:1000, ]
  d <- d[seq_len(n), ]
  report("kernops gp(), ML, 1000 points with se", n, ours, d, new)
  if (n > 4000) report("kernops gp(), iterative, ML, 1000 means", n, iterative, d, new)
  if (has("gstat") && has("sp")) report("gstat krige(nmax = 50), true parameters", n, gstat_local, d, new)
  if (n <= 4000) report("dense Cholesky in base R, true parameters", n, dense, d, new)
  if (has("fields") && (n <= 1000 || (slow && n <= 4000))) report("fields spatialProcess, ML, 1000 points with se", n,
                                                                  fields_ml, d, new)
}

if (all_parts && has("fields")) {
  data("CO2", package = "fields")
  d <- data.frame(lon = CO2$lon.lat[, 1], lat = CO2$lon.lat[, 2], y = CO2$y, f = CO2$y)
  set.seed(1)
  test <- sample(nrow(d), 2000)
  train <- d[-test, ]
  n <- nrow(train)
  some <- train[round(seq(1, n, length.out = 2000)), ]
  small <- gp(y ~ 1, some, ~ lon + lat, matern(3/2, distance = "great_circle") + nugget())
  report("CO2: kernops gp(), parameters of 2000 points", n, co2_ours(small$covariance), train, d[test, ])
  if (has("gstat") && has("sp")) {
    report("CO2: gstat krige(nmax = 50), the same ones", n, co2_local(coef(small, "covariance")), train, d[test, ])
  }
  report("CO2: fields fastTps", n, co2_fields, train, d[test, ])
}

has_gpu <- !inherits(tryCatch(gpu_matrix(1), kernops_cuda_error = identity), "error")
if (all_parts && has_gpu) {
  here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
  source(file.path(here, "gp_gpu.R"))
}
