# The search of gp_propose(): candidates that fill the box, and quasi-Newton steps from the best candidates.

# The best point that the search finds, as a matrix with one row. `leaders` are observed points that are probably near
# the best point.
best_of_box <- function(target, box, starts, count, leaders, seed) {
  d <- ncol(box)
  shift <- with_seed(seed, stats::runif(d))
  even <- (even_points(count, d) + rep(shift, each = count)) %% 1 # evenly spread points, shifted by a random vector
  candidates <- in_box(rbind(even, around_leaders(leaders, box, even)), box)
  values <- target$value(candidates)
  values[is.nan(values)] <- -Inf
  first <- utils::head(order(values, decreasing = TRUE), starts)
  ends <- lapply(first, function(row) climb(candidates[row, ], target, box, 10))
  best <- ends[[which.max(vapply(ends, function(end) end$value, 0))]]
  if (best$finished) best$x else climb(best$x[1, ], target, box, 100)$x
}

# For each leader in the box, some points near it, in units of the box. Each coordinate differs from the coordinate of
# the leader by at most a twentieth of the box.
around_leaders <- function(leaders, box, even, each = 5) {
  width <- box[2, ] - box[1, ]
  unit <- t((t(leaders) - box[1, ]) / ifelse(width > 0, width, 1))
  unit <- unit[rowSums(unit < 0 | unit > 1) == 0, , drop = FALSE]
  steps <- even[rep_len(seq_len(nrow(even)), each * nrow(unit)), , drop = FALSE] - 0.5
  pmin(pmax(unit[rep(seq_len(nrow(unit)), each = each), , drop = FALSE] + 0.1 * steps, 0), 1)
}

# The end point of a search that starts from x. The search uses coordinates in units of the box.
climb <- function(x, target, box, steps) {
  width <- box[2, ] - box[1, ]
  latest <- NULL
  both <- function(t) {
    if (identical(latest$t, t)) return(latest)
    here <- target$both(in_box(rbind(t), box))
    if (!is.finite(here$value)) here <- list(value = -1e300, gradient = 0 * t)
    latest <<- list(t = t, value = here$value, gradient = finite_or_0(here$gradient * width))
    latest
  }
  start <- (x - box[1, ]) / ifelse(width > 0, width, 1)
  end <- stats::optim(unname(start), function(t) both(t)$value, function(t) both(t)$gradient, method = "L-BFGS-B",
                      lower = 0, upper = 1, control = list(fnscale = -1, maxit = steps))
  list(x = in_box(rbind(end$par), box), value = end$value, finished = end$convergence == 0)
}

# The fit with a value of the field at x as an additional observation. The covariance parameters are unchanged.
with_believed <- function(fit, x, value) {
  trend <- trend_functions(fit)$at(x)
  data <- fit$data
  before <- if (length(unique(data$block)) < 2) host_factor(fit)
  jitter <- 1e-10 * mean(as.vector(covariance_diagonal(fit$model)(list(theta = fit$theta, x = data$u))))
  data$y <- c(data$y, value - trend$known)
  data$x <- rbind(data$x, trend$x)
  data$u <- rbind(data$u, new_sites(fit$parts$layout, centred(x, fit$center), NULL, NULL))
  data[c("noise", "weights", "rows")] <- Map(c, data[c("noise", "weights", "rows")], list(jitter, 1, NA))
  for (name in c("block", "location")) if (!is.null(data[[name]])) {
    data[[name]] <- c(data[[name]], if (name == "block") 1L else length(data$y))
  }
  likelihood <- exact_likelihood(data, fit$model, fit$how$reml, "cpu",
                                 before = if (is.matrix(before)) before)
  problem <- list(data = data, model = fit$model, center = fit$center)
  grown <- finish_fit(problem, likelihood, list(theta = unname(fit$theta)), caller_env())
  fit[c("beta", "state", "factor", "data")] <- grown[c("beta", "state", "factor", "data")]
  fit
}
