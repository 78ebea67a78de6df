# Certificates of approximate fits, against dense matrices in plain R.

correlation_of <- \(h, nu) switch(as.character(nu),
  "0.5" = exp(-h), "1.5" = (1 + sqrt(3) * h) * exp(-sqrt(3) * h),
  "2.5" = (1 + sqrt(5) * h + 5 * h^2 / 3) * exp(-sqrt(5) * h)
)

# Locations in a design, and values: a Matern field of variance 1 and range r, plus noise and a linear trend.
simulated <- function(n, nu, noise, r = 0.2, design = "random", seed = 1) {
  withr::local_seed(seed)
  u <- switch(design,
    random = matrix(runif(2 * n), n),
    clusters = matrix(runif(40), 20)[sample(20, n, TRUE), ] + matrix(rnorm(2 * n, sd = 0.03), n),
    tracks = cbind(runif(n), sample(8, n, TRUE) / 8 + rnorm(n, sd = 1e-3))
  )
  colnames(u) <- c("a", "b")
  d <- data.frame(u, covariate = rnorm(n), noise = runif(n, 0.5, 1.5))
  R <- correlation_of(unname(as.matrix(dist(u))) / r, nu)
  d$z <- drop(crossprod(chol(R + diag(noise, n)), rnorm(n))) + d$a + 5
  list(d = d, R = R, K = R + diag(noise, n), new = data.frame(a = runif(15), b = runif(15), covariate = rnorm(15)))
}

# Exact kriging at the new points X0, for a simulated case.
exact_kriging <- function(case, nu, X, X0, r = 0.2, K = case$K) {
  u <- rbind(as.matrix(case$d[c("a", "b")]), as.matrix(case$new[c("a", "b")]))
  across <- correlation_of(unname(as.matrix(dist(u))) / r, nu)[seq_len(nrow(K)), -seq_len(nrow(K))]
  oracle_kriging(K, across, 1, case$d$z, X, X0)
}

# Expects that all certified intervals contain the exact values.
expect_certified <- function(certificate, loglik, kriged) {
  expect_lte(certificate$loglik$low, loglik + 1e-6)
  expect_gte(certificate$loglik$high, loglik - 1e-6)
  p <- certificate$predictions
  expect_true(all(abs(p$exact - kriged$mean) <= p$error + 1e-6))
  se <- sqrt(pmax(kriged$variance, 0))
  expect_true(all(p$se.low - 1e-6 <= se & se <= p$se.high + 1e-6))
}

vecchia_fit <- function(case, nu, noise, formula = z ~ 1, m = 10, method = "vecchia", ...) {
  gp(formula, case$d, ~ a + b, matern(nu, 1, 0.2) + nugget(noise), method, "none",
     control = list(neighbours = m), ...)
}

test_that("the exact log-likelihood, predictions and standard errors are within their bounds", {
  seed <- 0
  for (nu in c(0.5, 1.5, 2.5)) for (noise in c(1e-3, 0.05, 0.5)) for (design in c("random", "clusters", "tracks")) {
    seed <- seed + 1
    case <- simulated(520, nu, noise, design = design, seed = seed)
    fit <- vecchia_fit(case, nu, noise, z ~ covariate, m = c(5, 20)[seed %% 2 + 1])
    X <- cbind(1, case$d$covariate)
    loglik <- -oracle_likelihood(case$K, case$d$z, X)$value / 2
    certificate <- certify(fit, case$new, seed = seed)
    expect_certified(certificate, loglik, exact_kriging(case, nu, X, cbind(1, case$new$covariate)))
    expect_lt(certificate$loglik$high - certificate$loglik$low, 0.5 + 0.5 * abs(loglik - fit$loglik))
  }
})

test_that("many probes for n = 1000 give a short interval that contains the exact log-likelihood", {
  case <- simulated(1000, 1.5, 0.05)
  fit <- vecchia_fit(case, 1.5, 0.05, m = 15)
  certificate <- certify(fit, case$new, probes = 64)
  X <- matrix(1, 1000)
  expect_certified(certificate, -oracle_likelihood(case$K, case$d$z, X)$value / 2,
                   exact_kriging(case, 1.5, X, matrix(1, 15)))
  expect_lt(diff(unlist(certificate$loglik[c("low", "high")])), 0.1)
})

test_that("restricted likelihoods, known trends, weights, known noise and transformations are certified", {
  case <- simulated(550, 1.5, 0.1)
  d <- case$d
  X <- cbind(1, d$covariate)
  X0 <- cbind(1, case$new$covariate)
  one <- \(...) vecchia_fit(case, 1.5, 0.1, ...)
  field <- matern(3/2, 1, 0.2, fixed = c("variance", "range"))
  reml <- gp(z ~ covariate, d, ~ a + b, field + nugget(0.1), "vecchia", "REML",
             control = list(neighbours = 10, starts = 1))
  K <- case$R + diag(reml$theta[[reml$model$nugget]], 550)
  expect_certified(certify(reml, case$new), -oracle_likelihood(K, d$z, X, TRUE)$value / 2,
                   exact_kriging(case, 1.5, X, X0, K = K))
  none <- matrix(0, 550, 0)
  centred <- replace(case, "d", list(transform(d, z = z - 5)))
  known <- exact_kriging(centred, 1.5, none, matrix(0, 15, 0))
  known$mean <- known$mean + 5
  expect_certified(certify(one(z ~ 0, known = list(beta = 5)), case$new),
                   -oracle_likelihood(case$K, d$z - 5, none)$value / 2, known)
  K <- case$R + diag(0.1 / d$noise)
  expect_certified(certify(one(z ~ covariate, weights = noise), case$new), -oracle_likelihood(K, d$z, X)$value / 2,
                   exact_kriging(case, 1.5, X, X0, K = K))
  K <- case$R + diag(0.1 + d$noise)
  expect_certified(certify(one(z ~ covariate, known = list(noise = d$noise)), case$new),
                   -oracle_likelihood(K, d$z, X)$value / 2, exact_kriging(case, 1.5, X, X0, K = K))
  expect_certified(certify(one(exp(z) ~ covariate, transform = "log"), case$new),
                   -oracle_likelihood(case$K, d$z, X)$value / 2 - sum(d$z), exact_kriging(case, 1.5, X, X0))
})

test_that("iterative fits are certified", {
  case <- simulated(530, 2.5, 0.05)
  X <- cbind(1, case$d$covariate)
  fit <- vecchia_fit(case, 2.5, 0.05, z ~ covariate, method = "iterative")
  certificate <- certify(fit, case$new)
  expect_certified(certificate, -oracle_likelihood(case$K, case$d$z, X)$value / 2,
                   exact_kriging(case, 2.5, X, cbind(1, case$new$covariate)))
  expect_lt(max(abs(certificate$predictions$fit - certificate$predictions$exact)), 1e-3)
  expect_identical(certificate$neighbours, NA_integer_)
})

test_that("comparisons of small fits agree, whether computed by a dense factor or by the iterative solver", {
  case <- simulated(200, 1.5, 0.1)
  X <- matrix(1, 200)
  fit <- vecchia_fit(case, 1.5, 0.1)
  dense <- certify(fit, case$new)
  expect_certified(dense, -oracle_likelihood(case$K, case$d$z, X)$value / 2, exact_kriging(case, 1.5, X, matrix(1, 15)))
  expect_equal(dense$loglik$low, dense$loglik$high)
  comparison <- certified_problem(fit, chosen_sites(fit, case$new, NULL, 15, 1))
  bounds <- \(most) certified_bounds(fit, comparison, list(probes = 16, seed = 1, miss = 1e-3), most)
  solved <- bounds(0)
  factored <- bounds(500)
  expect_gt(solved$steps, 0)
  expect_true(solved$logdet[[1]] <= factored$logdet[[1]] && factored$logdet[[1]] <= solved$logdet[[2]])
  for (above in list(solved$upper - factored$lower, factored$lower - solved$lower)) {
    expect_gte(min(eigen(above, TRUE, TRUE)$values), -1e-8)
  }
})

test_that("differences from the exact fit are large if and only if the approximation is bad", {
  case <- simulated(600, 2.5, 0.01, r = 0.4)
  certified <- \(m) {
    certify(gp(z ~ 1, case$d, ~ a + b, matern(5/2, 1, 0.4) + nugget(0.01), "vecchia", "none",
               control = list(neighbours = m)))
  }
  few <- certified(4)
  many <- certified(100)
  expect_identical(c(few$verdict, many$verdict), c("poor", "good"))
  off <- \(x) min(abs(largest_differences(x)$loglik))
  expect_gt(off(few), 20 * off(many))
  # a smooth function of eight inputs
  withr::local_seed(3)
  x <- matrix(runif(8 * 600), 600, dimnames = list(NULL, letters[1:8]))
  d <- data.frame(x, z = sin(3 * x[, 1]) + x[, 2]^2 + x[, 3] * x[, 4] + rnorm(600, sd = 0.01))
  eight <- gp(z ~ 1, d, ~ a + b + c + d + e + f + g + h, matern(7/2, 20, 4) + nugget(1e-4), "vecchia", "none",
              control = list(neighbours = 15))
  certificate <- certify(eight)
  expect_identical(certificate$verdict, "poor")
  exact <- update(eight, method = "exact")$loglik
  expect_gt(exact - eight$loglik, 20)
  expect_true(certificate$loglik$low <= exact && exact <= certificate$loglik$high)
})

test_that("exact fits, and fits with noise alone, have no differences", {
  case <- simulated(60, 1.5, 0.1)
  exact <- certify(vecchia_fit(case, 1.5, 0.1, method = "exact"))
  expect_identical(exact$verdict, "exact")
  expect_equal(unlist(exact$loglik, use.names = FALSE), rep(exact$loglik$approximate, 3))
  expect_true(all(exact$predictions$error == 0 & exact$predictions$fit == exact$predictions$exact))
  noise <- gp(z ~ 1, case$d, ~ a + b, nugget(1), "vecchia", "none")
  expect_identical(certify(noise)$verdict, "exact")
})

test_that("fits with groups, several variables and default sites are certified", {
  case <- simulated(540, 0.5, 0.1)
  case$d$day <- rep(1:3, 180)
  X <- matrix(1, 540)
  K <- case$R * outer(case$d$day, case$d$day, "==") + diag(0.1, 540)
  loglik <- -oracle_likelihood(K, case$d$z, X)$value / 2
  certificate <- certify(vecchia_fit(case, 0.5, 0.1, m = 5, group = ~ day))
  expect_true(certificate$loglik$low <= loglik && loglik <= certificate$loglik$high)
  expect_identical(nrow(certificate$predictions), 40L)
  case$d$second <- case$d$z + case$d$covariate
  both <- gp(cbind(z, second) ~ 1, case$d[1:300, ], ~ a + b, method = "vecchia", estimate = "none",
             covariance = lmc(matern(3/2, range = 0.2), nugget(),
                              sills = list(matrix(c(1, 0.8, 0.8, 2), 2), c(0.1, 0.2))), control = list(neighbours = 10))
  certificate <- certify(both, case$new)
  exact <- update(both, method = "exact")
  expect_lte(certificate$loglik$low, exact$loglik + 1e-6)
  expect_gte(certificate$loglik$high, exact$loglik - 1e-6)
  kriged <- predict(exact, case$new, se.fit = TRUE, interval = "confidence")
  p <- certificate$predictions
  expect_identical(p$variable, rep(c("z", "second"), each = 15))
  expect_true(all(certify(both, sites = 6)$predictions$se.fit > 0.1))
  expect_equal(p$exact, c(kriged$z.fit, kriged$second.fit), tolerance = 1e-6)
  expect_equal(p$se.high, c(kriged$z.se.fit, kriged$second.se.fit), tolerance = 1e-6)
})

test_that("a certificate depends only on its seed, and leaves R's random numbers unchanged", {
  case <- simulated(510, 1.5, 0.1)
  fit <- vecchia_fit(case, 1.5, 0.1)
  set.seed(9)
  before <- .Random.seed
  first <- certify(fit, case$new, sites = 5)
  expect_identical(.Random.seed, before)
  expect_identical(nrow(first$predictions), 5L)
  expect_identical(certify(fit, case$new, sites = 5), first)
  expect_false(identical(certify(fit, case$new, sites = 5, seed = 2)$loglik, first$loglik))
  with_kernops(expect_equal(certify(fit, case$new, sites = 5)$loglik, first$loglik, tolerance = 1e-12), threads = 1)
})

test_that("print(), tidy() and glance() report the quality of the approximation", {
  skip_if_not_installed("generics")
  case <- simulated(300, 1.5, 0.1)
  fit <- vecchia_fit(case, 1.5, 0.1)
  certificate <- replace(certify(fit), c("loglik", "predictions", "verdict"), list(
    data.frame(approximate = -204, low = -203.62, high = -203.51), verdict = "good",
    data.frame(fit = 1:2, se.fit = c(0.5, 0.2), exact = c(1, 2.01), error = 1e-6, se.low = c(0.49, 0.2),
               se.high = c(0.5, 0.205))
  )[c(1, 3, 2)])
  expect_snapshot({
    certificate
    certify(vecchia_fit(case, 1.5, 0.1, method = "exact"))
    print(as.data.frame(generics::tidy(certificate)), digits = 3)
    print(as.data.frame(generics::glance(certificate)), digits = 3)
  })
  plain <- generics::glance(fit)
  fit$certificate <- certificate
  expect_output(print(fit), "approximation   good, log-likelihood -0.49 to -0.38,", fixed = TRUE)
  expect_identical(as.data.frame(generics::glance(fit))[names(plain)], as.data.frame(plain))
  expect_identical(setdiff(names(generics::glance(fit)), names(plain)), names(generics::glance(certificate)))
})

test_that("fits with a family are compared with a dense Laplace approximation", {
  d <- family_data(120)
  new <- withr::with_seed(2, data.frame(a = runif(12), b = runif(12), w = 0))
  u <- rbind(as.matrix(d[c("a", "b")]), as.matrix(new[c("a", "b")]))
  R <- 0.8 * correlation_of(unname(as.matrix(dist(u))) / 0.4, 1.5)
  K <- R[1:120, 1:120]
  across <- R[1:120, -(1:120)]
  for (name in c("poisson", "binomial", "gamma", "negative_binomial")) {
    family <- oracle_families()[[name]]
    phi <- oracle_phi[[name]]
    oracle <- oracle_laplace(K, numeric(120), \(eta) family[[3]](d, eta, phi))
    fit <- gp(update(family[[2]], ~ 0), d, ~ a + b, matern(3/2, 0.8, 0.4), "vecchia", "none", family = with_phi(name),
              neighbours = 3)
    certificate <- certify(fit, new)
    expect_equal(certificate$loglik$low, -oracle$value / 2, tolerance = 1e-7)
    expect_identical(certificate$loglik$low, certificate$loglik$high)
    p <- certificate$predictions
    expect_equal(p$exact, drop(crossprod(across, solve(K, oracle$h))), tolerance = 1e-6)
    variance <- 0.8 - colSums(across * solve(K + diag(1 / oracle$W), across))
    expect_equal(p$se.low, sqrt(variance), tolerance = 1e-6)
    expect_equal(data.frame(fit = p$fit, se.fit = p$se.fit),
                 predict(fit, new, se.fit = TRUE, type = "link")[c("fit", "se.fit")], ignore_attr = TRUE)
    expect_true(certificate$verdict %in% c("fair", "poor"))
    more <- certify(update(fit, neighbours = 60))
    expect_identical(more$verdict, "good")
  }
  fit$certificate <- certificate
  expect_output(print(fit), "approximation   (fair|poor), log-likelihood")
  expect_identical(glance.gp(fit)$verdict, certificate$verdict)
  dense <- gp(count ~ w, d, ~ a + b, matern(3/2, 0.8, 0.4), "exact", "none", family = poisson())
  expect_identical(certify(dense)$verdict, "exact")
})

test_that("estimated fits with a family are certified with their trend, offset and priors", {
  d <- family_data(150)
  d$exposed <- rep(1:3, 50)
  fit <- suppressWarnings(gp(count ~ w + offset(log(exposed)), d, ~ a + b, matern(3/2), "vecchia", family = poisson(),
                             neighbours = 5, prior = list(variance = pc_sd(1))))
  certificate <- certify(fit)
  exact <- gp(count ~ w + offset(log(exposed)), d, ~ a + b, fit$covariance, "exact", "none", family = poisson())
  expect_equal(certificate$loglik$low, exact$loglik, tolerance = 1e-8)
  sites <- certificate$predictions
  at_sites <- predict(exact, transform(sites, w = 0, exposed = 1), se.fit = TRUE, type = "link")
  expect_equal(sites$se.low, at_sites$se.fit, tolerance = 0.2)
})

test_that("invalid arguments of certify() are errors", {
  case <- simulated(60, 1.5, 0.1)
  fit <- vecchia_fit(case, 1.5, 0.1)
  many <- withr::with_seed(1, data.frame(a = runif(2001), b = runif(2001), count = rep(0:2, 667)))
  counts <- gp(count ~ 1, many, ~ a + b, matern(3/2, 1, 0.2), "vecchia", "none", family = poisson(), neighbours = 3)
  expect_snapshot(error = TRUE, {
    certify(counts)
    certify(fit, sites = 0)
    certify(fit, probes = 1)
    certify(fit, level = 1)
    certify(fit, seed = 0.5)
    certify(fit, data.frame(a = 1))
    certify(1)
  })
  expect_error(certify(counts), class = "kernops_input_error")
})
