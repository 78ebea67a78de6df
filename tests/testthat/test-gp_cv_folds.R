# Conditions during cross-validation: warnings and errors that name the fold, and levels that occur in a single fold.

d <- withr::with_seed(1, {
  d <- data.frame(x = runif(60), y = runif(60), g = factor(rep(letters[1:4], 15)), s = factor(rep(1:12, 5)),
                  w = rnorm(60))
  transform(d, z = as.integer(g) + w + rnorm(60) + rnorm(12)[s], k = rpois(60, exp(0.5 + 0.2 * w)),
            b = rbinom(60, 1, 0.5))
})
covariance <- matern(3/2, 1, 0.3)
fixed <- \(formula, ..., data = d) gp(formula, data, ~ x + y, ..., estimate = "none")
conditions_of <- function(code) {
  seen <- list()
  withCallingHandlers(code, warning = function(w) {
    seen <<- c(seen, list(w))
    invokeRestart("muffleWarning")
  })
  seen
}

test_that("warnings in a fold name the fold and keep their classes", {
  fit <- suppressWarnings(gp(z ~ w, d, ~ x + y, matern(3/2) + nugget(), control = gp_control(maxit = 1)))
  folds <- rep(c("north", "south"), 30)
  seen <- conditions_of(gp_cv(fit, folds, refit = TRUE))
  expect_true(length(seen) >= 2)
  for (each in seen) {
    expect_s3_class(each, "kernops_fold_warning")
    expect_s3_class(each, "kernops_warning")
    expect_match(conditionMessage(each), "north|south")
  }
  stopped <- Filter(\(w) inherits(w, "kernops_not_converged"), seen)
  expect_match(conditionMessage(stopped[[1]]), "north.*stopped after")
})

test_that("a warning of separation within a fold names the fold", {
  binary <- fixed(b ~ 1, covariance, family = binomial())
  seen <- conditions_of(gp_cv(binary, d$b))
  expect_length(seen, 2)
  expect_match(conditionMessage(seen[[1]]), "fold \"?[01]")
  expect_s3_class(seen[[2]], "kernops_separation")
})

test_that("an error in a fold names the fold and has the class of its cause", {
  binary <- gp(b ~ w, d, ~ x + y, matern(3/2), family = binomial()) |> suppressWarnings()
  error <- expect_error(gp_cv(binary, d$b, refit = TRUE), "fold", class = "kernops_input_error")
  expect_match(conditionMessage(error), "constant")
  expect_s3_class(error$parent, "kernops_input_error")
  raw <- \(object, out, refit) list()[[5]]
  error <- expect_error(kernops:::predict_folds(binary, rep(c("p", "q"), 30), FALSE, raw), "\"p\"",
                        class = "kernops_fold_error")
  expect_s3_class(error, "kernops_error")
  near <- \(object, out, refit) kernops:::stop_kernops("singular", "It is singular.")
  expect_error(kernops:::predict_folds(binary, rep(1:2, 30), FALSE, near), class = "kernops_singular_error")
})

test_that("levels of a trend that occur in a single fold give NA, with a warning that names fold and variable", {
  for (fit in list(fixed(z ~ g + w, covariance + nugget(1)), fixed(k ~ w + g, covariance, family = poisson()),
                   fixed(z ~ g, covariance + nugget(1), method = "vecchia"))) {
    folds <- as.character(d$g)
    warning <- expect_warning(table <- gp_cv(fit, folds), "`g`", class = "kernops_unknown_fold")
    expect_match(conditionMessage(warning), "\"a\", \"b\", \"c\", and \"d\"")
    expect_true(all(is.na(table$fit)) && all(table$se.fit == Inf))
  }
  some <- ifelse(d$g == "c", "c", rep(c("p", "q"), each = 30))
  warning <- expect_warning(table <- gp_cv(fixed(z ~ g + w, covariance + nugget(1)), some),
                            class = "kernops_unknown_fold")
  expect_match(conditionMessage(warning), "fold \"c\"")
  expect_identical(is.na(table$fit), d$g == "c")
  expect_silent(gp_cv(fixed(z ~ g + w, covariance + nugget(1)), rep(1:3, each = 20)))
})

test_that("levels of random effects and groups that occur in a single fold are predicted as new levels", {
  effect <- fixed(z ~ w, covariance + nugget(1) + random_effect(~ 1 | s, variance = 0.7))
  expect_silent(table <- gp_cv(effect, as.character(d$s)))
  # kriging without the observations of the fold, which are all observations of the level
  K <- exp(-sqrt(3) * as.matrix(dist(d[1:2])) / 0.3) * (1 + sqrt(3) * as.matrix(dist(d[1:2])) / 0.3)
  V <- K + 0.7 * outer(d$s, d$s, "==") + diag(60)
  X <- cbind(1, d$w)
  for (level in c(1, 7)) {
    out <- d$s == level
    S <- solve(V[!out, !out])
    beta <- solve(t(X[!out, ]) %*% S %*% X[!out, ], t(X[!out, ]) %*% S %*% d$z[!out])
    expected <- X[out, ] %*% beta + K[out, !out] %*% S %*% (d$z[!out] - X[!out, ] %*% beta)
    expect_equal(table$fit[out], as.vector(expected), tolerance = 1e-8)
  }
  grouped <- fixed(z ~ w, covariance + nugget(1), group = ~ s)
  expect_silent(table <- gp_cv(grouped, as.character(d$s)))
  expect_true(all(table$se.fit > sqrt(2)))
  counts <- fixed(k ~ w, covariance + random_effect(~ 1 | s, variance = 0.7), family = poisson())
  expect_silent(table <- gp_cv(counts, as.character(d$s)))
  expect_false(anyNA(table$fit))
  random_slope <- fixed(z ~ w, covariance + nugget(1) + random_effect(~ 0 + w | s, variance = 0.7))
  expect_false(anyNA(gp_cv(random_slope, as.character(d$s))$fit))
})
