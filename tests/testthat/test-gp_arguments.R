# Calls in the style of users: the covariance as the third argument for spatial data, and coordinates in the trend.

sites <- withr::with_seed(1, {
  d <- data.frame(X = runif(40), Y = runif(40), e = rnorm(40))
  transform(d, z = 2 * X - Y + rnorm(40, sd = 0.1))
})
known <- exponential(0.5, 0.3) + nugget(0.1)

test_that("the third argument may be the covariance of data with coordinates", {
  skip_if_not_installed("sf")
  points <- sf::st_as_sf(sites, coords = c("X", "Y"))
  fit <- gp(z ~ 1, points, known, estimate = "none")
  expect_equal(logLik(fit), logLik(gp(z ~ 1, sites, ~ X + Y, known, estimate = "none")))
  expect_equal(logLik(update(fit, . ~ e)), logLik(gp(z ~ e, sites, ~ X + Y, known, estimate = "none")))
  expect_error(gp(z ~ 1, points, known, covariance = known), "third argument", class = "kernops_input_error")
  expect_error(gp(z ~ 1, points, known, "exact"), "third argument", class = "kernops_input_error")
  expect_error(gp(z ~ 1, sites, known), "coords", class = "kernops_input_error")
  # random effects need no coordinates
  grouped <- transform(sites, g = gl(4, 10))
  expect_equal(logLik(gp(z ~ (1 | g), grouped, nugget())), logLik(gp(z ~ (1 | g), grouped, covariance = nugget())))
})

test_that("coordinates of sf, terra and sp objects are variables of the trend", {
  expected <- gp(z ~ X + Y, sites, ~ X + Y, known, estimate = "none")
  targets <- data.frame(X = c(0.2, 0.9), Y = c(0.5, 0.1), e = 0)
  same <- function(points, new, formula = z ~ X + Y) {
    fit <- gp(formula, points, covariance = known, estimate = "none")
    expect_equal(unname(coef(fit)), unname(coef(expected)))
    expect_equal(unname(predict(fit, new)$fit), unname(predict(expected, targets)))
  }
  if (requireNamespace("sf", quietly = TRUE)) {
    points <- sf::st_as_sf(sites, coords = c("X", "Y"))
    same(points, sf::st_as_sf(targets, coords = c("X", "Y")))
    expect_named(coef(gp(z ~ ., points, covariance = known, estimate = "none")), c("(Intercept)", "e"))
    Y <- sites$z
    expect_equal(coef(gp(Y ~ X, points, covariance = known, estimate = "none")),
                 coef(gp(z ~ X, points, covariance = known, estimate = "none")))
    taken <- sf::st_as_sf(transform(sites, x = X, y = Y, X = e), coords = c("x", "y"))
    fit <- gp(z ~ X, taken, covariance = known, estimate = "none")
    expect_equal(coef(fit)[["X"]], coef(gp(z ~ e, sites, ~ X + Y, known, estimate = "none"))[["e"]])
  }
  if (requireNamespace("terra", quietly = TRUE)) {
    same(terra::vect(sites, geom = c("X", "Y")), terra::vect(targets, geom = c("X", "Y")), z ~ x + y)
  }
})

test_that("the first line of a printed fit is not wider than the page", {
  d <- transform(sites, lead = z, zinc = z + e, a_long_name = e)
  fit <- gp(cbind(lead, zinc) ~ X + Y + a_long_name, d, ~ X + Y, estimate = "none",
            covariance = lmc(exponential(range = 0.3), nugget(), sills = list(diag(2), diag(2))))
  lines <- capture.output(print(fit))
  expect_lte(max(nchar(lines)), 80)
  expect_match(gsub(" +", " ", paste(lines[1:2], collapse = " ")), "2 variables at points of 2 coordinates")
})

test_that("the printed line on the approximation says which change is tolerable", {
  fit <- gp(z ~ 1, sites, ~ X + Y, known, "vecchia", "none", neighbours = 3)
  line <- grep("approximation", capture.output(print(fit)), value = TRUE)
  expect_match(line, "(good: [^(]*$|(fair|poor): .*tolerable: )")
  fit$vecchia$changes[["loglik"]] <- 650
  line <- paste(capture.output(print(fit)), collapse = " ")
  expect_match(line, "poor: log-likelihood \\+6.5e\\+02 with twice as many neighbours +\\(tolerable: 1\\)")
})

test_that("the advice that the error of solve() gives for a matrix with nearly equal rows leads to a solution", {
  x <- withr::with_seed(1, matrix(runif(300), 150))
  K <- exp(-sqdist(Vi(x), Vj(x)))
  b <- rep(1:0, 75)
  expect_error(solve(K, b), "1e-6 times the diagonal", class = "kernops_input_error")
  a <- solve(K, b, lambda = 1e-6)
  expect_lt(max(abs(as.matrix(K) %*% a + 1e-6 * a - b)), 1e-4)
})

test_that("calls that a parsnip engine builds return numbers", {
  # the calls that parsnip builds from set_fit() and set_pred(), with the arguments of set_engine()
  fitted <- eval(rlang::call2("gp", .ns = "kernops", formula = z ~ e, data = quote(sites), coords = ~ X + Y,
                              covariance = known, estimate = "none"))
  object <- list(fit = fitted)
  new_data <- sites[1:3, ]
  values <- eval(rlang::call2("predict", object = quote(object$fit), newdata = quote(new_data)))
  expect_type(values, "double")
  expect_null(dim(values))
  trend <- gp(z ~ e, sites, ~ X + Y, nugget(0.1), estimate = "none")
  values <- predict(trend, newdata = new_data)
  expect_equal(unname(values), unname(predict(lm(z ~ e, sites), new_data)))
})

test_that("an error names a covariance that was put into the formula", {
  for (formula in list(z ~ e + svc(~ e), z ~ e + ar1(~ e))) {
    term <- deparse1(formula[[3]][[3]])
    expect_error(gp(formula, sites, ~ X + Y), paste0("`", term, "` of `formula` is a covariance"), fixed = TRUE,
                 class = "kernops_input_error")
  }
})
