# The quality of an approximation by neighbours: the changes of the log-likelihood, the estimates, predictions and
# standard errors with twice as many neighbours.

# The tolerable changes for n observations, see gp_control(): of the log-likelihood; of estimates and predictions, in
# standard errors; and of standard errors, as relative changes.
tolerable_changes <- function(n, tol) {
  tol * c(loglik = max(1000, n), estimates = 500, predictions = 100, se = 30)
}

# The changes of the results of a fit, divided by the tolerable changes.
relative_changes_of <- function(object) {
  abs(object$vecchia$changes) / tolerable_changes(nobs.gp(object), object$how$control$neighbour_tol)
}

# `times` is the largest change in units of the tolerable change.
verdict_by <- function(times) if (times <= 1) "good" else if (times <= 5) "fair" else "poor"

approximation_verdict <- function(object) {
  if (isTRUE(object$vecchia$all)) return("exact")
  changes <- relative_changes_of(object)
  if (all(is.na(changes))) "unknown" else verdict_by(max(changes, na.rm = TRUE))
}

# Returns fit_of(search), the fit at the end of a search. With `neighbours = "auto"`, the number of neighbours is
# doubled and the search resumed until the changes are tolerable or another doubling would exceed the limit.
with_enough_neighbours <- function(search, likelihood, fit_of) {
  repeat {
    fit <- fit_of(search)
    if (!has_neighbours(fit)) return(fit)
    fit <- with_prediction_changes(fit)
    control <- fit$how$control
    chosen <- !identical(control$neighbours, "auto") || approximation_verdict(fit) %in% c("exact", "good")
    m <- likelihood$count()
    if (chosen || is.infinite(fit$vecchia$changes[["loglik"]]) || 2L * m > control$neighbour_limit) return(fit)
    likelihood$double()
    say_progress(step = paste("with", likelihood$count(), "neighbours"))
    if (!is.null(search$resume)) search <- search$resume()
  }
}

# The description of the neighbours that a fit keeps: the changes of the likelihood, and `moved`, the parameters that
# twice as many neighbours would give.
kept_neighbours <- function(likelihood, search, state, model) {
  kept <- likelihood$kept_neighbours(search$theta)
  if (is.null(kept)) return(NULL)
  change <- likelihood$doubled(search$theta, state)
  moved <- moved_estimates(change, search, model)
  estimates <- if (is.null(search$value) || is.null(change$gradient)) NA else moved$size
  c(kept, list(changes = c(loglik = change$loglik %||% NA, estimates = estimates), moved = unname(moved$theta)))
}

# Adds the changes of predictions, and the numbers of neighbours of jointly predicted points. If observations are many
# and noisy, new points are conditioned on the observations or, if this is more accurate, on values of the field at the
# observations.
with_prediction_changes <- function(fit) {
  theta <- fit$vecchia$moved[seq_along(fit$theta)]
  fit$vecchia$moved <- NULL
  observed <- compared_fit(fit, theta)
  change <- prediction_change_of(observed)
  may_gain <- fit$how$method == "vecchia" && is_observed_base(fit) && isTRUE(change > 1)
  most <- if (may_have_cells(fit)) Inf else most_latent
  if (!may_gain || !may_have_latent_field(fit, most)) return(observed)
  latent <- compared_fit(with_latent_field(fit), theta)
  latent$vecchia$observed <- observed$vecchia$new
  if (isTRUE(prediction_change_of(latent) < change)) latent else observed
}

compared_fit <- function(fit, theta) {
  none <- c(predictions = NA_real_, se = NA_real_)
  # no comparison for iterative coefficients, because each standard error requires a solution by conjugate gradients
  changes <- if (fit$vecchia$all || isTRUE(fit$vecchia$iterative)) none else tryCatch({
    compared <- compared_parts(fit)
    count <- predicting_count(fit)
    if (length(count)) {
      m <- enough_to_predict(compared[[1]]$fit, compared[[1]]$sites, count)
      fit$vecchia[[count]] <- compared[[1]]$fit$vecchia[[count]] <- m
    }
    prediction_changes(compared, theta)
  }, kernops_singular_error = function(e) none)
  fit$vecchia$changes <- c(fit$vecchia$changes, changes)
  fit
}

prediction_change_of <- function(fit) max(relative_changes_of(fit)[c("predictions", "se")])

is_observed_base <- function(object) object$how$method == "vif" || !has_latent_field(object)

# The number of neighbours of new points that predictions choose: observations and earlier new points in joint
# predictions, or observations for VIF. If there are few inputs, values of the field at the observations suffice.
predicting_count <- function(fit) {
  if (length(fit$vecchia$inducing)) return("local")
  if (fit$how$method == "vecchia" && (is_observed_base(fit) || fit$model$d >= 4)) "new"
}

# The smallest sufficient number of neighbours. The search starts at the number of local kriging and doubles the number
# until predictions no longer change.
enough_to_predict <- function(object, sites, count, max_count = most_neighbours) {
  m <- object$vecchia$local
  tolerable <- tolerable_changes(1, object$how$control$neighbour_tol)[c("predictions", "se")]
  moments <- function(m) field_moments(do.call(replace_neighbours, c(list(object), stats::setNames(m, count))), sites)
  before <- moments(m)
  while (2L * m <= min(max_count, nobs.gp(object))) {
    after <- moments(2L * m)
    if (isTRUE(all(change_of_moments(before, after) <= tolerable))) break
    m <- 2L * m
    before <- after
  }
  m
}

compared_sites <- 200
most_neighbours <- 240L

# A list of fits, each with the sites where its predictions are compared.
compared_parts <- function(object) {
  parts <- parts_of_fit(object)
  lapply(parts, function(part) {
    sites <- certified_sites(part, ceiling(compared_sites / length(parts)))
    list(fit = near_sites(part, sites), sites = sites)
  })
}

# The fit restricted to the observations that can be neighbours of the sites, and to some that cover all
# data.
near_sites <- function(object, sites) {
  if (length(object$vecchia$inducing)) return(represented_fit(object))
  if (!is_observed_base(object)) return(object)
  count <- 2L * max(most_neighbours, object$vecchia$local)
  data <- object$data
  near <- neighbour_coordinates(object$model, object$theta, data$u)
  data$cover <- covering_points(near)
  if (length(data$y) >= 2 * count * nrow(sites$u)) {
    from <- neighbour_coordinates(object$model, object$theta, sites$u, data$u)
    rows <- sort(unique(c(nearest_points(from, near, count), data$cover)))
    data <- replace(rows_of_data(data, rows), "cover", list(match(data$cover, rows)))
  }
  replace(object, "data", list(data))
}

# The fit to representative observations, if there are many observations and the representative ones determine the
# trend. The low-rank part of VIF depends on all observations of a fit, so a smaller fit saves time.
represented_fit <- function(object) {
  rows <- representative_rows(object$model, object$data, compared_points, object$how$control$seed)
  data <- rows_of_data(object$data, rows)
  if (length(independent_columns(data$x)) < ncol(data$x)) return(object)
  replace(object, c("data", "cell"), list(data, new_cell()))
}

# The changes of predictions if there are twice as many neighbours and the parameters are `theta`, the estimates with
# twice as many neighbours.
prediction_changes <- function(compared, theta) {
  pairs <- lapply(compared, function(part) {
    about <- part$fit$vecchia
    more <- replace_neighbours(part$fit, m = 2L * about$m, local = 2L * about$local, new = 2L * about$new,
                               field = 2L * about$field, inducing = 2L * about$inducing)
    more <- replace(more, "theta", list(stats::setNames(theta, names(part$fit$theta))))
    lapply(list(part$fit, more), field_moments, part$sites)
  })
  change_of_moments(do.call(rbind, lapply(pairs, `[[`, 1)), do.call(rbind, lapply(pairs, `[[`, 2)))
}

# Clears the cell of a fit, which keeps results that depend on the neighbours of its observations.
replace_neighbours <- function(object, ...) {
  counts <- Filter(length, list(...))
  if (any(c("m", "inducing") %in% names(counts))) object["cell"] <- list(NULL)
  object$vecchia[names(counts)] <- lapply(counts, function(m) as.integer(min(m, nobs.gp(object))))
  object
}

field_moments <- function(object, sites) {
  moments <- predicted_moments(object, sites, field_request$how, TRUE)
  data.frame(mean = moments$trend + moments$process, se = sqrt(moments$variance))
}

# Two root mean squares over the sites: of the differences of means, in standard errors; and of the logarithms of the
# ratios of standard errors. Sites whose standard error is 0 are at observations without noise and are omitted.
change_of_moments <- function(before, after) {
  root <- function(x) if (length(x)) sqrt(mean(x^2)) else 0
  uncertain <- which(pmin(before$se, after$se) > 1e-8 * max(after$se, 0, na.rm = TRUE))
  before <- before[uncertain, ]
  after <- after[uncertain, ]
  c(predictions = root((after$mean - before$mean) / after$se), se = root(log(after$se / before$se)))
}

# A list with the fit itself. If predictions would factor the matrix of all observations, the list instead has fits to
# up to four parts of the data, each with the observations that are nearest to one observation. Fits with a family are
# represented by the normal approximation of the posterior (finish_family()).
parts_of_fit <- function(object, parts = 4, size = 500L) {
  if (is_observed_base(object)) return(list(object))
  object <- structure(replace(object, "family", list(NULL)), class = "gp")
  n <- nobs.gp(object)
  if (n <= parts * size) return(list(object))
  near <- neighbour_coordinates(object$model, object$theta, object$data$u)
  nearest <- nearest_points(near[some_positions(n, parts), , drop = FALSE], near, size)
  lapply(seq_len(parts), function(k) replace(object, "data", list(rows_of_data(object$data, sort(nearest[, k])))))
}
