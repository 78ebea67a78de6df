# The quality of an approximation by neighbours: the changes of the log-likelihood, the estimates, predictions and
# standard errors when the number of neighbours is doubled.

# The tolerable changes for n observations, see gp_control(): the change of the log-likelihood; the changes of estimates
# and predictions, in standard errors; and the relative changes of standard errors.
tolerable_changes <- function(n, tol) {
  tol * c(loglik = max(1000, n), estimates = 500, predictions = 100, se = 30)
}

# The changes of the results of a fit, divided by the tolerable changes.
relative_changes_of <- function(object) {
  abs(object$vecchia$changes) / tolerable_changes(nobs.gp(object), object$how$control$neighbour_tol)
}

# `times` is the largest change divided by its tolerable change.
verdict_by <- function(times) if (times <= 1) "good" else if (times <= 5) "fair" else "poor"

approximation_verdict <- function(object) {
  if (isTRUE(object$vecchia$all)) return("exact")
  changes <- relative_changes_of(object)
  if (all(is.na(changes))) "unknown" else verdict_by(max(changes, na.rm = TRUE))
}

# Returns fit_of(search), the fit at the end of a search. With `neighbours = "auto"`, the function doubles the number of
# neighbours and resumes the search until the changes are tolerable or another doubling would exceed the limit.
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

# The description of the neighbours that is stored in a fit: the changes of the likelihood, and `moved`, the estimates
# that twice as many neighbours would give.
kept_neighbours <- function(likelihood, search, state, model) {
  kept <- likelihood$kept_neighbours(search$theta)
  if (is.null(kept)) return(NULL)
  change <- likelihood$doubled(search$theta, state)
  moved <- moved_estimates(change, search, model)
  estimates <- if (is.null(search$value) || is.null(change$gradient)) NA else moved$size
  c(kept, list(changes = c(loglik = change$loglik %||% NA, estimates = estimates), moved = unname(moved$theta)))
}

# Adds the changes of predictions, and the numbers of neighbours of jointly predicted points. If there are many noisy
# observations, new points are conditioned on the observations or on values of the field at the observations, whichever
# is more accurate.
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

# The setting whose number of neighbours is increased for predictions: "new" for joint predictions, where neighbours are
# observations and earlier new points; "local" for VIF, where neighbours are observations. The result is NULL for up to
# three coordinates if predictions are conditioned on values of the field, because the default number of neighbours is
# then sufficient.
predicting_count <- function(fit) {
  if (length(fit$vecchia$inducing)) return("local")
  if (fit$how$method == "vecchia" && (is_observed_base(fit) || fit$model$d >= 4)) "new"
}

# The number of neighbours that predictions require. The search starts at the number for local kriging and doubles the
# number until another doubling changes predictions by less than the tolerance.
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

# A list of fits to parts of the data, each with the sites where its predictions are compared.
compared_parts <- function(object) {
  parts <- parts_of_fit(object)
  lapply(parts, function(part) {
    sites <- certified_sites(part, ceiling(compared_sites / length(parts)))
    list(fit = near_sites(part, sites), sites = sites)
  })
}

# The fit restricted to the observations that can be neighbours of the sites, and to a few observations that cover the
# whole region.
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

# The fit to a representative sample of the observations, if the sample determines the trend; otherwise the whole fit.
# The low-rank part of VIF depends on all observations of a fit, so a fit to a sample saves time.
represented_fit <- function(object) {
  rows <- representative_rows(object$model, object$data, compared_points, object$how$control$seed)
  data <- rows_of_data(object$data, rows)
  if (length(independent_columns(data$x)) < ncol(data$x)) return(object)
  replace(object, c("data", "cell"), list(data, new_cell()))
}

# The changes of predictions between the fit and a fit with twice as many neighbours and with the parameters `theta`,
# the estimates for twice as many neighbours.
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

# Changes numbers of neighbours in a fit. If the neighbours of the observations or the inducing points change, clears
# `cell`, the cache of the fit, because the cached results depend on these neighbours and points.
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
# ratios of standard errors. Sites with standard error 0, which are at observations without noise, are omitted.
change_of_moments <- function(before, after) {
  root <- function(x) if (length(x)) sqrt(mean(x^2)) else 0
  uncertain <- which(pmin(before$se, after$se) > 1e-8 * max(after$se, 0, na.rm = TRUE))
  before <- before[uncertain, ]
  after <- after[uncertain, ]
  c(predictions = root((after$mean - before$mean) / after$se), se = root(log(after$se / before$se)))
}

# A list of one element, the fit. If predictions with this fit would factor the covariance matrix of all observations,
# the list instead contains fits to up to four parts of the data. Each part consists of the observations nearest to one
# observation. Fits with a family are represented by the normal approximation of the posterior (finish_family()).
parts_of_fit <- function(object, parts = 4, size = 500L) {
  if (is_observed_base(object)) return(list(object))
  object <- structure(replace(object, "family", list(NULL)), class = "gp")
  n <- nobs.gp(object)
  if (n <= parts * size) return(list(object))
  near <- neighbour_coordinates(object$model, object$theta, object$data$u)
  nearest <- nearest_points(near[some_positions(n, parts), , drop = FALSE], near, size)
  lapply(seq_len(parts), function(k) replace(object, "data", list(rows_of_data(object$data, sort(nearest[, k])))))
}
