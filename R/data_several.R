# Fits with several variables: their response, noise and checks. See data_layout.R for the layout of their observations.

# The response of a model frame as a matrix with names.
response_columns <- function(y, response, call) {
  if (NCOL(y) < 2) {
    stop_kernops("input", "{.fn lmc} is for several variables: the response must be a matrix such as {.code cbind(a,
                           b)}.",
                 call = call)
  }
  if (!is.numeric(y) && !is.logical(y)) stop_kernops("input", "The response must be numeric.", call = call)
  y <- unname_rows(as.matrix(y))
  names <- colnames(y) %||% rep("", ncol(y))
  written <- if (is.call(response) && identical(response[[1]], quote(cbind))) as.list(response)[-1]
  if (length(written) == ncol(y)) names <- ifelse(nzchar(names), names, vapply(written, deparse1, ""))
  names <- ifelse(nzchar(names), names, paste0("var", seq_along(names)))
  if (anyDuplicated(names)) {
    stop_kernops("input", "The variables must have different names, not {.val {names}}.", call = call)
  }
  colnames(y) <- names
  y
}

# Calls na.action in such a way that a row counts as complete if at least one of its responses is known. After the call
# of na.action, the function restores the missing values.
act_on_rows <- function(act, frame, ...) {
  y <- frame[[1]]
  if (NCOL(y) < 2) return(act(frame, ...)) # response_columns() reports the error
  missing <- is.na(y) & rowSums(!is.na(y)) > 0
  filled <- replace(y, missing, 0)
  frame[[1]] <- filled
  if (anyNA(frame, recursive = TRUE)) frame <- act(frame, ...)
  out <- attr(frame, "na.action")
  frame[[1]] <- if (is.null(out)) y else y[-out, , drop = FALSE]
  frame
}

response_names <- function(object) object$model$covariance$variables

# The nugget variance of each new observation, which is the nugget variance of the observed variable.
new_noise <- function(object, points) nugget_of(object)[points$variable %||% 1]

new_noise_matrix <- function(object, points) {
  if (is.null(points$variable)) return(diag(nugget_of(object), length(points$offset)))
  kronecker(nugget_sills(object), diag(sum(points$complete)))
}

# The covariances of the prediction errors of each pair of variables at a point, as columns of a table.
covariance_columns <- function(object, points, how, noise) {
  names <- response_names(object)
  targets <- targets_of(object, points)
  n <- targets$n / length(names)
  errors_of <- conditioning_for(object, how)$errors_among(targets)
  pairs <- utils::combn(length(names), 2)
  covariances <- matrix(NA_real_, n, ncol(pairs))
  for_blocks(n, function(first, last) {
    rows <- first:last
    errors <- errors_of(as.vector(outer(rows, n * (seq_along(names) - 1), "+")))
    for (k in seq_len(ncol(pairs))) {
      shift <- (pairs[, k] - 1) * length(rows)
      covariances[rows, k] <<- errors[cbind(seq_along(rows) + shift[[1]], seq_along(rows) + shift[[2]])]
    }
  })
  table <- as.data.frame(covariances)
  if (noise) table <- table + rep(nugget_sills(object)[t(pairs)], each = n)
  stats::setNames(table, paste("cov", names[pairs[1, ]], names[pairs[2, ]], sep = "."))
}

# A sample of rows from which the covariance can be estimated. The sample contains all values at some of the locations.
representative_rows <- function(model, data, size, seed) {
  u <- data$u
  if (!is_lmc(model$covariance) || nrow(u) <= size) {
    return(subset_rows(u, min(size, nrow(u)), seed, data$block))
  }
  space <- u[, seq_len(model$d), drop = FALSE]
  key <- do.call(paste, as.data.frame(space))
  first <- which(!duplicated(key))
  count <- max(2, round(size * length(first) / nrow(u)))
  which(key %in% key[first[subset_rows(space[first, , drop = FALSE], min(count, length(first)), seed)]])
}

# Raises an error if a method or argument that requires one variable is used for a fit of several variables.
refuse_several <- function(object, what, instead = NULL, call = caller_env()) {
  if (!is_lmc(object$model$covariance)) return(invisible())
  stop_kernops("input", c(paste(what, "for fits of one variable."), i = instead), call = call)
}

refuse_lmc <- function(covariance, instead = NULL, call = caller_env()) {
  if (!is_lmc(covariance)) return(invisible())
  stop_kernops("input", c("{.fn lmc} is for {.fn gp} with several responses.", i = instead), call = call)
}

check_several_settings <- function(covariance, family, transform, known, method, call) {
  if (!is_lmc(covariance)) return(invisible())
  settings <- list(family = family, transform = transform, "known$noise" = known$noise)
  what <- names(Filter(Negate(is.null), settings))
  if (length(what)) {
    stop_kernops("input", c("{.arg {what[[1]]}} is for a single response.",
                            i = if (what[[1]] == "transform") "The response may be {.code cbind(log(a), log(b))}."),
                 call = call)
  }
  if (method == "iterative") {
    stop_kernops("input", c("{.code method = \"iterative\"} is for a single response.",
                            i = "{.fn lmc} has the methods {.val exact}, {.val vecchia} and {.val vif}."), call = call)
  }
}

check_constant_variables <- function(model, u, residual, y, call) {
  names <- model$covariance$variables
  spread <- vapply(seq_along(names), function(k) sqrt(mean(residual[u[, model$d + 1] == k - 1]^2)), 0)
  size <- vapply(seq_along(names), function(k) max(abs(y[u[, model$d + 1] == k - 1])), 0)
  flat <- names[spread <= 16 * .Machine$double.eps * size]
  if (!length(flat)) return(invisible())
  stop_kernops("input", "{.val {flat}} {?is/are} constant, or fitted exactly by the trend: {?its/their} covariance
                         cannot be estimated.", call = call)
}

sill_words <- function(object) {
  p <- object$model$parameters
  values <- coef.gp(object, "covariance")[p$kind %in% c("sill", "cross")]
  paste(names(values), signif(values, 4), sep = " = ")
}

# One fold label for each observation. All values of a row are in one fold, except if the user gives a label for each
# value.
folds_of <- function(object, folds, seed, call = caller_env()) {
  parts <- object$parts
  row <- parts$layout$row
  if (is.null(row) || length(folds) == length(parts$y)) {
    return(fold_labels(folds, parts$rows, parts$total, seed, call))
  }
  fold_labels(folds, row_numbers(parts$frame, nrow(parts$frame)), parts$total, seed, call)[row]
}

# The noise variance of each observation of the fit. `object$parts` has a row for each observation, but `object$data`
# may have one row for several observations at a location.
observation_noise <- function(object) object$parts$noise + nugget_of(object) / object$parts$weights

# Draws of the noise of new observations, or of the observations of the fit; the nuggets of several variables may be
# correlated.
noise_draws <- function(object, points, nsim) {
  n <- length(points$offset)
  if (!is_lmc(object$model$covariance)) {
    variance <- if (points$fitted && is.null(object$family)) observation_noise(object) else nugget_of(object)
    return(stats::rnorm(n * nsim, sd = sqrt(variance)))
  }
  L <- semidefinite_root(nugget_sills(object))
  draws <- array(stats::rnorm(n * nsim), c(n / nrow(L), nrow(L), nsim))
  matrix(apply(draws, 3, function(z) z %*% t(L)), n)
}

# A table of summaries with a row for each variable.
summary_of_each <- function(object) {
  parts <- split(object, object$variable)
  table <- do.call(rbind, lapply(parts, function(part) {
    part$variable <- NULL
    as.data.frame(unclass(summary.gp_cv(part)))
  }))
  data.frame(variable = names(parts), table, row.names = NULL)
}

# The variables whose estimated nugget is negligible. The test uses the observations of the variable alone.
variables_without_nugget <- function(fit) {
  if (!"nugget" %in% open_whites(fit$model)) return(character())
  nuggets <- nugget_of(fit)
  variable <- fit$data$u[, fit$model$d + 1] + 1
  process <- process_of_data(fit)
  none <- vapply(seq_along(nuggets), function(k) {
    rows <- which(variable == k)
    data <- rows_of_data(fit$data, rows)
    space <- seq_len(fit$model$d)
    beside <- data$u[, -seq_len(space_columns(fit$model)), drop = FALSE]
    field_sites <- at_variables(data$u[, space, drop = FALSE], rep(k, length(rows)), z = beside)
    is_negligible(nuggets[[k]], fit, data, process[rows], field_sites)
  }, NA)
  names(nuggets)[none]
}
