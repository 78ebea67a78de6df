# Posterior draws of fits with a family: of the parameters of the covariance and the coefficients of the trend. Those of
# the family stay as they were found.

# The fit with all parameters of the search as its own.
sampled_fit <- function(fit) {
  if (is.null(fit$family)) return(fit)
  outer <- fit$outer
  outer$parameters$fixed <- outer$parameters$fixed | outer$parameters$kind == "family"
  theta <- stats::setNames(fit$outer_theta, outer$parameters$name)
  replace(fit, c("data", "model", "theta"), list(fit$response, outer, theta))
}

# As at_parameters(). The coefficients of a draw are known.
family_at_parameters <- function(fit, likelihood, theta) {
  problem <- list(data = fit$response, model = fit$model, outer = fit$outer, center = fit$center)
  found <- finish_family(problem, likelihood, list(theta = theta), NULL)
  fit[names(found)] <- found
  if (!length(found$beta)) return(fit)
  x <- fit$data$x
  fit$known$beta <- found$beta
  fit$beta <- found$beta[0]
  fit$state[c("z", "root")] <- list(x[, 0, drop = FALSE], matrix(0, 0, 0))
  fit$data[c("x", "y")] <- list(x[, 0, drop = FALSE], fit$data$y - as.vector(x %*% found$beta))
  fit
}

# A row for each draw, with the coefficients of the trend for those of its basis.
reported_draws <- function(posterior) {
  fit <- sampled_fit(posterior$fit)
  parameters <- fit$model$parameters
  theta <- posterior$theta
  trend <- parameters$kind == "trend"
  if (any(trend)) {
    theta[, trend] <- t(sqrt(length(fit$data$y)) * backsolve(qr.R(qr(fit$data$x)), t(theta[, trend, drop = FALSE])))
    colnames(theta)[trend] <- names(fit$beta)
  }
  theta[, !parameters$fixed, drop = FALSE]
}

# As response_table(), of the mixture over draws.
averaged_responses <- function(posterior, points, how, wanted) {
  if (!is.null(points$blocks)) return(averaged_blocks(posterior, points, how, wanted))
  parts <- for_draws(posterior, function(fit, rows) {
    terms <- predicted_moments(fit, points, how, TRUE)
    list(mean = terms$trend + terms$process, field = terms$variance, nugget = nugget_of(fit))
  })
  each <- function(name) matrix(unlist(lapply(parts, `[[`, name)), ncol = length(parts))
  share <- draw_weights(posterior)
  fit <- posterior$fit
  mean <- each("mean")
  field <- each("field")
  spread <- sqrt(field + rep(each("nugget"), each = nrow(mean)))
  own <- wanted$interval == "prediction"
  moments <- response_moments(fit, mean, field, spread, own)
  table <- list(fit = as.vector(moments$fit %*% share))
  if (wanted$se.fit) {
    centre <- as.vector(moments$centre %*% share)
    table$se.fit <- sqrt(as.vector((moments$square + (moments$centre - centre)^2) %*% share))
  }
  at <- function(p) {
    if (own) return(predictive_quantile(fit, p, mean, spread, share = share))
    mean_of(fit, mixture_quantile(p, mean, sqrt(field), share))
  }
  if (wanted$interval != "none") table[c("lwr", "upr")] <- lapply((1 + c(-1, 1) * wanted$level) / 2, at)
  table[sprintf("q%s", format_each(wanted$probs))] <- lapply(wanted$probs, at)
  table[sprintf("above%s", format_each(wanted$above))] <- lapply(wanted$above, function(limit) {
    each <- if (own) 1 - predictive_cdf(fit, limit, mean, spread) else {
      stats::pnorm(link_of(limit, fit$family$link), mean, sqrt(field), lower.tail = FALSE)
    }
    as.vector(matrix(each, nrow(mean)) %*% share)
  })
  table
}

# As block_responses(). Each draw of the parameters has its share of those of the field.
averaged_blocks <- function(posterior, points, how, wanted, count = 4000) {
  if (identical(posterior$fit$family$link, "identity")) return(averaged_columns(posterior, points, how, wanted, NULL))
  share <- draw_weights(posterior)
  parts <- for_draws(posterior, function(fit, rows) {
    block_parts(fit, points, how, wanted, ceiling(count * length(rows) / length(posterior$number)))
  })
  each <- function(name) do.call(cbind, lapply(parts, `[[`, name))
  fits <- each("fit")
  fit <- as.vector(fits %*% share)
  square <- if (wanted$se.fit) as.vector((each("square") + (fits - fit)^2) %*% share)
  block_table(list(fit = fit, square = square, draws = each("draws")), wanted)
}
