# Vecchia-inducing-points (VIF) approximations, against their definition in plain R and against the exact method.

case <- local({
  withr::local_seed(5)
  cbind(smooth_case(70), noise = runif(70, 0, 0.1), k = runif(70, 0.5, 2))
})
vif <- function(formula = z ~ w, covariance = matern(5/2, 1.3, c(0.4, 0.6)) + nugget(0.05), inducing = 12, m = 9, ...,
                method = "vif", estimate = "none", data = case, ordering = "given") {
  gp(formula, data, ~ a + b, covariance, method, estimate, ..., neighbours = m, inducing = inducing,
     ordering = ordering)
}

# The Matern 5/2 covariance between the points u and v; theta contains the variance and the ranges.
matern_of <- function(u, v, theta) {
  h <- outer(seq_len(nrow(u)), seq_len(nrow(v)), Vectorize(\(i, j) {
    sqrt(sum(((u[i, ] - v[j, ]) / theta[2:3])^2))
  }))
  h <- sqrt(5) * h
  theta[[1]] * (1 + h + h^2 / 3) * exp(-h)
}

# The covariance of the observations at u in a VIF approximation with inducing points z, from its definition.
oracle_vif <- function(u, z, theta, noise, neighbours) {
  Z <- matern_of(z, z, theta)
  diag(Z) <- diag(Z) * (1 + 1e-12)
  across <- matern_of(z, u, theta)
  low <- t(across) %*% solve(Z, across)
  U <- oracle_factor(matern_of(u, u, theta) - low + diag(noise), neighbours)
  low + solve(crossprod(U))
}

points_of_fit <- function(fit) {
  u <- unname(fit$data$u)
  first <- gp_neighbours(scaled(u, unname(fit$theta)), 1)$order[seq_len(fit$vecchia$inducing)]
  list(u = u, z = u[first, ])
}
scaled <- function(u, theta) u / rep(theta[2:3], each = nrow(u))

test_that("the likelihood agrees with the dense matrix of the definition, with each instruction set", {
  for (formula in trends) for (reml in c(FALSE, TRUE)) for (isa in kernops:::cpu_isas()) {
    local_kernops(isa = isa)
    fit <- vif(formula, weights = k, known = list(noise = case$noise))
    theta <- unname(fit$theta)
    p <- points_of_fit(fit)
    noise <- theta[[4]] / case$k + case$noise
    V <- oracle_vif(p$u, p$z, theta, noise, earlier_neighbours(scaled(p$u, theta), 9))
    X <- model.matrix(formula, case)
    expected <- oracle_likelihood(V, case$z, X, reml)
    state <- kernops:::vif_likelihood(fit$data, fit$model, replace(fit$how, "reml", reml))$evaluate(theta)
    expect_equal(state$value, expected$value, tolerance = 1e-9)
    expect_equal(unname(state$beta), expected$beta, tolerance = 1e-8)
  }
})

test_that("with all observations as inducing points or as neighbours, the fit is exact", {
  exact <- vif(method = "exact")
  new <- data.frame(a = c(0.1, 0.5, 0.77), b = c(0.3, 0.2, 0.9), w = c(-1, 0, 2))
  for (fit in list(vif(inducing = 70, m = 3), vif(m = 69))) {
    expect_equal(fit$loglik, exact$loglik, tolerance = 1e-7)
    expect_equal(fit$beta, exact$beta, tolerance = 1e-6)
    expect_equal(predict(fit, new, se.fit = TRUE, interval = "confidence"),
                 predict(exact, new, se.fit = TRUE, interval = "confidence"), tolerance = 1e-6)
  }
})

test_that("the gradient agrees with differences, with and without profiling", {
  covariances <- list(matern(5/2, 1.3, c(0.4, 0.6)) + nugget(0.05), matern(3/2, 1, 0.4) + linear(0.3) + nugget(0.1),
                      covariance("s * Exp(-SqDist(x, y) / r)", c(s = 1.3, r = 0.2)) + nugget(0.05))
  for (covariance in covariances) for (reml in c(FALSE, TRUE)) for (profile in c(FALSE, TRUE)) {
    fit <- vif(covariance = covariance, weights = k)
    likelihood <- kernops:::vif_likelihood(fit$data, fit$model, replace(fit$how, "reml", reml))
    theta <- unname(fit$theta)
    value <- \(theta) likelihood$evaluate(theta, profile)$value
    state <- likelihood$evaluate(theta, profile)
    differences <- vapply(seq_along(theta), \(k) {
      h <- replace(numeric(length(theta)), k, 1e-5)
      (value(theta + h) - value(theta - h)) / 2e-5
    }, 0)
    expect_equal(state$gradient(), differences, tolerance = 1e-5)
  }
})

test_that("the information is the average information of the dense matrix", {
  fit <- vif()
  theta <- unname(fit$theta)
  p <- points_of_fit(fit)
  X <- model.matrix(~ w, case)
  sets <- earlier_neighbours(scaled(p$u, theta), 9) # the sets are the same for all theta
  of <- \(theta) oracle_vif(p$u, p$z, theta, rep(theta[[4]], 70), sets)
  V <- of(theta)
  P <- solve(V) - solve(V, X) %*% solve(t(X) %*% solve(V, X), t(solve(V, X)))
  changed <- vapply(1:4, \(k) {
    h <- replace(numeric(4), k, 1e-5)
    as.vector(((of(theta + h) - of(theta - h)) / 2e-5) %*% P %*% case$z)
  }, numeric(70))
  state <- kernops:::vif_likelihood(fit$data, fit$model, replace(fit$how, "reml", FALSE))$evaluate(theta)
  expect_equal(state$information(FALSE), t(changed) %*% P %*% changed, tolerance = 1e-3)
})

test_that("predictions agree with the joint distribution of the definition", {
  new <- data.frame(a = c(0.1, 0.5, 0.77), b = c(0.3, 0.2, 0.9), w = c(-1, 0, 2))
  fit <- vif()
  theta <- unname(fit$theta)
  p <- points_of_fit(fit)
  targets <- unname(as.matrix(new[c("a", "b")])) - rep(colMeans(case[c("a", "b")]), each = 3)
  X <- model.matrix(~ w, case)
  predictions <- predict(fit, new, se.fit = TRUE, interval = "confidence")
  for (k in 1:3) {
    u <- rbind(p$u, targets[k, ])
    near <- earlier_neighbours(scaled(u, theta), 18)[[71]]
    all <- oracle_vif(u, p$z, theta, c(rep(theta[[4]], 70), 0),
                      c(earlier_neighbours(scaled(p$u, theta), 9), list(near)))
    V <- all[1:70, 1:70]
    across <- solve(V, all[1:70, 71])
    x <- c(1, new$w[[k]])
    gap <- x - as.vector(t(X) %*% across)
    covariance <- solve(t(X) %*% solve(V, X))
    beta <- covariance %*% t(X) %*% solve(V, case$z)
    expect_equal(predictions$fit[[k]], sum(x * beta) + sum(across * (case$z - X %*% beta)), tolerance = 1e-7)
    expect_equal(predictions$se.fit[[k]]^2, all[71, 71] - sum(across * all[1:70, 71]) + sum(gap * (covariance %*% gap)),
                 tolerance = 1e-7)
  }
})

test_that("terms, covariances, blocks, left-out observations and known means agree with the exact method", {
  new <- data.frame(a = c(0.1, 0.5, 0.77), b = c(0.3, 0.2, 0.9), w = c(-1, 0, 2))
  fit <- vif(m = 69)
  exact <- vif(method = "exact")
  same <- function(f) expect_equal(f(fit), f(exact), tolerance = 1e-7)
  same(\(fit) predict(fit, new, type = "terms"))
  same(\(fit) predict(fit, new, cov = TRUE)$cov)
  same(\(fit) predict(fit, new, block = c(0.1, 0.2), se.fit = TRUE, interval = "confidence"))
  same(\(fit) predict(fit, new, nmax = 10, se.fit = TRUE, interval = "confidence"))
  same(\(fit) predict(fit, new, interval = "prediction", probs = 0.1))
  same(residuals)
  same(\(fit) gp_cv(fit))
  known <- function(...) vif(z ~ w, known = list(beta = c(0.3, 0.5)), ...)
  expect_equal(predict(known(m = 69), new, se.fit = TRUE, interval = "confidence"),
               predict(known(method = "exact"), new, se.fit = TRUE, interval = "confidence"), tolerance = 1e-7)
  joint <- predict(fit, new, se.fit = TRUE, interval = "confidence", joint = TRUE)
  expect_equal(joint, predict(exact, new, se.fit = TRUE, interval = "confidence"), tolerance = 1e-4)
})

test_that("with all neighbours, each layout of the data agrees with the exact method", {
  data <- transform(case, g = factor(rep(1:2, 35)))
  repeated <- transform(rbind(data, data, data), z = rep(data$z, 3) + withr::with_seed(1, rnorm(210, sd = 0.2)))
  field <- matern(5/2, 1.3, 0.5)
  layouts <- list(
    groups = list(z ~ w, data, field + nugget(0.05), group = ~ g),
    replicates = list(z ~ w, repeated, field + nugget(0.05), inducing = 100),
    "replicates of groups" = list(z ~ 1, repeated, field + nugget(0.05), group = ~ g, weights = quote(k)),
    "known noise" = list(z ~ w, data, field, known = list(noise = data$noise + 0.01)),
    "known noise and nugget" = list(z ~ w, repeated, field + nugget(0.05), known = list(noise = ~ noise)),
    "no noise" = list(z ~ w, data, matern(3/2, 1.3, 0.5)),
    "an intrinsic field" = list(z ~ w, data, power_law(1, 1) + nugget(0.1)),
    microscale = list(z ~ 1, data, field + microscale(0.1) + nugget(0.05)),
    "several variables" = list(cbind(z, w) ~ 1, data, lmc(matern(5/2, range = 0.5), nugget(), sills = list(
      matrix(c(1, 0.4, 0.4, 0.5), 2), diag(c(0.02, 0.05))
    )))
  )
  new <- data.frame(a = c(0.1, 0.5, 0.77), b = c(0.3, 0.2, 0.9), w = c(-1, 0, 2), g = factor(c(1, 2, 2)), k = 1)
  for (name in names(layouts)) {
    arguments <- c(layouts[[name]], list(coords = ~ a + b, estimate = "none"))
    names(arguments)[1:3] <- c("formula", "data", "covariance")
    fit_by <- \(...) do.call(gp, utils::modifyList(list(...), arguments))
    exact <- fit_by(method = "exact")
    fit <- fit_by(method = "vif", inducing = 20, neighbours = 209)
    expect_equal(fit$loglik, exact$loglik, tolerance = 1e-6, info = name)
    expect_equal(fit$beta, exact$beta, tolerance = 1e-5, info = name)
    answer <- \(fit) predict(fit, new, se.fit = TRUE, interval = "confidence")
    expect_equal(answer(fit), answer(exact), tolerance = 1e-5, info = name)
    expect_equal(residuals(fit), residuals(exact), tolerance = 1e-6, info = name)
    expect_equal(gp_cv(fit)$summary, gp_cv(exact)$summary, tolerance = 1e-4, info = name)
  }
})

test_that("fits with few neighbours to several variables, groups and replicates are near exact fits", {
  data <- transform(rbind(case, case), g = factor(rep(1:2, each = 70)))
  data$z <- data$z + withr::with_seed(1, rnorm(140, sd = 0.1))
  data$half <- data$z / 2 + withr::with_seed(2, rnorm(140, sd = 0.2))
  near <- function(...) {
    fit <- gp(..., data = data, coords = ~ a + b, method = "vif", neighbours = 30, inducing = 60)
    exact <- gp(..., data = data, coords = ~ a + b, method = "exact")
    expect_lt(abs(fit$loglik - exact$loglik), 0.5)
    new <- data.frame(a = c(0.2, 0.7), b = c(0.6, 0.1), w = 0, g = factor(1:2))
    expect_equal(predict(fit, new), predict(exact, new), tolerance = 0.05)
  }
  near(z ~ w, covariance = matern(5/2) + nugget(), group = ~ g)
  near(z ~ w, covariance = matern(5/2) + nugget())
  near(cbind(z, half) ~ 1, covariance = lmc(matern(5/2), nugget()))
})

test_that("means of transformed responses are unbiased, as by the exact method", {
  new <- data.frame(a = c(0.1, 0.5), b = c(0.3, 0.2), w = c(-1, 0))
  of <- function(...) vif(exp(z) ~ w, transform = "log", ...)
  expect_equal(predict(of(m = 69), new, se.fit = TRUE, interval = "prediction"),
               predict(of(method = "exact"), new, se.fit = TRUE, interval = "prediction"), tolerance = 1e-7)
})

test_that("draws given the data have the moments of predictions, and draws without data those of the prior", {
  new <- data.frame(a = c(0.1, 0.12, 0.77), b = c(0.3, 0.3, 0.9), w = 0)
  fit <- vif(m = 30)
  draws <- as.matrix(simulate(fit, 4000, 1, new))
  moments <- predict(fit, new, cov = TRUE)
  expect_equal(rowMeans(draws), unname(moments$fit), tolerance = 0.02, ignore_attr = TRUE)
  expect_equal(cov(t(draws)), moments$cov, tolerance = 0.1, ignore_attr = TRUE)
  prior <- as.matrix(simulate(fit, 4000, 1, new, conditional = FALSE))
  expected <- matern_of(as.matrix(new[c("a", "b")]), as.matrix(new[c("a", "b")]), unname(fit$theta))
  expect_equal(cov(t(prior)), expected, tolerance = 0.1, ignore_attr = TRUE)
})

test_that("results have the same bits for any number of threads", {
  new <- data.frame(a = runif(20), b = runif(20), w = 0)
  answers <- function(threads) {
    local_kernops(threads = threads)
    fit <- vif(estimate = "REML", data = case[rep(1:70, 10), ] + c(0, rnorm(699, sd = 0.1)))
    list(fit$loglik, fit$theta, predict(fit, new, se.fit = TRUE, interval = "confidence"))
  }
  withr::local_seed(3)
  one <- answers(1)
  withr::local_seed(3)
  new <- data.frame(a = new$a, b = new$b, w = 0)
  expect_identical(answers(2), one)
})

test_that("estimates agree with the exact method where the low-rank part explains the field", {
  fit <- vif(estimate = "ML", inducing = 40, m = 20)
  exact <- vif(estimate = "ML", method = "exact")
  expect_equal(fit$loglik, exact$loglik, tolerance = 1e-2)
  expect_equal(log(fit$theta), log(exact$theta), tolerance = 0.1)
  expect_output(print(fit), "20 \\(given\\), 40 for predictions, 40 inducing points")
  expect_equal(vif(inducing = 500)$vecchia$inducing, 70)
  expect_output(print(fit), "(ML, vif)", fixed = TRUE)
})

test_that("inducing points are the first points of the max-min ordering, whatever the ordering of the neighbours", {
  for (ordering in c("maxmin", "given", "coordinate")) {
    fit <- vif(inducing = 9, m = 5, ordering = ordering)
    inducing <- kernops:::fitted_vif(fit)$sets$inducing
    expect_equal(unname(inducing), points_of_fit(fit)$z)
  }
})

test_that("invalid settings are classed errors", {
  expect_snapshot(error = TRUE, {
    vif(inducing = 0)
    vif(inducing = 2.5)
    vif(inducing = "many")
    gp(k ~ 1, transform(case, k = 1:70), ~ a + b, method = "vif", family = poisson())
  })
})

test_that("the engine refuses arrays whose sizes do not agree", {
  near <- matrix(c(0L, 1L), 1)
  sets <- kernops:::sets_hold(matrix(0, 2, 1), c(0, 0), c(0, 0), matrix(0, 2, 0), near)
  kernel <- kernops:::kernel_compile("Sum_Reduction(Exp(-SqDist(x, y)) * theta, 1)",
                                     c("theta = Pm(1)", "x = Vi(1)", "y = Vj(1)"), TRUE)
  operators <- list(values = kernel, derivatives = kernel)
  settings <- kernops:::run_settings(backend = "cpu")
  expect_snapshot(error = TRUE, {
    kernops:::sets_with_factors(sets, matrix(0, 2, 3))
    kernops:::factors_inner(near, matrix(0, 2, 2), matrix(0, 3, 2), 1L)
    kernops:::factors_inner(matrix(c(0L, 9L), 1), diag(2), diag(2), 1L)
    kernops:::factors_adjoint(list(weights = matrix(0, 1, 2), sd = c(1, 1), neighbours = near), diag(2), diag(3)[1:2, ],
                              c(0, 0), matrix(0, 1, 2), 1L)
    kernops:::factors_adjoint(list(weights = matrix(0, 1, 2), sd = c(1, 1), neighbours = near), diag(2), diag(2), 0,
                              matrix(0, 1, 2), 1L)
    kernops:::sets_residual_adjoint(operators, 1, 0L, sets, matrix(0, 1, 3), c(0, 0), settings)
  })
})
