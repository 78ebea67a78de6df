# Likelihoods given as formulas: fits agree with those of families with the same density, and invalid formulas are
# errors.

withr::local_options(kernops.backend = "auto")  # families are fitted on the CPU
d <- family_data(30)
field <- matern(3/2, 0.8, 0.4)
fit_of <- \(formula, family, ...) gp(formula, d, ~ a + b, field, family = family, estimate = "none", ...)
same_fits <- function(formula, ours, family, scale = 1) {
  one <- fit_of(formula, ours)
  other <- fit_of(formula, family)
  expect_equal(one$loglik, other$loglik, tolerance = 1e-9)
  expect_equal(one$beta, other$beta, tolerance = 1e-5)
  expect_equal(residuals(one), residuals(other) * scale, tolerance = 1e-5)
}

test_that("a fit with a formula agrees with the fit of the family that has this density", {
  same_fits(count ~ w, likelihood("y * Log(mu) - mu - Lgamma(y + 1)", y = "count"), poisson())
  same_fits(size ~ w, likelihood("k * (Log(k / mu) - y / mu) + (k - 1) * Log(y) - Lgamma(k)", list(k = 2.5),
                                 y = "positive", fixed = "k"), gp_family("Gamma", shape = 2.5),
            sqrt(2.5)) # the deviance of glm() does not contain the shape
  same_fits(y ~ w, likelihood("-Square((y - eta) / s) / 2 - Log(s) - Log(2 * pi) / 2", list(s = 0.7), fixed = "s"),
            gp_family("tobit", right = 1e9, sigma = 0.7))
  for (link in c("probit", "cloglog")) {
    ours <- likelihood("Lgamma(w + 1) - Lgamma(w * y + 1) - Lgamma(w * (1 - y) + 1) + w * (y * Log(mu) +
                       (1 - y) * Log(1 - mu))", y = "binomial", link = link)
    same_fits(cbind(k, 5 - k) ~ w, ours, binomial(link))
  }
})

test_that("parameters of a formula are estimated, and predictions use the functions that the user gives", {
  ours <- likelihood("LgammaDiff(s, y) - Lgamma(y + 1) - y * Softplus(Log(s) - eta) - s * Softplus(eta - Log(s))",
                     list(s = 1), y = "count", variance = \(mu, phi) mu + mu^2 / phi[["s"]],
                     draw = \(eta, phi) rnbinom(length(eta), phi[["s"]], mu = exp(eta)))
  d$count <- withr::with_seed(1, rnbinom(30, 1.5, mu = exp(1 + d$w)))
  known <- matern(3/2, 0.05, 0.4, fixed = c("variance", "range"))
  one <- gp(count ~ w, d, ~ a + b, known, family = ours)
  other <- gp(count ~ w, d, ~ a + b, known, family = negative_binomial())
  expect_equal(one$loglik, other$loglik, tolerance = 1e-5)
  new <- d[1:3, ]
  expect_equal(predict(one, new, interval = "prediction", se.fit = TRUE),
               predict(other, new, interval = "prediction", se.fit = TRUE), tolerance = 1e-2)
  expect_equal(simulate(one, 2, seed = 1), simulate(other, 2, seed = 1), tolerance = 0.2)
  expect_equal(residuals(one, "pearson"), residuals(other, "pearson"), tolerance = 1e-2)
})

test_that("a log density that is not concave is accepted if `information` is given", {
  cauchy <- likelihood("-Log(pi * s) - Log1p(Square((y - eta) / s))", list(s = 0.5), information = "0.5 / Square(s)",
                       fixed = "s")
  same_fits(y ~ w, cauchy, student(1, 0.5))
})

test_that("a warning reports probabilities that do not sum to 1", {
  expect_warning(likelihood("y * eta - Exp(eta)", y = "count"), "sum to", class = "kernops_not_normalised")
})

test_mistakes("kernops_error", alist(
  `an unknown operation` = likelihood("y * eta - Exp(eta) - Lgama(y + 1)", y = "count"),
  `an unknown variable` = likelihood("-Square(y - z)"),
  `no number` = likelihood("-Square(Concat(y, y) - eta)"),
  `not concave` = likelihood("-Log(1 + Square(y - eta))"),
  `no curvature` = likelihood("-Abs(y - eta)"),
  `not finite` = likelihood("-Square(Log(y) - eta)"),
  `an information that is not positive` = likelihood("-Square(y - eta)", information = "eta"),
  `no linear predictor` = likelihood("-Square(y)"),
  `an unused parameter` = likelihood("-Square(y - eta)", list(k = 1)),
  `a parameter that is not positive` = likelihood("-k * Square(y - eta)", list(k = -1)),
  `a name that is taken` = likelihood("-Square(y - eta)", list(eta = 1)),
  `an unknown fixed parameter` = likelihood("-k * Square(y - eta)", list(k = 1), fixed = "j"),
  `another link` = likelihood("-Square(y - eta)", link = "log"),
  `no function` = likelihood("-Square(y - eta)", draw = 3),
  `a function that is missing` = residuals(fit_of(y ~ w, likelihood("-Square(y - eta) - Log(pi) / 2")), "pearson"),
  `a response that it does not have` = fit_of(y ~ w, likelihood("-Square(Log(y) - eta)", y = "positive"))
))
