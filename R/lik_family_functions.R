# Functions of a family that are computed from its row: links, means, distribution functions and deviances.

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

# Solves mean(eta, phi, link) = mu for the linear predictor eta by bisection; the mean increases in eta. The result is
# infinite for mu beyond the range of means.
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

# Distribution functions of counts, or of numbers of successes. The values of these functions are sums of the
# probabilities of 0, 1, ..., computed for some observations at a time. The result is 0 more than 10 standard deviations
# below the mean, and 1 more than 40 standard deviations above the mean.
summed_cdf <- function(density) {
  force(density)
  function(q, eta, w, phi, link) sum_probabilities(density, q, eta, w, phi, link)
}

sum_probabilities <- function(density, q, eta, w, phi, link, batch = 64) {
  n <- length(eta)
  w <- rep_len(w, n)
  unit <- if (density$response == "binomial") w else rep(1, n)
  q <- floor(rep_len(q, n) * unit + 1e-9 * unit)
  mu <- density$mean(eta, phi, link) * unit
  sd <- if (is.null(density$variance)) Inf else sqrt(density$variance(mu / unit, w, phi)) * unit
  first <- pmax(0, floor(mu - 10 * sd))
  total <- as.numeric(q > mu + 40 * sd + 50 | density$response == "binomial" & q >= w)
  while (length(open <- which(q >= first & total < 1 - 1e-15))) {
    count <- rep(first[open], each = batch) + seq_len(batch) - 1
    each <- rep(open, each = batch)
    y <- pmin(count, q[each]) / unit[each]
    terms <- density_terms(list(density = density), y, w[each], eta[each], some_phi(phi, each))
    total[open] <- total[open] + colSums(matrix(exp(terms$value) * (count <= q[each]), batch))
    first[open] <- first[open] + batch
  }
  pmin(total, 1)
}

# Twice the difference between the maximum of the log density over eta and the log density at mu. A golden-section
# search finds the maximum around the linear predictor whose mean is mu.
searched_deviance <- function(density) {
  force(density)
  function(y, mu, w, phi) search_deviance(density, y, mu, w, phi)
}

search_deviance <- function(density, y, mu, w, phi, width = 40) {
  constant <- density_constant(list(density = density), y, w, phi)
  value <- function(eta) {
    value <- density_terms(list(density = density), y, w, eta, phi, constant)$value
    replace(value, is.na(value), -Inf) # far from the response, the formulas may give NaN
  }
  eta <- density$predictor(mu, phi)
  highest <- at_mean <- value(eta)
  golden <- (sqrt(5) - 1) / 2
  low <- eta - width
  high <- eta + width
  for (step in 1:70) {
    left <- high - golden * (high - low)
    right <- low + golden * (high - low)
    at_left <- value(left)
    at_right <- value(right)
    highest <- pmax(highest, at_left, at_right)
    falls <- at_left > at_right | (at_right == -Inf & right > eta)
    high <- ifelse(falls, right, high)
    low <- ifelse(falls, low, left)
  }
  2 * (highest - at_mean)
}

# A replacement for a function that the user did not pass to likelihood(): it stops when it is called.
lacking_function <- function(name) {
  force(name)
  function(...) {
    stop_kernops("input", "This needs the argument {.arg {name}} of {.fn likelihood}, a function.", call = NULL)
  }
}
