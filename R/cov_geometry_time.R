# The distance in space and time; one unit of time equals `speed` units of space.

space_time_geometry <- geometry(
  "space_time",
  take = function(arguments, parameters, call) {
    if (is.null(arguments$time) && is.null(arguments$speed)) return(NULL)
    check_time(arguments$time, parameters, arguments, call)
    list(parameters = list(speed = arguments$speed), time = arguments$time, words = paste0("time = ", arguments$time))
  },
  check = function(leaf, dims, call) {
    time <- leaf$geometry$time
    if (length(dims) >= 2 && time %in% dims) return(invisible())
    stop_kernops("dim", "{.fn {leaf$label}} has {.code time = {time}}, which must be one of several coordinates.",
                 call = call)
  },
  sq_distance = function(x, y, p, dims) {
    k <- match(p$time, dims)
    space <- vapply(c(x, y), choose_coordinates, "", seq_along(dims)[-k], length(dims))
    over_range(sprintf("(SqDist(%s, %s) + Square(%s * (Elem(%s, %d) - Elem(%s, %d))))", space[[1]], space[[2]], p$speed,
                       x, k - 1L, y, k - 1L), p)
  },
  metric = function(p, dims) list(matrix = diag((time_scale(p, dims) / rep_len(p$range, length(dims)))^2)),
  frequencies = function(w, p, dims) sweep(w, 2, rep_len(p$range, length(dims)) / time_scale(p, dims), "/")
)

time_scale <- function(p, dims) ifelse(dims == p$time, p$speed, 1)

check_time <- function(time, parameters, arguments, call) {
  if (is.null(time)) stop_kernops("input", "{.arg speed} requires {.arg time}, the number of a coordinate.",
                                  call = call)
  check_number(time, "time", least = 1, whole = TRUE, call = call)
  fits <- !has_ranges(arguments, parameters) && is.null(arguments$distance) && "range" %in% names(parameters)
  if (fits) return(invisible())
  stop_kernops("input", "{.arg time} requires a single {.arg range}, without {.arg ard}, {.arg angle}, {.arg ratio} and
                         {.arg distance}.", call = call)
}
