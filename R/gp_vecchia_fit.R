# Fits by Vecchia's approximation: the search with neighbours that follow the ranges, and how many neighbours to take.

# Sets are fixed during a search. If other neighbours are near at its end, it continues with these; with
# `neighbours = "auto"`, also with twice as many, while these change the log-likelihood.
settled_neighbours <- function(best, likelihood, target) {
  control <- replace(target$how$control, "gain", 1e-5)
  again <- function() {
    found <- information_search(best$theta, target$evaluate, target$model, target$profile, control)
    for (count in c("iterations", "evaluations")) found[[count]] <- found[[count]] + best[[count]]
    found$rivals <- best$rivals
    found
  }
  repeat {
    for (round in 1:3) {
      if (!likelihood$regroup(best$theta)) break
      best <- again()
    }
    if (!identical(control$neighbours, "auto")) return(best)
    change <- likelihood$doubled(best$theta, likelihood$evaluate(best$theta)$value)
    if (is.null(change) || abs(change) <= control$neighbour_tol * length(target$data$y)) return(best)
    say_progress(step = "more neighbours")
    likelihood$double(best$theta)
    best <- again()
  }
}

# How many observations a new point is conditioned on: twice as many while that decreases the standard error of the
# field by more than half a hundredth, between observations. Noisy observations say little each, so that many are needed.
local_count <- function(data, model, theta, m, most = 480L) {
  n <- length(data$y)
  if (m >= n - 1) return(n)
  near <- neighbour_coordinates(model, theta, data$u)
  some <- unique(round(seq(1, n, length.out = min(n, 200))))
  beside <- nearest_points(near[some, , drop = FALSE], near, min(2L, n))
  between <- (data$u[beside[1, ], , drop = FALSE] + data$u[beside[nrow(beside), ], , drop = FALSE]) / 2
  values <- covariance_matrix(model)
  noise <- noise_variance(data, model, theta)
  sd_of <- function(m) mean(local_sets(values, data, theta, noise, near, model, between, m)$sd)
  m <- max(1L, m)
  sd <- sd_of(min(m, n))
  while (m < n && m < most) {
    finer <- sd_of(min(2L * m, n))
    if (!is.finite(finer) || finer >= 0.995 * sd) break
    m <- 2L * m
    sd <- finer
  }
  min(m, n)
}

# What a fit keeps of its neighbours: how many, of observations and of new points, in which ordering, and how much twice
# as many would raise the log-likelihood.
about_neighbours <- function(problem, likelihood, theta, value, how, estimated) {
  m <- likelihood$count()
  list(m = m, ordering = how$control$ordering, doubled = if (estimated) likelihood$doubled(theta, value),
       local = local_count(problem$data, problem$model, theta, m))
}

# The method of `method = "auto"`.
chosen_method <- function(n, model, precision, backend, control) {
  if (n <= control$exact_limit) return("exact")
  if (precision == "float64" && backend != "cuda" && is_local(model)) "vecchia" else "iterative"
}

# Whether distant observations matter little, once the near ones are known: the correlation decreases with the distance
# in a space of few dimensions.
is_local <- function(model, most = 10) {
  far <- function(leaf) leaf$label %in% c("linear", "constant", "periodic") || (leaf$own && !leaf$movable)
  model$d <= most && !any(vapply(leaves_of(model$covariance), far, NA)) && length(leaves_of(model$covariance)) >
    length(model$nugget)
}

check_vecchia <- function(precision, backend, call = caller_env()) {
  given <- c(if (precision != "float64") "precision", if (backend == "cuda") "backend")
  if (!length(given)) return(invisible())
  stop_kernops("input", c("{.code method = \"vecchia\"} computes in float64 on the CPU.",
                          x = "Remove {.arg {given}}, or use {.code method = \"iterative\"}."), call = call)
}

neighbour_words <- function(about) {
  c(paste0(about$m, " (", about$ordering, ")"), paste(about$local, "for predictions"), if (!is.null(about$doubled)) {
    paste("log-likelihood", sprintf("%+.2g", about$doubled), "with twice as many")
  })
}
