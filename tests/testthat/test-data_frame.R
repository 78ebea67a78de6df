# The trend, weights, coordinates and missing values of gp(), against lm() and plain R.

test_that("the terms, the weights and the model matrix of the trend agree with lm()", {
  withr::local_seed(36)
  d <- transform(smooth_case(20), g = factor(rep(c("p", "q"), 10)), v = runif(20))
  d$z[4] <- NA
  fit <- gp(z ~ w + g, d, ~ a + b, given(), estimate = "none", weights = v, na.action = na.exclude)
  peer <- lm(z ~ w + g, d, weights = v, na.action = na.exclude)
  expect_identical(weights(fit), weights(peer))
  expect_identical(labels(terms(fit)), labels(terms(peer)))
  expect_equal(model.matrix(fit), model.matrix(peer))
  expect_equal(model.weights(model.frame(fit)), model.weights(model.frame(peer)))
  expect_null(weights(gp(z ~ 1, d, ~ a + b, given(), estimate = "none")))
})

test_that("weights and noise may be variables of the data", {
  withr::local_seed(16)
  d <- transform(smooth_case(30), v = runif(30))
  outside <- 2
  by_name <- gp(z ~ 1, d, ~ a + b, given(), estimate = "none", weights = v + outside, known = list(noise = ~ v^2))
  by_value <- gp(z ~ 1, d, ~ a + b, given(), estimate = "none", weights = d$v + 2, known = list(noise = d$v^2))
  passed_on <- function(...) gp(z ~ 1, d, ~ a + b, given(), estimate = "none", known = list(noise = ~ v^2), ...)
  weights <- d$v + 2
  expect_equal(coef(passed_on(weights = weights)), coef(by_value))
  expect_equal(by_name$loglik, by_value$loglik)
  expect_equal(coef(update(by_name, . ~ w)), coef(update(by_value, . ~ w)))
})

test_that("offsets and factors of a trend agree with plain R", {
  withr::local_seed(7)
  d <- transform(smooth_case(40), g = rep(c("p", "q"), 20))
  fit <- gp(z ~ g + offset(w), d, ~ a + b, given(), estimate = "none")
  other <- gp(I(z - w) ~ g, d, ~ a + b, given(), estimate = "none")
  expect_equal(fit$loglik, other$loglik)
  expect_equal(predict(fit, d[1:3, ]), predict(other, d[1:3, ]) + d$w[1:3])
  expect_equal(predict(fit), predict(fit, d))
})

test_that("the trend agrees with lm() for unused levels, bases that depend on the data, and matrices", {
  withr::local_seed(18)
  d <- transform(smooth_case(40), g = factor(rep(c("p", "q"), 20), levels = c("p", "q", "r")))
  expect_named(coef(gp(z ~ g, d, ~ a + b, given(), estimate = "none")), c("(Intercept)", "gq"))
  for (formula in list(z ~ poly(w, 3), scale(z) ~ splines::ns(w, df = 3) * g, z ~ scale(w))) {
    fit <- gp(formula, d, ~ a + b, given(), estimate = "none")
    expect_equal(predict(fit, d[3:5, ]), fitted(fit)[3:5])
  }
  d$g <- NULL
  fit <- gp(z ~ w, d, ~ a + b, given(), estimate = "none")
  expect_equal(gp(z ~ w, as.matrix(d), ~ a + b, given(), estimate = "none")$loglik, fit$loglik)
  expect_equal(unname(predict(fit, as.matrix(d[1:3, ]))), unname(predict(fit, d[1:3, ])))
})

test_that("the trend may use functions, settings and constants of the user, as in lm()", {
  withr::local_seed(26)
  d <- transform(smooth_case(40), g = sample(c("p", "q", "r"), 40, TRUE), l = rep(c(TRUE, FALSE), 20))
  setting <- list(p = 2)
  squared <- TRUE
  for (trend in list(~ poly(w, 2, raw = T), # nolint: users write T
                     ~ C(factor(g), contr.helmert), ~ sapply(w, abs), ~ I(w^setting$p),
                     ~ I(if (squared) w^2 else w), ~ g + l)) {
    # the field has the variance 1e-12, so that predictions equal the trend
    fit <- gp(update(trend, z ~ .), d, ~ a + b, exponential(1e-12, 0.3) + nugget(1), estimate = "none")
    # model.frame() warns that it drops the contrasts of the formula, although model.matrix() still uses them
    expected <- suppressWarnings(predict(lm(update(trend, z ~ .), d), d[3:9, ]))
    expect_equal(unname(suppressWarnings(predict(fit, d[3:9, ]))), unname(expected), tolerance = 1e-6)
  }
})

test_that("update() expands a dot in the formula as it was expanded in the fit", {
  withr::local_seed(29)
  d <- smooth_case(30)
  fit <- gp(z ~ ., d[c("z", "w", "a")], d[c("a", "b")], given(), estimate = "none")
  expect_equal(formula(fit), z ~ w + a)
  expect_equal(coef(update(fit, . ~ . - a)), coef(gp(z ~ w, d, ~ a + b, given(), estimate = "none")))
})

test_that("known coefficients are matched by name", {
  withr::local_seed(30)
  d <- smooth_case(30)
  beta <- c(w = 1, `(Intercept)` = 100)
  fit <- gp(z ~ w, d, ~ a + b, given(), estimate = "none", known = list(beta = beta))
  same <- gp(z ~ w, d, ~ a + b, given(), estimate = "none", known = list(beta = c(100, 1)))
  expect_equal(predict(fit, d[1:3, ]), predict(same, d[1:3, ]))
  expect_equal(gp_cv(fit, 3), gp_cv(same, 3))
  nothing <- gp(z ~ 0, d, ~ a + b, given(), estimate = "none", known = list(beta = numeric()))
  expect_equal(predict(nothing, d), predict(gp(z ~ 0, d, ~ a + b, given(), estimate = "none"), d))
})

test_that("rows with missing values are omitted, or give NA", {
  withr::local_seed(8)
  d <- smooth_case(40)
  d$z[3] <- NA
  d$a[7] <- NA
  omitted <- gp(z ~ 1, d, ~ a + b, given(), estimate = "none", na.action = na.omit)
  expect_identical(nobs(omitted), 38L)
  expect_length(residuals(omitted), 38)
  excluded <- gp(z ~ 1, d, ~ a + b, given(), estimate = "none", na.action = na.exclude)
  expect_length(residuals(excluded), 40)
  expect_identical(unname(which(is.na(fitted(excluded)))), c(3L, 7L))
  expect_identical(unname(is.na(simulate(excluded, 1)[, 1])), 1:40 %in% c(3, 7))
  expect_identical(unname(is.na(predict(omitted, d)))[c(3, 7)], c(FALSE, TRUE))
  expect_error(gp(z ~ 1, d, ~ a + b, given(), estimate = "none", na.action = na.fail), class = "kernops_input_error")
})

test_that("coordinates that depend on the data are evaluated at new points with the values of the fit", {
  withr::local_seed(21)
  d <- transform(smooth_case(40), a = 10 * a)
  fit <- gp(z ~ 1, d, coords = ~ scale(a) + scale(b))
  expect_equal(predict(fit, d[3:4, ]), fitted(fit)[3:4])
  given <- gp(z ~ 1, d, coords = scale(as.matrix(d[c("a", "b")])))
  expect_equal(predict(fit, d[1, ], se.fit = TRUE)$se.fit, predict(given, se.fit = TRUE)$se.fit[[1]])
})

test_that("a matrix among the coordinates of a formula is reported", {
  d <- smooth_case(10)
  expect_error(gp(z ~ 1, d, coords = ~ cbind(a, b)), "must be one variable, not 2", class = "kernops_input_error")
})

test_that("coordinates may be a formula, a matrix or a vector", {
  withr::local_seed(9)
  d <- smooth_case(30)
  by_formula <- gp(z ~ 1, d, ~ a + b, given(), estimate = "none")
  by_matrix <- gp(z ~ 1, d, as.matrix(d[c("a", "b")]), given(), estimate = "none")
  expect_equal(by_matrix$loglik, by_formula$loglik)
  new <- matrix(runif(6), 3)
  expect_equal(unname(predict(by_matrix, new)), unname(predict(by_formula, data.frame(a = new[, 1], b = new[, 2]))))
  expect_equal(predict(by_matrix, coords = new), predict(by_matrix, new))
  expect_equal(predict(by_matrix, new[2, ]), predict(by_matrix, new)[2])
  expect_length(predict(by_matrix, new[0, ]), 0)
})
