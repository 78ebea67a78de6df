# Maps of terra that are predicted by windows.

# A map of 12 x 9 cells with the layers w and g; some cells of each layer are missing.
small_map <- function() {
  map <- terra::rast(nrows = 9, ncols = 12, xmin = 0, xmax = 1200, ymin = 0, ymax = 900, crs = "", nlyrs = 2)
  names(map) <- c("w", "g")
  place <- terra::xyFromCell(map, 1:108)
  values <- cbind(cos(place[, 1] / 200), rep(1:2, 54))
  values[c(3, 40, 41, 108), 1] <- NA
  terra::values(map) <- values
  levels(map[["g"]]) <- data.frame(id = 1:2, g = c("p", "q"))
  map
}
map_case <- function(n = 70) {
  withr::local_seed(17)
  d <- data.frame(x = runif(n, 0, 1200), y = runif(n, 0, 900), g = rep(c("p", "q"), length.out = n))
  d$w <- cos(d$x / 200)
  d$z <- sin(d$x / 300) + d$y / 500 + d$w + (d$g == "q") + rnorm(n, sd = 0.2)
  d$count <- rpois(n, exp(sin(d$x / 300)))
  d$other <- d$z + rnorm(n, sd = 0.3)
  d
}
map_fit <- function(method = "exact", formula = z ~ w + g, d = map_case(), ...) {
  gp(formula, d, ~ x + y, matern(3/2, 1, 300) + nugget(0.04), method = method, estimate = "none", ...)
}
eight_near <- gp_control(neighbours = 8)
cell_values <- function(map) unname(terra::values(map))
on_disk <- function(map, file = withr::local_tempfile(fileext = ".tif", .local_envir = parent.frame())) {
  terra::writeRaster(map, file, datatype = "FLT8S")
}
