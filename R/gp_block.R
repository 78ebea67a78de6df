# Means over blocks and polygons, as weighted means over points.

# New points of a fit as centres of rectangles: the nodes of a Gauss rule with four of them along each coordinate.
with_blocks <- function(points, block, areas, d, call = caller_env()) {
  if (!is.null(areas)) {
    size <- lengths(areas$weight)
    kept <- which(points$complete)
    of <- rep(seq_along(kept), size[kept])
    beside <- points$u[of, -seq_len(d), drop = FALSE]
    points$blocks <- list(u = cbind(do.call(rbind, areas$u[kept]), beside), of = of,
                          weight = unlist(areas$weight[kept]))
    return(points)
  }
  if (!is.numeric(block) || length(block) != d || !all(is.finite(block)) || any(block < 0)) {
    stop_kernops("input", "{.arg block} must be the size of a block: {d} number{?s} of at least 0, one for each
                           coordinate.", call = call)
  }
  rule <- block_rule(block, call)
  of <- rep(seq_len(nrow(points$u)), each = length(rule$weight))
  shift <- rule$at[rep(seq_along(rule$weight), nrow(points$u)), , drop = FALSE]
  u <- points$u[of, , drop = FALSE]
  u[, seq_len(d)] <- u[, seq_len(d)] + shift
  points$blocks <- list(u = u, of = of, weight = rep(rule$weight, nrow(points$u)))
  points
}

# The nodes around the centre, and their weights.
block_rule <- function(size, call = caller_env()) {
  if (sum(size > 0) > 3) stop_kernops("input", "{.arg block} can have at most 3 sizes above 0.", call = call)
  far <- 2 / 7 * sqrt(6 / 5)
  at <- c(-sqrt(3 / 7 + far), -sqrt(3 / 7 - far), sqrt(3 / 7 - far), sqrt(3 / 7 + far)) / 2
  weight <- (18 + c(-1, 1, 1, -1) * sqrt(30)) / 72
  along <- lapply(size, function(s) if (s > 0) s * at else 0)
  weights <- lapply(size, function(s) if (s > 0) weight else 1)
  list(at = unname(as.matrix(expand.grid(along))), weight = Reduce(function(a, b) as.vector(outer(a, b)), weights))
}

is_area <- function(x) {
  if (inherits(x, "SpatVector")) return(terra::geomtype(x) == "polygons")
  if (inherits(x, "Spatial")) return(inherits(x, "SpatialPolygons"))
  inherits(x, "sfc") && all(sf::st_dimension(sf::st_geometry(x)) == 2, na.rm = TRUE) ||
    inherits(x, "sf") && all(sf::st_dimension(x) == 2, na.rm = TRUE)
}

# For each polygon about `n` points of a regular grid, with weights; on the globe these are as the areas of the cells.
area_points <- function(x, n, call = caller_env()) {
  need_package("sf", "newdata with polygons", call)
  if (is.null(n)) n <- 400
  if (!is.numeric(n) || length(n) != 1 || !is.finite(n) || n < 1) {
    stop_kernops("input", "For polygons, {.arg block} must be the number of points that stand for each of them.",
                 call = call)
  }
  shapes <- sf::st_geometry(if (inherits(x, c("sf", "sfc"))) x else sf::st_as_sf(x))
  round <- isTRUE(sf::st_is_longlat(shapes))
  shapes <- sf::st_set_crs(shapes, NA)
  u <- lapply(seq_along(shapes), function(k) points_within(shapes[k], n))
  list(u = u, weight = lapply(u, function(u) {
    weight <- if (round) cos(u[, 2] * pi / 180) else rep(1, nrow(u))
    weight / sum(weight)
  }))
}

points_within <- function(shape, n) {
  box <- sf::st_bbox(shape)
  if (anyNA(box)) return(matrix(NA_real_, 1, 2))
  step <- sqrt(as.numeric(sf::st_area(shape)) / n)
  along <- function(low, high) {
    count <- max(1, round((high - low) / step))
    low + (seq_len(count) - 0.5) * (high - low) / count
  }
  grid <- as.matrix(expand.grid(along(box[["xmin"]], box[["xmax"]]), along(box[["ymin"]], box[["ymax"]])))
  spots <- sf::st_cast(sf::st_sfc(sf::st_multipoint(grid)), "POINT")
  inside <- lengths(sf::st_intersects(spots, shape)) > 0
  # a sliver may be between them
  if (!any(inside)) return(unname(sf::st_coordinates(sf::st_point_on_surface(shape))[1, 1:2, drop = FALSE]))
  unname(grid[inside, , drop = FALSE])
}
