# sigma(), deviance() and comparisons of fits, against lm() and nlme::gls().

noise_alone <- function() nugget()
points <- withr::with_seed(40, transform(smooth_case(60, noise = 0.4), v = runif(60)))

test_that("sigma(), deviance() and similar functions of independent observations agree with lm()", {
  same <- function(ours, lm) {
    expect_equal(as.numeric(ours), as.numeric(lm), tolerance = 1e-4, label = deparse1(substitute(ours)))
  }
  plain <- lm(z ~ w + a, points)
  fit <- gp(z ~ w + a, points, ~ a + b, noise_alone())
  same(sigma(fit), sqrt(mean(resid(plain)^2)))
  same(deviance(fit), -2 * logLik(plain))
  same(df.residual(fit), df.residual(plain))
  same(AIC(fit), AIC(plain))
  same(BIC(fit), BIC(plain))
  same(AIC(fit, k = 3), AIC(plain, k = 3))
  reml <- update(fit, estimate = "REML")
  same(sigma(reml), sigma(plain))
  gram <- crossprod(model.matrix(plain))
  same(deviance(reml), -2 * logLik(plain, REML = TRUE) - determinant(gram)$modulus)

  weighted <- lm(z ~ w, points, weights = v)
  fit <- gp(z ~ w, points, ~ a + b, noise_alone(), weights = v)
  same(sigma(fit), sqrt(mean(weighted$residuals^2 * points$v)))
  same(deviance(fit), -2 * logLik(weighted))
})

test_that("sigma() is the standard deviation of the nugget, or of the known noise if there is no nugget", {
  fit <- gp(z ~ 1, points, ~ a + b, exponential(1, 0.3) + nugget(0.09), estimate = "none")
  expect_equal(sigma(fit), 0.3)
  expect_identical(sigma(gp(z ~ 1, points, ~ a + b, exponential(1, 0.3), estimate = "none")), 0)
  noisy <- gp(z ~ 1, points, ~ a + b, exponential(1, 0.3), estimate = "none", known = list(noise = 0.1))
  expect_identical(sigma(noisy), NA_real_)
  known <- gp(z ~ 0, points, ~ a + b, exponential(1, 0.3), estimate = "none", known = list(beta = 1))
  expect_identical(df.residual(known), 60L)
})

test_that("likelihood ratios and information criteria agree with nlme", {
  skip_if_not_installed("nlme")
  distances <- as.matrix(dist(points[c("a", "b")]))
  withr::local_seed(41)
  points$z <- points$w + as.vector(rnorm(60) %*% chol(exp(-distances / 0.15))) + rnorm(60, sd = 0.3)
  spatial <- nlme::corExp(c(0.3, 0.2), form = ~ a + b, nugget = TRUE)
  for (method in c("ML", "REML")) {
    theirs <- list(nlme::gls(z ~ w, points, method = method), nlme::gls(z ~ w, points, spatial, method = method))
    small <- gp(z ~ w, points, ~ a + b, noise_alone(), estimate = method)
    large <- gp(z ~ w, points, ~ a + b, exponential() + nugget(), estimate = method)
    table <- anova(large, small)
    expected <- nlme::anova.lme(theirs[[1]], theirs[[2]])
    expect_identical(rownames(table), c("small", "large"))
    expect_equal(table$Chisq[[2]], expected$L.Ratio[[2]], tolerance = 1e-4)
    expect_equal(table$`Pr(>Chisq)`[[2]], expected$`p-value`[[2]], tolerance = 1e-2)
    expect_identical(table$Df, c(NA, 2))
    gap <- if (method == "REML") as.numeric(determinant(crossprod(cbind(1, points$w)))$modulus) else 0
    expect_equal(table$AIC, expected$AIC - gap, tolerance = 1e-4)
  }
})

test_that("anova() orders the fits, tests nested trends and prints the result", {
  fits <- lapply(list(z ~ w, z ~ 1, z ~ w + v, z ~ a + b + v), gp, points, ~ a + b, noise_alone())
  names(fits) <- c("one", "none", "two", "other")
  table <- with(fits, anova(two, none, one))
  expect_identical(rownames(table), c("none", "one", "two"))
  plain <- lapply(list(z ~ 1, z ~ w, z ~ w + v), lm, points)
  expect_equal(table$logLik, vapply(plain, logLik, 0), tolerance = 1e-6)
  expect_equal(table$Chisq[-1], 2 * diff(vapply(plain, logLik, 0)), tolerance = 1e-4)
  expect_equal(table$`Pr(>Chisq)`[-1], 1 - pchisq(table$Chisq[-1], 1), tolerance = 1e-10)
  expect_identical(with(fits, anova(other, two))$Chisq, c(NA_real_, NA_real_))
  expect_identical(with(fits, anova(two, two))$Df, c(NA_real_, NA_real_))
  expect_output(print(table), "Likelihood ratio tests [(]ML[)].*one: z ~ w with .*Pr[(]>Chisq[)]")
  expect_identical(rownames(do.call(anova, unname(fits[1:2]))), c("fit 2", "fit 1"))

  # a known mean is nested in an estimated trend that contains this mean
  simple <- gp(z ~ 0, points, ~ a + b, noise_alone(), known = list(beta = 1))
  expect_false(is.na(anova(simple, fits$none)$Chisq[[2]]))
  shifted <- gp(z ~ 0 + offset(v), points, ~ a + b, noise_alone())
  expect_true(is.na(anova(shifted, fits$none)$Chisq[[2]]))
})

test_that("criteria of several fits are a table, as for other models", {
  one <- gp(z ~ w, points, ~ a + b, noise_alone())
  two <- gp(z ~ w + a, points, ~ a + b, noise_alone())
  plain <- lm(z ~ w, points)
  expect_equal(AIC(one, two, plain), data.frame(df = c(3, 4, 3), AIC = c(AIC(one), AIC(two), AIC(plain)),
                                                row.names = c("one", "two", "plain")))
  expect_equal(BIC(one, plain)$BIC, c(BIC(one), BIC(plain)))
  expect_equal(AIC(one, two, k = 5)$AIC, c(AIC(one, k = 5), AIC(two, k = 5)))
})

test_that("a trend with noise alone does not need coordinates", {
  fit <- gp(z ~ w, points, covariance = nugget())
  plain <- lm(z ~ w, points)
  expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(plain)), tolerance = 1e-8)
  expect_equal(residuals(fit), residuals(plain), tolerance = 1e-8)
  new <- data.frame(w = c(-1, 2))
  expect_equal(predict(fit, new), predict(plain, new), tolerance = 1e-8)
})

test_that("drop1() and step() compare trends as for lm()", {
  fit <- gp(z ~ w + a, points, ~ a + b, noise_alone())
  plain <- lm(z ~ w + a, points)
  # a nugget alone is the model of lm(); extractAIC() of lm() omits the constant n (1 + log(2 pi)), and does not count
  # the variance as a parameter
  n <- nrow(points)
  expect_equal(extractAIC(fit), extractAIC(plain) + c(1, n * (1 + log(2 * pi)) + 2), tolerance = 1e-6)
  expect_equal(diff(drop1(fit)$AIC), diff(drop1(plain)$AIC), tolerance = 1e-6)
  expect_identical(all.vars(formula(step(fit, trace = 0))), all.vars(formula(step(plain, trace = 0))))
  expect_error(drop1(gp(z ~ w, points, ~ a + b, noise_alone(), estimate = "REML")), class = "kernops_input_error")
})

test_that("Pearson residuals are divided by the standard deviation of the noise", {
  points$weight <- seq_len(nrow(points))
  fit <- gp(z ~ w, points, ~ a + b, noise_alone(), weights = weight)
  plain <- lm(z ~ w, points, weights = weight)
  expect_equal(residuals(fit, "pearson") * sigma(fit), residuals(plain, "pearson"), tolerance = 1e-6)
  exact <- gp(z ~ 1, points, ~ a + b, matern(3/2, variance = 1, range = 1), estimate = "none")
  expect_true(all(is.na(residuals(exact, "pearson"))))
})

test_that("restricted likelihoods are compared only if the fits have the same error contrasts", {
  reml <- function(formula) gp(formula, points, ~ a + b, noise_alone(), estimate = "REML")
  fit <- reml(z ~ w)
  for (compare in list(AIC, BIC, anova)) {
    expect_error(compare(fit, reml(z ~ 1)), "different trends.*estimate = \"ML\"", class = "kernops_input_error")
    expect_error(compare(fit, gp(z ~ w, points, ~ a + b, noise_alone())), "with others", class = "kernops_input_error")
  }
  expect_error(AIC(fit, lm(z ~ w, points)), "with others", class = "kernops_input_error")
  # the trend is the same, but its covariate is scaled and shifted
  expect_equal(AIC(fit, reml(z ~ I(3 * w - 1)))$AIC, rep(AIC(fit), 2), tolerance = 1e-6)
})

ours <- function(formula, ...) gp(formula, points, ~ a + b, noise_alone(), ...)
test_mistakes("kernops_input_error", alist(
  `one fit alone` = anova(ours(z ~ w)),
  `a test against a fit of something else` = anova(ours(z ~ w), lm(z ~ w, points)),
  `restricted likelihoods of different trends` = AIC(ours(z ~ w, estimate = "REML"), ours(z ~ 1, estimate = "REML")),
  `a restricted likelihood and another` = BIC(ours(z ~ w, estimate = "REML"), ours(z ~ w)),
  `another response` = anova(ours(z ~ w), ours(log(z + 9) ~ w)),
  `fewer observations` = AIC(ours(z ~ w), lm(z ~ w, points[-1, ])),
  `an argument of sigma() that is not there` = sigma(ours(z ~ w), use.fallback = TRUE)
))
