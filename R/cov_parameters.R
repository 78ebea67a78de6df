# The kinds of parameters without a unit, such as correlations. To add a kind, write a call of parameter_kind().
# Searches, starting values, posterior draws and profiles read the properties of the kind.

# `search`: the limits of a search. `start`: the limits of starting values. Starting values are spread evenly on the
# scale of the search or, if `even`, on the scale of the values. `limits`: the limits of the values; NA for directions.
# `log`: whether the search is on the scale of logarithms. `proper`: whether the posterior needs no prior because the
# limits are finite.
parameter_kind <- function(search, start, limits = c(if (log) 0 else -Inf, Inf), log = TRUE, proper = TRUE,
                           even = !log) {
  list(search = search, start = start, limits = limits, log = log, proper = proper, even = even)
}

parameter_kinds <- list(
  shape = parameter_kind(c(0.02, 100), c(0.3, 3), proper = FALSE),
  nu = parameter_kind(c(0.1, 20), c(0.4, 3)),
  power = parameter_kind(c(0.05, 1.99), c(0.4, 1.8), even = TRUE),
  ratio = parameter_kind(c(0.02, 1), c(0.2, 0.8), limits = c(0, 1)),
  angle = parameter_kind(c(-180, 360), c(0, 180), limits = c(NA, NA), log = FALSE),
  correlation = parameter_kind(c(-0.998, 0.998), c(-0.8, 0.8), limits = c(-1, 1), log = FALSE),
  interaction = parameter_kind(c(0, 1), c(0, 1), limits = c(0, 1), log = FALSE)
)

# TRUE if values of this kind are positive, and the search uses their logarithms.
is_log_kind <- function(kind) kind != "center" && (parameter_kinds[[kind]]$log %||% TRUE)

kinds_with_limits <- function() names(Filter(function(kind) kind$proper, parameter_kinds))

# The starting value at a position between 0 and 1 in the limits `start`.
start_of_kind <- function(kind, position) {
  kind <- parameter_kinds[[kind]]
  low <- kind$start[[1]]
  high <- kind$start[[2]]
  if (kind$even) low + (high - low) * position else low * (high / low)^position
}

# The limits of the values of a parameter, given its row in the table of parameters.
limits_of <- function(row) parameter_kinds[[row$kind]]$limits %||% c(if (row$log) 0 else -Inf, Inf)
