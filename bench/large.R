# R_LIBS=.lib Rscript bench/large.R [points] [neighbours] [backend] [cells], or
# R_LIBS=.lib Rscript bench/large.R prism [neighbours] [backend] [iterative]
#
# The costs of a whole fit by Vecchia's approximation: seconds of the ordering, of the neighbours, of the fit (which
# includes ordering and neighbours), and of predictions with standard errors; the number of likelihoods of the search;
# the peak memory of the process. The data are simulated: a field of Matern 3/2, plus noise. About 80 observations are
# within one range of a point.
#
# `prism`: 2000 elevations of fields::PRISMelevation are predicted from all other elevations, with two covariances:
# Matern 3/2 of the great-circle distance, and a sum of two Matern covariances in the plane. The predictions of each
# covariance are compared with predictions of gstat, which uses the estimated parameters and distances in the plane.
# With `iterative`, on a GPU, the script also prints the number of conjugate gradient steps with the sparse
# preconditioner, in float32, for the Matern covariance of the great-circle distance.

library(kernops)
arguments <- commandArgs(TRUE)
argument <- \(k, default) if (length(arguments) >= k) arguments[[k]] else default
prism <- identical(argument(1, ""), "prism")
m <- as.integer(argument(2, if (prism) 30 else 20))
backend <- argument(3, "auto")
internal <- asNamespace("kernops")

seconds <- \(code) system.time(code)[["elapsed"]]
peak <- function() {
  line <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024^2
}
kriging_error <- \(p, truth) sqrt(mean((p - truth)^2))

# A field without noise at the observed points and at further points, which are the cells. The field is a sum of waves
# whose frequencies have the spectral density of Matern 3/2, which is Student's t with 3 degrees of freedom.
simulated <- function(n, cells, waves = 1000) {
  data <- withr::with_seed(1, data.frame(x = runif(n + cells), y = runif(n + cells)))
  frequency <- withr::with_seed(2, matrix(rnorm(2 * waves), waves) / sqrt(rchisq(waves, 3) / 3)) * sqrt(n) / 5
  phase <- withr::with_seed(3, runif(waves, 0, 2 * pi))
  sum_of_waves <- keops_kernel("Sum_Reduction(Cos((x | w) + b), 1)", c("x = Vi(2)", "w = Vj(2)", "b = Vj(1)"))
  data$f <- as.vector(sum_of_waves(list(as.matrix(data), frequency, phase))) * sqrt(2 / waves)
  data$z <- data$f + withr::with_seed(4, rnorm(n + cells, sd = sqrt(0.05)))
  list(observed = data[seq_len(n), ], cells = data[n + seq_len(cells), ], coords = ~ x + y, truth = "f",
       covariance = matern(3/2) + nugget())
}

elevations <- function() {
  utils::data("PRISMelevation", package = "fields", envir = environment())
  grid <- get("PRISMelevation", environment())
  data <- cbind(expand.grid(lon = grid$x, lat = grid$y), z = as.vector(grid$z))
  data <- data[is.finite(data$z), ]
  data$x <- 111.2 * cos(mean(data$lat) * pi / 180) * data$lon  # km
  data$y <- 111.2 * data$lat
  held <- withr::with_seed(1, sample.int(nrow(data), 2000))
  list(observed = data[-held, ], cells = data[held, ], coords = ~ lon + lat, truth = "z",
       covariance = matern(3/2, distance = "great_circle") + nugget())
}
two_scales <- matern(3/2) + matern(3/2) + nugget()

measure <- function(case) {
  sample <- case$observed[round(seq(1, nrow(case$observed), length.out = 2000)), ]
  if (backend != "cpu") suppressWarnings(gp(z ~ 1, sample, case$coords, case$covariance, "vecchia", backend = backend))
  fitting <- seconds(fit <- suppressWarnings(gp(z ~ 1, case$observed, case$coords, case$covariance, "vecchia",
                                                backend = backend, control = gp_control(neighbours = m))))
  predicting <- seconds(p <- predict(fit, case$cells, se.fit = TRUE, interval = "confidence"))
  memory <- peak()
  near <- internal$neighbour_coordinates(fit$model, fit$theta, fit$data$u)
  ordering <- seconds(order <- internal$vecchia_order(near))
  near <- near[order, , drop = FALSE]
  searching <- seconds(internal$ordered_neighbours(near, m))
  print(data.frame(
    n = nrow(case$observed), m, backend, cores = internal$threads(), ordering, neighbours = searching, fit = fitting,
    likelihoods = fit$search$evaluations[[1]], cells = nrow(case$cells), "neighbours of cells" = fit$vecchia$local,
    predict = predicting, whole = fitting + predicting, "peak GB" = memory,
    RMSE = kriging_error(p$fit, case$cells[[case$truth]]), check.names = FALSE
  ), digits = 3, row.names = FALSE)
  print(fit)
  invisible(fit)
}

# `theta`: variances and ranges of Matern 3/2, and the nugget. Runs on one core.
kriging_by_gstat <- function(case, theta) {
  points <- \(d) sp::SpatialPointsDataFrame(as.matrix(d[c("x", "y")]), d)
  model <- gstat::vgm(theta[[1]], "Mat", theta[[2]] / sqrt(3), nugget = theta[[length(theta)]], kappa = 3/2)
  if (length(theta) > 3) model <- gstat::vgm(theta[[3]], "Mat", theta[[4]] / sqrt(3), kappa = 3/2, add.to = model)
  taken <- seconds(
    k <- gstat::krige(z ~ 1, points(case$observed), points(case$cells), model, nmax = 50, debug.level = 0)
  )
  cat(sprintf("gstat, nmax = 50, our covariance, in the plane: %.1f s, RMSE %.2f\n", taken,
              kriging_error(k$var1.pred, case$cells$z)))
}

steps_of_solver <- function(case, fit) {
  how <- list(reml = FALSE, precision = "float32", backend = "cuda",
              control = gp_control(probes = 0, cg_tol = 0.01, precond = "vecchia"))
  taken <- seconds(state <- internal$iterative_likelihood(fit$data, fit$model, how)$evaluate(fit$theta))
  object <- list(model = fit$model, how = how, theta = fit$theta, data = fit$data)
  means <- state$beta + internal$covariance_times(object, internal$new_points(fit, case$cells, NULL)$u, state$alpha)
  cat(sprintf("iterative, sparse preconditioner: %.1f s, %d steps, RMSE %.2f\n", taken, as.integer(state$iterations),
              kriging_error(means, case$cells$z)))
}

if (prism) {
  compare <- if (requireNamespace("gstat", quietly = TRUE)) kriging_by_gstat else \(...) invisible()
  case <- elevations()
  fit <- measure(case)
  compare(case, fit$theta)
  if (identical(argument(4, ""), "iterative")) steps_of_solver(case, fit)
  case <- replace(case, c("coords", "covariance"), list(~ x + y, two_scales))
  fit <- measure(case)
  compare(case, fit$theta)
} else {
  measure(simulated(as.numeric(argument(1, 1e6)), as.numeric(argument(4, 1e5))))
}
