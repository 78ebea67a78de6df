# The iterative method, against the exact method.

case <- local({
  withr::local_seed(1)
  smooth_case(500)
})
known_covariance <- matern(3/2, 1.3, 0.4) + nugget(0.05)
fitted_by <- \(method, ..., data = case, formula = z ~ w, covariance = known_covariance) {
  gp(formula, data, ~ a + b, covariance, method = method, estimate = "none", ...)
}
for_each_precision <- function(body) {
  for (backend in backends()) for (precision in c("float64", "float32")) body(backend, precision)
}

test_that("mean, variance and likelihood agree with the exact method", {
  exact <- fitted_by("exact")
  new <- case[1:20, ] + 0.01
  expected <- predict(exact, new, se.fit = TRUE)
  for_each_precision(function(backend, precision) {
    fit <- fitted_by("iterative", backend = backend, precision = precision)
    at <- predict(fit, new, se.fit = TRUE)
    expect_lt(max(abs(at$fit - expected$fit)) / max(abs(expected$fit)), 1e-5)
    expect_lt(max(abs(at$se.fit^2 / expected$se.fit^2 - 1)), 1e-3)
    expect_equal(coef(fit), coef(exact), tolerance = 1e-4)
    expect_lt(abs(fit$loglik - exact$loglik), 3 * fit$state$logdet_error / 2)
    expect_equal(vcov(fit), vcov(exact), tolerance = 1e-4)
  })
})

test_that("mean, variance and likelihood of 2,000 points agree with the exact method", {
  withr::local_seed(4)
  large <- smooth_case(2000)
  exact <- fitted_by("exact", data = large)
  fit <- fitted_by("iterative", data = large)
  new <- smooth_case(30)
  expected <- predict(exact, new, se.fit = TRUE)
  at <- predict(fit, new, se.fit = TRUE)
  expect_lt(max(abs(at$fit - expected$fit)) / max(abs(expected$fit)), 1e-5)
  expect_lt(max(abs(at$se.fit^2 / expected$se.fit^2 - 1)), 1e-3)
  expect_lt(abs(fit$loglik - exact$loglik), 3 * fit$state$logdet_error / 2)
})

test_that("with a preconditioner of full rank, the likelihood has no Monte Carlo error, and its gradient no bias", {
  withr::local_seed(2)
  sample <- case[1:150, ]
  noise <- runif(150, 0, 0.1)
  for (reml in c(FALSE, TRUE)) for (profile in c(FALSE, TRUE)) {
    fit <- fitted_by("exact", data = sample, known = list(noise = noise * !profile))
    how <- list(method = "iterative", reml = reml, precision = "float64", backend = "cpu")
    by_seed <- function(seed, ...) {
      how$control <- gp_control(rank = 150, cg_tol = 1e-10, seed = seed)
      kernops:::iterative_likelihood(fit$data, fit$model, how)$evaluate(fit$theta, profile, ...)
    }
    exact <- kernops:::exact_likelihood(fit$data, fit$model, reml)$evaluate(fit$theta, profile)
    expect_equal(by_seed(1)$value, exact$value, tolerance = 1e-6)
    gradients <- vapply(1:15, \(seed) by_seed(seed, search = TRUE)$gradient(), numeric(3))
    expect_lt(max(abs(rowMeans(gradients) - exact$gradient()) / (apply(gradients, 1, sd) / sqrt(15))), 4)
  }
})

test_that("the solver tolerance of the search changes the gradient less than the random probes do", {
  fit <- fitted_by("exact")
  gradient <- function(seed, tol) {
    how <- list(reml = FALSE, precision = "float64", backend = "cpu",
                control = gp_control(rank = 30, seed = seed, cg_tol = tol, search_tol = tol))
    kernops:::iterative_likelihood(fit$data, fit$model, how)$evaluate(unname(fit$theta), search = TRUE)$gradient()
  }
  converged <- vapply(1:8, gradient, numeric(3), tol = 1e-8)
  loose <- vapply(1:8, gradient, numeric(3), tol = gp_control()$search_tol)
  expect_true(all(abs(loose - converged) < 0.5 * apply(converged, 1, sd)))
})

test_that("the average information agrees with the formula of Gilmour, Thompson and Cullis", {
  sample <- case[1:100, ]
  fit <- fitted_by("exact", data = sample)
  how <- list(method = "iterative", reml = TRUE, precision = "float64", backend = "cpu",
              control = gp_control(cg_tol = 1e-10))
  state <- kernops:::iterative_likelihood(fit$data, fit$model, how)$evaluate(fit$theta, search = TRUE)
  exact <- kernops:::exact_likelihood(fit$data, fit$model, TRUE)$evaluate(fit$theta)
  exact$gradient()
  h <- as.matrix(dist(sample[c("a", "b")]))
  K <- \(t) t[1] * (1 + sqrt(3) * h / t[2]) * exp(-sqrt(3) * h / t[2]) + diag(t[3], 100)
  theta <- unname(fit$theta)
  slopes <- lapply(1:3, \(k) (K(replace(theta, k, theta[k] + 1e-5)) - K(replace(theta, k, theta[k] - 1e-5))) / 2e-5)
  X <- model.matrix(~ w, sample)
  inverse <- solve(K(theta))
  P <- inverse - inverse %*% X %*% solve(t(X) %*% inverse %*% X, t(X) %*% inverse)
  y <- sample$z
  expected <- outer(1:3, 1:3, Vectorize(\(i, j) sum(y * (P %*% slopes[[i]] %*% P %*% slopes[[j]] %*% P %*% y))))
  expect_equal(unname(state$information()), expected, tolerance = 1e-5)
  expect_equal(unname(exact$information()), expected, tolerance = 1e-5)
})

test_that("estimates are near those of the exact method: the loss of log-likelihood is less than one", {
  exact <- gp(z ~ w, case, ~ a + b, method = "exact")
  fit <- gp(z ~ w, case, ~ a + b, method = "iterative")
  at <- gp(z ~ w, case, ~ a + b, fit$covariance, method = "exact", estimate = "none")
  expect_lt(exact$loglik - at$loglik, 1)
  expect_lt(abs(fit$loglik - at$loglik), 4 * fit$state$logdet_error / 2)
})

test_that("the search for many observations starts from the optimum of a fifth of the observations", {
  withr::local_seed(6)
  u <- matrix(runif(1800), 900)
  k <- exp(-as.matrix(dist(u)) / 0.2) + diag(0.1, 900)
  d <- data.frame(u, z = drop(crossprod(chol(k), rnorm(900))))
  fit <- \(method) gp(z ~ 1, d, ~ X1 + X2, exponential() + nugget(), method = method,
                      control = gp_control(subset = 20, probes = 64))
  exact <- fit("exact")
  ns <- asNamespace("kernops")
  size <- ns$dense_size
  withr::defer(utils::assignInNamespace("dense_size", size, ns))
  utils::assignInNamespace("dense_size", function(n, how) 100, ns)
  searched <- integer()
  likelihood_for <- ns$likelihood_for
  withr::defer(utils::assignInNamespace("likelihood_for", likelihood_for, ns))
  utils::assignInNamespace("likelihood_for", function(data, ...) {
    searched <<- c(searched, length(data$y))
    likelihood_for(data, ...)
  }, ns)
  ladder <- fit("iterative")
  expect_true(180L %in% searched)
  there <- gp(z ~ 1, d, ~ X1 + X2, with(as.list(ladder$theta), exponential(exponential.variance, exponential.range) +
                nugget(nugget.variance)), method = "exact", estimate = "none")
  expect_gt(logLik(there), logLik(exact) - 0.3)
})

test_that("a search uses float64 if rounding in float32 would affect the optimum", {
  withr::local_seed(4)
  d <- data.frame(x = seq(0, 1, length.out = 400))
  d$y <- 100 * sin(9 * d$x) + rnorm(400, sd = 0.05)
  fit_in <- function(precision, y = d$y) {
    # the standard deviation of the noise is far below that of the field
    suppressWarnings(gp(y ~ 1, data.frame(d["x"], y), ~x, matern(3/2) + nugget(), method = "iterative",
                        precision = precision), "kernops_degenerate")
  }
  expect_message(found <- fit_in("float32"), class = "kernops_rounding", "float64 is used")
  expected <- fit_in("float64")
  expect_equal(found$theta, expected$theta)
  expect_equal(predict(found, data.frame(x = 0.33)), predict(expected, data.frame(x = 0.33)), tolerance = 1e-8)
  # the expected loss due to rounding agrees with the loss that the search found at its end
  rough <- sin(9 * d$x) + rnorm(400, sd = 0.3)
  expect_no_message(found <- fit_in("float32", rough), class = "kernops_rounding")
  expected <- kernops:::expected_rounding(found$data, found$model, found$theta, "float32")
  expect_lt(abs(log(expected / found$search$rounding)), 0.5)
})

test_that("a single free scale is estimated in closed form", {
  covariance <- matern(3/2, range = 0.4, fixed = "range")
  fit <- gp(z ~ 0, case[1:100, ], ~ a + b, covariance, method = "iterative")
  h <- sqrt(3) * as.matrix(dist(case[1:100, c("a", "b")])) / 0.4
  expect_equal(fit$theta[[1]], mean(case$z[1:100] * solve((1 + h) * exp(-h), case$z[1:100])), tolerance = 1e-4)
})

test_that("coordinates far from the origin can be in the trend", {
  withr::local_seed(5)
  n <- 400
  d <- data.frame(e = 4e5 + runif(n, 0, 10), no = 5.6e6 + runif(n, 0, 10))
  K <- exp(-as.matrix(dist(d)))
  d$y <- d$e - 4e5 + 2 * (d$no - 5.6e6) + as.vector(t(chol(K + diag(0.1, n))) %*% rnorm(n))
  X <- cbind(1, d$e - 4e5, d$no - 5.6e6)
  inverse <- solve(K + diag(0.1, n))
  beta <- solve(t(X) %*% inverse %*% X, t(X) %*% inverse %*% d$y)
  fit <- gp(y ~ e + no, d, ~ e + no, exponential(1, 1) + nugget(0.1), method = "iterative", estimate = "none")
  expect_lt(max(abs(fitted(fit) - X %*% beta - K %*% inverse %*% (d$y - X %*% beta))), 5e-5)
  expect_equal(unname(coef(fit)[2:3]), beta[2:3], tolerance = 1e-4)
  expect_equal(unname(vcov(fit)[2:3, 2:3]), solve(t(X) %*% inverse %*% X)[2:3, 2:3], tolerance = 1e-4)
})

test_that("a search continues where the information has a negative curvature", {
  parameters <- data.frame(kind = "range", log = TRUE, fixed = FALSE, lower = rep(1e-9, 2), upper = 1e9)
  best <- c(3, 2)
  likelihood <- function(theta) {
    off <- log(theta) - best
    kernops:::new_state(list(value = sum(off^2)), gradient = \() 2 * off / theta,
                        information = \(profiled) diag(c(200, -0.01)) / tcrossprod(theta))
  }
  found <- kernops:::information_search(c(1, 1), likelihood, list(parameters = parameters), FALSE, gp_control())
  expect_equal(log(found$theta), best, tolerance = 0.1)
})

test_that("derivatives along a ridge agree with the exact method, with few probes and coarse tolerances", {
  withr::local_seed(9)
  for (d in 1:3) {
    u <- matrix(runif(400 * d), 400, dimnames = list(NULL, letters[seq_len(d)]))
    data <- data.frame(u, z = sin(3 * rowSums(u)) + rnorm(400, sd = 0.3))
    # The variance and the range are far above their estimates. If log(variance) changes by three times the change of
    # log(range), variance / range^3 is constant, and only the curvature of the covariance at distance 0 changes.
    covariance <- matern(3/2, 1e4, 20) + nugget(0.1)
    along <- function(method) {
      fit <- gp(z ~ 1, data, reformulate(letters[seq_len(d)]), covariance, method, "none",
                control = gp_control(probes = 10, search_tol = 0.01))
      state <- likelihood_for(fit$data, fit$model, fit$how)$evaluate(unname(fit$theta), FALSE, search = TRUE)
      sum(state$gradient() * c(3, 1, 0) * fit$theta)
    }
    exact <- along("exact")
    expect_lt(abs(along("iterative") - exact), 0.004 * abs(exact))
  }
})

test_that("draws and leave-one-out predictions do not need the stored matrix", {
  some <- case[1:150, ]
  exact <- fitted_by("exact", data = some)
  fit <- fitted_by("iterative", data = some)
  new <- case[151:160, ]
  expect_equal(simulate(fit, 3, seed = 1, newdata = new), simulate(exact, 3, seed = 1, newdata = new), tolerance = 1e-4)
  expect_equal(gp_cv(fit)$se.fit, gp_cv(exact)$se.fit, tolerance = 1e-3)
  expect_equal(gp_cv(fit)$fit, gp_cv(exact)$fit, tolerance = 1e-4)
})

test_that("leave-one-out predictions of many observations are estimated by probes", {
  fit <- fitted_by("iterative", control = gp_control(exact_limit = 100, probes = 20))
  exact <- gp_cv(fitted_by("exact"))
  estimated <- gp_cv(fit)
  expect_lt(abs(summary(estimated)$rmse / summary(exact)$rmse - 1), 0.01)
  expect_lt(mean(abs(estimated$se.fit / exact$se.fit - 1)), 0.03)
  expect_identical(gp_cv(fit), estimated)
})

test_that("the same seed gives the same likelihood, and the state of R's generator does not change", {
  set.seed(5)
  before <- .Random.seed
  one <- fitted_by("iterative")
  expect_identical(.Random.seed, before)
  expect_identical(fitted_by("iterative")$loglik, one$loglik)
  expect_false(identical(fitted_by("iterative", control = gp_control(seed = 2))$loglik, one$loglik))
})

test_that("if a solution does not converge, a warning states the residual", {
  expect_warning(fitted_by("iterative", control = gp_control(rank = 0, cg_tol = 1e-17, probes = 2)),
                 class = "kernops_not_converged", "residual")
})

test_that("a fit of 10,000 points needs less than 1 GB, and Ctrl-C stops the fit within moments", {
  skip_on_cran()
  skip_if_not(file.exists("/proc/self/status"))
  skip_if_not_in_library()
  result <- interrupt(after = 4, quote({
    set.seed(1)
    d <- data.frame(a = runif(1e4), b = runif(1e4))
    d$z <- sin(6 * d$a) * cos(5 * d$b) + rnorm(1e4, sd = 0.2)
    covariance <- kernops::matern(3/2, 0.5, 0.4) + kernops::nugget(0.04)
    known_covariance <- kernops::gp(z ~ 1, d, ~ a + b, covariance, method = "iterative", estimate = "none")
    say_pid()
    ended <- tryCatch({
      repeat kernops::gp(z ~ 1, d, ~ a + b, method = "iterative", control = kernops::gp_control(subset = 100))
    }, interrupt = \(e) Sys.time())
    at_work <- readLines("/proc/self/status")
    kilobytes <- as.numeric(gsub("[^0-9]", "", grep("VmHWM", at_work, value = TRUE)))
    list(ended = ended, kilobytes = kilobytes, afterwards = predict(known_covariance, d[1:3, ]))
  }))
  expect_s3_class(result$ended, "POSIXct")
  expect_lt(result$kilobytes * 1024, 1e9)
  expect_length(result$afterwards, 3)
})

test_that("the residual of a solution is estimated from a sample of the rows", {
  withr::local_seed(21)
  d <- smooth_case(400)
  fit <- fitted_by("iterative", data = d)
  for (noise in list(0.1, 0.1 + (1:400) / 400)) {
    system <- kernops:::kernel_system(kernops:::covariance_product(fit$model), "b",
                                      list(theta = fit$theta, x = fit$data$u, y = fit$data$u), noise)
    b <- matrix(rnorm(800), 400)
    off <- matrix(rnorm(800), 400)
    sampled <- kernops:::sampled_residual(system, off, b, 200)
    expect_equal(sampled, sqrt(colSums((b - system$product(off))^2)), tolerance = 0.25)
    expect_equal(system$product_at(c(3, 5), off), system$product(off)[c(3, 5), ])
    for (tol in c(1e-2, 1e-9)) {
      solved <- kernops:::solve_system(system, b, NULL, tol, check = 50)
      expect_true(all(solved$converged))
      left <- b - system$product(solved$solution)
      expect_equal(solved$residual, sqrt(colSums(left^2) / colSums(b^2)), tolerance = 0.5)
    }
  }
  # rounding errors of the product are detected and corrected
  wrong <- replace(system, "product", list(function(a, precision = "float32") {
    system$product(a) * if (precision == "float64") 1 else 1.001
  }))
  solved <- kernops:::solve_system(wrong, b, NULL, 1e-6, check = 50)
  expect_true(all(solved$converged))
  expect_lt(max(abs(system$product(solved$solution) - b)), 1e-4)
})
