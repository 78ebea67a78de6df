# Separate distances in space and in time, for kernels that are functions of both distances. Another geometry defines
# the distance in space.

time_apart_geometry <- utils::modifyList(space_time_geometry, list(
  name = "time_apart",
  sq_distance = function(x, y, p, dims) {
    k <- match(p$time, dims)
    space <- vapply(c(x, y), choose_coordinates, "", seq_along(dims)[-k], length(dims))
    over_range(sprintf("SqDist(%s, %s)", space[[1]], space[[2]]), p)
  },
  # the squared distance in time, divided by the squared range; there is one range for distances in space and time
  sq_time = function(x, y, p, dims) {
    k <- match(p$time, dims) - 1L
    over_range(sprintf("Square(%s * (Elem(%s, %d) - Elem(%s, %d)))", p$speed, x, k, y, k), p)
  }
))
