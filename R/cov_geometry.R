# A geometry measures the distance of two points, for kernels that are functions of distance. To add a geometry, write a
# call of geometry() and add its name to geometries().

# `...` are properties and methods, which replace the defaults below. In methods, the list `p` contains the parameters
# of a leaf, or the texts of these parameters, and `dims` are the indices of the coordinates of the leaf.
geometry <- function(name, ...) {
  euclidean <- list(
    parameters = list(),         # parameters that the geometry adds to a leaf, with values or NULL
    words = NULL,                # text in the printed covariance
    spread = character(),        # parameters with a value for each coordinate
    isotropic = TRUE,
    lengths = TRUE,              # ranges are lengths
    angular = FALSE,             # coordinates are longitude and latitude in degrees
    # returns the parameters of the geometry if the arguments of a constructor select this geometry, otherwise NULL
    take = function(arguments, parameters, call) list(),
    check = function(leaf, dims, call) invisible(),
    # the formula of the squared distance divided by the squared range
    sq_distance = function(x, y, p, dims) over_range(sprintf("SqDist(%s, %s)", x, y), p),
    place = function(u) u,       # maps points to a Euclidean space with these distances
    # the metric for finding neighbours: the matrix M of squared scaled distances h' M h, or `views` (see cov_metric.R)
    metric = function(p, dims) list(matrix = diag((1 / rep_len(p$range, length(dims)))^2, length(dims))),
    # frequencies w of a kernel at range 1, one per row, in the space of place()
    frequencies = function(w, p, dims) sweep(w, 2, rep_len(p$range, ncol(w)), "/")
  )
  c(list(name = name), utils::modifyList(euclidean, list(...)))
}

over_range <- function(text, p) if (is.null(p$range)) text else sprintf("(%s / Square(%s))", text, p$range)

euclidean_geometry <- geometry("euclidean")

# A range for each coordinate (automatic relevance determination).
ranges_geometry <- geometry(
  "ranges", spread = "range", isotropic = FALSE,
  take = function(arguments, parameters, call) if (has_ranges(arguments, parameters)) list(),
  sq_distance = function(x, y, p, dims) sprintf("WeightedSqDist(Inv(Square(%s)), %s, %s)", p$range, x, y)
)

has_ranges <- function(arguments, parameters) isTRUE(arguments$ard) || length(parameters$range) > 1

# The geometry of kernels that read the coordinates of points instead of a distance.
no_geometry <- geometry("none", lengths = FALSE, metric = function(p, dims) list())

# Each coordinate is mapped to a circle whose circumference is the period.
circle_geometry <- geometry(
  "circle", lengths = FALSE,
  metric = function(p, dims) {
    range <- rep_len(p$range %||% 1, length(dims))
    list(views = list(list(place = function(u) on_circles(u, p$period, range), weight = 1)))
  },
  frequencies = function(w, p, dims) w
)

# The squared distance of two images a and b of points x and y is 4 sin^2(pi (x - y) / period) / range^2.
on_circles <- function(u, period, range) {
  angle <- 2 * pi * u / period
  cbind(cos(angle), sin(angle)) / rep(c(range, range), each = nrow(u))
}

geometries <- function() {
  list(anisotropic_geometry, great_circle_geometry, space_time_geometry, ranges_geometry, euclidean_geometry)
}

# The first geometry that accepts the arguments of a constructor, with its parameters.
choose_geometry <- function(kernel, parameters, arguments, call) {
  check_flag(arguments$ard %||% FALSE, "ard", call)
  if (isTRUE(arguments$ard) && !"range" %in% names(parameters)) {
    stop_kernops("input", "{.fn {kernel$label}} has no {.arg range}: {.arg ard} is not possible.", call = call)
  }
  if (!is.null(kernel$geometry)) {
    spread <- if (has_ranges(arguments, parameters)) "range" else character()
    return(replace(kernel$geometry, "spread", list(spread)))
  }
  if (!is.null(arguments$distance)) check_choice(arguments$distance, "distance", c("euclidean", "great_circle"), call)
  for (geometry in geometries()) {
    taken <- geometry$take(arguments, parameters, call)
    if (!is.null(taken)) break
  }
  geometry[names(taken)] <- taken
  geometry$by_user <- !is.null(arguments$distance)
  geometry
}

geometry_arguments <- c("ard", "angle", "ratio", "distance", "time", "speed")

check_coordinates <- function(what, need, dims, call) {
  if (length(dims) == need) return(invisible())
  stop_kernops("dim", "{what} needs {need} coordinates, not {length(dims)}.", call = call)
}

choose_coordinates <- function(name, dims, d) {
  if (identical(as.integer(dims), seq_len(d))) return(name)
  if (length(dims) == 1) return(code_text("Elem(", name, ", ", dims - 1, ")"))
  if (all(diff(dims) == 1)) return(code_text("Extract(", name, ", ", dims[[1]] - 1, ", ", length(dims), ")"))
  Reduce(function(a, b) code_text("Concat(", a, ", ", b, ")"), code_text("Elem(", name, ", ", dims - 1, ")"))
}
