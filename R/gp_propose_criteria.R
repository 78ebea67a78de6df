# Criteria of gp_propose(): functions of the mean and the standard deviation of the field, or of its covariances.

# The target of a search, a list of functions: value(x) for the rows of x; both(x) for one point, which returns a list
# of `value` and `gradient`; and report(value), which converts a value to the criterion. The search maximises value().
# The criteria are written for minima of the field; settings$sign is -1 for maxima.
proposal_target <- function(criterion, fit, settings) {
  posterior <- field_posterior(fit)
  target <- if (criterion == "integrated variance") variance_target(posterior, settings$box) else
    moment_target(posterior, switch(criterion, ei = , log_ei = log_improvement(settings$best),
                                    ucb = confidence_bound(settings$sds),
                                    contour = log_contour(settings$sign * settings$threshold, settings$sds)),
                  settings$sign)
  c(target, list(posterior = posterior, report = if (criterion %in% c("log_ei", "ucb")) identity else exp))
}

# `measure(m, s)` returns a list of the value at mean m and standard deviation s, and its derivatives `of_mean` and
# `of_sd`.
moment_target <- function(posterior, measure, sign) {
  list(
    value = function(x) with(posterior$moments(x), measure(sign * mean, sd)$value),
    both = function(x) {
      here <- posterior$slopes(x)
      result <- measure(sign * here$mean, here$sd)
      list(value = result$value, gradient = sign * result$of_mean * here$of_mean + result$of_sd * here$of_sd)
    }
  )
}

confidence_bound <- function(sds) function(m, s) list(value = sds * s - m, of_mean = -1, of_sd = sds)

# The logarithm of the expected improvement below `best`. The expected improvement is s h(z) with h(z) = phi(z) + z
# Phi(z) and z = (best - m) / s.
log_improvement <- function(best) function(m, s) {
  z <- ifelse(s > 0, (best - m) / s, ifelse(best > m, Inf, -Inf))
  log_h <- log_expected_excess(z)
  list(value = ifelse(s > 0, log(s) + log_h, log(pmax(best - m, 0))),
       of_mean = -exp(stats::pnorm(z, log.p = TRUE) - log_h) / s,
       of_sd = exp(stats::dnorm(z, log = TRUE) - log_h) / s)
}

# log(phi(z) + z Phi(z)), computed by three formulas for three ranges of z (Ament et al. 2023). The formula for the
# smallest z is an asymptotic series.
log_expected_excess <- function(z) {
  result <- z
  middle <- z <= -1 & z > -30
  low <- z <= -30
  high <- z > -1
  result[high] <- log(stats::dnorm(z[high]) + z[high] * stats::pnorm(z[high]))
  t <- z[middle]
  # z Phi(z) / phi(z) equals -exp(product)
  product <- log(-t) + stats::pnorm(t, log.p = TRUE) - stats::dnorm(t, log = TRUE)
  result[middle] <- stats::dnorm(t, log = TRUE) + log(-expm1(product))
  r <- z[low]^-2
  result[low] <- stats::dnorm(z[low], log = TRUE) + log(r) + log1p(-r * (3 - r * (15 - r * (105 - 945 * r))))
  result[z == -Inf] <- -Inf
  result
}

# The logarithm of s^2 G(t), where t = (threshold - m) / s. G is the integral over w from 0 to 2 a of (2 a w - w^2)
# phi(r + w), where r = |t| - a, computed by a Gauss rule. For w > 40 / r, the density is negligible.
log_contour <- function(threshold, a) {
  rule <- uniform_quadrature()
  function(m, s) {
    t <- ifelse(s > 0, (threshold - m) / s, Inf)
    r <- abs(t) - a
    width <- pmin(2 * a, 40 / pmax(r, 1e-3))
    w <- outer(width, (1 + rule$at) / 2)
    mass <- (2 * a * w - w^2) * exp(-w * (r + w / 2) - pmin(r, 0)^2 / 2) * outer(width, rule$weight)
    total <- rowSums(mass)
    relative <- -sign(t) * (r + rowSums(mass * w) / total) # the derivative of log(G)
    list(value = ifelse(s > 0, 2 * log(s) + log(total) - pmax(r, 0)^2 / 2 - log(2 * pi) / 2, -Inf),
         of_mean = -relative / s, of_sd = (2 - t * relative) / s)
  }
}

# The logarithm of the decrease of the mean variance of the field over points that fill the box.
variance_target <- function(posterior, box, count = 256) {
  sites <- in_box(even_points(count, ncol(box)), box)
  joint <- posterior$covariances(sites)
  total <- function(sd) sd^2 + posterior$noise
  list(
    value = function(x) {
      decrease <- colMeans(joint$at(x)^2) / total(posterior$moments(x)$sd)
      log(pmax(finite_or_0(decrease), 0))
    },
    both = function(x) {
      here <- posterior$slopes(x)
      c <- as.vector(joint$at(x))
      half <- as.vector(crossprod(joint$slopes(x, here), c)) / sum(c^2)
      list(value = log(mean(c^2) / total(here$sd)),
           gradient = 2 * half - 2 * here$sd * here$of_sd / total(here$sd))
    }
  )
}

in_box <- function(unit, box) {
  x <- t(box[1, ] + t(unit) * (box[2, ] - box[1, ]))
  colnames(x) <- colnames(box)
  x
}
