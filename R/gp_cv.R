#' Cross-validation of a Gaussian process
#'
#' Predicts each observation from all other observations (leave-one-out), or from the observations outside its fold,
#' with the covariance parameters of the fit. Leave-one-out predictions are computed in closed form from the inverse of
#' the covariance matrix. With or without folds, the trend is estimated again without the predicted observations.
#'
#' @param object a fit of [gp()].
#' @param folds `NULL` for leave-one-out; a number of folds, drawn at random; or one label for each observation (or for
#'   each row of the data, including rows that were not used). Labels are matched by value. With several variables, a
#'   fold contains all variables of its rows.
#' @param refit whether to estimate the covariance again without each fold, with the settings of the fit. `refit = TRUE`
#'   is an error if the fit used `estimate = "none"`.
#' @param seed seed of the random folds.
#' @details Folds are predicted independently: with package future.apply, they run under any `future::plan()`, on the
#'   cores of this machine or on other machines. For `method = "vecchia"`, leave-one-out uses the inverse of the
#'   approximate covariance matrix, with as many neighbours as in predictions. For a fit with a [family][gp_families],
#'   leave-one-out uses the inverse of the posterior covariance matrix. For an iterative fit, leave-one-out solves one
#'   system for each observation, in blocks; for more than `exact_limit` observations (see [gp_control()]), the diagonal
#'   of the inverse is estimated with 16 times as many random vectors as `probes` (Hutchinson 1990). For a fit with
#'   `transform`, all columns are on the transformed scale. For several variables ([lmc()]), leave-one-out leaves out a
#'   single value and keeps the values of the other variables at the same point.
#' @return A data frame of class `gp_cv` with a row for each observation used: `observed`; `fit` and `se.fit`, the
#'   prediction of the observation as a new observation and the standard error; `residual`, `zscore` (`residual /
#'   se.fit`) and `fold`. For points and maps of sf, stars, terra and sp the result also has the class `sf`, with the
#'   points of the observations: `sf::st_as_sf()` removes the class `gp_cv`, and `terra::vect()` converts the result to
#'   an object of terra. Without package sf, the coordinates are additional columns. `summary()` gives the mean error,
#'   the root mean square error, the mean log score and the proportion of observations within their 95 % prediction
#'   intervals. A fit with a [family][gp_families] has two further columns. `log_density` is the logarithm of the
#'   predicted probability (density) of the observation; the mean log score is the average of this column. `within`
#'   tells whether the observation is in its 95 % prediction interval. If the trend cannot be estimated without an
#'   observation, such as the only observation of its group, the prediction is `NA` with a `se.fit` of `Inf`, and the
#'   summary ignores the observation. If a level of a [random_effect()] or a group has no other observations,
#'   predictions use the distribution of new levels or groups.
#' @section Conditions: warnings and errors name the fold in which they occur. The conditions have the classes of their
#'   causes, and warnings have the additional class `kernops_fold_warning`. A warning of class `kernops_unknown_fold`
#'   names the folds whose predictions are `NA`. If a process of `future::plan()` dies, the error has class
#'   `kernops_worker_error`.
#' @references
#' Dubrule, O. (1983) Cross validation of kriging in a unique neighborhood. *Mathematical Geology* 15, 687-699.
#'
#' Hutchinson, M. F. (1990) A stochastic estimator of the trace of the influence matrix for Laplacian smoothing splines.
#' *Communications in Statistics* 19, 433-450.
#' @seealso [gp()], [predict()][predict.gp], [the other methods][gp_methods].
#' @examples
#' set.seed(1)
#' x <- seq(0, 10, length.out = 40)
#' fit <- gp(sin(x) + rnorm(40, sd = 0.1) ~ 1, coords = ~ x)
#' summary(gp_cv(fit))
#' summary(gp_cv(fit, folds = 5))
#' # the result for points of sf is an object of sf
#' if (requireNamespace("sf", quietly = TRUE)) {
#'   places <- sf::st_as_sf(quakes[1:100, ], coords = c("long", "lat"))
#'   print(gp_cv(gp(mag ~ 1, places)))
#' }
#' @aliases summary.gp_cv st_as_sf.gp_cv
#' @export
gp_cv <- function(object, folds = NULL, refit = FALSE, seed = 1) {
  check_fit(object, "object", "gp_cv", "A query can leave rows out of a fit: their predictions have the errors of new
                                         rows.")
  check_flag(refit, "refit")
  check_seed(seed)
  if (refit && object$estimate == "none") {
    stop_kernops("input", c("{.arg refit} estimates the covariance again, but this fit used a given covariance.",
                            i = "The fit has {.code estimate = \"none\"}."))
  }
  object$how$backend <- usable_backend(object$how$backend)
  n <- nobs.gp(object)
  if (is.null(folds) && refit) stop_kernops("input", "{.arg refit} requires {.arg folds}.")
  if (!is.null(folds)) folds <- folds_of(object, folds, seed)
  normal <- if (is.null(folds)) leave_one_out(object) else predict_folds(object, folds, refit)
  result <- score_columns(object, normal)
  observed <- object$parts$y
  residual <- observed - result$fit
  layout <- object$parts$layout
  table <- data.frame(observed = observed, result, residual = residual, zscore = residual / result$se.fit,
                      fold = if (is.null(folds)) seq_len(n) else folds,
                      row.names = observation_labels(layout, rownames(object$parts$frame)))
  if (!is.null(layout$names)) table <- cbind(variable = factor(layout$names[layout$variable], layout$names), table)
  table <- at_points(table, object$parts)
  plane <- object$model$d == 2
  aspect <- if (plane && !identical(map_aspect(object), 1)) map_aspect(object)
  places <- if (plane && anyNA(aspect)) place_table(object, object$parts$u)
  structure(table, class = c("gp_cv", class(table)), coords = object$parts$u, aspect = aspect, places = places,
            axes = if (plane) vapply(1:2, function(k) axis_label(object, k), ""))
}

# The labels of the folds, one for each row that the fit uses. The user's argument `folds` is the number of folds, or
# has a label for each of these rows or for each row of the data.
fold_labels <- function(folds, rows, total, seed, call = caller_env()) {
  n <- length(rows)
  if (length(folds) == 1 && is.numeric(folds)) {
    check_number(folds, "folds", least = 2, whole = TRUE, most = n, call = call)
    return(with_seed(seed, sample(rep_len(seq_len(folds), n))))
  }
  if (inherits(folds, "POSIXlt")) folds <- as.POSIXct(folds)
  if (total > n && length(folds) == total) folds <- folds[rows]
  labels <- is.atomic(folds) && length(dim(folds)) <= 1 && length(folds) == n && !anyNA(folds)
  if (!labels || max(fold_numbers(folds)) < 2) {
    stop_kernops("dim", "{.arg folds} must be a number of at least 2, or {n} labels with at least 2 distinct values.",
                 call = call)
  }
  folds
}

# The index of the fold of each label. Factors are compared by code, because levels of a factor a:b may have the same
# text.
fold_numbers <- function(folds) first_numbers(if (is.factor(folds)) as.integer(folds) else level_key(folds))

# The generic functions for cross-validation. leave_one_out(): the predictive distribution of each observation given all
# other observations. predict_fold(): the mean and the variance of the observations `out` given the other observations.
# score_columns(): columns of scores, from the predictive distribution `normal` at the observations.
leave_one_out <- function(object) UseMethod("leave_one_out")
predict_fold <- function(object, out, refit) UseMethod("predict_fold")
score_columns <- function(object, normal) UseMethod("score_columns")

# The predictive distribution of all observations. Folds are predicted in parallel if future::plan() has several
# processes.
predict_folds <- function(object, folds, refit, predict = predict_fold) {
  number <- fold_numbers(folds)
  labels <- make.unique(value_labels(folds)[!duplicated(number)])
  parts <- lapply_future(seq_along(labels), function(k) in_fold(labels[[k]], predict(object, number == k, refit)))
  result <- matrix(0, length(folds), 2)
  for (k in seq_along(parts)) result[number == k, ] <- parts[[k]]
  unknown <- vapply(parts, function(part) anyNA(part[, 1]), NA)
  warn_about_unknown_folds(object, labels[number], labels[unknown])
  predictive_normal(result[, 1], result[, 2])
}

# Warnings and errors in a fold keep their classes; their messages name the fold.
in_fold <- function(label, code) {
  tryCatch(withCallingHandlers(code, warning = function(w) {
    classes <- grep("^kernops_", class(w), value = TRUE)
    cli::cli_warn("The fit without fold {.val {label}} gave a warning.", parent = w,
                  class = unique(c(classes, "kernops_fold_warning", "kernops_warning")))
    invokeRestart("muffleWarning")
  }), error = function(e) {
    kind <- c(sub("_error$", "", sub("^kernops_", "", grep("^kernops_.+_error$", class(e), value = TRUE))), "fold")[[1]]
    stop_kernops(kind, "The fit without fold {.val {label}} failed.", parent = e)
  })
}

# Warns about predictions that are NA because the other folds do not determine the trend, for example if a level occurs
# in one fold only.
warn_about_unknown_folds <- function(object, folds, unknown) {
  if (!length(unknown)) return(invisible())
  x <- object$parts$x
  lost <- lapply(unknown, function(label) {
    setdiff(seq_len(ncol(x)), independent_columns(x[folds != label, , drop = FALSE]))
  })
  terms <- terms_of_columns(object)[sort(unique(unlist(lost)))]
  cli::cli_warn(c("Predictions of observations in {cli::qty(length(unknown))}fold{?s} {.val {unknown}} are
                   {.code NA}: the other observations do not determine the trend of {.code {unique(terms)}}.",
                  i = "Folds that leave observations of each level determine it; {.fn random_effect} predicts levels
                       without observations."), class = c("kernops_unknown_fold", "kernops_warning"))
}

# For each column of the trend, the term of the formula to which the column belongs.
terms_of_columns <- function(object) {
  names <- colnames(object$parts$x)
  labels <- c("(Intercept)", attr(object$parts$terms, "term.labels"))
  x <- stats::model.matrix(object$parts$terms, object$parts$frame, contrasts.arg = object$parts$contrasts)
  of <- attr(x, "assign")
  names[seq_along(of)] <- labels[of + 1]
  names
}

lapply_future <- function(x, f) {
  if (length(x) < 2 || !requireNamespace("future.apply", quietly = TRUE)) return(lapply(x, f))
  # no future.seed, because random numbers in this code have separate seeds
  with_workers(future.apply::future_lapply(x, f, future.seed = NULL, future.packages = "kernops"))
}

# Let P = K^-1 - K^-1 X (X' K^-1 X)^-1 X' K^-1. Observation i minus its prediction from the other observations is (P
# y)_i / P_ii, and the variance of this residual is 1 / P_ii (Dubrule 1983).
leave_one_out.gp <- function(object) {
  inverse <- conditioning_for(object)$inverse()
  alone <- inverse$diagonal
  precision <- alone - rowSums(inverse$z^2)
  # a precision of 0 means that a coefficient of the trend is undetermined without the observation
  precision[precision <= 1e-12 * alone] <- 0
  residual <- ifelse(precision > 0, inverse$alpha / precision, NA)
  # the prediction is for a new observation with the weight, and thus the noise variance, of the omitted observation
  predictive_normal(object$parts$y - residual, 1 / precision)
}

# The diagonal of K^-1, where K is the covariance matrix of the observations. The solver of the fit computes the
# products of K^-1 with unit vectors or, for more than `exact_limit` observations, with random vectors.
inverse_diagonal <- function(object) {
  n <- length(object$data$y)
  solver <- solver_for(object, max(1e-5, object$how$control$cg_tol))
  with_bar("Leaving out", if (n > object$how$control$exact_limit) estimated_diagonal(object, solver) else
    solved_diagonal(n, solver))
}

solved_diagonal <- function(n, solver) {
  diagonal <- numeric(n)
  for_blocks(n, function(first, last) {
    say_progress(step = paste("observation", first, "of", n), fraction = (first - 1) / n)
    rows <- first:last
    entries <- cbind(rows, seq_along(rows))
    diagonal[rows] <<- solver(replace(matrix(0, n, length(rows)), entries, 1))[entries]
  }, solve_width(n))
  diagonal
}

# Estimates the diagonal of K^-1 by the mean of z * K^-1 z over vectors z of random signs (Hutchinson 1990). An estimate
# below the lower bound of its entry is replaced by this bound, 1 / variance of the observation (field and noise).
estimated_diagonal <- function(object, solver) {
  n <- length(object$data$y)
  probes <- 16 * max(1, object$how$control$probes)
  total <- numeric(n)
  for_blocks(probes, function(first, last) {
    say_progress(step = paste("probe", first, "of", probes), fraction = (first - 1) / probes)
    signs <- with_seed(object$how$control$seed + first, random_signs(n, last - first + 1))
    total <<- total + rowSums(signs * solver(signs))
  }, solve_width(n), n)
  noise <- noise_variance(object$data, object$model, object$theta)
  prior <- as.vector(covariance_diagonal(object$model)(list(theta = object$theta, x = object$data$u)))
  pmax(total / probes, 1 / (prior + noise))
}

score_columns.gp <- function(object, normal) as.data.frame(predictive_columns(normal, field_request))

predict_fold.gp <- function(object, out, refit) {
  fold <- leave_out(object, out, refit)
  problem <- prepare_problem(fold$parts, fold$model, object$known, fold$estimate, NULL)
  problem <- with_locations(problem, object$method)
  likelihood <- likelihood_for(problem$data, problem$model, object$how)
  search <- estimate_covariance(problem, likelihood, object$how, fold$estimate, NULL)
  fit <- fitted_parts(finish_fit(problem, likelihood, search, NULL), search, object$how, fold$parts, object$known,
                      fold$estimate)
  if (refit) warn_about_search(fit$search, object$how$control)
  points <- fold$points(fit$center)
  noise <- object$parts$noise[out] + new_noise(fit, points) / object$parts$weights[out]
  moments <- predicted_moments(fit, points, field_request$how, TRUE)
  cbind(ifelse(fold$told, moments$trend + moments$process, NA), ifelse(fold$told, moments$variance + noise, Inf))
}

# The input of a fit without some observations: the parts of the other observations, with columns of the trend that are
# linearly independent for these observations; the covariance; and the method of estimation. The coordinates of the
# omitted points are relative to the centre of the new fit. For each omitted point, `told` is TRUE if the other
# observations identify the trend at the point.
leave_out <- function(object, out, refit) {
  parts <- object$parts
  told <- rep(TRUE, sum(out))
  if (is.null(object$known$beta)) {
    kept <- independent_columns(parts$x[!out, , drop = FALSE])
    told <- is_told(parts$x, out, kept)
    parts$x <- parts$x[, kept, drop = FALSE]
  }
  trend <- parts$x[out, , drop = FALSE]
  keep <- function(x) if (is.matrix(x)) x[!out, , drop = FALSE] else x[!out]
  each <- c("y", "x", "u", "z", "offset", "noise", "weights", "censored", "rows")
  for (name in each) parts[[name]] <- keep(parts[[name]])
  parts$layout <- keep_observations(parts$layout, !out)
  functional <- length(object$model$functional) > 0
  width <- if (functional) object$model$functional - 1L else object$model$width
  model <- covariance_model(if (refit) object$model$covariance else object$covariance, object$model$d,
                            colnames(parts$u), width = width)
  if (functional) model <- with_functionals(model)
  if (refit) model$prior <- object$model$prior
  points <- function(center) {
    layout <- object$parts$layout
    variable <- layout$variable[out]
    u <- new_sites(layout, centred(object$parts$u[out, , drop = FALSE], center),
                   object$parts$z[out, , drop = FALSE], variable %||% layout$coordinate[out])
    nodes <- observation_nodes(layout, center, out)
    total <- if (!is.null(nodes)) mean_columns(keep_observations(layout, out), nodes$n)[, 1]
    list(u = u, x = trend, offset = object$parts$offset[out], variable = variable, blocks = nodes, total = total)
  }
  list(parts = parts, model = model, estimate = if (refit) object$estimate else "none", points = points, told = told)
}

independent_columns <- function(x) {
  q <- qr(x)
  sort(q$pivot[seq_len(q$rank)])
}

# TRUE if the kept rows identify the trend at an omitted row: the omitted row must satisfy the linear dependencies of
# the columns in the kept rows.
is_told <- function(x, out, kept) {
  dropped <- setdiff(seq_len(ncol(x)), kept)
  if (!length(dropped)) return(rep(TRUE, sum(out)))
  x <- x / rep(pmax(apply(abs(x), 2, max), .Machine$double.xmin), each = nrow(x))
  gap <- x[out, dropped, drop = FALSE]
  if (length(kept)) {
    follow <- qr.coef(qr(x[!out, kept, drop = FALSE]), x[!out, dropped, drop = FALSE])
    gap <- gap - x[out, kept, drop = FALSE] %*% follow
  }
  rowSums(gap^2) <= 1e-12
}

#' @rawNamespace S3method(sf::st_as_sf, gp_cv)
st_as_sf.gp_cv <- function(x, ...) {
  class(x) <- setdiff(class(x), "gp_cv")
  attr(x, "coords") <- NULL
  sf::st_as_sf(x, ...)
}

#' @export
summary.gp_cv <- function(object, ...) {
  refuse_arguments("summary.gp_cv", list(...))
  object <- object[!is.na(object$fit), ]
  if (!is.null(object$variable)) return(summary_of_each(object))
  structure(list(
    n = nrow(object), mean_error = mean(object$residual), rmse = sqrt(mean(object$residual^2)),
    log_score = mean(object$log_density %||% stats::dnorm(object$residual, sd = object$se.fit, log = TRUE)),
    coverage = mean(object$within %||% (abs(object$zscore) <= stats::qnorm(0.975)))
  ), class = "summary.gp_cv")
}

#' @export
print.summary.gp_cv <- function(x, ...) {
  cli::cat_line("Cross-validation of ", x$n, " observations")
  cli::cat_line("  mean error              ", signif(x$mean_error, 4))
  cli::cat_line("  root mean square error  ", signif(x$rmse, 4))
  cli::cat_line("  mean log score          ", signif(x$log_score, 4))
  cli::cat_line("  within 95 % intervals   ", format(100 * x$coverage, digits = 3), " %")
  invisible(x)
}
