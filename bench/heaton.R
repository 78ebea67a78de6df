# R_LIBS=.lib Rscript bench/heaton.R DATA.rds [row ...]
#
# The satellite data of the competition of Heaton et al. (2018): fits to the observed temperatures, and predictions of
# the held-out cells with 95 % intervals of new observations. The scores are those of the competition: mean absolute
# error, root mean square error, CRPS, interval score, coverage, minutes. DATA.rds is a data frame of Lon, Lat, MaskTemp
# (NA if not observed) and TrueTemp.
#
# A row is named by a method of gp() and a backend, such as vecchia:cuda. A row with `given` at its end, such as
# exact:cuda:given, uses the covariance that the vecchia row of the same backend has estimated, and the time of that
# search is not counted. In a row with `nearest`, such as vecchia:cpu:nearest, each cell is predicted from its nearest
# observations alone. Iterative fits have local standard errors. `gstat` is kriging by gstat from 50 neighbours with the
# covariance of the vecchia row. Default: vecchia:cpu gstat. The exact method takes 89 GB. If the GPU has enough memory,
# this command takes about three minutes:
#   Rscript bench/heaton.R DATA.rds vecchia:cuda iterative:cuda:given exact:cuda:given

library(kernops)
arguments <- commandArgs(TRUE)
if (!length(arguments)) stop("give the file of the data, an .rds")
data <- readRDS(arguments[[1]])
wanted <- if (length(arguments) > 1) arguments[-1] else c("vecchia:cpu", "gstat")
observed <- data[!is.na(data$MaskTemp), ]
held <- data[is.na(data$MaskTemp) & !is.na(data$TrueTemp), ]

scores <- function(p, y, level = 0.95) {
  z <- (y - p$fit) / p$se.fit
  data.frame(
    MAE = mean(abs(y - p$fit)), RMSE = sqrt(mean((y - p$fit)^2)),
    CRPS = mean(p$se.fit * (z * (2 * pnorm(z) - 1) + 2 * dnorm(z) - 1 / sqrt(pi))),
    INT = mean(p$upr - p$lwr + 2 / (1 - level) * (pmax(p$lwr - y, 0) + pmax(y - p$upr, 0))),
    CVG = mean(y >= p$lwr & y <= p$upr)
  )
}

elapsed <- \(code) system.time(code)[["elapsed"]]
fit_by <- function(formula, method, backend, ...) {
  suppressWarnings(gp(formula, observed, ~ Lon + Lat, ..., method = method, backend = backend))
}

# Predictions with the covariance that Vecchia's approximation has estimated; each estimate is computed once for each
# trend and backend.
predictions <- list()
covariance_of <- function(formula, backend) {
  key <- paste(deparse1(formula), backend)
  predictions[[key]] <<- predictions[[key]] %||% fit_by(formula, "vecchia", backend, exponential() + nugget())
  predictions[[key]]
}
`%||%` <- function(x, y) if (is.null(x)) y else x

run <- function(name, formula) {
  parts <- strsplit(name, ":", fixed = TRUE)[[1]]
  backend <- if (length(parts) > 1) parts[[2]] else "auto"
  if (parts[[1]] == "gstat") return(local_kriging(formula, covariance_of(formula, backend)$theta))
  known_covariance <- if ("given" %in% parts) covariance_of(formula, backend)$covariance
  fitting <- elapsed(fit <- if (is.null(known_covariance)) {
    fit_by(formula, parts[[1]], backend, exponential() + nugget())
  } else {
    # the likelihood is not maximised, so no probes are needed
    fit_by(formula, parts[[1]], backend, known_covariance, estimate = "none", control = gp_control(probes = 0))
  })
  if (parts[[1]] == "vecchia") predictions[[paste(deparse1(formula), backend)]] <<- fit
  se <- if (parts[[1]] == "iterative") "local" else "exact"
  joint <- if ("nearest" %in% parts) FALSE
  predicting <- elapsed(p <- predict(fit, held, se.fit = TRUE, interval = "prediction", se = se, joint = joint))
  print(fit)
  row(name, formula, p, fitting, predicting, kernops:::threads())
}

row <- function(method, formula, p, fitting, predicting, cores) {
  cbind(method = method, trend = deparse1(formula[[3]]), scores(p, held$TrueTemp),
        "fit, seconds" = fitting, "predict, seconds" = predicting,
        minutes = sum(fitting, predicting, na.rm = TRUE) / 60, cores = cores)
}

# Local kriging on one core.
local_kriging <- function(formula, theta) {
  model <- gstat::vgm(theta[[1]], "Exp", theta[[2]], nugget = theta[[3]])
  points <- function(d) sp::SpatialPointsDataFrame(as.matrix(d[c("Lon", "Lat")]), d)
  seconds <- elapsed(
    k <- gstat::krige(formula, points(observed), points(held), model, nmax = 50, debug.level = 0)
  )
  half <- qnorm(0.975) * sqrt(k$var1.var)
  p <- data.frame(fit = k$var1.pred, se.fit = sqrt(k$var1.var), lwr = k$var1.pred - half, upr = k$var1.pred + half)
  row("gstat", formula, p, NA, seconds, 1)
}

# Runs a method, or reports that it is omitted because the GPU has too little memory or a package is not installed.
run_or_say <- function(name, formula) {
  tryCatch(run(name, formula), kernops_memory_error = \(e) cat(name, "left out:", conditionMessage(e), "\n"),
           packageNotFoundError = \(e) cat(name, "left out:", conditionMessage(e), "\n"))
}

cat(nrow(observed), "observations,", nrow(held), "cells held back\n")
# the first launches compile
some <- seq(1, nrow(observed), by = 50)
if (any(grepl("cuda", wanted))) {
  invisible(gp(MaskTemp ~ 1, observed[some, ], ~ Lon + Lat, exponential() + nugget(), "vecchia", backend = "cuda"))
}
rows <- lapply(wanted, \(name) lapply(c(MaskTemp ~ 1, MaskTemp ~ Lon + Lat), \(formula) run_or_say(name, formula)))
print(do.call(rbind, unlist(rows, recursive = FALSE)), digits = 3, row.names = FALSE)
