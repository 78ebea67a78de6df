# Longitude and latitude: the distance of two points is the length of the chord through the Earth.

great_circle_geometry <- geometry(
  "great_circle", words = "great circle", angular = TRUE,
  take = function(arguments, parameters, call) {
    if (!identical(arguments$distance, "great_circle")) return(NULL)
    if (!has_ranges(arguments, parameters)) return(list())
    stop_kernops("input", "Great-circle distance requires a single {.arg range}.", call = call)
  },
  check = function(leaf, dims, call) check_coordinates("Great-circle distance", 2, dims, call),
  sq_distance = function(x, y, p, dims) over_range(sprintf("SqDist(%s, %s)", sphere_text(x), sphere_text(y)), p),
  place = function(u) on_sphere(u),
  metric = function(p, dims) list(views = list(list(place = on_sphere, weight = 1 / p$range^2)))
)

sphere_text <- function(point) {
  lon <- sprintf("(0.017453292519943295 * Elem(%s, 0))", point)
  lat <- sprintf("(0.017453292519943295 * Elem(%s, 1))", point)
  sprintf("(6371.0088 * Concat(Cos(%1$s) * Concat(Cos(%2$s), Sin(%2$s)), Sin(%1$s)))", lat, lon)
}

# Converts longitude and latitude in degrees to points in space, in km.
on_sphere <- function(u) {
  rad <- u * pi / 180
  6371.0088 * cbind(cos(rad[, 2]) * cos(rad[, 1]), cos(rad[, 2]) * sin(rad[, 1]), sin(rad[, 2]))
}

# Covariances for which the user chose no distance get chords through the Earth as their distance.
on_the_globe <- function(covariance, d) {
  chosen <- change_leaves(covariance, function(leaf, path) {
    if (fits_globe(leaf, d)) leaf$geometry <- great_circle_geometry
    leaf
  })
  if (!identical(chosen, covariance)) {
    tell_great_circle("{.code distance = \"euclidean\"} in the covariance takes degrees as lengths.")
  }
  if (!all_leaves(chosen, function(leaf) !takes_degrees(leaf, d))) {
    cli::cli_warn(c("The coordinates are longitude and latitude, measured in degrees.",
                    i = "{.code distance = \"great_circle\"} in the covariance measures km, with a single range."))
  }
  chosen
}

has_open_distance <- function(leaf) leaf$geometry$lengths && !isTRUE(leaf$geometry$by_user)

fits_globe <- function(leaf, d) {
  has_open_distance(leaf) && leaf$geometry$name == "euclidean" && identical(leaf_dims(leaf, d), c(1, 2)) &&
    leaf$kernel$most_dims >= 3  # chords are distances in three dimensions
}

takes_degrees <- function(leaf, d) {
  has_open_distance(leaf) && !leaf$geometry$angular && any(leaf_dims(leaf, d) <= 2)
}

# TRUE if a term of the covariance reads longitude and latitude.
on_globe <- function(model) !all_leaves(model$covariance, function(leaf) !leaf$geometry$angular)

tell_great_circle <- function(instead) {
  cli::cli_inform(c("The coordinates are longitude and latitude: distances are great-circle distances, in km.",
                    i = instead), class = "kernops_great_circle")
}
