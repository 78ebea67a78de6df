# Joint covariances, means over blocks and local predictions of fits with a family, against dense matrices in plain R.

withr::local_options(kernops.backend = "auto")  # the exact method runs on the CPU only
d <- family_data(40)
d[39:40, c("a", "b")] <- d[1:2, c("a", "b")] # repeated locations
new <- data.frame(a = c(0.2, 0.9, 0.5, d$a[3]), b = c(0.3, 0.6, 0.1, d$b[3]), w = c(0, 1, 0.5, -1))
field_covariance <- matern(3/2, 1.1, 0.4) + nugget(0.2)
families <- oracle_families()
given_fit <- function(name, method = "exact", ...) {
  gp(families[[name]][[2]], d, ~ a + b, field_covariance, family = with_phi(name), estimate = "none", method = method,
     control = gp_control(neighbours = 39), ...)
}
matern_between <- function(p, q) {
  h <- sqrt(3) * sqrt(outer(p[, 1], q[, 1], "-")^2 + outer(p[, 2], q[, 2], "-")^2) / 0.4
  1.1 * (1 + h) * exp(-h)
}

# The normal approximation of the posterior of the linear predictor at new points, from all data or from the `nmax`
# observations that are nearest to the `centres`.
oracle_posterior <- function(fit, name, new, nmax = nrow(d), centres = new) {
  u <- as.matrix(d[c("a", "b")])
  X <- model.matrix(fit)
  mean <- as.vector(X %*% coef(fit))
  phi <- oracle_phi[[name]]
  density <- \(eta) families[[name]][[3]](d, eta, phi)
  K <- matern_between(u, u) + diag(0.2, nrow(d))
  laplace <- oracle_laplace(K, mean, density)
  z <- laplace$h + slopes_of(density, mean + laplace$h) / laplace$W
  S <- solve(K + diag(1 / laplace$W))
  weights <- matrix(0, nrow(d), nrow(new))
  for (k in seq_len(nrow(new))) {
    near <- order((u[, 1] - centres$a[k])^2 + (u[, 2] - centres$b[k])^2)[seq_len(nmax)]
    weights[near, k] <- solve((K + diag(1 / laplace$W))[near, near], matern_between(u, as.matrix(new[k, 1:2]))[near, ])
  }
  at_u <- as.matrix(new[c("a", "b")])
  k <- matern_between(u, at_u)
  gap <- t(cbind(1, new$w)) - t(X) %*% weights
  list(mean = as.vector(cbind(1, new$w) %*% coef(fit) + t(weights) %*% z),
       cov = matern_between(at_u, at_u) - t(k) %*% weights - t(weights) %*% k +
         t(weights) %*% (K + diag(1 / laplace$W)) %*% weights + t(gap) %*% solve(t(X) %*% S %*% X) %*% gap)
}
expect_posterior <- function(ours, theirs, tolerance) {
  expect_equal(ours$fit$fit, theirs$mean, tolerance = tolerance)
  expect_equal(unname(ours$cov), unname(theirs$cov), tolerance = tolerance)
  expect_equal(unname(diag(ours$cov)), ours$fit$se.fit^2, tolerance = max(1e-12, tolerance / 100))
}
link <- function(fit, at = new, ...) predict(fit, at, type = "link", se.fit = TRUE, cov = TRUE, ...)

of_each <- "joint covariances of the linear predictor are those of plain R:"
for (name in names(families)) test_that(paste(of_each, name), {
  theirs <- oracle_posterior(given_fit(name), name, new)
  expect_posterior(link(given_fit(name)), theirs, 1e-6)
  expect_posterior(link(given_fit(name, "vecchia")), theirs, 1e-5)
  noisy <- predict(given_fit(name), new, type = "link", interval = "prediction", se.fit = TRUE, cov = TRUE)
  expect_equal(unname(noisy$cov), unname(theirs$cov) + diag(0.2, 4), tolerance = 1e-6)
})

test_that("local predictions use the nearest data and the trend of the fit", {
  for (name in c("poisson", "binary", "student")) {
    fit <- given_fit(name)
    theirs <- oracle_posterior(fit, name, new, 9)
    expect_posterior(link(fit, nmax = 9), theirs, 1e-6)
    expect_posterior(link(given_fit(name, "vecchia"), nmax = 9), theirs, 1e-5)
    expect_false(isTRUE(all.equal(link(fit, nmax = 8)$fit$fit, theirs$mean, tolerance = 1e-4)))
    # local predictions from all data agree with predictions without neighbourhoods
    expect_equal(link(fit, nmax = 40), link(fit), tolerance = 1e-10)
    expect_equal(link(fit, maxdist = 2), link(fit), tolerance = 1e-10)
    expect_equal(predict(fit, new, nmax = 40, interval = "prediction"), predict(fit, new, interval = "prediction"),
                 tolerance = 1e-8)
    expect_equal(predict(fit, new, nmax = 99, type = "terms"), predict(fit, new, type = "terms"), tolerance = 1e-8)
  }
  # far from all data: the trend, and the variance of the field
  alone <- link(fit, data.frame(a = 9, b = 9, w = 1), maxdist = 0.5)
  expect_equal(alone$fit$fit, sum(coef(fit)))
  expect_equal(alone$cov[[1]], 1.1 + sum(vcov(fit)), tolerance = 0.2)
})

test_that("local predictions accept observations with nearly no information", {
  some <- transform(d, effort = ifelse(seq_len(40) %% 3 == 0, 1e-12, 1))
  some$count <- ifelse(some$effort < 1, replace(numeric(40), 6, 1), some$count)
  fit <- gp(count ~ w + offset(log(effort)), some, ~ a + b, field_covariance, family = poisson(), estimate = "none")
  expect_gt(diff(log10(range(fit$latent$terms$weight))), 8)
  at <- transform(new, effort = 1)
  expect_equal(link(fit, at, nmax = 40), link(fit, at), tolerance = 1e-8)
})

test_that("covariances of functions of normal variables agree with double integrals", {
  C <- matrix(c(0.8, 0.5, 0.5, 1.4), 2)
  mean <- c(-0.5, 1)
  moment <- function(f, C) {
    root <- t(chol(C))
    at <- \(z, y) f(mean[1] + root[1, 1] * z, mean[2] + root[2, 1] * z + root[2, 2] * y)
    inner <- \(z) vapply(z, \(z) integrate(\(y) at(z, y) * dnorm(y), -9, 9, rel.tol = 1e-10)$value, 0)
    integrate(\(z) inner(z) * dnorm(z), -9, 9, rel.tol = 1e-10)$value
  }
  joint <- C + diag(0.3, 2)
  covariance <- moment(\(p, q) plogis(p) * plogis(q), joint) - moment(\(p, q) plogis(p), joint) *
    moment(\(p, q) plogis(q), joint)
  ours <- kernops:::transformed_covariance(plogis, mean, C, independent = 0.3)
  expect_equal(ours[1, 2], covariance, tolerance = 1e-7)
  expect_equal(ours, t(ours))
  both <- exp(outer(mean, mean, "+") + outer(diag(C), diag(C), "+") / 2)
  expect_equal(kernops:::transformed_covariance(exp, mean, C), both * expm1(C), tolerance = 1e-10)
  # a variable without variance has covariances of zero
  expect_equal(kernops:::transformed_covariance(exp, mean, C * c(0, 0, 0, 1))[1, ], c(0, 0))
})

test_that("joint covariances of responses agree with the moments of their means given the field", {
  for (method in c("exact", "vecchia")) {
    fit <- given_fit("poisson", method)
    theirs <- oracle_posterior(fit, "poisson", new)
    both <- outer(theirs$mean, theirs$mean, "+") + outer(diag(theirs$cov), diag(theirs$cov), "+") / 2
    ours <- predict(fit, new, se.fit = TRUE, cov = TRUE)
    expect_equal(unname(ours$cov), exp(both) * expm1(theirs$cov), tolerance = 1e-5)
    expect_equal(unname(diag(ours$cov)), ours$fit$se.fit^2, tolerance = 1e-7)
    # the covariance of new observations: each variance increases by a nugget and the variance of a count
    noisy <- predict(fit, new, se.fit = TRUE, interval = "prediction", cov = TRUE)
    apart <- exp(both + 0.2) * expm1(theirs$cov)
    expect_equal(noisy$cov[upper.tri(noisy$cov)], apart[upper.tri(apart)], tolerance = 1e-5)
    expect_equal(unname(diag(noisy$cov)), noisy$fit$se.fit^2, tolerance = 1e-12)
  }
})

# Gauss-Legendre quadrature with four nodes per side, on [-1, 1].
gauss <- list(at = c(-0.8611363115940526, -0.3399810435848563, 0.3399810435848563, 0.8611363115940526),
              weight = c(0.3478548451374538, 0.6521451548625461, 0.6521451548625461, 0.3478548451374538) / 2)
block_nodes <- function(at, size) {
  nodes <- expand.grid(i = 1:4, j = 1:4)
  a <- at$a + size[1] / 2 * gauss$at[nodes$i]
  list(at = data.frame(a, b = at$b + size[2] / 2 * gauss$at[nodes$j], w = at$w),
       weight = gauss$weight[nodes$i] * gauss$weight[nodes$j])
}

test_that("means over blocks agree with the joint distribution of points in the block", {
  size <- c(0.3, 0.2)
  for (method in c("exact", "vecchia")) for (name in c("poisson", "binary")) for (nmax in c(12, 40)) {
    fit <- given_fit(name, method)
    field <- link(fit, block = size, nmax = nmax)
    response <- predict(fit, new, block = size, nmax = nmax, se.fit = TRUE, cov = TRUE)
    for (k in seq_len(nrow(new))) {
      nodes <- block_nodes(new[k, ], size)
      centre <- new[rep(k, 16), ]
      inside <- oracle_posterior(fit, name, nodes$at, nmax, centre)
      expect_equal(field$fit$fit[k], sum(nodes$weight * inside$mean), tolerance = 1e-5)
      expect_equal(field$fit$se.fit[k]^2, sum(nodes$weight * (inside$cov %*% nodes$weight)), tolerance = 1e-5)
      if (name != "poisson") next
      # the mean of the response is an average over the nugget, whose variance is 0.2
      both <- 0.2 + outer(inside$mean, inside$mean, "+") + outer(diag(inside$cov), diag(inside$cov), "+") / 2
      expect_equal(response$fit$fit[k], sum(nodes$weight * exp(inside$mean + diag(inside$cov) / 2 + 0.1)),
                   tolerance = 1e-5)
      expect_equal(response$fit$se.fit[k]^2,
                   sum(nodes$weight * ((exp(both) * expm1(inside$cov)) %*% nodes$weight)), tolerance = 1e-5)
    }
    expect_equal(unname(diag(field$cov)), field$fit$se.fit^2, tolerance = 1e-7)
    expect_equal(unname(diag(response$cov)), response$fit$se.fit^2, tolerance = 1e-7)
  }
})

test_that("limits and probabilities of means over blocks agree with draws of the field", {
  fit <- given_fit("binomial")
  targets <- new[1:2, ]
  ours <- predict(fit, targets, block = c(0.3, 0.2), se.fit = TRUE, interval = "confidence", probs = 0.25, above = 0.6)
  expect_identical(predict(fit, targets[2, ], block = c(0.3, 0.2), interval = "confidence")[["upr"]], ours$upr[2])
  for (k in 1:2) {
    nodes <- block_nodes(targets[k, ], c(0.3, 0.2))
    # the mean of the response is an average over the nugget, whose variance is 0.2
    draws <- rowMeans(vapply(qnorm((1:20 - 0.5) / 20, sd = sqrt(0.2)), \(e) {
      colSums(nodes$weight * plogis(simulate(fit, 4000, 1, nodes$at) + e))
    }, numeric(4000)))
    expect_equal(ours$fit[k], mean(draws), tolerance = 0.02)
    expect_equal(ours$se.fit[k], sd(draws), tolerance = 0.05)
    expect_equal(unname(unlist(ours[k, c("lwr", "q0.25", "upr")])),
                 unname(quantile(draws, c(0.025, 0.25, 0.975))), tolerance = 0.05)
    expect_equal(ours$above0.6[k], mean(draws > 0.6), tolerance = 0.05)
  }
  # for an identity link, limits are those of the field
  plain <- given_fit("student")
  expect_equal(predict(plain, new, block = c(0.3, 0.2), interval = "confidence", above = 1),
               predict(plain, new, block = c(0.3, 0.2), interval = "confidence", above = 1, type = "link"))
})

test_that("blocks of size zero are points, and polygons can be blocks", {
  fit <- given_fit("poisson")
  expect_equal(link(fit, block = c(0, 0)), link(fit), tolerance = 1e-10)
  skip_if_not_installed("sf")
  square <- sf::st_polygon(list(cbind(c(0.4, 0.7, 0.7, 0.4, 0.4), c(0.3, 0.3, 0.5, 0.5, 0.3))))
  areas <- sf::st_sf(w = 0.5, geometry = sf::st_sfc(square))
  centre <- data.frame(a = 0.55, b = 0.4, w = 0.5)
  ours <- predict(fit, areas, se.fit = TRUE, interval = "confidence", above = 2)
  expect_s3_class(ours, "sf")
  theirs <- predict(fit, centre, block = c(0.3, 0.2), se.fit = TRUE, interval = "confidence", above = 2)
  expect_equal(sf::st_drop_geometry(ours), theirs, tolerance = 0.02, ignore_attr = TRUE)
})

test_that("predictions of zero rows are empty, by each method", {
  for (method in c("exact", "vecchia")) {
    fit <- given_fit("poisson", method)
    for (type in c("link", "response")) for (block in list(NULL, c(0.1, 0.1))) for (nmax in c(5, Inf)) {
      none <- predict(fit, new[0, ], type = type, se.fit = TRUE, above = 1, cov = TRUE, block = block, nmax = nmax)
      expect_identical(dim(none$fit), c(0L, 3L))
      expect_identical(dim(none$cov), c(0L, 0L))
    }
  }
})

test_that("rows with missing values have missing predictions", {
  fit <- given_fit("poisson")
  gaps <- replace(new, "w", list(c(0, NA, 1, 0)))
  ours <- predict(fit, gaps, block = c(0.1, 0.1), se.fit = TRUE, cov = TRUE, above = 1)
  expect_true(all(is.na(ours$fit[2, ])) && !anyNA(ours$fit[-2, ]))
  expect_identical(is.na(diag(ours$cov)), c(`1` = FALSE, `2` = TRUE, `3` = FALSE, `4` = FALSE))
})

test_that("over many fields, points and means over blocks exceed thresholds as often as predicted", {
  withr::local_seed(8)
  nodes <- 4.1 + gauss$at / 2
  target <- data.frame(x = 4.1)
  share <- replicate(100, {
    x <- c(runif(25, 0, 8), 4.1, nodes)
    h <- sqrt(3) * as.matrix(dist(x)) / 1.5
    eta <- 0.7 + as.vector(t(chol(0.8 * (1 + h) * exp(-h) + diag(1e-9, 30))) %*% rnorm(30))
    some <- data.frame(x, k = rbinom(30, 8, plogis(eta)))[1:25, ]
    fit <- gp(cbind(k, 8 - k) ~ 0, some, ~ x, matern(3/2, 0.8, 1.5), family = binomial(), estimate = "none",
              known = list(beta = 0.7))
    beyond <- \(truth, ...) predict(fit, target, above = truth, ...)[[2]]
    c(beyond(plogis(eta[26])), beyond(sum(gauss$weight * plogis(eta[27:30])), block = 1))
  })
  uniform <- \(p) suppressWarnings(ks.test(p, "punif"))$p.value # draws have ties
  expect_gt(min(apply(share, 1, uniform)), 0.1)
  # the test has power: it rejects the probabilities that half the standard deviation would give
  expect_lt(max(apply(pnorm(2 * qnorm(share)), 1, uniform)), 0.01)
})

test_mistakes("kernops_input_error", alist(
  `a block of one size for two coordinates` = predict(given_fit("poisson"), new, block = 1),
  `a block with noise` = predict(given_fit("poisson"), new, block = c(1, 1), interval = "prediction"),
  `no neighbours` = predict(given_fit("poisson"), new, nmax = 0),
  `a negative distance` = predict(given_fit("poisson"), new, maxdist = -1),
  `covariances of variables` = predict(given_fit("poisson"), new, cov = "variables"),
  `an argument that is not there` = predict(given_fit("poisson"), new, nmx = 10)
))
