# Predictions of many responses. For each response, a new point is conditioned on the nearest observations of this
# response.

#' @rdname gp_responses
#' @export
predict.gp_responses <- function(object, newdata = NULL, responses = NULL, se.fit = FALSE,
                                 interval = c("confidence", "prediction"), coords = NULL, nmax = NULL, ...) {
  refuse_arguments("predict.gp_responses", list(...))
  check_flag(se.fit, "se.fit")
  interval <- check_choice(interval, "interval", c("confidence", "prediction"))
  if (!is.null(nmax)) check_number(nmax, "nmax", least = 1, whole = TRUE)
  if (!is.null(responses)) object <- object[response_numbers(object$responses, responses)]
  points <- new_points(object, newdata, coords)
  count <- nmax %||% responses_count(object)
  fits <- with_bar("Predicting", shown = object$how$control$progress == "bar",
                   predicted_responses(object, points, count, se.fit))
  if (se.fit && interval == "prediction") {
    fits$se.fit <- sqrt(fits$se.fit^2 + rep(object$theta[object$model$nugget, ], each = nrow(fits$fit)))
  }
  give_back_responses(fits, points, newdata, object)
}

# The number of nearest observations from which a point is predicted. This number is determined at the medians of the
# parameters over all responses.
responses_count <- function(object) {
  theta <- apply(object$theta, 1, stats::median, na.rm = TRUE)
  theta[is.na(theta)] <- 1
  data <- object$data
  m <- min(2L * object$how$neighbours, length(data$y))
  if (!any(theta[setdiff(object$model$scale, object$model$nugget)] > 0)) return(m)
  local_count(data, object$model, theta, m)
}

predicted_responses <- function(object, points, count, se) {
  size <- length(object$loglik)
  fit <- matrix(NA_real_, nrow(points$u), size, dimnames = list(NULL, object$responses$names))
  fits <- list(fit = fit, se.fit = if (se) fit)
  done <- 0
  for (block in response_blocks(object$responses, size)) {
    columns <- block[is.na(object$problem[block])]
    y <- response_block(object$responses, columns, object$parts$rows) - object$parts$offset
    gaps <- is.na(y)
    for (of in columns_by_gaps(gaps)) {
      local <- local_sets(object, which(!gaps[, of[[1]]]), points, count, se)
      for (k in of) {
        say_progress(step = "response", fraction = (done <- done + 1) / size)
        found <- predicted_response(local, object$theta[, columns[[k]]], object$beta[, columns[[k]]], y[local$rows, k])
        fits$fit[, columns[[k]]] <- found$fit
        if (se) fits$se.fit[, columns[[k]]] <- found$se
      }
    }
  }
  fits
}

# The observations in `rows`, and for each new point the nearest of these observations.
local_sets <- function(object, rows, points, count, se) {
  data <- rows_of_data(object$data, rows)
  model <- object$model
  theta <- apply(object$theta, 1, stats::median, na.rm = TRUE)
  near <- neighbour_coordinates(model, theta, data$u)
  from <- neighbour_coordinates(model, theta, points$u, data$u)
  neighbours <- nearest_points(from, search_tree(near), min(count, length(rows)))
  values <- covariance_matrix(model)
  sets <- if (se) response_sets(data, model, theta, object$how)
  list(rows = rows, data = data, model = model, points = points, neighbours = neighbours,
       values = values, sets = sets,
       trend = if (se) held_responses(list(values = values), model$nugget, sets$held, matrix(0, length(rows), 1)))
}

# The prediction of one response and its standard error.
predicted_response <- function(local, theta, beta, y) {
  data <- local$data
  points <- local$points
  noise <- theta[[local$model$nugget]] / data$weights
  sets <- set_weights_at(local$values, theta, hold_sets(data$u, noise), points$u, local$neighbours)
  residual <- y - as.vector(data$x %*% beta)
  means <- neighbour_means(sets, cbind(residual, data$x))
  fit <- points$offset + as.vector(points$x %*% beta) + means[, 1]
  if (is.null(local$sets)) return(list(fit = fit))
  gap <- if (ncol(data$x)) {
    root <- t(local$trend$products(theta)$root) %*% local$sets$trend$r
    colSums(backsolve(root, t(points$x - means[, -1, drop = FALSE]), transpose = TRUE)^2)
  } else 0
  list(fit = fit, se = sqrt(sets$sd^2 + gap))
}

# The results for all rows of newdata: matrices, or an object of the class of newdata. A matrix has a column, and an
# object has an attribute or a layer, for each response.
give_back_responses <- function(fits, points, newdata, object) {
  tables <- lapply(Filter(Negate(is.null), fits), function(values) {
    place <- replace(rep(NA_integer_, length(points$complete)), points$complete, seq_len(nrow(values)))
    values <- values[place, , drop = FALSE]
    rownames(values) <- points$names
    if (points$fitted) stats::napredict(object$na.action, values) else values
  })
  if (!points$fitted && is_spatial(newdata)) {
    if (length(tables) > 1) colnames(tables$se.fit) <- paste0(colnames(tables$se.fit), ".se.fit")
    return(give_back(newdata, as.data.frame(do.call(cbind, unname(tables)))))
  }
  if (length(tables) == 1) tables$fit else tables
}
