# Spatial data: the same points or cells are given in another class, geometry type or order of dimensions. The oracle is
# the fit to a data frame.

has <- \(package) requireNamespace(package, quietly = TRUE)
known <- exponential(1, 0.3) + nugget(0.01)

# Points in the plane as objects of other packages.
point_classes <- c(
  list(frame = \(d) d),
  if (has("sf")) list(
    sf = \(d) sf::st_as_sf(d, coords = c("x", "y")),
    sf_multi = \(d) sf::st_cast(sf::st_as_sf(d, coords = c("x", "y")), "MULTIPOINT"),
    sf_measure = \(d) sf::st_as_sf(transform(d, m = seq_along(x)), coords = c("x", "y", "m"), dim = "XYM"),
    sf_named = \(d) sf::st_set_geometry(sf::st_as_sf(d, coords = c("x", "y")), "where"),
    sf_tibble = \(d) if (has("tibble")) sf::st_as_sf(tibble::as_tibble(d), coords = c("x", "y")) else
      sf::st_as_sf(d, coords = c("x", "y"))
  ),
  if (has("sp")) list(
    sp = \(d) sp::SpatialPointsDataFrame(as.matrix(d[c("x", "y")]), d["z"])
  ),
  if (has("terra")) list(
    vect = \(d) terra::vect(d, geom = c("x", "y"))
  )
)
same_points <- function() {
  d <- data.frame(x = stats::runif(30), y = stats::runif(30))
  d$z <- 3 * d$x + stats::rnorm(30, sd = 0.1)
  new <- data.frame(x = stats::runif(4), y = stats::runif(4), z = 0)
  classes <- c(pick(names(point_classes)), pick(names(point_classes)))
  refusable <- any(classes %in% "sf_measure") || "frame" %in% classes
  fit_of <- \(class) {
    data <- point_classes[[class]](d)
    if (class == "frame") gp(z ~ 1, data, ~ x + y, known, estimate = "none") else
      gp(z ~ 1, data, covariance = known, estimate = "none")
  }
  values <- \(p) if (is.numeric(p)) p else if (inherits(p, "SpatVector")) terra::as.data.frame(p)$fit else p$fit
  compare(paste("points of", classes[[1]], "predicted at", classes[[2]]),
          \() values(predict(fit_of(classes[[1]]), point_classes[[classes[[2]]]](new))),
          \() predict(fit_of("frame"), new), may_refuse = refusable)
}

# Maps: the cells of an array whose dimensions are in another order or direction.
turned_maps <- if (has("stars") && has("sf")) list(
  plain = identity,
  turned = \(m) aperm(m, 2:1),
  timed = \(m) c(m, m, along = list(time = as.Date("2024-01-01") + 0:1))
)
same_cells <- function() {
  if (is.null(turned_maps)) return()
  d <- data.frame(x = stats::runif(30), y = stats::runif(30))
  d$z <- 3 * d$x + stats::rnorm(30, sd = 0.1)
  fit <- gp(z ~ 1, sf::st_as_sf(d, coords = c("x", "y")), covariance = known, estimate = "none")
  map <- stars::st_as_stars(sf::st_bbox(c(xmin = 0, ymin = 0, xmax = 1, ymax = 1)), nx = 5, ny = 4)
  way <- pick(names(turned_maps))
  turned <- turned_maps[[way]](map)
  at_cells <- function() {
    p <- predict(fit, turned)
    table <- as.data.frame(p)
    table <- table[order(table$x, table$y), ]
    table$fit[!duplicated(table[c("x", "y")])]
  }
  expected <- function() {
    grid <- expand.grid(y = seq(0.125, 0.875, 0.25), x = seq(0.1, 0.9, 0.2))
    predict(gp(z ~ 1, d, ~ x + y, known, estimate = "none"), grid)
  }
  compare(paste("cells of a map,", way), at_cells, expected, may_refuse = way == "timed")
}

# Compares means over polygons with means over a fine grid of points inside the polygons.
random_polygon <- function() {
  star <- function(center, size, vertices) {
    angle <- sort(stats::runif(vertices, 0, 2 * pi))
    radius <- size * stats::runif(vertices, 0.4, 1)
    ring <- cbind(center[[1]] + radius * cos(angle), center[[2]] + radius * sin(angle))
    sf::st_polygon(list(rbind(ring, ring[1, ])))
  }
  one <- star(stats::runif(2, 0.3, 0.7), 0.25, sample(5:12, 1))
  if (stats::runif(1) < 0.5) return(one)
  sf::st_multipolygon(list(one, star(stats::runif(2, 0.3, 0.7) + c(2, 0), 0.2, 7)))
}
one_polygon <- function() {
  if (!has("sf")) return()
  d <- data.frame(x = stats::runif(40, 0, 3), y = stats::runif(40))
  d$z <- sin(3 * d$x) + d$y
  smooth <- exponential(1, 1) + nugget(0.01)
  fit <- gp(z ~ 1, sf::st_as_sf(d, coords = c("x", "y")), covariance = smooth, estimate = "none")
  shape <- sf::st_sfc(random_polygon())
  within <- sf::st_sample(shape, 3000, type = "regular")
  # a mean over 3,000 points is accurate to about 1e-2 of the range of the field
  compare("mean over a polygon", \() predict(fit, sf::st_sf(geometry = shape))$fit,
          \() mean(predict(fit, sf::st_sf(geometry = within))$fit), tolerance = 0.02,
          may_refuse = !all(sf::st_is_valid(shape)))
}

run_part <- function() while (there_is_time()) pick(list(same_points, same_cells, one_polygon))()
