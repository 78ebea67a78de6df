# Geometric anisotropy: one angle and ratio in the plane, three angles and two ratios in space.

anisotropic_geometry <- geometry(
  "anisotropic", isotropic = FALSE,
  take = function(arguments, parameters, call) {
    if (is.null(arguments$angle) && is.null(arguments$ratio)) return(NULL)
    if (!has_ranges(arguments, parameters) && !identical(arguments$distance, "great_circle")) {
      return(list(parameters = anisotropy(arguments$angle, arguments$ratio, call)))
    }
    stop_kernops("input", "{.arg angle} and {.arg ratio} require a single {.arg range} and Euclidean distance.",
                 call = call)
  },
  check = function(leaf, dims, call) {
    in_space <- length(leaf$parameters$ratio) == 2
    check_coordinates(if (in_space) "Anisotropy by three angles" else "Anisotropy", if (in_space) 3 else 2, dims, call)
  },
  sq_distance = function(x, y, p, dims) {
    u <- sprintf("(%s - %s)", x, y)
    over_range((if (length(dims) == 2) plane_anisotropy else space_anisotropy)(u, p$angle, p$ratio), p)
  },
  metric = function(p, dims) list(matrix = crossprod(anisotropic_scales(p))),
  frequencies = function(w, p, dims) w %*% anisotropic_scales(p)
)

anisotropy <- function(angle, ratio, call) {
  in_space <- length(angle) == 3 || length(ratio) == 2
  parameters <- list(angle = angle %||% rep(0, if (in_space) 3 else 1),
                     ratio = ratio %||% rep(0.5, if (in_space) 2 else 1))
  if (identical(lengths(parameters, use.names = FALSE), if (in_space) 3:2 else c(1L, 1L))) return(parameters)
  stop_kernops("input", "Anisotropy needs one {.arg angle} and one {.arg ratio} in 2-D, three angles and two ratios in
                         3-D.", call = call)
}

plane_anisotropy <- function(u, angle, ratio) {
  sin <- sprintf("Sin(0.017453292519943295 * %s)", angle)
  cos <- sprintf("Cos(0.017453292519943295 * %s)", angle)
  east <- sprintf("Elem(%s, 0)", u)
  north <- sprintf("Elem(%s, 1)", u)
  sprintf("(Square(%1$s * %3$s + %2$s * %4$s) + Square((%1$s * %4$s - %2$s * %3$s) / %5$s))", east, north, sin, cos,
          ratio)
}

# Rotates points by three angles in sequence: from north, out of the plane, and about the longest axis.
space_anisotropy <- function(u, angle, ratio) {
  rotate <- function(a, b, k) {
    turn <- sprintf("(0.017453292519943295 * Elem(%s, %d))", angle, k)
    sprintf(c("(%1$s * Cos(%3$s) + %2$s * Sin(%3$s))", "(%2$s * Cos(%3$s) - %1$s * Sin(%3$s))"), a, b, turn)
  }
  plane <- rotate(sprintf("Elem(%s, 1)", u), sprintf("Elem(%s, 0)", u), 0)
  along <- rotate(plane[[1]], sprintf("Elem(%s, 2)", u), 1)
  across <- rotate(along[[2]], plane[[2]], 2)
  sprintf("(Square(%1$s) + Square(%2$s / Elem(%4$s, 0)) + Square(%3$s / Elem(%4$s, 1)))", along[[1]], across[[2]],
          across[[1]], ratio)
}

# The matrix A for which |A h| is the scaled distance of h. A' w are frequencies of the anisotropic kernel if w are
# frequencies of the isotropic kernel with range 1. The rows of A are the axes of the anisotropy, divided by their
# ranges.
anisotropic_scales <- function(p) {
  range <- p$range %||% 1
  a <- p$angle * pi / 180
  if (length(a) == 1) return(rbind(c(sin(a), cos(a)) / range, c(cos(a), -sin(a)) / (range * p$ratio)))
  rotation <- function(k, from, to) {
    turn <- diag(3)
    turn[c(from, to), c(from, to)] <- cbind(c(cos(a[[k]]), -sin(a[[k]])), c(sin(a[[k]]), cos(a[[k]])))
    turn
  }
  # maps north, east and up to the longest axis and the two axes across it
  axes <- rotation(3, 3, 2) %*% rotation(2, 1, 3) %*% rotation(1, 1, 2) %*% diag(3)[c(2, 1, 3), ]
  axes / (range * c(1, p$ratio))
}
