# gp() by the exact method against dense plain R.

covariance_of <- \(u, v = 1.3, r = 0.4, tau = 0.05) {
  h <- sqrt(3) * as.matrix(dist(u)) / r
  v * (1 + h) * exp(-h) + diag(tau, nrow(u))
}
trends <- list(z ~ 0, z ~ 1, z ~ w + a)
given <- \(...) matern(3/2, 1.3, 0.4) + nugget(0.05)

test_that("likelihood and trend are those of dense algebra, by ML and REML", {
  withr::local_seed(1)
  d <- smooth_case(140)
  K <- covariance_of(d[c("a", "b")])
  for (formula in trends) for (reml in c(FALSE, TRUE)) {
    fit <- gp(formula, d, ~ a + b, given(), estimate = "none")
    expected <- oracle_likelihood(K, d$z, model.matrix(formula, d), reml)
    how <- list(method = "exact", reml = reml, backend = "cpu")
    value <- kernops:::likelihood_for(fit$data, fit$model, how)$evaluate(unname(fit$theta))$value
    expect_equal(value, expected$value, tolerance = 1e-10)
    expect_equal(unname(coef(fit)), expected$beta, tolerance = 1e-9)
    if (!reml) expect_equal(as.numeric(logLik(fit)), -expected$value / 2, tolerance = 1e-10)
  }
})

test_that("the gradient is that of finite differences, for every covariance", {
  withr::local_seed(2)
  d <- smooth_case(70)
  own_names <- c("exponential", "matern52", "matern_general", "rational_quadratic", "periodic", "linear")
  cases <- c(oracle_objects()[own_names],
             list(ard = matern(3/2, 1, c(0.3, 0.7)), turned = exponential(1, 0.4, angle = 20, ratio = 0.5),
                  own = covariance("s * Exp(-l * SqDist(x, y))", list(s = 1, l = 3)),
                  joined = matern(1/2, 1, 0.3) * periodic(1, 1, 2) + constant(0.5)))
  for (name in names(cases)) for (reml in c(FALSE, TRUE)) for (profile in c(FALSE, TRUE)) {
    fit <- gp(z ~ w, d, ~ a + b, cases[[name]] + nugget(0.1), estimate = "none")
    likelihood <- kernops:::exact_likelihood(fit$data, fit$model, reml)
    theta <- unname(fit$theta)
    gradient <- likelihood$evaluate(theta, profile)$gradient()
    expected <- central_difference(\(t) likelihood$evaluate(t, profile)$value, theta, h = 2^-8 * 0.05)
    expect_close(matrix(gradient, 1), expected, tolerance = 1e-5, info = name)
  }
})

test_that("estimates are at an optimum of the dense likelihood", {
  withr::local_seed(3)
  d <- smooth_case(100)
  for (estimate in c("ML", "REML")) {
    fit <- gp(z ~ w, d, ~ a + b, estimate = estimate)
    value <- \(s) oracle_likelihood(covariance_of(d[c("a", "b")], exp(s[1]), exp(s[2]), exp(s[3])), d$z,
                                    model.matrix(~ w, d), estimate == "REML")$value
    at <- log(unname(coef(fit, "covariance")))
    expect_equal(-2 * fit$loglik, value(at), tolerance = 1e-9)
    best <- optim(at, value, control = list(reltol = 1e-10))$value
    expect_lt(value(at) - best, 1e-3)
  }
})

test_that("kriging is that of the bordered system", {
  withr::local_seed(4)
  d <- smooth_case(60)
  new <- smooth_case(25)
  both <- covariance_of(rbind(d, new)[c("a", "b")], tau = 0)
  K <- both[1:60, 1:60] + diag(0.05, 60)
  for (formula in trends[-1]) {
    fit <- gp(formula, d, ~ a + b, given(), estimate = "none")
    X <- model.matrix(formula, d)
    X0 <- model.matrix(formula, transform(new, z = 0))
    expected <- oracle_kriging(K, both[1:60, 61:85], diag(both)[61:85], d$z, X, X0)
    field <- predict(fit, new, se.fit = TRUE, interval = "confidence", level = 0.9)
    expect_close(matrix(field$fit), expected$mean, tolerance = 1e-9)
    expect_close(matrix(field$se.fit), sqrt(expected$variance), tolerance = 1e-8)
    expect_equal(field$upr - field$fit, qnorm(0.95) * field$se.fit)
    expect_equal(predict(fit, new, se.fit = TRUE, interval = "prediction")$se.fit,
                 unname(sqrt(expected$variance + 0.05)), tolerance = 1e-8)
    parts <- predict(fit, new, type = "terms")
    expect_equal(parts$trend, as.vector(X0 %*% coef(fit)))
    expect_equal(parts$trend + parts$process, field$fit)
  }
})

test_that("simple kriging has a known mean", {
  withr::local_seed(5)
  d <- smooth_case(40)
  K <- covariance_of(d[c("a", "b")])
  fit <- gp(z ~ 0, d, ~ a + b, given(), estimate = "none", known = list(beta = 2))
  expect_equal(unname(fitted(fit)), as.vector(2 + (K - diag(0.05, 40)) %*% solve(K, d$z - 2)), tolerance = 1e-9)
  same <- gp(z ~ w, d, ~ a + b, given(), estimate = "none", known = list(beta = c(2, 0)))
  expect_equal(unname(fitted(same)), unname(fitted(fit)))
})

test_that("noise and weights of each point enter its variance", {
  withr::local_seed(6)
  d <- smooth_case(30)
  noise <- runif(30)
  weights <- runif(30, 0.5, 2)
  K <- covariance_of(d[c("a", "b")], tau = 0) + diag(noise + 0.05 / weights)
  fit <- gp(z ~ 1, d, ~ a + b, given(), estimate = "none", known = list(noise = noise), weights = weights)
  expect_equal(-2 * fit$loglik, oracle_likelihood(K, d$z, matrix(1, 30))$value, tolerance = 1e-9)
  estimated <- gp(z ~ 1, d, ~ a + b, known = list(noise = noise / 50), weights = weights)
  expect_gt(estimated$loglik, -Inf)
})

test_that("terms, weights and the matrix of the trend are those of lm()", {
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

test_that("weights and noise may be told by variables of the data", {
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

test_that("an offset and factors are those of the formula", {
  withr::local_seed(7)
  d <- transform(smooth_case(40), g = rep(c("p", "q"), 20))
  fit <- gp(z ~ g + offset(w), d, ~ a + b, given(), estimate = "none")
  other <- gp(I(z - w) ~ g, d, ~ a + b, given(), estimate = "none")
  expect_equal(fit$loglik, other$loglik)
  expect_equal(predict(fit, d[1:3, ]), predict(other, d[1:3, ]) + d$w[1:3])
  expect_equal(predict(fit), predict(fit, d))
})

test_that("the trend is that of lm(): levels that do not occur, bases that depend on the data, matrices", {
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

test_that("the trend may name functions, settings and constants, as that of lm()", {
  withr::local_seed(26)
  d <- transform(smooth_case(40), g = sample(c("p", "q", "r"), 40, TRUE), l = rep(c(TRUE, FALSE), 20))
  setting <- list(p = 2)
  squared <- TRUE
  for (trend in list(~ poly(w, 2, raw = T), ~ C(factor(g), contr.helmert), ~ sapply(w, abs), ~ I(w^setting$p), # nolint: T, too
                     ~ I(if (squared) w^2 else w), ~ g + l)) {
    # a process of next to no variance leaves the trend alone
    fit <- gp(update(trend, z ~ .), d, ~ a + b, exponential(1e-12, 0.3) + nugget(1), estimate = "none")
    # model.frame() warns that it drops the contrasts of the formula: model.matrix() has them still
    expected <- suppressWarnings(predict(lm(update(trend, z ~ .), d), d[3:9, ]))
    expect_equal(unname(suppressWarnings(predict(fit, d[3:9, ]))), unname(expected), tolerance = 1e-6)
  }
})

test_that("new data have the variables that the fit had for each observation: none are taken from elsewhere", {
  withr::local_seed(36)
  d <- smooth_case(40)
  a <- w <- c(0.1, 0.2)
  new <- data.frame(a = c(0.6, 0.7), b = 0.3, w = 1:2)
  fit <- gp(z ~ w, d, ~ a + b, given(), estimate = "none")
  expect_error(predict(fit, new[c("b", "w")]), "lacks `a` .*columns `b` and `w`", class = "kernops_input_error")
  expect_error(predict(fit, new[c("a", "b")]), "lacks `w` .*columns `a` and `b`", class = "kernops_input_error")
  expect_error(predict(fit, coords = as.matrix(new[c("a", "b")])), "lacks `w`", class = "kernops_input_error")
  expect_error(simulate(fit, 1, newdata = new[c("b", "w")]), "lacks `a`", class = "kernops_input_error")
  expect_error(predict(fit, new["w"], coords = ~ a + a), "no column of `newdata`", class = "kernops_input_error")

  # variables of the fit that were no columns of data
  expected <- predict(fit, new)
  z <- d$z; w <- d$w; a <- d$a; b <- d$b
  loose <- gp(z ~ w, coords = ~ a + b, covariance = given(), estimate = "none")
  expect_equal(predict(loose, new), expected)
  w <- a <- b <- c(0.1, 0.2)
  expect_error(predict(loose, new[c("a", "b")]), "lacks `w`", class = "kernops_input_error")
  expect_error(predict(loose, new[c("w", "b")]), "lacks `a`", class = "kernops_input_error")

  # parts of lists: the points would be those of the fit
  as_list <- as.list(d)
  for (fit in list(gp(d$z ~ 1, coords = ~ d$a + d$b, covariance = given(), estimate = "none"),
                   gp(as_list$z ~ 1, coords = ~ as_list$a + as_list$b, covariance = given(), estimate = "none"))) {
    expect_error(predict(fit, transform(d, a = 1 - a)), "`newdata`", class = "kernops_input_error")
    expect_length(predict(fit, cbind(0.1, 0.2)), 1)
  }
})

test_that("numbers of class integer64, whose bits are not those of doubles, are refused", {
  d <- list2DF(list(z = c(1, 2, 4), w = 1:3 / 2, a = c(1, 3, 4)))
  whole <- \(name) list2DF(replace(as.list(d), name, list(integer64(1:3, c(0, 0, 0)))))
  for (name in c("z", "w", "a")) {
    expect_error(gp(z ~ w, whole(name), ~ a, given(), estimate = "none"), "integer64", class = "kernops_input_error")
  }
  fit <- gp(z ~ w, d, ~ a, given(), estimate = "none")
  for (name in c("w", "a")) expect_error(predict(fit, whole(name)), "integer64", class = "kernops_input_error")
})

test_that("who asks for standard errors without naming an interval is told once that they are the field's", {
  d <- withr::with_seed(39, smooth_case(30))
  fit <- gp(z ~ 1, d, ~ a + b, given(), estimate = "none")
  told <- function(...) {
    rlang::reset_message_verbosity("kernops_field_se")
    message <- NULL
    withCallingHandlers(predict(...), kernops_field_se = function(m) {
      message <<- conditionMessage(m)
      invokeRestart("muffleMessage")
    })
    message
  }
  expect_match(told(fit, d[1:2, ], se.fit = TRUE), "without the nugget.*interval = \"prediction\"")
  expect_silent(predict(fit, se.fit = TRUE)) # the second time
  for (interval in c("none", "confidence", "prediction")) expect_null(told(fit, d, se.fit = TRUE, interval = interval))
  expect_null(told(fit, d))
  expect_null(told(fit, d, se.fit = TRUE, type = "terms"))
  smooth <- gp(z ~ 1, d, ~ a + b, exponential(1, 0.3), estimate = "none")
  expect_null(told(smooth, d, se.fit = TRUE))
  noisy <- gp(z ~ 1, d, ~ a + b, exponential(1, 0.3), estimate = "none", known = list(noise = 0.1))
  expect_match(told(noisy, d, se.fit = TRUE), "without the known noise")
  rlang::reset_message_verbosity("kernops_field_se")
  expect_no_message(gp_cv(fit, 2))
  expect_no_message(simulate(fit, 1))
  if (requireNamespace("generics", quietly = TRUE)) expect_no_message(generics::augment(fit, d))
  told(fit, se.fit = TRUE)
})

test_that("settings of a formula may stand where it was written, also where new data have other columns", {
  withr::local_seed(37)
  d <- smooth_case(40)
  unit <- 2
  knots <- c(-1, 1)
  fit <- gp(z ~ splines::ns(w, knots = knots) + offset(w / unit), d, ~ I(a / unit) + b, given(), estimate = "none")
  expect_equal(predict(fit, d[3:5, ]), fitted(fit)[3:5])
  expect_equal(predict(fit, d[1:2, c("a", "b", "w")]), fitted(fit)[1:2])
})

test_that("variables of new data are of the types that they had", {
  withr::local_seed(27)
  d <- transform(smooth_case(40), g = factor(rep(c("p", "q"), 20)), l = rep(c(TRUE, FALSE, TRUE, TRUE), 10))
  new <- data.frame(a = 0.5, b = 0.5, w = 2, g = "q", l = TRUE)
  fit <- gp(z ~ w + g + l, d, ~ a + b, given(), estimate = "none")
  expect_equal(predict(fit, transform(new, w = 2L)), predict(fit, new))
  expect_equal(predict(fit, transform(new, g = factor("q"))), predict(fit, new))
  expect_identical(unname(predict(fit, transform(new, w = NA))), NA_real_)
  for (wrong in list(transform(new, w = "7"), transform(new, w = factor(2)), transform(new, l = 1))) {
    name <- names(new)[!mapply(identical, wrong, new)]
    expect_error(predict(fit, wrong), paste0("'", name, "' was fitted"), class = "kernops_input_error")
  }
  expect_no_warning(expect_error(predict(fit, transform(new, g = 1L)), "'g' was fitted", class = "kernops_input_error"))
})

test_that("a point where the covariance is not a number is NaN alone", {
  withr::local_seed(28)
  d <- smooth_case(40)
  own <- covariance("s * Exp(-Abs(Log(x) - Log(y)) / l)", list(s = 1, l = 0.5))
  new <- data.frame(a = c(0.5, 2, -1, 3))
  for (method in c("exact", "iterative")) {
    fit <- gp(z ~ 1, d, ~ a, own + nugget(0.1), estimate = "none", method = method)
    ours <- predict(fit, new, se.fit = TRUE)
    expect_equal(ours[-3, ], predict(fit, new[-3, , drop = FALSE], se.fit = TRUE), tolerance = 1e-6,
                 ignore_attr = "row.names")
    expect_true(all(is.na(ours[3, ])))
  }
  fit <- update(fit, method = "exact")
  for (conditional in c(TRUE, FALSE)) {
    draws <- simulate(fit, 2, 1, new, conditional = conditional)
    expect_equal(unname(draws[-3, ]), unname(simulate(fit, 2, 1, new[-3, , drop = FALSE], conditional = conditional)))
    expect_true(all(is.na(draws[3, ])))
  }
  # far apart, of finite variance, and no number between them
  torn <- covariance("s * Exp(-Norm2(x - y)) * Exp(Log(l - Norm2(x - y)))", list(s = 1, l = 2)) + nugget(1)
  torn <- gp(z ~ 1, d, ~ a, torn, estimate = "none")
  expect_error(simulate(torn, newdata = data.frame(a = c(0, 9))), "finite", class = "kernops_input_error")
})

test_that("update() knows what a dot stood for", {
  withr::local_seed(29)
  d <- smooth_case(30)
  fit <- gp(z ~ ., d[c("z", "w", "a")], d[c("a", "b")], given(), estimate = "none")
  expect_equal(formula(fit), z ~ w + a)
  expect_equal(coef(update(fit, . ~ . - a)), coef(gp(z ~ w, d, ~ a + b, given(), estimate = "none")))
})

test_that("known coefficients go by their names", {
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

test_that("missing values are left out, or kept as NA", {
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

test_that("coordinates that depend on the data are those of the fit at new points", {
  withr::local_seed(21)
  d <- transform(smooth_case(40), a = 10 * a)
  fit <- gp(z ~ 1, d, coords = ~ scale(a) + scale(b))
  expect_equal(predict(fit, d[3:4, ]), fitted(fit)[3:4])
  given <- gp(z ~ 1, d, coords = scale(as.matrix(d[c("a", "b")])))
  expect_equal(predict(fit, d[1, ], se.fit = TRUE)$se.fit, predict(given, se.fit = TRUE)$se.fit[[1]])
})

test_that("a matrix among the coordinates of a formula is told", {
  d <- smooth_case(10)
  expect_error(gp(z ~ 1, d, coords = ~ cbind(a, b)), "must be one variable, not 2", class = "kernops_input_error")
})

test_that("coordinates come as formula, matrix or vector alike", {
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

# Second derivatives of minus the log-likelihood wrt the logarithms of variance, range and nugget, by differences.
log_hessian <- function(theta, d, X) {
  value <- \(s) oracle_likelihood(covariance_of(d[c("a", "b")], exp(s[1]), exp(s[2]), exp(s[3])), d$z, X)$value / 2
  optimHess(log(theta), value)
}

# The average information wrt the same: y'P K_i P K_j P y / 2, with derivatives K_i by differences.
average_of <- function(theta, d, X) {
  k <- \(s) covariance_of(d[c("a", "b")], exp(s[1]), exp(s[2]), exp(s[3]))
  K <- k(log(theta))
  KX <- solve(K, X)
  P <- solve(K) - KX %*% solve(t(X) %*% KX, t(KX))
  move <- function(n) replace(numeric(3), n, 1e-4)
  slopes <- lapply(1:3, \(n) (k(log(theta) + move(n)) - k(log(theta) - move(n))) / 2e-4)
  across <- do.call(cbind, lapply(slopes, \(slope) slope %*% P %*% d$z))
  t(across) %*% P %*% across / 2
}

test_that("the search ends with the average information, which is near the observed one", {
  withr::local_seed(18)
  d <- smooth_case(300)
  d$z <- d$w + as.vector(rnorm(300) %*% chol(covariance_of(d[c("a", "b")], 1, 0.1, 0.1)))
  X <- model.matrix(~ w, d)
  for (estimate in c("ML", "REML")) for (method in c("exact", "iterative")) {
    fit <- gp(z ~ w, d, ~ a + b, estimate = estimate, method = method,
              control = gp_control(subset = 100, probes = 64, rank = 100))
    theta <- unname(coef(fit, "covariance"))
    v <- solve(fit$search$information / 2)
    expect_equal(v, solve(average_of(theta, d, X)), tolerance = if (method == "exact") 1e-6 else 1e-2)
    if (estimate == "ML") expect_equal(diag(v), diag(solve(log_hessian(theta, d, X))), tolerance = 0.2)
    if (method == "iterative") expect_equal(unname(vcov(fit, "covariance")), v * tcrossprod(theta))
  }
})

test_that("what was given has no standard error", {
  withr::local_seed(19)
  d <- smooth_case(60)
  fit <- gp(z ~ 1, d, ~ a + b, matern(3/2, range = 0.4) + nugget())
  expect_identical(is.na(unname(summary(fit)$errors)), fit$model$parameters$fixed)
  expect_true(all(is.na(summary(gp(z ~ 1, d, ~ a + b, given(), estimate = "none"))$errors)))
})

test_that("methods agree with one another", {
  withr::local_seed(10)
  d <- smooth_case(60)
  fit <- gp(z ~ w, d, ~ a + b)
  expect_equal(AIC(fit), -2 * as.numeric(logLik(fit)) + 2 * 5)
  expect_equal(BIC(fit), -2 * as.numeric(logLik(fit)) + log(60) * 5)
  expect_equal(unname(residuals(fit)), d$z - unname(fitted(fit)))
  K <- do.call(covariance_of, c(list(d[c("a", "b")]), unname(as.list(coef(fit, "covariance")))))
  X <- model.matrix(~ w, d)
  expect_equal(unname(vcov(fit)), unname(solve(t(X) %*% solve(K, X))), tolerance = 1e-8)
  theta <- unname(coef(fit, "covariance"))
  expect_equal(unname(vcov(fit, "covariance")), solve(log_hessian(theta, d, X)) * tcrossprod(theta), tolerance = 1e-2)
  expect_equal(summary(fit)$errors, sqrt(diag(vcov(fit, "covariance"))))
  expect_equal(coef(summary(fit))[, "Std. Error"], sqrt(diag(vcov(fit))))
  limits <- confint(fit, level = 0.9)
  expect_identical(rownames(limits), names(coef(fit, "both")))
  expect_true(all(limits[, 1] < coef(fit, "both") & coef(fit, "both") < limits[, 2]))
  expect_equal(formula(update(fit, . ~ 1)), z ~ 1)
  expect_lt(update(fit, . ~ 1)$loglik, fit$loglik + 1e-6)
  d$nugget.variance <- d$w
  expect_equal(unname(confint(update(fit, . ~ nugget.variance), level = 0.9)), unname(limits), tolerance = 1e-6)
  expect_identical(dim(confint(gp(z ~ 0, d, ~ a + b, given(), estimate = "none"))), c(0L, 2L))
})

test_that("an observation that the trend needs cannot be predicted from the others", {
  withr::local_seed(20)
  d <- transform(smooth_case(20), g = factor(c("r", rep(c("p", "q"), length.out = 19))))
  fit <- gp(z ~ g, d, ~ a + b, given(), estimate = "none")
  left_out <- gp_cv(fit)
  expect_identical(left_out$fit[[1]], NA_real_)
  expect_identical(left_out$se.fit[[1]], Inf)
  expect_equal(left_out[-1, c("fit", "se.fit")], gp_cv(update(fit, data = d[-1, ]))[, c("fit", "se.fit")])
  expect_identical(summary(left_out)$n, 19L)
  columns <- c("fit", "se.fit", "zscore")
  expect_equal(gp_cv(fit, 1:20)[columns], left_out[columns], ignore_attr = TRUE)
  # others in its fold are predicted by the trend that is left
  folds <- c(1, rep(1:4, length.out = 19))
  expect_equal(gp_cv(fit, folds)[-1, columns], gp_cv(update(fit, data = d[-1, ]), folds[-1])[columns],
               ignore_attr = TRUE)
  expect_identical(gp_cv(fit, folds)$se.fit[[1]], Inf)
})

test_that("folds may label all rows of the data", {
  withr::local_seed(21)
  d <- smooth_case(20)
  folds <- rep(1:4, 5)
  whole <- gp_cv(gp(z ~ 1, d[-3, ], ~ a + b, given(), estimate = "none"), folds[-3])
  d$z[3] <- NA
  expect_equal(gp_cv(gp(z ~ 1, d, ~ a + b, given(), estimate = "none"), folds), whole)
})

test_that("R's random numbers go on as if there had been no fit", {
  d <- withr::with_seed(22, smooth_case(40))
  withr::local_seed(23)
  before <- .Random.seed
  for (method in c("exact", "iterative")) {
    fit <- gp(z ~ 1, d, ~ a + b, method = method)
    predict(fit, d[1:3, ], se.fit = TRUE)
    gp_cv(fit)
    gp_cv(fit, folds = 3)
    simulate(fit, seed = 1)
  }
  expect_identical(.Random.seed, before)
})

test_that("settings may be a list", {
  withr::local_seed(24)
  d <- smooth_case(30)
  by_list <- gp(z ~ 1, d, ~ a + b, given(), estimate = "none", method = "iterative", control = list(probes = 4))
  by_function <- update(by_list, control = gp_control(probes = 4))
  expect_identical(by_list$how, by_function$how)
  expect_equal(predict(by_list, d, control = list(cg_tol = 1e-8)), predict(by_list, d))
})

test_that("a fit and its summary print", {
  withr::local_seed(11)
  fit <- gp(z ~ w, smooth_case(50), ~ a + b, matern(3/2, 1, 0.5) + nugget(0.01), estimate = "none")
  expect_snapshot({
    fit
    summary(fit)
  })
})

test_that("a fit that was saved predicts the same in a new session", {
  skip_on_cran()
  skip_if_not_in_library()
  withr::local_seed(17)
  d <- smooth_case(60)
  new <- smooth_case(5)
  for (method in c("exact", "iterative")) {
    fit <- gp(z ~ w, d, ~ a + b, given(), estimate = "none", method = method)
    folder <- withr::local_tempdir()
    saveRDS(list(fit = fit, new = new), file.path(folder, "saved"))
    writeLines(deparse(bquote({
      .libPaths(.(.libPaths()))
      library(kernops)
      saved <- readRDS(.(file.path(folder, "saved")))
      saveRDS(list(predict(saved$fit, saved$new, interval = "prediction"),
                   simulate(saved$fit, 2, seed = 1, newdata = saved$new), gp_cv(saved$fit)),
            .(file.path(folder, "there")))
    })), file.path(folder, "script"))
    system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", file.path(folder, "script")), env = "R_TESTS=")
    expect_equal(readRDS(file.path(folder, "there")),
                 list(predict(fit, new, interval = "prediction"), simulate(fit, 2, seed = 1, newdata = new),
                       gp_cv(fit)))
  }
})

test_that("every picture can be drawn", {
  withr::local_seed(12)
  d <- smooth_case(40)
  file <- withr::local_tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  for (fit in list(gp(z ~ 1, d, ~ a + b, given(), estimate = "none"), gp(z ~ w, d, ~ a + b, given(), estimate = "none"),
                   gp(z ~ 1, d, ~ a, given(), estimate = "none"),
                   gp(z ~ 1, d[1, ], ~ a + b, given(), estimate = "none"),
                   gp(z ~ 1, transform(d, b = 1), ~ a + b, given(), estimate = "none"))) {
    expect_invisible(plot(fit, n = 30))
    expect_invisible(plot(fit, "field", n = 30, main = "a title of one's own", xlab = "east"))
  }
  plot(gp_variogram(d[c("a", "b")], d$z))
  plot(gp_variogram(d[c("a", "b")], d$z, breaks = 8:9))
  grDevices::dev.off()
  expect_gt(file.size(file), 1000)
})

test_that("a trend of the coordinates leaves a field to draw: that of predict()", {
  withr::local_seed(38)
  d <- transform(smooth_case(40), h = a + 1)
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  # what is drawn on, by the calls of the display list
  drawn <- function(fit) {
    grDevices::dev.control("enable")
    plot(fit, "field", n = 200)
    calls <- grDevices::recordPlot()[[1]]
    vapply(calls, function(call) call[[2]][[1]]$name, "")
  }
  line <- function(h) h
  for (trend in list(z ~ 1, z ~ a + b, z ~ poly(a, 2) * b, z ~ line(a) + offset(b))) {
    fit <- gp(trend, d, ~ a + b, given(), estimate = "none")
    expect_true("C_raster" %in% drawn(fit), label = deparse(trend))
    map <- kernops:::map_of(fit, 100)
    expect_equal(as.vector(map$z), unname(predict(fit, expand.grid(a = map$at[[1]], b = map$at[[2]]))))
  }
  by_matrix <- gp(z ~ a, d, as.matrix(d[c("a", "b")]), given(), estimate = "none")
  expect_true("C_raster" %in% drawn(by_matrix))
  curve <- kernops:::curve_of(gp(z ~ a, d, ~ a, given(), estimate = "none"), 20, 0.9)
  fit <- gp(z ~ a, d, ~ a, given(), estimate = "none")
  expect_equal(curve$band, predict(fit, data.frame(a = curve$at), interval = "confidence", level = 0.9))
  # other variables, even if by the name of a coordinate
  off <- as.matrix(transform(d, a = a + rnorm(40))[c("a", "b")])
  for (fit in list(gp(z ~ h, d, ~ a + b, given(), estimate = "none"), gp(z ~ a, d, off, given(), estimate = "none"))) {
    expect_false("C_raster" %in% drawn(fit))
  }
})

test_that("equal parts of a sum start apart, and given values stay", {
  withr::local_seed(13)
  u <- matrix(runif(40))
  model <- kernops:::covariance_model(matern(range = 0.5) + matern(5/2) + matern(5/2) + nugget(), 1)
  starts <- kernops:::starting_values(kernops:::with_bounds(model, u, rnorm(40)), u, rnorm(40))
  expect_true(all(starts[, 2] == 0.5))
  expect_true(all(starts[, 4] > 2 * starts[, 6]))
})

test_that("the slope of a line is found, whatever its units", {
  withr::local_seed(19)
  u <- 1:50
  z <- 3 + u + rnorm(50, sd = 0.1)
  value <- \(s) oracle_likelihood(exp(s[1]) * outer(u, u) + diag(exp(s[2]), 50), z, matrix(1, 50))$value / 2
  best <- optim(log(c(1, 0.01)), value)
  for (unit in c(1, 1e-6, 1e6)) {
    at <- u * unit
    fit <- gp(z ~ 1, coords = ~ at, covariance = linear() + nugget())
    expect_lt(-best$value - fit$loglik, 1e-3)
    expect_equal(fit$theta[["linear.variance"]] * unit^2, exp(best$par[1]), tolerance = 0.02)
  }
})

test_that("smooth functions without noise are interpolated, as near to a singular matrix as they lead", {
  at <- seq(0.05, 0.95, by = 0.01)
  for (seed in 1:3) for (nu in c(5/2, 7/2)) {
    u <- withr::with_seed(seed, runif(60))
    expect_warning(fit <- gp(sin(5 * u) ~ 1, coords = ~ u, covariance = matern(nu)), class = "kernops_near_singular")
    expect_lt(max(abs(predict(fit, data.frame(u = at)) - sin(5 * at))), 0.01)
  }
})

test_that("on a line, too, where observations follow from those before them", {
  for (u in list(seq(0, 1, length.out = 15), seq(0, 1, length.out = 15)^2, seq(0, 1, length.out = 100),
                 seq(0, 1, length.out = 450))) {
    expect_warning(fit <- gp(sin(7 * u) ~ 1, coords = ~ u, covariance = squared_exponential()),
                   class = "kernops_near_singular")
    between <- u[-1] - diff(u) / 2
    expect_lt(max(abs(predict(fit, data.frame(u = between)) - sin(7 * between))), 1e-2)
  }
})

test_that("where the matrix is singular there are no standard errors", {
  u <- seq(0, 1, length.out = 15)
  fit <- suppressWarnings(gp(sin(7 * u) ~ 1, coords = ~ u, covariance = squared_exponential()))
  fit$theta[["squared_exponential.range"]] <- 100
  expect_warning(errors <- summary(fit)$errors, "no standard errors")
  expect_identical(unname(errors), c(NA_real_, NA_real_))
})

test_that("a period is found", {
  withr::local_seed(14)
  u <- seq(0, 10, length.out = 120)
  z <- sin(2 * pi * u / 1.7) + rnorm(120, sd = 0.1)
  fit <- gp(z ~ 1, coords = ~ u, covariance = periodic() + nugget())
  expect_equal(unname(coef(fit, "covariance")["periodic.period"]), 1.7, tolerance = 0.01)
})

test_that("the search does not creep along a period, which is known far better than the rest", {
  withr::local_seed(1)
  u <- seq(0, 12, length.out = 150)
  z <- sin(2 * pi * u) * (1 + 0.1 * u) + 0.2 * u + rnorm(150, sd = 0.2)
  fit <- gp(z ~ u, coords = ~ u, covariance = periodic() * squared_exponential(range = 10) + nugget())
  expect_identical(fit$search$convergence, 0L)
  expect_lt(fit$search$iterations, 50)
})

test_that("a wave that changes slowly is found, whichever factor comes first", {
  withr::local_seed(25)
  u <- sort(runif(120, 0, 10))
  z <- sin(2 * u) + 0.3 * u + rnorm(120, sd = 0.2)
  h <- abs(outer(u, u, "-"))
  wave <- \(s) {
    exp(s[1] - 2 * (sin(pi * h / exp(s[2])) / exp(s[3]))^2 - h^2 / (2 * exp(2 * s[4]))) + diag(exp(s[5]), 120)
  }
  value <- \(s) oracle_likelihood(wave(s), z, matrix(1, 120))$value / 2
  best <- optim(log(c(1, pi, 1, 10, 0.04)), value)$value
  for (covariance in list(periodic() * squared_exponential(), squared_exponential() * periodic())) {
    expect_lt(-best - suppressWarnings(gp(z ~ 1, coords = ~ u, covariance = covariance + nugget()))$loglik, 0.5)
  }
})

test_that("fit, prediction and leave-one-out take little more memory than one matrix of n x n", {
  skip_on_cran()
  skip_if_not(file.exists("/proc/self/status"))
  skip_if_not_in_library()
  n <- 5200
  script <- bquote({
    .libPaths(.(.libPaths()))
    options(kernops.threads = 2) # each thread has tiles of its own
    kilobytes <- function() gsub("[^0-9]", "", grep("VmHWM", readLines("/proc/self/status"), value = TRUE))
    peak <- function() as.numeric(kilobytes()) * 1024
    d <- data.frame(a = (1:.(n) * 0.754877666) %% 1, b = (1:.(n) * 0.569840296) %% 1)
    d$z <- sin(5 * d$a) + cos(4 * d$b) + sin(1:.(n) * 99) / 10
    before <- peak()
    fit <- suppressWarnings(kernops::gp(z ~ 1, d, ~ a + b, backend = "cpu",
                                        control = kernops::gp_control(subset = 100, maxit = 1)))
    at <- predict(fit, d[1:1000, ], se.fit = TRUE, interval = "none")
    out <- kernops::gp_cv(fit)
    cat("peak", peak() - before)
  })
  file <- withr::local_tempfile(lines = deparse(script))
  said <- system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", file), stdout = TRUE, env = "R_TESTS=")
  expect_lt(as.numeric(sub(".*peak ", "", said)), 8 * n^2 + 1.5e8)
})

test_that("the columns of a matrix of new points go by their names", {
  withr::local_seed(27)
  d <- smooth_case(20)
  fit <- gp(z ~ 1, d, ~ a + b, given(), estimate = "none")
  expected <- unname(predict(fit, d[1:4, ]))
  swapped <- as.matrix(d[1:4, c("b", "a")])
  expect_equal(unname(predict(fit, swapped)), expected)
  expect_equal(unname(predict(fit, coords = swapped)), expected)
  expect_equal(unname(predict(fit, `colnames<-`(swapped[, 2:1], c("p", "q")))), expected)
  expect_equal(unname(predict(fit, unname(swapped[, 2:1]))), expected)
})

test_that("coef() and vcov() bear what callers of those of lm() say", {
  fit <- gp(z ~ 1, smooth_case(10), ~ a + b, given(), estimate = "none", known = NULL)
  expect_identical(coef(fit, complete = FALSE), coef(fit))
  expect_identical(vcov(fit, complete = FALSE), vcov(fit))
})

test_that("a level that the subset of the start lacks leaves the rest of the trend", {
  withr::local_seed(26)
  d <- transform(smooth_case(40), g = factor(replace(rep(c("p", "q"), 20), 7, "rare")))
  data <- gp(z ~ g + w, d, ~ a + b, given(), estimate = "none")$data
  kept <- kernops:::subset_data(data, seq(2, 40, by = 2))$x
  expect_identical(colnames(kept), c("(Intercept)", "w"))
  expect_identical(unname(kept[, 2]), d$w[seq(2, 40, by = 2)])
})

test_that("an observation whose noise is immense is as one left out", {
  withr::local_seed(3)
  x <- seq(0, 10, length.out = 60)
  y <- sin(x) + rnorm(60, sd = 0.1)
  without <- gp(y[-5] ~ 1, coords = x[-5], covariance = matern(5/2), known = list(noise = 0.01))
  for (noise in c(1e12, 1e14)) {
    fit <- gp(y ~ 1, coords = x, covariance = matern(5/2), known = list(noise = replace(rep(0.01, 60), 5, noise)))
    expect_equal(fit$theta, without$theta, tolerance = 1e-4)
  }
})

test_that("a start in another unit is none where the scale is free", {
  withr::local_seed(4)
  d <- smooth_case(80)
  fits <- list(gp(z ~ 1, d, ~ a + b), gp(I(1e5 * z) ~ 1, d, ~ a + b, matern(3/2, variance = 1) + nugget()),
               gp(I(1e-5 * z) ~ 1, d, ~ a + b, matern(3/2, variance = 2) + nugget(1)))
  loglik <- vapply(fits, \(fit) fit$loglik, 0) + 80 * log(c(1, 1e5, 1e-5))
  expect_equal(loglik, rep(loglik[[1]], 3), tolerance = 1e-6)
})

test_that("products are found whatever the units: of the response beside a sum, of the coordinates of a line", {
  withr::local_seed(1)
  u <- matrix(runif(300), 150)
  y <- as.vector(t(chol(exp(-as.matrix(dist(u)) / 0.3) + diag(0.01, 150))) %*% rnorm(150))
  with_sum <- exponential(dims = 1) * (exponential(dims = 2) + periodic(period = 1, dims = 2)) + nugget()
  loglik <- \(unit) suppressWarnings(gp(unit * y ~ 1, coords = u, covariance = with_sum))$loglik + 150 * log(unit)
  expect_equal(loglik(1e-3), loglik(1), tolerance = 1e-6)
  line <- \(unit) gp(y ~ 1, coords = u * unit, covariance = exponential() * linear() + nugget())$loglik
  expect_equal(line(1e4), line(1), tolerance = 1e-6)
})
