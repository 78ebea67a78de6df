# Predictions of maps by windows, compared with predict() of the whole map in memory: cells per second and peak memory.
# Both kinds of prediction run in separate processes.
#
#   Rscript bench/rasters.R [cells] [lib]      default: 4e6 cells, .lib

arguments <- commandArgs(TRUE)
cells <- if (length(arguments)) as.numeric(arguments[[1]]) else 4e6
lib <- if (length(arguments) > 1) arguments[[2]] else ".lib"

peak <- function() {
  line <- grep("^VmHWM", readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024
}

# Predicts a map by the method `way`, in this process; returns a row of the table.
measure <- function(way, folder, cells, lib) {
  library(kernops, lib.loc = lib)
  fit <- readRDS(file.path(folder, "fit.rds"))
  map <- terra::rast(file.path(folder, "map.tif"))
  arguments <- list(fit, map, what = c("fit", "se.fit"), interval = "none", joint = !grepl("nearest", way),
                    control = gp_control(neighbours = 20))
  if (!grepl("memory", way)) arguments$filename <- tempfile(fileext = ".tif")
  if (grepl("zones", way)) {
    arguments$zones <- terra::rast(map, vals = 1 + (terra::xFromCell(map, seq_len(terra::ncell(map))) > 0.5))
  }
  before <- peak()
  time <- system.time(do.call(predict, arguments))
  elapsed <- time[["elapsed"]]
  data.frame(way, seconds = elapsed, cpu_seconds = sum(time[1:2]), cells_per_second = cells / elapsed,
             megabytes = peak(), before = before)
}

if (length(arguments) > 2) {
  print(measure(arguments[[3]], arguments[[4]], cells, lib), row.names = FALSE)
  quit("no")
}

folder <- tempfile("rasters")
dir.create(folder)
library(kernops, lib.loc = lib)
set.seed(1)
n <- 2e4
d <- data.frame(x = runif(n), y = runif(n))
d$w <- cos(5 * d$x)
d$z <- sin(12 * d$x) + cos(9 * d$y) + d$w + rnorm(n, sd = 0.3)
fit <- gp(z ~ w, d, ~ x + y, matern(3/2, 1, 0.1) + nugget(0.09), "vecchia", "none",
          control = gp_control(neighbours = 20))
saveRDS(fit, file.path(folder, "fit.rds"))
side <- round(sqrt(cells))
map <- terra::rast(nrows = side, ncols = side, xmin = 0, xmax = 1, ymin = 0, ymax = 1, crs = "")
map <- cos(5 * terra::init(map, "x"))
names(map) <- "w"
terra::writeRaster(map, file.path(folder, "map.tif"))
for (way in c("windows, nearest", "windows, nearest, zones", "windows, joint", "memory, nearest", "memory, joint")) {
  system2(file.path(R.home("bin"), "Rscript"), c("bench/rasters.R", cells, lib, shQuote(way), folder))
}
unlink(folder, recursive = TRUE)
