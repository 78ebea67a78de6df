# Responses and methods of fits with a family, and errors for invalid calls.

withr::local_options(kernops.backend = "auto")  # families are fitted on the CPU
d <- family_data()
covariance <- matern(3/2, 1.1, 0.4)
fixed <- \(formula, ..., data = d) gp(formula, data, ~ a + b, covariance, ..., estimate = "none")

test_that("all representations of a binomial response give the same fit", {
  as_numbers <- fixed(present ~ w, family = binomial())
  expect_equal(fixed(factor(present, labels = c("no", "yes")) ~ w, family = "binomial")$loglik, as_numbers$loglik)
  expect_equal(fixed((present == 1) ~ w, family = binomial)$loglik, as_numbers$loglik)
  trials <- fixed(cbind(k, 5 - k) ~ w, family = binomial())
  expect_equal(fixed(k / 5 ~ w, family = binomial(), weights = rep(5, 40))$loglik, trials$loglik)
  expect_equal(trials$loglik - sum(lchoose(5, d$k)), -trials$state$alpha %*% trials$latent$h / 2 +
                 sum(dbinom(d$k, 5, plogis(trials$latent$terms$eta), log = TRUE)) - sum(lchoose(5, d$k)) -
                 as.numeric(determinant(diag(40) + (covariance_of(d[c("a", "b")], 1.1, 0.4, 0) %*%
                                                      diag(trials$latent$terms$weight)))$modulus) / 2,
               ignore_attr = TRUE, tolerance = 1e-8)
})

test_that("families of other packages are accepted", {
  ours <- fixed(count ~ w, family = negative_binomial(2))
  skip_if_not_installed("MASS")
  expect_equal(fixed(count ~ w, family = MASS::negative.binomial(2))$loglik, ours$loglik)
})

test_that("an offset is added to the linear predictor, also at new points", {
  shifted <- fixed(count ~ w + offset(rep(2, 40)), family = poisson())
  plain <- fixed(count ~ w, family = poisson())
  expect_equal(coef(shifted) + c(2, 0), coef(plain), tolerance = 1e-5)
  more <- transform(d, effort = 2)
  known <- fixed(count ~ 0 + offset(log(effort)), family = poisson(), data = more)
  at <- transform(more[1:3, ], effort = 4)
  expect_equal(predict(known, at, type = "link") - log(2), predict(known, more[1:3, ], type = "link"))
})

test_that("a weight of two has the effect of two equal observations", {
  withr::local_seed(5)
  twice <- rep(1:40, 1 + (1:40 %% 2))
  for (case in list(list(count ~ w, poisson()), list(count ~ w, negative_binomial(1.5)))) {
    once <- fixed(case[[1]], family = case[[2]], weights = 1 + (1:40 %% 2))
    both <- fixed(case[[1]], family = case[[2]], data = d[twice, ])
    expect_equal(once$loglik, both$loglik, tolerance = 1e-8)
    expect_equal(coef(once), coef(both), tolerance = 1e-5)
  }
})

test_that("leave-one-out predictions use the cavity distribution, and are near a fit that omits the observation", {
  fit <- fixed(count ~ w, family = poisson())
  table <- gp_cv(fit)
  folds <- gp_cv(fit, folds = seq_len(40))
  expect_equal(table$fit, folds$fit, tolerance = 0.05)
  expect_equal(table$log_density, folds$log_density, tolerance = 0.05)
  # the definition of leave-one-out, for the first observation
  W <- fit$latent$terms$weight
  x <- model.matrix(fit)
  K <- covariance_of(d[c("a", "b")], 1.1, 0.4, 0)
  S <- solve(K + diag(1 / W))
  gap <- x - K %*% S %*% x
  after <- K - K %*% S %*% K + gap %*% solve(t(x) %*% S %*% x) %*% t(gap)
  v <- 1 / (1 / after[1, 1] - W[1])
  m <- v * (fit$latent$terms$eta[1] / after[1, 1] - W[1] * fit$latent$terms$eta[1] - fit$latent$terms$slope[1])
  expect_equal(table$fit[1], exp(m + v / 2), tolerance = 1e-6)
  density <- integrate(\(eta) dpois(d$count[1], exp(eta)) * dnorm(eta, m, sqrt(v)), m - 9 * sqrt(v), m + 9 * sqrt(v))
  expect_equal(table$log_density[1], log(density$value), tolerance = 1e-6)
  expect_equal(summary(table)$log_score, mean(table$log_density))
})

test_that("simulations have the moments of predictions", {
  fit <- fixed(count ~ w, family = poisson())
  at <- data.frame(a = c(0.2, 0.9), b = c(0.3, 0.6), w = 0)
  link <- predict(fit, at, se.fit = TRUE, type = "link")
  draws <- simulate(fit, 4000, 1, at)
  expect_equal(unname(rowMeans(draws)), link$fit, tolerance = 0.05)
  expect_equal(unname(apply(draws, 1, sd)), link$se.fit, tolerance = 0.05)
  expect_equal(simulate(fit, 2, 1, at, type = "response"), exp(simulate(fit, 2, 1, at)))
  counts <- simulate(fit, 4000, 1, at, noise = TRUE)
  expect_true(all(counts == round(counts)))
  expect_equal(unname(rowMeans(counts)), predict(fit, at)[1:2], tolerance = 0.05, ignore_attr = TRUE)
})

test_that("methods of fits return the parameters of the family", {
  withr::local_seed(6)
  counts <- data.frame(x = runif(60, 0, 6))
  counts$y <- sin(counts$x) + 0.1 * rt(60, 3)
  fit <- gp(y ~ 1, counts, ~ x, matern(5/2), family = student(df = 4))
  expect_named(coef(fit, "both"), c("(Intercept)", "matern.variance", "matern.range", "df", "scale"))
  expect_identical(rownames(confint(fit)), c("(Intercept)", "matern.variance", "matern.range", "scale"))
  expect_equal(attr(logLik(fit), "df"), 4)
  expect_equal(as.vector(confint(fit, "(Intercept)")), coef(fit)[[1]] + c(-1, 1) * qnorm(0.975) * sqrt(vcov(fit)[[1]]))
  limits <- confint(fit, "scale")
  expect_equal(sqrt(prod(limits)), coef(fit, "both")[["scale"]])
  expect_equal(log(limits[2] / limits[1]) / 2 / qnorm(0.975) * coef(fit, "both")[["scale"]],
               sqrt(vcov(fit, "covariance")["scale", "scale"]))
  expect_output(print(fit), "student, link identity, df = 4")
  expect_output(print(summary(fit)), "scale")
  other <- update(fit, . ~ x)
  expect_s3_class(anova(fit, other), "anova")
  expect_equal(anova(fit, other)$Df[2], 1)
  expect_error(AIC(fit, gp(round(y) + 5 ~ 1, counts, ~ x, covariance, family = poisson(), estimate = "none")),
               class = "kernops_input_error")
  expect_equal(sigma(fit), coef(fit, "both")[["scale"]])
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  expect_silent(plot(fit))
  skip_if_not_installed("generics")
  expect_identical(generics::tidy(fit)$term, names(coef(fit, "both")))
  expect_equal(generics::augment(fit)$.fitted, unname(fitted(fit)))
})

test_that("missing observations are omitted", {
  gaps <- transform(d, count = replace(count, 3, NA))
  fit <- fixed(count ~ w, family = poisson(), data = gaps, na.action = na.exclude)
  expect_true(is.na(residuals(fit)[[3]]))
  expect_length(fitted(fit), 40)
  expect_equal(nrow(gp_cv(fit)), 39)
})

test_mistakes("kernops_input_error", alist(
  `negative counts` = fixed(I(count - 2) ~ 1, family = poisson()),
  `counts with fractions` = fixed(y ~ 1, family = negative_binomial(), data = transform(d, y = abs(y))),
  `proportions without trials` = fixed(k / 5 ~ 1, family = binomial()),
  `proportions that are no counts` = fixed(k / 5 ~ 1, family = binomial(), weights = rep(3, 40)),
  `successes without failures` = fixed(k ~ 1, family = binomial()),
  `three columns` = fixed(cbind(k, k, k) ~ 1, family = binomial()),
  `no trials` = fixed(cbind(0 * k, 0 * k) ~ 1, family = binomial()),
  `three levels` = fixed(factor(rep(1:4, 10)) ~ 1, family = binomial()),
  `text` = fixed(rep("a", 40) ~ 1, family = binomial()),
  `a factor of counts` = fixed(factor(count) ~ 1, family = poisson()),
  `two responses` = fixed(cbind(count, k) ~ 1, family = poisson()),
  `what is not positive` = fixed(I(size - 1) ~ 1, family = Gamma("log")),
  `a link that is not there` = fixed(size ~ 1, family = Gamma()),
  `another family` = fixed(size ~ 1, family = inverse.gaussian()),
  `no family` = fixed(size ~ 1, family = 3),
  `an intrinsic model` = gp(count ~ 1, d, ~ a + b, power_law(), family = poisson()),
  `a variogram` = plot(fixed(count ~ 1, family = poisson()), "variogram"),
  `REML` = gp(count ~ 1, d, ~ a + b, covariance, family = poisson(), estimate = "REML"),
  `iterative` = gp(count ~ 1, d, ~ a + b, covariance, family = poisson(), method = "iterative"),
  `a GPU` = kernops:::check_family_method("exact", 40, "cuda", NULL),
  `a transformation` = gp(size ~ 1, d, ~ a + b, covariance, family = Gamma("log"), transform = "log"),
  `many observations` = gp(count ~ 1, d, ~ a + b, linear(1), family = poisson(), estimate = "none", exact_limit = 20),
  `known noise` = fixed(count ~ 1, family = poisson(), known = list(noise = 1)),
  `a constant response` = gp(zero ~ 1, transform(d, zero = 0), ~ a + b, family = poisson()),
  `a parameter without a value` = fixed(count ~ 1, family = negative_binomial()),
  `degrees of freedom` = student(df = 0.5),
  `a size that is negative` = negative_binomial(-1)
))

test_that("quantile residuals are normal quantiles of the distribution function at the observations", {
  withr::local_seed(11)
  d <- data.frame(x = runif(150, 0, 5), trials = sample(1:6, 150, TRUE))
  d$size <- rgamma(150, 4, rate = 4 * exp(-sin(d$x)))
  d$wins <- rbinom(150, d$trials, plogis(sin(d$x)))
  d$count <- rpois(150, exp(1 + sin(d$x)))
  size <- gp(size ~ 1, d, ~ x, matern(5/2), family = Gamma("log"))
  shape <- size$dispersion[["shape"]]
  expected <- qnorm(pgamma(d$size, shape, shape / fitted(size)))
  expect_equal(unname(residuals(size, "quantile")), unname(expected), tolerance = 1e-8)
  # for counts y, the residual is between the normal quantiles of P(Y < y) and P(Y <= y)
  count <- gp(count ~ 1, d, ~ x, matern(5/2), family = poisson())
  p <- pnorm(residuals(count, "quantile"))
  expect_true(all(p >= ppois(d$count - 1, fitted(count)) - 1e-10 & p <= ppois(d$count, fitted(count)) + 1e-10))
  expect_identical(residuals(count, "quantile"), residuals(count, "quantile"))
  wins <- gp(cbind(wins, trials - wins) ~ 1, d, ~ x, matern(5/2), family = binomial())
  p <- pnorm(residuals(wins, "quantile"))
  expect_true(all(p >= pbinom(d$wins - 1, d$trials, fitted(wins)) - 1e-8 &
                    p <= pbinom(d$wins, d$trials, fitted(wins)) + 1e-8))
  for (fit in list(size, count, wins)) expect_gt(ks.test(residuals(fit, "quantile"), "pnorm")$p.value, 0.001)
})

test_that("quantile residuals are independent of numbers that the user drew with the same seed", {
  set.seed(1)
  d <- data.frame(x = runif(600), a = runif(600))
  d$y <- rpois(600, exp(0.5 * d$x - 0.5))
  fit <- gp(y ~ x, d, ~ a, matern(3/2, 0.1, 0.2), family = poisson(), estimate = "none")
  expect_lt(abs(cor(residuals(fit, "quantile"), d$x)), 4 / sqrt(600))
})
