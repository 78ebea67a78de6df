# R_LIBS=.lib Rscript bench/coverage.R [DATA ...]
#
# Coverage of the intervals that the help recommends, predict(interval = "prediction"). A random quarter of each data
# set is held out, eight times, and the intervals are compared with the held-out observations. The nominal coverage is
# 95 %. Columns: the number of observations, the coverage of all held-out observations in per cent, the lowest and the
# highest coverage of a split, and the root mean square of the standardised errors (1 if standard errors are right). The
# table is in HISTORY.md.

library(kernops)
from <- function(package, name) {
  place <- new.env()
  utils::data(list = name, package = package, envir = place)
  place
}
stations <- function(u, ...) data.frame(lon = u[, 1], lat = u[, 2], ...)

# Each case is a list of arguments of gp().
cases <- list(
  meuse = function() list(zinc ~ sqrt(dist), from("sp", "meuse")$meuse, ~ x + y, transform = "log"),
  jura = function() list(Ni ~ 1, from("gstat", "jura")$jura.pred, ~ Xloc + Yloc),
  walker = function() {
    d <- as.data.frame(from("gstat", "walker")$walker)
    list(V ~ 1, transform(d, V = V + 1), ~ X + Y, transform = "boxcox")
  },
  ozone2 = function() {
    d <- from("fields", "ozone2")$ozone2
    list(z ~ 1, stations(d$lon.lat, z = d$y[16, ]), ~ lon + lat, matern(3/2, distance = "great_circle") + nugget())
  },
  colorado = function() {
    d <- from("fields", "COmonthlyMet")
    list(z ~ elev, stations(d$CO.loc, z = d$CO.tmax.MAM.climate, elev = d$CO.elev), ~ lon + lat,
         matern(3/2, distance = "great_circle") + nugget())
  },
  rainfall = function() {
    d <- from("fields", "NorthAmericanRainfall")$NorthAmericanRainfall
    list(precip ~ elevation, data.frame(lon = d$longitude, lat = d$latitude, d[c("precip", "elevation")]), ~ lon + lat,
         matern(3/2, distance = "great_circle") + nugget(), transform = "log", method = "vecchia")
  },
  coalash = function() list(coalash ~ x, from("gstat", "coalash")$coalash, ~ x + y),
  quakes = function() list(mag ~ depth, datasets::quakes, ~ long + lat, matern(3/2) + nugget())
)

coverage <- function(call, splits = 8) {
  formula <- call[[1]]
  data <- call[[2]]
  needed <- all.vars(formula)
  data <- data[stats::complete.cases(data[needed]), ]
  z <- lapply(seq_len(splits), function(split) {
    set.seed(split)
    out <- sample(nrow(data), nrow(data) %/% 4)
    call[[2]] <- data[-out, ]
    fit <- do.call(gp, call)
    at <- predict(fit, data[out, ], interval = "prediction", se.fit = TRUE)
    link <- predict(fit, data[out, ], interval = "prediction", se.fit = TRUE, type = "link")
    seen <- data[[needed[[1]]]][out]
    on_link <- if (is.null(fit$transform)) seen else kernops:::boxcox(seen, fit$transform$lambda)
    list(inside = seen >= at$lwr & seen <= at$upr, score = (on_link - link$fit) / link$se.fit)
  })
  each <- vapply(z, function(part) mean(part$inside), 0)
  c(n = nrow(data), coverage = mean(unlist(lapply(z, `[[`, "inside"))) * 100, least = min(each) * 100,
    most = max(each) * 100, score = sqrt(mean(unlist(lapply(z, `[[`, "score"))^2)))
}

wanted <- commandArgs(TRUE)
if (!length(wanted)) wanted <- names(cases)
cat("| data | n | coverage | least | most | standardised error |\n|---|---|---|---|---|---|\n")
for (name in wanted) {
  row <- coverage(cases[[name]]())
  cat(sprintf("| %s | %d | %.1f %% | %.0f | %.0f | %.2f |\n", name, row[["n"]], row[["coverage"]], row[["least"]],
              row[["most"]], row[["score"]]))
}
