# Gradients of families with Vecchia's approximation, against differences of the likelihood in plain R, up to rounding.

d <- family_data(40)
d[37:40, c("a", "b")] <- d[1:4, c("a", "b")] # repeated locations
free_likelihood <- function(formula, family, covariance, m, fixed = character(), data = d, ...) {
  fit <- gp(formula, data, ~ a + b, covariance, family = family, estimate = "none", neighbours = m, ...)
  names <- fit$outer$parameters$name
  fit$outer$parameters$fixed <- names %in% fixed
  fit$outer$field$parameters$fixed <- fit$outer$field$parameters$name %in% fixed
  c(kernops:::likelihood_for(fit$response, fit$outer, fit$how),
    list(theta = replace(1.1 * fit$outer_theta, names %in% fixed, fit$outer_theta[names %in% fixed]), fit = fit))
}

matern32 <- \(D) (1 + sqrt(3) * D) * exp(-sqrt(3) * D)
scaled <- \(u, ranges) as.matrix(dist(t(t(u) / ranges)))
turned <- \(u, range, angle, ratio) {
  a <- angle * pi / 180
  scaled(u %*% cbind(c(sin(a), cos(a)), c(cos(a), -sin(a))), range * c(1, ratio))
}
# The covariances: the argument of gp(), and a function in plain R without the nugget. A nugget is the last parameter.
covariances <- list(
  matern = list(matern(3/2, 1.1, 0.4) + nugget(0.2), \(p, u) p[1] * matern32(scaled(u, p[2]))),
  nested = list(matern(3/2, 1.1, c(0.4, 0.3)) + exponential(0.3, 0.2) + nugget(0.2),
                \(p, u) p[1] * matern32(scaled(u, p[2:3])) + p[4] * exp(-scaled(u, p[5]))),
  turned = list(exponential(1, 0.4, angle = 30, ratio = 0.5) + nugget(0.1),
                \(p, u) p[1] * exp(-turned(u, p[2], p[3], p[4]))),
  smooth = list(squared_exponential(0.8, 0.2), \(p, u) p[1] * exp(-scaled(u, p[2])^2 / 2))
)
responses <- list(
  poisson = list(count ~ w, poisson(), \(eta) {
    list(value = dpois(d$count, exp(eta), log = TRUE), slope = d$count - exp(eta), weight = exp(eta))
  }),
  binomial = list(cbind(k, 5 - k) ~ w, binomial(), \(eta) {
    list(value = dbinom(d$k, 5, plogis(eta), log = TRUE), slope = d$k - 5 * plogis(eta), weight = 5 * dlogis(eta))
  })
)
oracle_at <- function(likelihood, covariance, terms) {
  sets <- likelihood$sets()
  near <- lapply(seq_len(ncol(sets$neighbours)), \(i) Filter(\(j) j > 0, sets$neighbours[, i]))
  field <- likelihood$fit$outer$field
  count <- nrow(field$parameters)
  list(
    K = \(p) {
      K <- covariance(p, sets$points)
      diag(K) <- (1 + 1e-9) * diag(K)
      K
    },
    near = near,
    value = function(theta) {
      mean <- as.vector(likelihood$fit$response$basis %*% theta[-seq_len(count)])
      nugget <- if (length(field$nugget)) theta[[field$nugget]] else 0
      oracle_vecchia_laplace(oracle_at(likelihood, covariance)$K(theta), nugget, near, sets$of, mean, terms)
    }
  )
}

exact <- \(covariance, response, backend) paste("gradients are exact:", covariance, response, backend)
for (backend in backends()) for (name in names(covariances)) for (response in names(responses)) {
  test_that(exact(name, response, backend), {
    response_data <- responses[[response]]
    likelihood <- free_likelihood(response_data[[1]], response_data[[2]], covariances[[name]][[1]], 6,
                                  method = "vecchia", backend = backend)
    theta <- likelihood$theta
    state <- likelihood$evaluate(theta)
    oracle <- oracle_at(likelihood, covariances[[name]][[2]], response_data[[3]])
    expect_equal(state$value, oracle$value(theta), tolerance = 1e-10)
    expected <- exact_differences(oracle$value, theta)
    expect_equal(unname(state$gradient()), expected, tolerance = 1e-8)
    # the information needs the derivatives of C k for a fixed vector k, where C is the covariance of Vecchia's
    # approximation
    k <- as.vector(rowsum(state$k, likelihood$sets()$of))
    process <- exact_differences(\(p) {
      as.vector(solve(crossprod(oracle_factor(oracle$K(p), oracle$near)), k))
    }, state$field)
    expect_equal(state$changes()$process, process, tolerance = 1e-7)
  })
}

for (name in names(oracle_families())) test_that(paste("gradients with all neighbours are dense gradients:", name), {
  family <- kernops:::as_family(oracle_families()[[name]][[1]])
  family$parameters$value <- unname(oracle_phi[[name]] %||% numeric())
  sample <- d[1:36, ]
  # Vecchia's approximation enlarges the variance of the field by the factor 1 + 1e-9; the nugget of the exact method is
  # increased by the same amount
  covariance <- matern(3/2, 1.1, 0.4) + nugget(0.2)
  by <- \(method) free_likelihood(oracle_families()[[name]][[2]], family, covariance, 35, data = sample,
                                  method = method, backend = "cpu") # the exact method runs on the CPU only
  near <- by("vecchia")
  theta <- near$theta
  found <- near$evaluate(theta)
  dense <- by("exact")$evaluate(replace(theta, 3, theta[[3]] + 1e-9 * theta[[1]]))
  expected <- dense$gradient()
  expected[[1]] <- expected[[1]] + 1e-9 * expected[[3]]
  expect_equal(found$value, dense$value, tolerance = 1e-10)
  expect_equal(found$gradient(), expected, tolerance = 1e-9)
})

test_that("given parameters have no derivative, and do not change the other derivatives", {
  by <- \(fixed) free_likelihood(count ~ w, poisson(), covariances$nested[[1]], 6, fixed, method = "vecchia")
  names <- by(character())$fit$outer$field$parameters$name
  likelihood <- by(names[c(2, 5)])
  found <- likelihood$evaluate(likelihood$theta)
  free <- by(character())$evaluate(likelihood$theta)
  expect_identical(found$gradient(), replace(free$gradient(), c(2, 5), 0))
  expect_identical(found$information()[c(2, 5), ], 0 * free$information()[c(2, 5), ])
})

test_that("derivatives of the rows can be computed in blocks", {
  likelihood <- free_likelihood(count ~ w, poisson(), covariances$nested[[1]], 6, method = "vecchia")
  state <- likelihood$evaluate(likelihood$theta)
  state$gradient()
  sets <- likelihood$sets()
  field <- likelihood$fit$outer$field
  system <- kernops:::latent_system(sets, field, state$field)
  system$logdet(state$terms$weight)
  parts <- kernops:::latent_parts(field, likelihood$fit$data$u)
  whole <- kernops:::latent_changes(sets, system, state, parts)
  expect_equal(whole, state$changes(), tolerance = 1e-12)
  for (most in c(1, 300)) {
    expect_equal(kernops:::latent_changes(sets, system, state, parts, most), whole, tolerance = 1e-13)
  }
})

test_that("a likelihood state does not change when the likelihood is evaluated at other parameters", {
  likelihood <- free_likelihood(count ~ w, poisson(), covariances$nested[[1]], 6, method = "vecchia")
  told <- \(state) list(state$gradient(), state$information(), state$variances(), state$trend())
  expected <- told(likelihood$evaluate(likelihood$theta))
  state <- likelihood$evaluate(likelihood$theta)
  other <- likelihood$evaluate(1.2 * likelihood$theta)
  expect_equal(told(state), expected, tolerance = 1e-9)
  fresh <- told(likelihood$evaluate(1.2 * likelihood$theta))
  expect_equal(told(other), fresh, tolerance = 1e-9)
})
