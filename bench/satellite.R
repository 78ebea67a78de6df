# R_LIBS=.lib Rscript bench/satellite.R DATA.rds
#
# The picture of README.md, man/figures/satellite.png: the satellite data of Heaton et al. (2018) (see bench/heaton.R),
# the predictions of gp() beneath the clouds, and their standard errors.

library(kernops)
data <- readRDS(commandArgs(TRUE)[[1]])
fit <- gp(MaskTemp ~ 1, data[!is.na(data$MaskTemp), ], ~ Lon + Lat, exponential() + nugget(), method = "vecchia")
map <- predict(fit, data, se.fit = TRUE, interval = "confidence")

lon <- sort(unique(data$Lon))
lat <- sort(unique(data$Lat))
on_grid <- function(values) {
  z <- matrix(NA, length(lon), length(lat))
  z[cbind(match(data$Lon, lon), match(data$Lat, lat))] <- values
  z
}
span <- range(data$MaskTemp, map$fit, na.rm = TRUE)
shown <- list(
  list(title = "105,569 observations", values = data$MaskTemp, range = span, palette = "viridis"),
  list(title = "gp(): predicted", values = map$fit, range = span, palette = "viridis"),
  list(title = "gp(): standard error", values = map$se.fit, range = range(0, map$se.fit), palette = "inferno")
)
units <- "land surface temperature (\u00b0C)"
labels <- c(units, units, "standard error (\u00b0C)")

# without anti-aliasing there are few colours, so that the file is small
png("man/figures/satellite.png", 1020, 360, res = 84, type = "cairo", antialias = "none")
layout(matrix(1:6, 2), heights = c(8, 2))
for (k in seq_along(shown)) {
  part <- shown[[k]]
  colours <- hcl.colors(40, part$palette)
  par(mar = c(2.6, 4, 2, 0.8), mgp = c(1.8, 0.6, 0), cex = 0.8, las = 1)
  image(lon, lat, on_grid(part$values), col = colours, zlim = part$range, asp = 1 / cos(mean(lat) * pi / 180),
        xlab = "", ylab = "", main = part$title, bty = "n", axes = FALSE)
  axis(1, pretty(lon, 4), paste0(-pretty(lon, 4), "\u00b0W"))
  axis(2, pretty(lat, 4), paste0(pretty(lat, 4), "\u00b0N"))
  par(mar = c(3, 5, 0.2, 3))
  steps <- seq(part$range[[1]], part$range[[2]], length.out = 40)
  image(steps, 1, matrix(steps), col = colours, xlab = labels[[k]], ylab = "", yaxt = "n")
}
invisible(dev.off())
