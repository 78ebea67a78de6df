# Predictions and simulations that are averaged over draws of the parameters.

#' @rdname gp_posterior
#' @export
predict.gp_posterior <- function(object, newdata = NULL, se.fit = FALSE,
                                 interval = c("none", "confidence", "prediction"), level = 0.95,
                                 type = c("response", "link"), coords = NULL, nmax = Inf, maxdist = Inf, block = NULL,
                                 cov = FALSE, probs = NULL, above = NULL, sums = NULL, ...) {
  refuse_arguments("predict.gp_posterior", list(...))
  request <- prediction_request(as.list(environment()), object$fit, c("response", "link"), missing(interval))
  object$fit$how$backend <- usable_backend(object$fit$how$backend)
  predicted(object, object$fit, newdata, request)
}

# Calls f(fit, rows) for each distinct draw of the parameters: `fit` has the parameters of this draw, and `rows` are the
# indices of all draws that are equal to this draw.
for_draws <- function(posterior, f, rows = seq_len(nrow(posterior$theta))) {
  fit <- posterior$fit
  sampled <- sampled_fit(fit)
  likelihood <- likelihood_for(sampled$data, sampled$model, sampled$how)
  likelihood$evaluate(unname(sampled$theta)) # chooses the neighbours at the mode, for all draws
  groups <- same_draws(posterior$number[rows])
  with_bar("Averaging", lapply(seq_along(groups), function(k) {
    say_progress(step = paste("draw", k, "of", length(groups)), fraction = (k - 1) / length(groups))
    group <- groups[[k]]
    f(with_parameters(fit, likelihood, unname(posterior$theta[rows[[group[[1]]]], ])), group)
  }))
}

# A list with an element for each distinct proposal: the positions of this proposal among the draws.
same_draws <- function(number) unname(split(seq_along(number), number))

draw_weights <- function(posterior) lengths(same_draws(posterior$number)) / length(posterior$number)

# The fit in which the parameters `theta` replace the estimates. The new fit shares the factor of `likelihood` until the
# next evaluation of the likelihood.
with_parameters <- function(fit, likelihood, theta) UseMethod("with_parameters")

with_parameters.gp <- function(fit, likelihood, theta) {
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
                                  noise = is.null(newdata) && is.null(coords) && missing(type), features = 2000,
                                  coords = NULL, type = c("link", "response", "field"), ...) {
  refuse_arguments("simulate.gp_posterior", list(...))
  check_simulation(nsim, seed, conditional, noise, features)
  object$fit$drawn <- check_choice(type, "type", c("link", "response", "field"))
  if (missing(noise) && missing(type) && is.null(object$fit$family)) tell_new_responses(noise)
  fit <- object$fit
  fit$how$backend <- object$fit$how$backend <- usable_backend(fit$how$backend)
  rows <- rep_len(seq_len(nrow(object$theta)), nsim)
  simulate_points(fit, newdata, coords, nsim, seed, noise, function(points) {
    draws <- matrix(0, nrow(points$u), nsim)
    for_draws(object, function(fit, columns) {
      draws[, columns] <<- simulated(fit, points, length(columns), conditional, noise, features)
    }, rows)
    draws
  })
}
