# R_LIBS=.lib Rscript bench/satellite_maps.R DATA.rds
#
# The map of the vignette `large-kriging`: the satellite data of bench/heaton.R, their predictions by Vecchia's
# approximation, and the standard errors of the field. Writes vignettes/satellite.png.

library(kernops)
arguments <- commandArgs(TRUE)
if (!length(arguments)) stop("give the file of the data, an .rds")
data <- readRDS(arguments[[1]])
observed <- data[!is.na(data$MaskTemp), ]
# the estimate of the nugget is zero, which gives a warning
fit <- suppressWarnings(gp(MaskTemp ~ 1, observed, ~ Lon + Lat, exponential() + nugget(), "vecchia"))
maps <- predict(fit, data, se.fit = TRUE, interval = "confidence")

x <- sort(unique(data$Lon))
y <- sort(unique(data$Lat))
draw <- function(values, limits, palette, title) {
  z <- matrix(NA, length(x), length(y))
  z[cbind(match(data$Lon, x), match(data$Lat, y))] <- pmin(pmax(values, limits[[1]]), limits[[2]])
  colours <- hcl.colors(16, palette)
  image(x, y, z, zlim = limits, col = colours, las = 1, xlab = "longitude (degrees)", ylab = "latitude (degrees)",
        main = title, useRaster = TRUE, asp = 1 / cos(mean(y) * pi / 180))
  steps <- pretty(limits, 4)
  steps <- steps[steps >= limits[[1]] & steps <= limits[[2]]]
  share <- (steps - limits[[1]]) / diff(limits)
  legend(mean(par("usr")[1:2]), grconvertY(0, "nfc"), format(steps), horiz = TRUE, xjust = 0.5, yjust = 0, xpd = NA,
         bty = "n", border = NA, fill = colours[pmin(16, 1 + floor(16 * share))])
}
png("vignettes/satellite.png", 1050, 360, type = "cairo-png", antialias = "none", pointsize = 19)
par(mfrow = c(1, 3), mar = c(6, 3.8, 2, 0.6), mgp = c(2.5, 0.7, 0))
temperatures <- quantile(data$MaskTemp, c(0.005, 0.995), na.rm = TRUE, names = FALSE)
draw(data$MaskTemp, temperatures, "viridis", "observed (C)")
draw(maps$fit, temperatures, "viridis", "predicted (C)")
draw(maps$se.fit, c(0, quantile(maps$se.fit, 0.999, names = FALSE)), "inferno", "standard error (C)")
invisible(dev.off())
cat(file.size("vignettes/satellite.png") %/% 1000, "kB\n")
