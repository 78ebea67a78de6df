# Responses that the trend or the field separates, and fields whose variance vanishes, against glm().

d <- withr::with_seed(7, {
  d <- data.frame(px = runif(60), py = runif(60), x = rnorm(60), w = rnorm(60),
                  g = factor(sample(letters[1:3], 60, TRUE)))
  transform(d, k = rbinom(60, 1, plogis(w)), count = rpois(60, exp(1 + 0.5 * w)), size = rgamma(60, 3, 3 / exp(w)))
})
without_field <- function(formula, family, data = d, ...) {
  gp(formula, data, ~ px + py, matern(3/2, 1e-8, 0.3), family = family, estimate = "none", ...)
}
factor_response <- \(data) transform(data, k = factor(ifelse(k == 1, "yes", "no")))
with_shape <- function(family, shape) {
  family$parameters <- kernops:::new_family("Gamma", list(shape = shape))$parameters
  family
}
suppress_search <- function(code) withCallingHandlers(code, kernops_not_converged = \(w) invokeRestart("muffleWarning"))

test_that("a warning of separation by the trend names the covariates", {
  complete <- transform(d, k = as.integer(x > 0))
  for (link in c("logit", "probit", "cloglog")) {
    expect_warning(without_field(k ~ x + w, binomial(link), complete), "`x` separates", class = "kernops_separation")
  }
  by_sum <- transform(d, k = as.integer(x + w > 0.1))
  expect_warning(without_field(k ~ x + w, binomial(), by_sum), "`x` and `w` separate", class = "kernops_separation")
  quasi <- transform(d, k = ifelse(g == "b", 0, k))
  expect_warning(without_field(k ~ w + g, binomial(), quasi), "`gb` separates", class = "kernops_warning")
  tied <- transform(d, x = round(x, 1))
  tied$k <- ifelse(tied$x == 0, tied$k, as.integer(tied$x > 0))
  expect_warning(without_field(k ~ x, binomial(), tied), class = "kernops_separation")
  trials <- transform(d, s = ifelse(g == "c", 4, rbinom(60, 4, 0.5)))
  expect_warning(without_field(cbind(s, 4 - s) ~ g, binomial(), trials), "`gc`", class = "kernops_separation")
  expect_warning(without_field(k ~ x, binomial(), factor_response(complete)), "`x`", class = "kernops_separation")
})

test_that("a group whose counts are all zero gives a warning", {
  none <- transform(d, count = ifelse(g == "b", 0, count))
  for (family in list(poisson(), negative_binomial(2))) {
    expect_warning(without_field(count ~ w + g, family, none), "`gb`.*rates are 0", class = "kernops_separation")
  }
  estimated <- function() gp(count ~ g, none, ~ px + py, matern(3/2), family = poisson())
  expect_warning(estimated(), class = "kernops_separation")
  expect_silent(without_field(count ~ g, poisson(), transform(d, count = ifelse(g == "b" & px < 0.9, 0, count + 1))))
})

test_that("overlapping data give no warning, even if a covariate predicts well", {
  near <- transform(d, k = as.integer(x > 0))
  near$k[which.max(near$x)] <- 0L
  expect_silent(without_field(k ~ x + g, binomial(), near))
  expect_silent(without_field(k ~ w, binomial()))
  expect_silent(without_field(size ~ w, kernops:::as_family(Gamma("log")) |> with_shape(3)))
  expect_silent(without_field(count ~ 1, poisson()))
})

test_that("separation is found if and only if the likelihood has no maximum", {
  withr::local_seed(1)
  for (round in 1:60) {
    n <- sample(8:40, 1)
    x <- cbind(1, matrix(rnorm(3 * n), n))
    if (round %% 3 == 0) x <- round(x)
    y <- if (round %% 2) rbinom(n, 1, 0.5) else as.integer(x %*% rnorm(4) > 0)
    if (qr(x)$rank < 4) next
    # Newton's method converges if there is a maximum; otherwise each step adds about 1 to the largest linear predictor
    after <- \(maxit) glm.fit(x, y, family = binomial(), control = list(maxit = maxit, epsilon = 1e-300))
    steps <- suppressWarnings(lapply(c(25, 29), after))
    grows <- max(abs(steps[[2]]$coefficients - steps[[1]]$coefficients)) > 0.1
    expect_identical(kernops:::separates(x, 2 * y - 1), grows, info = round)
  }
})

test_that("a field that separates the response gives a warning", {
  halves <- transform(d, k = as.integer(px > 0.5))
  expect_warning(suppress_search(gp(k ~ 1, halves, ~ px + py, matern(3/2), family = binomial())), "field separates",
                 class = "kernops_separation")
  sites <- transform(d, site = factor(rep(1:12, 5)))
  sites$k <- as.integer(as.integer(sites$site) %% 2 == 0)
  expect_warning(suppress_search(gp(k ~ 1, sites, covariance = random_effect(~ 1 | site), family = binomial())),
                 class = "kernops_separation")
  expect_warning(suppress_search(gp(k ~ 1, halves, ~ px, matern(3/2), family = binomial("probit"))),
                 class = "kernops_separation")
})

test_that("standard errors of the trend agree with glm() if the field vanishes", {
  vanishes <- function(fit) expect_lt(fit$theta[[1]], 1e-3)
  for (case in list(list(k ~ w, binomial()), list(count ~ w, poisson()), list(count ~ g + w, poisson()))) {
    fit <- suppressWarnings(gp(case[[1]], d, ~ px + py, matern(3/2), family = case[[2]],
                               prior = list(variance = pc_sd(1e-4))))
    vanishes(fit)
    peer <- glm(case[[1]], case[[2]], d, control = list(epsilon = 1e-12))
    expect_silent(trend <- vcov(fit))
    expect_equal(trend, vcov(peer), tolerance = 1e-2)
    expect_warning(both <- vcov(fit, "both"), class = "kernops_no_standard_error")
    expect_identical(both[names(coef(fit)), names(coef(fit))], trend)
    expect_true(is.na(both["matern.range", "matern.range"]))
    expect_silent(limits <- confint(fit, type = "trend"))
    expect_equal(limits, confint.default(peer), tolerance = 2e-2)
  }
})

test_that("a field whose variance vanishes does not change the standard errors of the trend", {
  for (seed in c(1, 2, 6)) {
    withr::local_seed(seed)
    counts <- transform(d, count = rpois(60, exp(1 + 0.5 * w)))
    fit <- suppressWarnings(gp(count ~ w, counts, ~ px + py, family = poisson()))
    peer <- glm(count ~ w, poisson(), counts)
    expect_silent(errors <- sqrt(diag(vcov(fit))))
    expect_true(all(errors > 0.9 * sqrt(diag(vcov(peer)))))
    if (fit$theta[[1]] < 1e-4) expect_equal(errors, sqrt(diag(vcov(peer))), tolerance = 1e-2)
  }
})

test_that("parameters of the family and of other components keep their standard errors if a field vanishes", {
  skip_if_not_installed("MASS")
  counts <- withr::with_seed(4, transform(d, count = rnbinom(60, mu = exp(1 + 0.5 * w), size = 2)))
  fit <- suppressWarnings(gp(count ~ w, counts, ~ px + py, matern(3/2), family = negative_binomial(),
                             prior = list(variance = pc_sd(1e-4))))
  peer <- MASS::glm.nb(count ~ w, counts)
  v <- suppressWarnings(vcov(fit, "both"))
  expect_equal(sqrt(v["theta", "theta"]), peer$SE.theta, tolerance = 0.1)
  expect_equal(sqrt(diag(v))[1:2], sqrt(diag(vcov(peer))), tolerance = 0.05)
  # without a field, the standard error of the nugget is that of the variance of independent normal residuals
  noise <- withr::with_seed(5, transform(d, z = w + rnorm(60)))
  gaussian <- suppressWarnings(gp(z ~ w, noise, ~ px + py, matern(3/2, range = 0.3) + nugget(),
                                  prior = list(variance = pc_sd(1e-4))))
  errors <- suppressWarnings(vcov(gaussian, "covariance"))
  expect_true(is.na(errors["matern.range", "matern.range"]))
  expect_equal(sqrt(errors["nugget.variance", "nugget.variance"]), gaussian$theta[["nugget.variance"]] * sqrt(2 / 58),
               tolerance = 0.05)
})

test_that("a separating level does not change other coefficients and standard errors", {
  # In the limit, observations of the separating level have no information, so that the other coefficients are those of
  # a fit without these observations.
  counted <- withr::with_seed(7, {
    d <- data.frame(px = runif(150), py = runif(150), w = rnorm(150), g = factor(sample(letters[1:3], 150, TRUE)))
    transform(d, k = rbinom(150, 1, plogis(w)), count = rpois(150, exp(1 + 0.5 * w)))
  })
  counted <- transform(counted, k = ifelse(g == "c", 0, k), count = ifelse(g == "c", 0, count))
  rest <- droplevels(subset(counted, g != "c"))
  others <- c("(Intercept)", "w", "gb")
  for (case in list(list(k ~ w + g, binomial(), 1), list(count ~ w + g, poisson(), 0.08),
                    list(count ~ w + g, negative_binomial(5), 0.08))) for (method in c("exact", "vecchia")) {
    one <- \(data) gp(case[[1]], data, ~ px + py, matern(3/2, case[[3]], 0.1), method, "none", family = case[[2]],
                      neighbours = 149)
    expect_warning(fit <- one(counted), "`gc` separates", class = "kernops_separation")
    expect_silent(without <- one(rest))
    expect_equal(coef(fit)[others], coef(without)[others], tolerance = 1e-3)
    expect_silent(errors <- sqrt(diag(vcov(fit))))
    expect_equal(errors[others], sqrt(diag(vcov(without)))[others], tolerance = 1e-3)
    expect_gt(errors[["gc"]], 50)
  }
  # glm() is a fit without a field
  quasi <- suppressWarnings(without_field(k ~ w + g, binomial(), counted))
  peer <- glm(k ~ w + g, binomial(), counted)
  expect_equal(sqrt(diag(vcov(quasi)))[others], sqrt(diag(vcov(peer)))[others], tolerance = 1e-3)
})
