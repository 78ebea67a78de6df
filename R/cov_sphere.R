# Longitude and latitude: distances are those on the globe.

# Covariances of a distance that the user did not choose take the chord through the Earth.
on_the_globe <- function(covariance, d) {
  chosen <- change_leaves(covariance, function(leaf, path) if (fits_globe(leaf, d)) as_great_circle(leaf) else leaf)
  if (!identical(chosen, covariance)) {
    tell_great_circle("{.code distance = \"euclidean\"} in the covariance takes degrees as lengths.")
  }
  if (!all_leaves(chosen, function(leaf) !takes_degrees(leaf, d))) {
    cli::cli_warn(c("The coordinates are longitude and latitude, measured in degrees.",
                    i = "{.code distance = \"great_circle\"} in the covariance measures km, with a single range."))
  }
  chosen
}

has_open_distance <- function(leaf) leaf$geometry != "none" && is.null(leaf$distance)

fits_globe <- function(leaf, d) {
  has_open_distance(leaf) && leaf$geometry == "euclidean" && !leaf$ard && identical(leaf_dims(leaf, d), c(1, 2)) &&
    leaf$most_dims >= 3  # chords are distances in space
}

takes_degrees <- function(leaf, d) {
  has_open_distance(leaf) && leaf$geometry != "great_circle" && any(leaf_dims(leaf, d) <= 2)
}

# The columns of points that a leaf uses; `at`: where the coordinates are among more columns.
leaf_dims <- function(leaf, d) as.numeric(leaf$dims %||% leaf$at %||% seq_len(d))

as_great_circle <- function(leaf) {
  leaf$geometry <- "great_circle"
  leaf$translation_invariant <- FALSE
  leaf
}

tell_great_circle <- function(instead) {
  cli::cli_inform(c("The coordinates are longitude and latitude: distances are great-circle distances, in km.",
                    i = instead), class = "kernops_great_circle")
}
