# Adaptive importance sampling of the posterior of the parameters, on the scale of the search.

# The target of the sampler: `centers`, the optima of the posterior density, beginning with the mode; `scales`, the
# covariance matrices of the normal approximations at these optima; and the functions log_density(s) and theta_of(s).
posterior_target <- function(fit) {
  fit <- sampled_fit(fit)
  parameters <- fit$model$parameters
  free <- which(!parameters$fixed)
  sampled <- parameters[free, ]
  likelihood <- likelihood_for(fit$data, fit$model, fit$how)
  theta <- unname(fit$theta)
  optima <- c(list(theta), lapply(fit$search$rivals, function(rival) unname(rival$theta)))
  centers <- lapply(optima, function(theta) to_search(sampled, theta[free]))
  low <- to_search(sampled, sampled$lower)
  high <- to_search(sampled, sampled$upper)
  turning <- is_direction(sampled) # directions that differ by half a turn are equal
  low[turning] <- centers[[1]][turning] - pi / 2
  high[turning] <- centers[[1]][turning] + pi / 2
  theta_of <- function(s) replace(theta, free, from_search(sampled, s))
  log_density <- function(s) {
    if (any(s < low | s > high)) return(-Inf)
    value <- likelihood$value(theta_of(s))
    if (is.finite(value)) -value / 2 else -Inf
  }
  log_density(centers[[1]]) # the first evaluation chooses the neighbours, so it is at the mode
  scales <- lapply(optima, function(theta) {
    information <- observed_information(replace(fit, "theta", list(theta)), free)
    if (all(is.finite(information))) solve(positive_definite(information)) else diag(0.25, length(free))
  })
  list(centers = centers, scales = scales, log_density = log_density, theta_of = theta_of, names = parameters$name)
}

# A sample of 2 n proposals: a row of parameters and a weight for each proposal, and the effective sample size.
posterior_pool <- function(target, n) {
  first <- t_mixture(target$centers, target$scales)
  s <- first$draw(n)
  density <- log_densities(target, s, "first")
  weight <- importance_weights(density, first$log_density(s))
  second <- adapted(first, s, weight)
  more <- second$draw(n)
  density <- c(density, log_densities(target, more, "second"))
  s <- rbind(s, more)
  by_both <- cbind(first$log_density(s), second$log_density(s)) - log(2)
  weight <- importance_weights(density, log_sum_exp(by_both))
  theta <- vapply(seq_len(nrow(s)), function(k) target$theta_of(s[k, ]), numeric(length(target$names)))
  theta <- matrix(theta, nrow(s), byrow = TRUE, dimnames = list(NULL, target$names))
  list(theta = theta, weight = weight, ess = 1 / sum(weight^2))
}

log_densities <- function(target, s, round) {
  vapply(seq_len(nrow(s)), function(k) {
    say_progress(step = paste0(round, " round, likelihood ", k), fraction = (k - 1) / nrow(s))
    target$log_density(s[k, ])
  }, 0)
}

importance_weights <- function(log_density, log_proposal) {
  ratio <- log_density - log_proposal
  weight <- exp(ratio - max(ratio))
  weight / sum(weight)
}

log_sum_exp <- function(x) {
  top <- apply(x, 1, max)
  top + log(rowSums(exp(x - top)))
}

# Adds a component with the mean and covariance of the weighted draws, if there are enough draws to estimate them.
adapted <- function(first, s, weight) {
  if (1 / sum(weight^2) < 10 * ncol(s)) return(first)
  moments <- stats::cov.wt(s, weight, method = "ML")
  scale <- moments$cov
  if (min(eigen(scale, TRUE, TRUE)$values) <= 1e-10 * max(diag(scale))) return(first)
  t_mixture(list(moments$center), list(scale))
}

# A mixture of multivariate t distributions with equal weights: draw(n), which returns a row for each draw, and
# log_density(s).
t_mixture <- function(centers, scales, df = 5) {
  roots <- lapply(scales, chol)
  p <- length(centers[[1]])
  constant <- lgamma((df + p) / 2) - lgamma(df / 2) - p / 2 * log(df * pi) - log(length(centers))
  list(draw = function(n) {
    part <- rep_len(seq_along(centers), n)
    s <- normal_numbers(n, p) * sqrt(df / stats::rchisq(n, df))
    for (k in seq_along(centers)) {
      members <- part == k
      s[members, ] <- s[members, , drop = FALSE] %*% roots[[k]] + rep(centers[[k]], each = sum(members))
    }
    s
  }, log_density = function(s) {
    by_part <- vapply(seq_along(centers), function(k) {
      off <- backsolve(roots[[k]], t(s) - centers[[k]], transpose = TRUE)
      constant - sum(log(diag(roots[[k]]))) - (df + p) / 2 * log1p(colSums(off^2) / df)
    }, numeric(nrow(s)))
    log_sum_exp(matrix(by_part, nrow(s)))
  })
}

# Draws n of the numbers 1, 2, ..., length(weight), with repetitions, in random order. Number k occurs n w_k times,
# rounded up or down, where w_k is the weight of number k divided by the sum of the weights.
systematic_sample <- function(weight, n) {
  upto <- cumsum(weight)
  levels <- (seq_len(n) - stats::runif(1)) / n * upto[[length(upto)]]
  index <- findInterval(levels, c(0, upto), all.inside = TRUE, left.open = TRUE)
  index[sample.int(n)]
}
