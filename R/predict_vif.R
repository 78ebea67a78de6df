# Predictions of fits by a VIF approximation (lik_vif.R). The low-rank part V'b is a trend with coefficients b ~ N(0,
# I), one coefficient for each inducing point. The rest of the field, the residual process, has the covariance k(x, y) -
# v(x)'v(y). If the factors v are added to the coordinates, a VIF fit is a fit by Vecchia's approximation with this
# covariance and this trend.

vif_conditioning <- function(object, how) {
  vif <- kept_for(object, fitted_vif)
  residual <- residual_fit(object, vif)
  inner <- conditioning_for(residual, how)
  factors_of <- function(u) t(vif$factors_of(u))
  extended <- function(targets) {
    factors <- factors_of(targets$u)
    targets$x <- cbind(targets$x, gathered(factors, targets))
    replace(targets, "u", list(cbind(targets$u, factors)))
  }
  new_conditioning(
    object, function(targets) low_rank_in_process(object, targets, inner$means(extended(targets))),
    function(targets) low_rank_in_process(object, targets, inner$moments(extended(targets))),
    errors_among = function(targets) inner$errors_among(extended(targets)),
    prior_draws = function(u, nsim, features) {
      factors <- factors_of(u)
      factors %*% normal_numbers(ncol(factors), nsim) + inner$prior_draws(cbind(u, factors), nsim, features)
    },
    draws = function(points, nsim, features) {
      factors <- factors_of(points$u)
      points[c("u", "x", "offset")] <- list(cbind(points$u, factors), cbind(estimated_trend(object, points), factors),
                                            known_trend(object, points))
      joint_conditioning(residual)$draws(points, nsim, features)
    },
    inverse = function() vif_inverse(object, vif)
  )
}

# Converts moments of the residual fit, whose trend contains the low-rank part, to moments whose process contains the
# low-rank part.
low_rank_in_process <- function(object, targets, moments) {
  trend <- with_trend(object, targets)$trend
  moments$process <- moments$process + moments$trend - trend
  replace(moments, "trend", list(trend))
}

# The fit by Vecchia's approximation of the residual process. New points are not conditioned on each other, unless
# predict() is called with `joint`.
residual_fit <- function(object, vif) {
  data <- object$data
  columns <- t(vif$factors)[order(vif$order), , drop = FALSE]
  data$u <- cbind(data$u, columns)
  data$x <- cbind(data$x, columns)
  residual <- replace(settings_of_residual(object), c("data", "model", "beta"), list(
    data, residual_model(object$model, ncol(columns)), c(object$beta, vif$mean)
  ))
  residual$state$root <- vif$root
  residual$known["beta"] <- list(NULL)
  residual["cell"] <- list(NULL)
  residual$random <- ncol(columns)
  residual
}

# Changes the settings of a fit so that its residual process is predicted by Vecchia's approximation.
settings_of_residual <- function(object) {
  object$method <- "vecchia"
  object$how[c("method", "backend", "precision")] <- list("vecchia", "cpu", "float64")
  object$vecchia$joint <- object$vecchia$joint %||% FALSE
  object
}

# The model of the residual process: the factors are the last coordinates of points.
residual_model <- function(model, rank) {
  width <- model$width
  model$covariance <- change_leaves(model$covariance, function(leaf, path) {
    leaf["dims"] <- list(leaf_dims(leaf, width))
    leaf
  })
  model$rank <- rank
  model$width <- width + rank
  model$formula <- covariance_text(model)
  model
}

# The approximation at the parameters of a fit: the `order` of the observations; `factors`, the columns v(x) of the
# observations; factors_of(u), the columns v(u); the `mean` of b; and the roots of coefficients_by_gram().
fitted_vif <- function(object) {
  data <- object$data
  theta <- unname(object$theta)
  how <- replace(object$how, "backend", list(usable_backend(object$how$backend)))
  problem <- vif_problem(data, object$model, how)
  trend <- problem$trend
  m <- min(object$vecchia$m, length(data$y) - 1L)
  sets <- vif_sets(effects_sets(problem, theta, m, how), object$model, object$vecchia$inducing)
  vif <- vif_factor(problem, sets, theta)
  if (!is.null(vif$bad)) stop_singular(list(data = data), singular_state(sets$order[[vif$bad]]), NULL)
  residual <- process_of_data(object)[sets$order]
  white <- vif$rows$whiten(rbind(residual, t(sets$values[, -1, drop = FALSE]), vif$factors))
  c(coefficients_by_gram(vif$rows$outer(white), ncol(data$x), trend$r),
    list(order = sets$order, factors = vif$factors, sets = sets, vif = replace(vif, "white", list(white)),
         factors_of = vif$low$factors))
}

# The function inverse() of new_conditioning(), by Woodbury's identity.
vif_inverse <- function(object, approximation) {
  vif <- approximation$vif
  p <- ncol(object$data$x)
  order <- approximation$order
  trend <- approximation$sets$values[, -1, drop = FALSE]
  left <- vif_solve(vif, approximation$low_root, cbind(process_of_data(object)[order], trend))
  half <- backsolve(approximation$low_root, whitened_factors(vif), transpose = TRUE)
  diagonal <- diagonal_beside_low_rank(vif$rows, t(half))
  inverse <- order(order)
  z <- left[, -1, drop = FALSE]
  if (p) z <- t(backsolve(chol(crossprod(trend, z)), t(z), transpose = TRUE))
  list(alpha = left[inverse, 1], z = z[inverse, , drop = FALSE], diagonal = diagonal[inverse])
}
