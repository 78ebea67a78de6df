# Charts, which map polygons to a plane. A chart is a list of the functions
#   to_plane(ring)   a ring of vertices as points in the plane, which are dense enough to be joined by straight lines
#   from_plane(u)    the coordinates of points in the plane, a matrix
#   density(u)       the area on the ground divided by the area in the plane, up to a constant factor

plane_chart <- function(polygons) list(to_plane = identity, from_plane = identity, density = function(u) 1)

# A chart in which edges are straight in longitude and latitude, as in sf without s2.
degrees_chart <- function(polygons) replace(plane_chart(), "density", list(function(u) cos(u[, 2] * pi / 180)))

# Lambert's azimuthal equal-area projection, centred at the middle of the edges, which are parts of great circles.
# from_plane() returns longitudes near the longitudes of the vertices, which may exceed 180 degrees.
sphere_chart <- function(polygons) {
  rings <- unlist(polygons, FALSE)
  centre <- middle_of_edges(lapply(rings, unit_vectors))
  axes <- tangent_axes(centre)
  near <- function(lon, target) lon + 360 * round((target - lon) / 360)
  middle <- near(longitude(centre), mean(range(unlist(lapply(rings, function(ring) ring[, 1])))))
  list(
    to_plane = function(ring) {
      p <- great_circles(unit_vectors(ring))
      # pmax() bounds the scale, because the antipode of the centre has no projection
      p %*% t(axes) * sqrt(2 / pmax(1 + as.vector(tcrossprod(p, centre)), 1e-12))
    },
    from_plane = function(u) {
      square <- pmin(rowSums(u^2), 4)
      p <- u * sqrt(1 - square / 4)
      p <- p %*% axes + (1 - square / 2) %*% centre
      cbind(near(longitude(p), middle), asin(pmin(pmax(p[, 3], -1), 1)) * 180 / pi)
    },
    density = function(u) 1
  )
}

# Scales rows to vectors of length 1.
unit_length <- function(p) p / sqrt(rowSums(p^2))

unit_vectors <- function(u) unit_length(on_sphere(u))

longitude <- function(p) atan2(p[, 2], p[, 1]) * 180 / pi

cross_product <- function(a, b) {
  a[, c(2, 3, 1), drop = FALSE] * b[, c(3, 1, 2), drop = FALSE] -
    a[, c(3, 1, 2), drop = FALSE] * b[, c(2, 3, 1), drop = FALSE]
}

# The unit vectors towards east and north at a point of the unit sphere.
tangent_axes <- function(p) {
  east <- if (abs(p[[3]]) < 1 - 1e-12) cross_product(t(c(0, 0, 1)), p) else t(c(0, 1, 0))
  east <- unit_length(east)
  rbind(east, cross_product(p, east))
}

# The unit vector in the direction of the mean of the midpoints of all edges, weighted by the lengths of the edges. If
# the edges surround the sphere, this mean is nearly zero, and the direction of the vector area is returned instead.
middle_of_edges <- function(rings) {
  a <- do.call(rbind, lapply(rings, function(p) p[-nrow(p), , drop = FALSE]))
  b <- do.call(rbind, lapply(rings, function(p) p[-1, , drop = FALSE]))
  length <- sqrt(rowSums((b - a)^2))
  if (all(length == 0)) return(a[1, , drop = FALSE])
  middle <- colSums((a + b) * length) / (2 * sum(length))
  if (sum(middle^2) < 0.01) middle <- colSums(cross_product(a, b))
  unit_length(t(middle))
}

# Points on the great circles through the vertices, at most one degree apart. NA between antipodes, because the great
# circle through antipodes is not unique.
great_circles <- function(p) {
  n <- nrow(p)
  gap <- sqrt(rowSums((p[-1, , drop = FALSE] - p[-n, , drop = FALSE])^2))
  parts <- pmax(1, ceiling(2 * asin(pmin(gap / 2, 1)) * 180 / pi))
  edge <- rep(seq_len(n - 1), parts)
  share <- ifelse(gap < 2 - 1e-9, 0, NA)[edge] + (sequence(parts) - 1) / parts[edge]
  unit_length(rbind(p[edge, , drop = FALSE] * (1 - share) + p[edge + 1, , drop = FALSE] * share, p[n, ]))
}
