# Unusual data give the right answer, or an error that says which rows or parameters are the cause.

odd <- local({
  withr::local_seed(1)
  smooth_case(12)
})
flat <- transform(odd, z = 3)
twice <- rbind(odd, odd[c(2, 5), ])
known <- matern(3/2, 1, 0.5)

test_that("with a known covariance, a single point, a constant response or n = p coefficients can be fitted", {
  one <- gp(z ~ 0, odd[1, ], ~ a + b, known, estimate = "none")
  expect_equal(unname(predict(one, odd[1, ])), odd$z[1])
  expect_equal(one$loglik, dnorm(odd$z[1], log = TRUE))
  constant <- gp(z ~ 1, flat, ~ a + b, known, estimate = "none")
  expect_equal(unname(predict(constant, data.frame(a = 9, b = 9))), 3)
  full <- gp(z ~ w, odd[1:2, ], ~ a + b, known, estimate = "none")
  expect_equal(unname(coef(full)), unname(coef(lm(z ~ w, odd[1:2, ]))))
  expect_equal(unname(residuals(full)), c(0, 0))
})

test_that("without a nugget, the predicted field passes through the observations", {
  fit <- gp(z ~ 1, odd, ~ a + b, known, estimate = "none")
  at <- predict(fit, se.fit = TRUE)
  expect_equal(at$fit, odd$z)
  expect_lt(max(at$se.fit), 1e-6)
})

test_that("with a nugget, observations at the same point are averaged", {
  fit <- gp(z ~ 1, twice, ~ a + b, known + nugget(0.1), estimate = "none")
  expect_false(anyNA(predict(fit, se.fit = TRUE)$se.fit))
})

test_that("a warning names a parameter that ends at its bound", {
  withr::local_seed(2)
  d <- data.frame(a = 1:40, z = sin(1:40 / 6) + rnorm(40, sd = 0.01))
  expect_warning(gp(z ~ 1, d, ~ a, covariance = rational_quadratic() + nugget()), class = "kernops_at_bound", "shape")
})

test_that("a search that ends early gives a warning", {
  withr::local_seed(3)
  expect_warning(gp(z ~ 1, smooth_case(60), ~ a + b, control = gp_control(maxit = 1)), class = "kernops_not_converged")
})

test_that("the error for a singular covariance matrix names a row", {
  fit <- function() gp(z ~ 1, data.frame(a = seq(0, 1, length.out = 60), z = rnorm(60)), ~ a,
                       squared_exponential(1, 50), estimate = "none")
  error <- expect_error(fit(), class = "kernops_singular_error")
  expect_s3_class(error, "kernops_error")
  expect_match(conditionMessage(error), "row")
})

test_mistakes("kernops_input_error", alist(
  `duplicates without a nugget` = gp(z ~ 1, twice, ~ a + b, matern()),
  `constant response` = gp(z ~ 1, flat, ~ a + b),
  `response that is the trend` = gp(I(2 * w) ~ w, odd, ~ a + b),
  `collinear trend` = gp(z ~ w + I(2 * w), odd, ~ a + b),
  `as many coefficients as observations` = gp(z ~ w, odd[1:2, ], ~ a + b),
  `one point to estimate from` = gp(z ~ 1, odd[1, ], ~ a + b),
  `nothing but missing values` = gp(z ~ 1, transform(odd, z = NA_real_), ~ a + b, na.action = na.omit),
  `infinite response` = gp(z ~ 1, transform(odd, z = c(1 / 0, z[-1])), ~ a + b),
  `no response` = gp(~ 1, odd, ~ a + b),
  `no coordinates` = gp(z ~ 1, odd),
  `coordinate that is not there` = gp(z ~ 1, odd, ~ a + nowhere),
  `coordinates that name nothing` = gp(z ~ 1, odd, ~ 1),
  `coordinates that are all` = gp(z ~ 1, odd, ~ .),
  `infinite offset` = gp(z ~ 1 + offset(c(1 / 0, w[-1])), odd, ~ a + b),
  `infinite noise` = gp(z ~ 1, odd, ~ a + b, known, estimate = "none", known = list(noise = c(1 / 0, rep(1, 11)))),
  `settings that are a number` = gp(z ~ 1, odd, ~ a + b, control = 3),
  `a column that is a list` = gp(z ~ a, transform(odd, a = I(as.list(a))), ~ w + b),
  `coordinates in a list` = gp(z ~ 1, transform(odd, a = I(as.list(a))), ~ a + b),
  `coordinates in words` = gp(z ~ 1, transform(odd, g = "p"), ~ g),
  `two nuggets` = gp(z ~ 1, odd, ~ a + b, matern() + nugget() + nugget()),
  `no covariance` = gp(z ~ 1, odd, ~ a + b, "matern"),
  `no values where none are sought` = gp(z ~ 1, odd, ~ a + b, estimate = "none"),
  `unknown method` = gp(z ~ 1, odd, ~ a + b, method = "approximate"),
  `unknown knowledge` = gp(z ~ 1, odd, ~ a + b, known = list(mean = 1)),
  `negative weights` = gp(z ~ 1, odd, ~ a + b, weights = -1),
  `negative noise` = gp(z ~ 1, odd, ~ a + b, known = list(noise = -1)),
  `negative seed` = gp_control(seed = -1),
  `seed beyond integers` = gp_control(seed = 1e10),
  `seed of draws beyond integers` = simulate(gp(z ~ 1, odd, ~ a + b, known, estimate = "none"), 1, 1e10),
  `more folds than observations` = gp_cv(gp(z ~ 1, odd, ~ a + b, known, estimate = "none"), 1e9),
  `interpolation of nothing` = kernel_interpolation(NULL),
  `level above 1` = predict(gp(z ~ 1, odd, ~ a + b, known, estimate = "none"), odd, interval = "confidence",
                            level = 95),
  `new data without a covariate` = predict(gp(z ~ w, odd, ~ a + b, known, estimate = "none"), odd[c("a", "b")]),
  `covariate that was a number` = predict(gp(z ~ w, odd, ~ a + b, known, estimate = "none"), transform(odd, w = "7")),
  `covariate that is a function without its data` = predict(gp(z ~ t, transform(odd, t = w), ~ a + b, known,
                                                               estimate = "none"), odd),
  `infinite responses` = gp(z ~ 1, transform(odd, z = c(1 / 0, z[2:3], -1 / 0, z[-(1:4)])), ~ a + b),
  `duplicates along coordinates of any name` = gp(z ~ 1, transform(twice, sep = a, collapse = b), ~ sep + collapse,
                                                  matern()),
  `settings that are not there` = gp(z ~ 1, odd, ~ a + b, control = list(foo = 1)),
  `settings without names` = gp(z ~ 1, odd, ~ a + b, control = list(1)),
  `settings of a prediction that are not there` = predict(gp(z ~ 1, odd, ~ a + b, known, estimate = "none"), odd,
                                                          control = list(foo = 1)),
  `missing values that are not to be` = gp(z ~ 1, transform(odd, z = c(NA, z[2], NA, z[-(1:3)])), ~ a + b,
                                           na.action = na.fail),
  `unknown action on missing values` = gp(z ~ 1, odd, ~ a + b, na.action = "foo"),
  `known coefficients of other names` = gp(z ~ w, odd, ~ a + b, known = list(beta = c(v = 1, `(Intercept)` = 2))),
  `seed in words` = simulate(gp(z ~ 1, odd, ~ a + b, known, estimate = "none"), 1, "a"),
  `seed that is missing` = simulate(gp(z ~ 1, odd, ~ a + b, known, estimate = "none"), 1, NA),
  `seed of folds in words` = gp_cv(gp(z ~ 1, odd, ~ a + b, known, estimate = "none"), 3, seed = "a"),
  `no interval at all` = predict(gp(z ~ 1, odd, ~ a + b, known, estimate = "none"), odd, interval = character(0)),
  `response in words` = gp(factor(z > 0) ~ 1, odd, ~ a + b),
  `all points at one place` = gp(z ~ 1, transform(odd, a = 1, b = 1), ~ a + b),
  `range along a coordinate that is the same everywhere` = gp(z ~ 1, transform(odd, b = 1), ~ a + b,
                                                              matern(ard = TRUE) + nugget()),
  `latitudes before longitudes` = gp(z ~ 1, transform(odd, b = 100), ~ a + b,
                                     exponential(1, 500, distance = "great_circle"), estimate = "none"),
  `weights of what is not there` = gp(z ~ 1, odd, ~ a + b, weights = nowhere),
  `new data in words` = predict(gp(z ~ 1, odd, ~ a + b, known, estimate = "none"), "here"),
  `interval of a parameter that is not there` = confint(gp(z ~ 1, odd, ~ a + b, known, estimate = "none"), "slope"),
  `interval of a parameter that is a formula` = confint(gp(z ~ 1, odd, ~ a + b, known, estimate = "none"), ~ slope),
  `interval above 1` = confint(gp(z ~ 1, odd, ~ a + b, known, estimate = "none"), level = 95),
  `user-defined formula that is a vector` = gp(z ~ 1, odd, ~ a + b, covariance("s * (x - y)", list(s = 1))),
  `user-defined formula that depends on the order` = gp(z ~ 1, odd, ~ a + b,
                                                        covariance("s * Exp(Elem(x, 0) - Elem(y, 1))", list(s = 1))),
  `variogram of one point` = gp_variogram(matrix(1), 1),
  `more breaks than anybody can draw` = gp_variogram(diag(3), 1:3, breaks = 2e9),
  `breaks that descend` = gp_variogram(diag(3), 1:3, breaks = 3:1),
  `interpolation without a range` = kernel_interpolation(diag(3), 1:3, matern()),
  `model of something else` = as_gp(lm(z ~ w, odd)),
  `weights of no nugget` = gp(z ~ 1, odd, ~ a + b, known, estimate = "none", weights = w^2),
  `refit of what was not estimated` = gp_cv(gp(z ~ 1, odd, ~ a + b, known, estimate = "none"), 3, refit = TRUE),
  `argument of predict() that is not there` = predict(gp(z ~ 1, odd, ~ a + b, known, estimate = "none"), odd,
                                                      intervall = "prediction"),
  `argument of logLik() that is not there` = logLik(gp(z ~ 1, odd, ~ a + b, known, estimate = "none"), REML = TRUE),
  `duplicates on both sides of the date line` = gp(1:3 ~ 1, coords = cbind(c(180, -180, 10), c(0, 0, 5)),
                                                   covariance = exponential(1, 100, distance = "great_circle"),
                                                   estimate = "none"),
  `duplicates in the coordinates that the covariance sees` = gp(z ~ 1, transform(odd, b = c(0, 0, 3:12)), ~ a + b,
                                                                exponential(1, 1, dims = 2), estimate = "none"),
  `no columns of coordinates` = gp(z ~ 1, odd, matrix(0, 12, 0)),
  `coordinates that are multiplied` = gp(z ~ 1, odd, ~ a * b),
  `variogram of one place` = gp_variogram(matrix(1, 4, 2), 1:4)
))
test_mistakes("kernops_dim_error", alist(
  `coordinates of other rows` = gp(z ~ 1, odd, matrix(0, 3, 2)),
  `noise of other rows` = gp(z ~ 1, odd, ~ a + b, known = list(noise = 1:3)),
  `too many known coefficients` = gp(z ~ 1, odd, ~ a + b, known = list(beta = 1:3)),
  `new points of another dimension` = predict(gp(z ~ 1, odd, ~ a + b, known, estimate = "none"),
                                              coords = matrix(0, 2, 3)),
  `new points in a matrix of other columns` = predict(gp(z ~ 1, odd, ~ a + b, known, estimate = "none"),
                                                      matrix(0, 4, 3)),
  `new points in a vector` = predict(gp(z ~ 1, odd, ~ a + b, known, estimate = "none"), 1:4),
  `variogram of a formula` = gp_variogram(~ a + b, 1:4),
  `folds of other rows` = gp_cv(gp(z ~ 1, odd, ~ a + b, known, estimate = "none"), folds = 1:3),
  `folds in a list` = gp_cv(gp(z ~ 1, odd, ~ a + b, known, estimate = "none"), folds = as.list(1:12)),
  `interpolation of other points` = kernel_interpolation(diag(3), 1:4, matern(3/2, 1, 1)),
  `values of other points` = gp_variogram(diag(3), 1:4)
))
test_mistakes("kernops_formula_error", alist(
  `user-defined formula that is never closed` = gp(z ~ 1, odd, ~ a + b,
                                                   covariance("s * Exp(-Norm2(x - y)", list(s = 1))),
  `user-defined formula of what is not declared` = gp(z ~ 1, odd, ~ a + b, covariance("Exp(-Norm2(x - y) / q)"))
))
