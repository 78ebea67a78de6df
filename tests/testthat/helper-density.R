# The log density of each family in plain R, a line for each: its value for a response y of weight w, given the linear
# predictor and the parameters; responses; parameters; weights; the link. A `weight` stands for minus the second
# derivative where the family has another one.

density_case <- function(log_density, y, phi = numeric(), w = c(1, 2.5), link = NULL, weight = NULL, far = NULL) {
  list(log_density = log_density, y = y, phi = phi, w = w, link = link, weight = weight, far = far)
}
few <- c(0, 1, 2, 7, 40)
reals <- c(-3.7, 0.2, 1, 60)
sizes <- c(1e-3, 0.2, 1, 60)
success_cases <- function(log_p, log_q, link, weight = NULL) {
  density_case(\(y, w, eta, phi) lchoose(w, w * y) + ifelse(y > 0, w * y * log_p(eta), 0) +
                 ifelse(y < 1, w * (1 - y) * log_q(eta), 0), c(0, 0.4, 1), w = c(5, 10), link = link, weight = weight)
}

oracle_densities <- function() list(
  poisson = density_case(\(y, w, eta, phi) w * dpois(y, exp(eta), log = TRUE), few),
  binomial = success_cases(\(e) plogis(e, log.p = TRUE), \(e) plogis(-e, log.p = TRUE), "logit"),
  binomial = success_cases(\(e) pnorm(e, log.p = TRUE), \(e) pnorm(-e, log.p = TRUE), "probit"),
  binomial = success_cases(\(e) ifelse(e < -20, e, log(-expm1(-exp(e)))), \(e) -exp(e), "cloglog"),
  binomial = success_cases(\(e) pcauchy(e, log.p = TRUE), \(e) pcauchy(-e, log.p = TRUE), "cauchit",
                           weight = \(w, eta, phi) w * dcauchy(eta)^2 / (pcauchy(eta) * pcauchy(-eta))),
  negative_binomial = density_case(\(y, w, eta, phi) w * dnbinom(y, phi[1], mu = exp(eta), log = TRUE), few,
                                   c(theta = 1.7)),
  Gamma = density_case(\(y, w, eta, phi) dgamma(y, w * phi[1], w * phi[1] / exp(eta), log = TRUE), sizes,
                       c(shape = 2.3)),
  student = density_case(\(y, w, eta, phi) dt((y - eta) * sqrt(w) / phi[2], phi[1], log = TRUE) + log(w) / 2 -
                           log(phi[2]), reals, c(df = 4.5, scale = 0.7),
                         weight = \(w, eta, phi) w * (phi[1] + 1) / (phi[1] + 3) / phi[2]^2 + 0 * eta)
)
