# R_LIBS=.lib Rscript bench/satellite_maps.R DATA.rds
#
# The map of the vignette `large-kriging`: the satellite data of bench/heaton.R, their predictions by Vecchia's
# approximation, and the standard errors of the field. Writes vignettes/satellite.png.

library(kernops)
arguments <- commandArgs(TRUE)
if (!length(arguments)) stop("give the file of the data, an .rds")
data <- readRDS(arguments[[1]])
observed <- data[!is.na(data$MaskTemp), ]
# the nugget is estimated as zero, which is a warning
fit <- suppressWarnings(gp(MaskTemp ~ 1, observed, ~ Lon + Lat, exponential() + nugget(), "vecchia"))
maps <- predict(fit, data, se.fit = TRUE, interval = "confidence")

x <- sort(unique(data$Lon))
y <- sort(unique(data$Lat))
draw <- function(values, limits, palette, title) {
  z <- matrix(NA, length(x), length(y))
  z[cbind(match(data$Lon, x), match(data$Lat, y))] <- pmin(pmax(values, limits[[1]]), limits[[2]])
  colours <- hcl.colors(16, palette)
  image(x, y, z, zlim = limits, col = colours, las = 1, xlab = "", ylab = "", main = title, useRaster = TRUE)
  steps <- pretty(limits, 4)
  steps <- steps[steps >= limits[[1]] & steps <= limits[[2]]]
  legend("bottomleft", format(steps), bg = "white", cex = 0.8, fill = colours[
    pmin(16, 1 + floor(16 * (steps - limits[[1]]) / diff(limits)))])
}
png("vignettes/satellite.png", 960, 310, type = "cairo-png", antialias = "none", pointsize = 13)
par(mfrow = c(1, 3), mar = c(2.2, 3, 2, 0.6), mgp = c(2, 0.6, 0))
temperatures <- quantile(data$MaskTemp, c(0.005, 0.995), na.rm = TRUE, names = FALSE)
draw(data$MaskTemp, temperatures, "viridis", "observed (C)")
draw(maps$fit, temperatures, "viridis", "predicted (C)")
draw(maps$se.fit, c(0, quantile(maps$se.fit, 0.999, names = FALSE)), "inferno", "standard error (C)")
invisible(dev.off())
cat(file.size("vignettes/satellite.png") %/% 1000, "kB\n")
