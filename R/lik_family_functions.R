# Functions of families that follow from the row: links, means, distribution functions and deviances.

inverse_link <- function(eta, link) {
  switch(link, identity = eta, log = exp(eta), logit = stats::plogis(eta), probit = stats::pnorm(eta),
         cloglog = -expm1(-exp(eta)), cauchit = stats::pcauchy(eta))
}

# The linear predictor at which the mean is y.
link_of <- function(y, link) {
  share <- pmin(pmax(y, 0), 1)
  switch(link, identity = y, log = log(pmax(y, 0)), logit = stats::qlogis(share), probit = stats::qnorm(share),
         cloglog = log(-log1p(-share)), cauchit = stats::qcauchy(share))
}

# The linear predictor at which an increasing function mean(eta, phi, link) is mu, by bisection; infinite for mu beyond
# the range of means.
predictor_of_mean <- function(mu, mean, phi, link = NULL) {
  low <- rep_len(-750, length(mu))
  high <- -low
  for (step in 1:70) {
    middle <- (low + high) / 2
    below <- mean(middle, phi, link) < mu
    low <- ifelse(below, middle, low)
    high <- ifelse(below, high, middle)
  }
  ifelse(low > 749, Inf, ifelse(high < -749, -Inf, high))
}

# Sums of the probabilities of 0, 1, ..., for binomial responses of so many successes, some at a time. Counts more than 10
# standard deviations below the mean have no probability, counts beyond 40 above it all of it.
summed_cdf <- function(density) function(q, eta, w, phi, link, some = 64) {
  n <- length(eta)
  w <- rep_len(w, n)
  unit <- if (density$response == "binomial") w else rep(1, n)
  q <- floor(rep_len(q, n) * unit + 1e-9 * unit)
  mu <- density$mean(eta, phi, link) * unit
  sd <- sqrt(density$variance(mu / unit, w, phi)) * unit
  first <- pmax(0, floor(mu - 10 * sd))
  total <- as.numeric(q > mu + 40 * sd + 50 | density$response == "binomial" & q >= w)
  while (length(open <- which(q >= first & total < 1 - 1e-15))) {
    count <- rep(first[open], each = some) + seq_len(some) - 1
    each <- rep(open, each = some)
    y <- pmin(count, q[each]) / unit[each]
    terms <- density_terms(list(density = density), y, w[each], eta[each], phi)
    total[open] <- total[open] + colSums(matrix(exp(terms$value) * (count <= q[each]), some))
    first[open] <- first[open] + some
  }
  pmin(total, 1)
}

# Twice the difference of the log density from its maximum over eta, by golden sections of an interval about the
# predictor of the mean.
searched_deviance <- function(density, width = 40) function(y, mu, w, phi) {
  constant <- density_constant(list(density = density), y, w, phi)
  value <- function(eta) density_terms(list(density = density), y, w, eta, phi, constant)$value
  eta <- density$predictor(mu, phi)
  golden <- (sqrt(5) - 1) / 2
  low <- eta - width
  high <- eta + width
  for (step in 1:70) {
    left <- high - golden * (high - low)
    right <- low + golden * (high - low)
    falls <- value(left) > value(right)
    high <- ifelse(falls, right, high)
    low <- ifelse(falls, low, left)
  }
  2 * pmax(0, value((low + high) / 2) - value(eta))
}
