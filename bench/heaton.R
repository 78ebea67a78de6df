# R_LIBS=.lib Rscript bench/heaton.R DATA.rds [method ...]
#
# The satellite data of the competition of Heaton et al. (2018): fits to the observed temperatures, predictions of the
# cells held back with 95 % intervals of new observations, scored as there: mean absolute error, root mean square error,
# CRPS, interval score, coverage, minutes. DATA.rds is a data frame of Lon, Lat, MaskTemp (observed, else NA) and
# TrueTemp. Methods are those of gp(); default: vecchia. After vecchia, gstat's kriging from 50 neighbours with its
# parameters, if gstat is installed.

library(kernops)
arguments <- commandArgs(TRUE)
if (!length(arguments)) stop("give the file of the data, an .rds")
data <- readRDS(arguments[[1]])
methods <- if (length(arguments) > 1) arguments[-1] else "vecchia"
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

run <- function(method, formula) {
  elapsed <- \(code) system.time(code)[["elapsed"]]
  fitting <- elapsed(fit <- suppressWarnings(gp(formula, observed, ~ Lon + Lat, exponential() + nugget(), method)))
  predicting <- elapsed(p <- predict(fit, held, se.fit = TRUE, interval = "prediction"))
  print(fit)
  rbind(row(method, formula, p, fitting, predicting, kernops:::threads()),
        if (method == "vecchia" && requireNamespace("gstat", quietly = TRUE)) local_kriging(formula, fit$theta))
}

row <- function(method, formula, p, fitting, predicting, cores) {
  cbind(method = method, trend = deparse1(formula[[3]]), scores(p, held$TrueTemp),
        "fit, seconds" = fitting, "predict, seconds" = predicting,
        minutes = sum(fitting, predicting, na.rm = TRUE) / 60, cores = cores)
}

# With our variance, range and nugget; one core.
local_kriging <- function(formula, theta) {
  model <- gstat::vgm(theta[[1]], "Exp", theta[[2]], nugget = theta[[3]])
  points <- function(d) sp::SpatialPointsDataFrame(as.matrix(d[c("Lon", "Lat")]), d)
  seconds <- system.time(
    k <- gstat::krige(formula, points(observed), points(held), model, nmax = 50, debug.level = 0)
  )[["elapsed"]]
  half <- qnorm(0.975) * sqrt(k$var1.var)
  p <- data.frame(fit = k$var1.pred, se.fit = sqrt(k$var1.var), lwr = k$var1.pred - half, upr = k$var1.pred + half)
  row("gstat", formula, p, NA, seconds, 1)
}

cat(nrow(observed), "observations,", nrow(held), "cells held back\n")
rows <- lapply(methods, \(method) lapply(c(MaskTemp ~ 1, MaskTemp ~ Lon + Lat), \(formula) run(method, formula)))
print(do.call(rbind, unlist(rows, recursive = FALSE)), digits = 3, row.names = FALSE)
