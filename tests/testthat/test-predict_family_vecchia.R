# Families with many observations: Vecchia's approximation of the field, against plain R and the exact method.

withr::local_options(kernops.backend = "auto")  # the exact method runs on the CPU only
d <- family_data(40)
d[37:40, c("a", "b")] <- d[1:4, c("a", "b")] # repeated locations
u <- as.matrix(d[c("a", "b")])
field_covariance <- matern(3/2, 1.1, 0.4) + nugget(0.2)
families <- oracle_families()
given_fit <- function(name, neighbours, method = "vecchia", data = d, backend = "cpu") {
  gp(families[[name]][[2]], data, ~ a + b, field_covariance, family = with_phi(name), estimate = "none",
     method = method, backend = backend, control = gp_control(neighbours = neighbours))
}
oracle <- function(name, theta, mean, K = covariance_of(u, theta[1], theta[2], theta[3])) {
  phi <- oracle_phi[[name]]
  oracle_laplace(K, mean, \(eta) families[[name]][[3]](d, eta, phi))
}

with_all <- \(name, backend) paste0("with all others as neighbours it is the exact method: ", name, ", ", backend)
for (backend in backends()) for (name in names(families)) test_that(with_all(name, backend), {
  fit <- given_fit(name, 39, backend = backend)
  plain <- oracle(name, c(1.1, 0.4, 0.2), as.vector(model.matrix(fit) %*% coef(fit)))
  expect_equal(-2 * fit$loglik, plain$value, tolerance = 1e-7)
  expect_equal(fit$latent$h, unname(plain$h), tolerance = 1e-5)
  exact <- given_fit(name, 39, "exact")
  at <- data.frame(a = c(0.2, 0.9, d$a[5]), b = c(0.3, 0.6, d$b[5]), w = 0:2)
  expect_equal(coef(fit), coef(exact), tolerance = 1e-5)
  expect_equal(predict(fit, at, se.fit = TRUE, interval = "prediction"),
               predict(exact, at, se.fit = TRUE, interval = "prediction"), tolerance = 1e-4)
  expect_equal(predict(fit, at, se.fit = TRUE, type = "link"), predict(exact, at, se.fit = TRUE, type = "link"),
               tolerance = 1e-5)
  expect_equal(gp_cv(fit), gp_cv(exact), tolerance = 1e-4)
  expect_equal(vcov(fit), vcov(exact), tolerance = 1e-3)
  expect_equal(residuals(fit), residuals(exact), tolerance = 1e-4)
  expect_error(expect_equal(residuals(given_fit(name, 2)), residuals(exact), tolerance = 1e-4))
})

test_that("with few neighbours, the likelihood agrees with Laplace's approximation in plain R, except for fill-in", {
  sample <- d[1:36, ]
  covariance <- matern(3/2, 1.1, 0.4)
  fit <- gp(count ~ w, sample, ~ a + b, covariance, family = poisson(), estimate = "none", method = "vecchia",
            neighbours = 5)
  order <- fit$vecchia$order
  near <- earlier_neighbours(as.matrix(sample[order, c("a", "b")]), 5)
  U <- oracle_factor(covariance_of(as.matrix(sample[order, c("a", "b")]), 1.1, 0.4, 0), near)
  K <- solve(crossprod(U))[order(order), order(order)]
  plain <- oracle_laplace(K, as.vector(model.matrix(fit) %*% coef(fit)),
                          \(eta) dpois(sample$count, exp(eta), log = TRUE))
  expect_equal(fit$latent$h, unname(plain$h), tolerance = 1e-5)
  expect_equal(-2 * fit$loglik, plain$value, tolerance = 1e-3)
})

test_that("gradients agree with differences", {
  for (backend in backends()) for (name in c("poisson", "binomial", "negative_binomial", "student")) {
    fit <- given_fit(name, 6, backend = backend)
    fit$outer$parameters$fixed[] <- fit$outer$field$parameters$fixed[] <- FALSE
    likelihood <- kernops:::likelihood_for(fit$response, fit$outer, fit$how)
    theta <- 1.1 * fit$outer_theta
    slope <- likelihood$evaluate(theta)$gradient()
    differences <- exact_differences(\(theta) likelihood$evaluate(theta)$value, theta)
    expect_equal(unname(slope), differences, tolerance = 1e-8)
    # the information is near that of the exact method
    how <- replace(fit$how, c("method", "backend"), c("exact", "cpu"))
    exact <- kernops:::laplace_likelihood(fit$response, fit$outer, how)
    state <- exact$evaluate(theta)
    state$gradient()
    expect_equal(likelihood$evaluate(theta)$information(), state$information(), tolerance = 0.1)
  }
})

test_that("the factor and the inverse of a sparse posterior precision are exact if there is no fill-in", {
  withr::local_seed(1)
  # a chain, in which each point depends on the previous one
  n <- 30
  weights <- matrix(runif(n, 0.2, 0.9), 1)
  weights[1] <- 0
  sd <- runif(n, 0.5, 1)
  near <- matrix(0:(n - 1), 1)
  U <- diag(1 / sd)
  U[cbind(2:n, 1:(n - 1))] <- -weights[-1] / sd[-1]
  D <- runif(n)
  wanted <- rbind(2:n, 1:(n - 1))
  held <- kernops:::posterior_hold(near, 2L)
  kernops:::posterior_fill(held, weights, sd, 2L)
  precision <- crossprod(U) + diag(D)
  S <- solve(precision)
  expect_equal(kernops:::posterior_factor(held, D, 2L), as.numeric(determinant(precision)$modulus), tolerance = 1e-12)
  expect_equal(kernops:::posterior_variances(held, 2L), diag(S), tolerance = 1e-12)
  w <- matrix(runif(2 * n - 2), 2)
  sums <- function(wanted, w) kernops:::posterior_sums(held, wanted, w, 1e-18, 2L)
  theirs <- function(wanted, w) {
    vapply(seq_len(ncol(w)), \(k) sum(w[, k] * (S[wanted[, k], wanted[, k]] %*% w[, k])), 0)
  }
  expect_equal(sums(wanted, w), theirs(wanted, w), tolerance = 1e-12)
  # variances of weighted sums over points that are not neighbours
  far <- replicate(100, sample(n, 4))
  w <- matrix(rnorm(400), 4)
  expect_equal(sums(far, w), theirs(far, w), tolerance = 1e-8)
  expect_equal(sums(rbind(far, 0L), rbind(w, 1)), theirs(far, w), tolerance = 1e-8)
  parts <- kernops:::posterior_parts(held, far, w, 2L)
  between <- outer(1:100, 1:100, Vectorize(\(i, j) sum(w[, i] * (S[far[, i], far[, j]] %*% w[, j]))))
  expect_equal(crossprod(parts), between, tolerance = 1e-8)
  b <- matrix(rnorm(2 * n), n)
  solution <- kernops:::posterior_solve(held, D, b, 0 * b, 1e-12, 20L, 2L)
  expect_equal(solution, S %*% b, tolerance = 1e-10, ignore_attr = TRUE)
  expect_true(all(attr(solution, "steps") <= 2))
  # if the diagonal is not D, the factor of the precision with D is the preconditioner of conjugate gradients
  expect_equal(kernops:::posterior_solve(held, 2 * D, b, 0 * b, 1e-12, 50L, 1L), solve(precision + diag(D), b),
               tolerance = 1e-10, ignore_attr = TRUE)
  f <- rnorm(n)
  g <- rnorm(n)
  # the derivative of sum(M * U'U) + 2 sum(log(sd)) in the rows of U
  M <- tcrossprod(f) - (tcrossprod(f, g) + tcrossprod(g, f)) / 2 + S
  product <- U %*% M
  by <- kernops:::posterior_differentiate(held, f, g, 2L)
  expect_equal(by$weights, matrix(c(0, -2 * product[cbind(2:n, 1:(n - 1))] / sd[-1]), 1), tolerance = 1e-10)
  expect_equal(by$log_sd, 2 - 2 * rowSums(U * product), tolerance = 1e-10)
  expect_identical(kernops:::posterior_factor(held, rep(-100, n), 2L), NaN)
})

test_that("points that are equal to 15 digits are one location", {
  withr::local_seed(6)
  u <- rbind(c(0.1 + 0.2, 1), c(0.3, 1), c(1, 0.3), c(-0, 2), c(0, 2), c(1e-300, 2), matrix(sample(3, 60, TRUE), 30))
  key <- paste(u[, 1], u[, 2])
  found <- kernops:::place_keys(list(covariance = field_covariance), u)
  expect_identical(outer(found, found, "=="), outer(key, key, "=="))
  alone <- list(covariance = matern(3/2, dims = 2))
  expect_identical(duplicated(kernops:::place_keys(alone, u)), duplicated(u[, 2]))
  # here the product of the numbers of distinct values of the columns exceeds the range of integers
  many <- expand.grid(seq_len(250) / 7, seq_len(250) / 3)
  expect_identical(kernops:::place_keys(list(covariance = field_covariance), as.matrix(many[2:1])), seq_len(62500))
})

test_that("a sparse posterior does not depend on the number of threads", {
  withr::local_seed(4)
  case <- function(n) {
    earlier <- \(k) c(sample.int(k - 1L, min(6L, k - 1L)), integer(6))[seq_len(6)]
    near <- rbind(0L, vapply(seq_len(n), earlier, integer(6)))
    list(near = near, weights = matrix(runif(7 * n, -0.3, 0.4), 7), sd = runif(n, 0.5, 1), D = runif(n, 5, 10),
         b = matrix(rnorm(2 * n), n))
  }
  by <- function(case, threads) {
    held <- kernops:::posterior_hold(case$near, threads)
    kernops:::posterior_fill(held, case$weights, case$sd, threads)
    logdet <- kernops:::posterior_factor(held, case$D, threads)
    v <- kernops:::posterior_variances(held, threads)
    by <- kernops:::posterior_differentiate(held, case$b[, 1], case$b[, 2], threads)
    list(logdet = logdet, v = v, by = by,
         solved = kernops:::posterior_solve(held, case$D, case$b, 0 * case$b, 1e-13, 200L, 2L * threads))
  }
  few <- case(600)
  U <- diag(600)
  for (s in seq_len(7)) U[cbind(seq_len(600), few$near[s, ])] <- -few$weights[s, few$near[s, ] > 0]
  expect_equal(by(few, 1L)$solved, solve(crossprod(U / few$sd) + diag(few$D), few$b), tolerance = 1e-10,
               ignore_attr = TRUE)
  many <- case(33000) # enough points for four threads
  found <- by(many, 1L)
  for (threads in c(2L, 4L)) for (time in 1:3) expect_identical(by(many, threads), found)
})

test_that("results with more neighbours are nearer to the exact method", {
  withr::local_seed(2)
  sample <- data.frame(a = runif(300), b = runif(300))
  sample$count <- rpois(300, exp(1 + sin(8 * sample$a) + cos(6 * sample$b)))
  fit <- \(...) gp(count ~ 1, sample, ~ a + b, matern(3/2, 1, 0.3), family = poisson(), estimate = "none", ...)
  exact <- fit(method = "exact")
  at <- data.frame(a = runif(20), b = runif(20))
  away <- vapply(c(3, 10, 40), function(m) {
    near <- fit(method = "vecchia", neighbours = m)
    c(abs(near$loglik - exact$loglik), max(abs(predict(near, at, type = "link") - predict(exact, at, type = "link"))))
  }, numeric(2))
  expect_true(all(diff(away[1, ]) < 0) && all(diff(away[2, ]) < 0))
  expect_true(all(away[, 3] < c(0.05, 0.005)))
})

test_that("standard errors do not depend on other new points, and agree with the dense posterior", {
  withr::local_seed(4)
  sample <- data.frame(a = runif(500), b = runif(500))
  sample$seen <- rbinom(500, 1, plogis(sin(8 * sample$a) + cos(6 * sample$b)))
  fit <- gp(seen ~ 1, sample, ~ a + b, matern(3/2, 1, 0.2), family = binomial(), method = "vecchia", estimate = "none")
  targets <- data.frame(a = runif(40), b = runif(40))
  errors <- function(rows) predict(fit, targets[rows, ], type = "link", se.fit = TRUE, joint = FALSE)$se.fit
  together <- errors(1:40)
  expect_equal(vapply(1:10, errors, 0), together[1:10], tolerance = 1e-10)
  # Q + D and the weights as dense matrices
  system <- kernops:::fitted_system(fit)
  n <- 500
  U <- diag(n)
  for (k in 2:n) {
    near <- system$sets$neighbours[, k]
    U[k, near[near > 0]] <- -system$factor$weights[near > 0, k]
  }
  posterior <- solve(crossprod(U / system$factor$sd) + diag(as.vector(system$gather(system$weight))))
  sets <- kernops:::nearest_base(fit)$nearest(kernops:::new_points(fit, targets, NULL)$u)
  W <- matrix(0, n, 40)
  for (k in 1:40) W[sets$neighbours[, k], k] <- sets$weights[, k]
  weighted <- posterior %*% as.vector(system$gather(system$weight))
  information <- sum(system$weight) - sum(system$gather(system$weight) * weighted)
  gap <- 1 - as.vector(crossprod(W, weighted))
  theirs <- sqrt(sets$sd^2 + colSums(W * (posterior %*% W)) + gap^2 / information)
  expect_equal(together, theirs, tolerance = 3e-4)
})

test_that("predictions at many points agree with those at few points, from the same posterior", {
  fit <- given_fit("poisson", 39)
  many <- withr::with_seed(2, data.frame(a = runif(25000), b = runif(25000), w = 0))
  at <- \(points) predict(fit, points, type = "link", se.fit = TRUE, interval = "none", joint = FALSE)
  expect_equal(at(many)[c(5, 24999), ], at(many[c(5, 24999), ]), tolerance = 1e-9)
  expect_gte(kernops:::nearest_base(fit)$width, 25000)
})

test_that("the likelihood on a GPU agrees with the CPU", {
  skip_if_not("cuda" %in% backends(), "there is no GPU")
  withr::local_seed(5)
  sample <- data.frame(a = runif(120), b = runif(120))
  sample$count <- rpois(120, exp(1 + sin(8 * sample$a)))
  fits <- lapply(c("cpu", "cuda"), \(backend) {
    gp(count ~ 1, sample, ~ a + b, matern(3/2, NULL, 0.3), family = poisson(), method = "vecchia", neighbours = 8,
       backend = backend)
  })
  results <- lapply(fits, \(fit) list(fit$loglik, coef(fit, "both"), vcov(fit, "both"), residuals(fit), gp_cv(fit),
                                    predict(fit, sample[1:9, ] + 0.01, se.fit = TRUE), simulate(fit, 3, 1,
                                                                                                sample[1:9, ])))
  expect_equal(results[[2]], results[[1]], tolerance = 1e-6, ignore_attr = TRUE)
  expect_identical(fits[[2]]$how$backend, "cuda")
  # fits with given parameters
  at <- lapply(c("cpu", "cuda"), \(backend) {
    fit <- given_fit("poisson", 6, backend = backend)
    list(fit$loglik, coef(fit), residuals(fit), gp_cv(fit), predict(fit, d[1:9, ], se.fit = TRUE))
  })
  expect_equal(at[[2]], at[[1]], tolerance = 1e-10, ignore_attr = TRUE)
})

test_that("searches end near the estimates of the exact method", {
  withr::local_seed(3)
  sample <- data.frame(a = runif(250), b = runif(250))
  sample$count <- rpois(250, exp(1 + sin(8 * sample$a) + cos(6 * sample$b)))
  fit <- \(...) gp(count ~ 1, sample, ~ a + b, family = poisson(), ...)
  exact <- fit()
  near <- fit(exact_limit = 100)
  expect_identical(near$method, "vecchia")
  se <- sqrt(diag(vcov(exact, "both")))
  expect_lt(max(abs(coef(near, "both") - coef(exact, "both")) / se), 0.1)
  expect_equal(vcov(near, "both"), vcov(exact, "both"), tolerance = 0.1)
  expect_output(print(near), "neighbours +20 \\(maxmin\\), 30 for predictions")
  expect_output(print(summary(near)), "Method: vecchia")
  expect_identical(update(near, neighbours = "auto")$vecchia$m %% 20L, 0L)
  copy <- unserialize(serialize(near, NULL))
  expect_identical(predict(copy, sample[1:3, ], se.fit = TRUE), predict(near, sample[1:3, ], se.fit = TRUE))
})

test_that("simulations have the moments of predictions", {
  fit <- given_fit("poisson", 15)
  at <- data.frame(a = c(0.2, 0.9), b = c(0.3, 0.6), w = 0)
  link <- predict(fit, at, se.fit = TRUE, type = "link")
  draws <- simulate(fit, 4000, 1, at)
  expect_equal(unname(rowMeans(draws)), link$fit, tolerance = 0.05)
  expect_equal(unname(apply(draws, 1, sd)), link$se.fit, tolerance = 0.05)
})

test_that("method \"auto\" fits a family exactly up to a quarter of the number of observations of Gaussian fits", {
  withr::local_seed(21)
  d <- data.frame(a = runif(60), b = runif(60))
  d$count <- rpois(60, exp(sin(5 * d$a)))
  method <- \(...) gp(count ~ 1, d, ~ a + b, exponential(0.5, 0.3), estimate = "none", ...)$method
  expect_identical(c(method(exact_limit = 60), method(exact_limit = 59)), c("exact", "vecchia"))
  poisson <- \(...) method(..., family = stats::poisson())
  expect_identical(c(poisson(exact_limit = 240), poisson(exact_limit = 239)), c("exact", "vecchia"))
})
