# Predictions and simulations that are averaged over draws of the parameters.

#' @rdname gp_posterior
#' @export
predict.gp_posterior <- function(object, newdata = NULL, se.fit = FALSE,
                                 interval = c("none", "confidence", "prediction"), level = 0.95,
                                 type = c("response", "link"), coords = NULL, nmax = Inf, maxdist = Inf, block = NULL,
                                 cov = FALSE, probs = NULL, above = NULL, ...) {
  refuse_further("predict", ...)
  unnamed <- missing(interval)
  interval <- check_choice(interval, "interval", c("none", "confidence", "prediction"))
  type <- check_choice(type, "type", c("response", "link"))
  how <- list(local = FALSE, nmax = nmax, maxdist = maxdist)
  wanted <- list(se.fit = se.fit, interval = interval, level = level, probs = probs, above = above)
  check_local_limits(how)
  check_flag(se.fit, "se.fit")
  check_flag(cov, "cov")
  check_levels(probs, above)
  check_level(level)
  fit <- object$fit
  if (is.null(fit$family) && (se.fit || length(c(probs, above))) && unnamed) tell_field_se(fit)
  fit$how$backend <- object$fit$how$backend <- usable_backend(fit$how$backend)
  points <- new_points(fit, newdata, coords, block)
  check_prediction(points, interval)
  lambda <- if (type == "response") fit$transform$lambda
  table <- if (!is.null(lambda) && !is.null(points$blocks)) averaged_blocks(object, points, how, wanted) else
    if (is.null(fit$family) || type == "link") averaged_columns(object, points, how, wanted, lambda) else
      averaged_responses(object, points, how, wanted)
  result <- give_back_points(as.data.frame(table, optional = TRUE), points, newdata, fit)
  if (!cov) return(result)
  list(fit = result, cov = averaged_covariance(object, points, how, interval == "prediction", type))
}

refuse_further <- function(name, ..., call = caller_env()) {
  takes <- setdiff(names(formals(get(paste0(name, ".gp_posterior")))), c("object", "..."))
  if (...length()) stop_further_arguments(paste0("{.fn ", name, "}"), list(...), takes, call)
}

# As predicted_columns(), of the mixture over draws.
averaged_columns <- function(posterior, points, how, wanted, lambda) {
  uncertain <- wanted$se.fit || wanted$interval != "none" || length(c(wanted$probs, wanted$above, lambda)) > 0
  each <- replace(wanted, c("se.fit", "interval", "probs"), list(uncertain, "none", NULL))
  weights <- draw_weights(posterior)
  check_memory(8 * 4 * nrow(points$u) * length(weights))
  parts <- for_draws(posterior, function(fit, rows) {
    moments <- predicted_moments(fit, points, how, uncertain)
    noise <- if (wanted$interval == "prediction") new_noise(fit, points) else 0
    columns <- predicted_columns(moments, noise, each, lambda)
    if (uncertain) columns$center <- moments$trend + moments$process
    if (uncertain) columns$sd <- sqrt(moments$variance + noise)
    columns
  })
  column <- function(name) matrix(vapply(parts, `[[`, numeric(nrow(points$u)), name), ncol = length(parts))
  mean_of <- function(x) as.vector(x %*% weights)
  means <- column("fit")
  table <- list(fit = mean_of(means))
  if (wanted$se.fit) table$se.fit <- sqrt(mean_of(column("se.fit")^2) + mean_of((means - table$fit)^2))
  limits <- if (wanted$interval != "none") c(lwr = -1, upr = 1) * wanted$level / 2 + 0.5
  limits[sprintf("q%s", format_each(wanted$probs))] <- wanted$probs
  if (length(limits)) {
    found <- lapply(limits, mixture_quantile, column("center"), column("sd"), weights)
    table[names(limits)] <- if (is.null(lambda)) found else lapply(found, boxcox_back, lambda)
  }
  over <- sprintf("above%s", format_each(wanted$above))
  table[over] <- lapply(over, function(name) mean_of(column(name)))
  table
}

# As covariance_of_rows(), by the law of total covariance.
averaged_covariance <- function(posterior, points, how, noisy, type) {
  weights <- draw_weights(posterior)
  total <- 0
  means <- for_draws(posterior, function(fit, rows) {
    each <- if (is_function_of_normal(fit) && type == "response") joint_responses(fit, points, how, noisy) else {
      moments <- predicted_moments(fit, points, how, FALSE)
      list(mean = moments$trend + moments$process, cov = noisy_covariance(fit, points, how, noisy))
    }
    total <<- total + length(rows) / length(posterior$number) * each$cov
    each$mean
  })
  means <- matrix(unlist(means), ncol = length(means))
  off <- means - as.vector(means %*% weights)
  matrix_of_rows(total + off %*% (weights * t(off)), posterior$fit, points)
}

# The quantile p of mixtures of normal distributions, a row of means and standard deviations each: Newton's method
# between bounds.
mixture_quantile <- function(p, mean, sd, weights, steps = 100) {
  each <- mean + stats::qnorm(p) * sd
  low <- apply(each, 1, min)
  high <- apply(each, 1, max)
  q <- as.vector(each %*% weights)
  for (step in seq_len(steps)) {
    excess <- as.vector(matrix(stats::pnorm(q, mean, sd), length(q)) %*% weights) - p
    low <- ifelse(excess < 0, q, low)
    high <- ifelse(excess >= 0, q, high)
    moved <- q - excess / as.vector(matrix(stats::dnorm(q, mean, sd), length(q)) %*% weights)
    moved <- ifelse(is.finite(moved) & moved >= low & moved <= high, moved, (low + high) / 2)
    done <- abs(moved - q) <= 1e-12 * (abs(q) + rowSums(sd))
    q <- moved
    if (all(done, na.rm = TRUE)) break
  }
  q
}

# f(fit, rows) at the parameters of each draw, once for draws that are the same: `rows` are these.
for_draws <- function(posterior, f, rows = seq_len(nrow(posterior$theta))) {
  fit <- posterior$fit
  sampled <- sampled_fit(fit)
  likelihood <- likelihood_for(sampled$data, sampled$model, sampled$how)
  likelihood$evaluate(unname(sampled$theta)) # neighbours are those of the mode
  groups <- same_draws(posterior$number[rows])
  with_bar("Averaging", lapply(seq_along(groups), function(k) {
    say_progress(step = paste("draw", k, "of", length(groups)), fraction = (k - 1) / length(groups))
    own <- groups[[k]]
    f(at_parameters(fit, likelihood, unname(posterior$theta[rows[[own[[1]]]], ])), own)
  }))
}

# Positions of each proposal among the draws.
same_draws <- function(number) unname(split(seq_along(number), number))

draw_weights <- function(posterior) lengths(same_draws(posterior$number)) / length(posterior$number)

# The fit with other parameters. It shares its factor with `likelihood`, until that is evaluated again.
at_parameters <- function(fit, likelihood, theta) {
  if (!is.null(fit$family)) return(family_at_parameters(fit, likelihood, theta))
  state <- likelihood$evaluate(theta)
  fit$theta[] <- theta
  fit$covariance <- with_values(fit$model, theta)
  fit$beta[] <- state$beta
  fit$state <- state[names(fit$state)]
  fit["factor"] <- list(likelihood$kept_factor())
  fit
}

#' @rdname gp_posterior
#' @export
simulate.gp_posterior <- function(object, nsim = 1, seed = NULL, newdata = NULL, conditional = TRUE,
                                  noise = !is.null(object$fit$family) && is.null(newdata) && is.null(coords) &&
                                    missing(type),
                                  features = 2000, coords = NULL, type = c("link", "response"), ...) {
  refuse_further("simulate", ...)
  check_simulation(nsim, seed, conditional, noise, features)
  object$fit$drawn <- check_choice(type, "type", c("link", "response"))
  fit <- object$fit
  fit$how$backend <- object$fit$how$backend <- usable_backend(fit$how$backend)
  here <- rlang::current_env()
  rows <- rep_len(seq_len(nrow(object$theta)), nsim)
  in_order_x_y(newdata, function(newdata) {
    points <- points_to_simulate(fit, newdata, coords, nsim, here)
    draw_with_seed(seed, points$fitted && noise, function() {
      draws <- matrix(0, nrow(points$u), nsim)
      for_draws(object, function(fit, own) {
        draws[, own] <<- simulated(fit, points, length(own), conditional, noise, features)
      }, rows)
      if (points$fitted && noise) return(new_responses(draws, fit, points))
      give_back_draws(draws, fit, points, newdata)
    })
  })
}
