# Cokriging: covariances, likelihoods and predictions of several variables against dense loops in plain R.

places <- withr::with_seed(81, data.frame(a = runif(24), b = runif(24), w = rnorm(24)))
wide <- withr::with_seed(82, {
  field <- sin(5 * places$a) + cos(4 * places$b)
  cbind(places, p = field + rnorm(24, sd = 0.2), q = 30 * field + 9 * places$a + rnorm(24, sd = 5), r = rnorm(24))
})
wide$p[c(1:5, 9)] <- NA
wide$q[c(5, 20:24)] <- NA
wide$r[7] <- NA
new <- withr::with_seed(83, data.frame(a = runif(6), b = runif(6), w = rnorm(6)))
responses <- c("p", "q", "r")
B <- list(matrix(c(1, 20, 0.3, 20, 900, -3, 0.3, -3, 0.8), 3), diag(c(0.3, 90, 0.2)) + tcrossprod(c(0.1, 1, 0.01)))
noise <- c(0.05, 20, 0.3)
model <- function(...) lmc(matern(3/2, range = 0.4), exponential(range = 0.2), nugget(), sills = c(B, list(noise)), ...)
fitted_to <- function(trend = "1", method = "exact", covariance = model(), estimate = "none", data = wide, ...) {
  gp(stats::as.formula(paste("cbind(p, q, r) ~", trend)), data, ~ a + b, covariance, method = method,
     estimate = estimate, control = gp_control(neighbours = 71), ...)
}

# The observations of all variables in one vector; `seen` has the row and the variable of each observation.
seen <- which(!is.na(wide[responses]), arr.ind = TRUE)
y <- as.matrix(wide[responses])[seen]
dense <- function(from, to, sills = B, ranges = c(0.4, 0.2)) {
  K <- matrix(0, nrow(from), nrow(to))
  for (i in seq_len(nrow(from))) for (j in seq_len(nrow(to))) {
    h <- sqrt(sum((from[i, 1:2] - to[j, 1:2])^2))
    t <- sqrt(3) * h / ranges[[1]]
    K[i, j] <- sills[[1]][from[i, 3], to[j, 3]] * (1 + t) * exp(-t) +
      sills[[2]][from[i, 3], to[j, 3]] * exp(-h / ranges[[2]])
  }
  K
}
stacked <- function(data, at) unname(cbind(as.matrix(data[at[, 1], c("a", "b")]), at[, 2]))
everywhere <- function(data) cbind(rep(seq_len(nrow(data)), 3), rep(1:3, each = nrow(data)))
design <- function(data, at, trend) {
  X <- model.matrix(stats::as.formula(paste("~", trend)), data)
  unname(do.call(cbind, lapply(1:3, function(k) X[at[, 1], , drop = FALSE] * (at[, 2] == k))))
}
seen_rows <- seq_len(24)
observed <- dense(stacked(wide, seen), stacked(wide, seen)) + diag(noise[seen[, 2]])

test_that("likelihoods, coefficients and predictions by each method agree with dense matrices", {
  for (trend in c("0", "1", "w + a")) for (method in c("exact", "vecchia")) for (estimate in c("none", "REML")) {
    if (estimate == "REML" && (trend != "w + a" || method == "vecchia")) next
    X <- design(wide, seen, trend)
    fit <- fitted_to(trend, method)
    if (estimate == "REML") {
      likelihood <- kernops:::exact_likelihood(fit$data, fit$model, TRUE)
      expect_equal(likelihood$evaluate(unname(fit$theta))$value, oracle_likelihood(observed, y, X, TRUE)$value,
                   tolerance = 1e-10)
      next
    }
    theirs <- oracle_likelihood(observed, y, X)
    expect_equal(-2 * as.numeric(logLik(fit)), theirs$value, tolerance = 1e-10)
    expect_equal(unname(coef(fit)), theirs$beta, tolerance = 1e-8)
    at <- everywhere(new)
    k0 <- dense(stacked(wide, seen), stacked(new, at))
    theirs <- oracle_kriging(observed, k0, rep(diag(B[[1]] + B[[2]]), each = 6), y, X, design(new, at, trend))
    ours <- predict(fit, new, se.fit = TRUE, interval = "confidence")
    expect_equal(unlist(ours[paste0(responses, ".fit")], use.names = FALSE), theirs$mean, tolerance = 1e-8)
    expect_equal(unlist(ours[paste0(responses, ".se.fit")], use.names = FALSE)^2, theirs$variance, tolerance = 1e-8)
    expect_equal(as.list(predict(fit, new)), as.list(setNames(ours[paste0(responses, ".fit")], responses)))
  }
})

test_that("gradients agree with finite differences", {
  fit <- fitted_to("w")
  likelihoods <- list(kernops:::exact_likelihood(fit$data, fit$model, TRUE),
                      kernops:::vecchia_likelihood(fit$data, fit$model, replace(fit$how, "method", "vecchia")))
  theta <- unname(fit$theta) * seq(0.9, 1.1, length.out = length(fit$theta))
  for (likelihood in likelihoods) {
    ours <- likelihood$evaluate(theta, search = TRUE)$gradient()
    theirs <- vapply(seq_along(theta), function(k) {
      step <- 1e-5 * abs(theta[[k]])
      value <- function(s) likelihood$evaluate(replace(theta, k, theta[[k]] + s))$value
      (value(step) - value(-step)) / (2 * step)
    }, 0)
    expect_equal(ours, theirs, tolerance = 1e-6)
  }
})

test_that("errors of variables at the same points are correlated as in the joint covariance matrix", {
  X <- design(wide, seen, "w")
  targets <- everywhere(new)
  k0 <- dense(stacked(wide, seen), stacked(new, targets))
  inverse <- solve(observed)
  gap <- t(design(new, targets, "w")) - t(X) %*% inverse %*% k0
  theirs <- dense(stacked(new, targets), stacked(new, targets)) - t(k0) %*% inverse %*% k0 +
    t(gap) %*% solve(t(X) %*% inverse %*% X, gap)
  pairs <- combn(3, 2)
  for (method in c("exact", "vecchia")) {
    fit <- fitted_to("w", method)
    joint <- predict(fit, new, cov = TRUE)$cov
    expect_equal(unname(joint), theirs, tolerance = 1e-8)
    expect_identical(rownames(joint)[c(1, 8)], c("p:1", "q:2"))
    columns <- predict(fit, new, cov = "variables")
    for (k in 1:3) {
      expect_equal(columns[[paste("cov", responses[pairs[1, k]], responses[pairs[2, k]], sep = ".")]],
                   diag(theirs[1:6 + 6 * (pairs[1, k] - 1), 1:6 + 6 * (pairs[2, k] - 1)]), tolerance = 1e-8)
    }
  }
})

test_that("terms in other coordinates, correlated nuggets and weights agree with dense matrices", {
  S <- matrix(c(2, 0.5, 0.5, 1), 2)
  N <- matrix(c(0.3, 0.1, 0.1, 0.2), 2)
  both <- lmc(exponential(range = 0.4, dims = 1) * matern(3/2, range = 0.3, dims = 2), nugget(), microscale(),
              sills = list(nugget = N, exponential = S, microscale = c(0.2, 0.4)))
  fit <- gp(cbind(p, r) ~ 1, wide, ~ a + b, both, estimate = "none", weights = 1 + seen_rows, known = list(beta = 1:2))
  cells <- which(!is.na(wide[c("p", "r")]), arr.ind = TRUE)
  K <- matrix(0, nrow(cells), nrow(cells))
  for (i in seq_len(nrow(cells))) for (j in seq_len(nrow(cells))) {
    h <- abs(unlist(wide[cells[i, 1], c("a", "b")]) - unlist(wide[cells[j, 1], c("a", "b")]))
    t <- sqrt(3) * h[[2]] / 0.3
    same <- cells[i, 1] == cells[j, 1]
    K[i, j] <- S[cells[i, 2], cells[j, 2]] * exp(-h[[1]] / 0.4) * (1 + t) * exp(-t) +
      same * (N[cells[i, 2], cells[j, 2]] / (1 + cells[i, 1]) + (i == j) * c(0.2, 0.4)[cells[i, 2]])
  }
  y <- as.matrix(wide[c("p", "r")])[cells] - cells[, 2]
  expect_equal(-2 * as.numeric(logLik(fit)), oracle_likelihood(K, y, matrix(0, length(y), 0))$value, tolerance = 1e-10)
  # In this model, the field includes microscale variation. At an observed location, the field therefore differs from
  # the observation only by the noise.
  noise <- outer(cells[, 1], cells[, 1], "==") * N[cells[, 2], cells[, 2]] / (1 + cells[, 1])
  expect_equal(unname(fitted(fit)[cells]), as.vector(cells[, 2] + (K - noise) %*% solve(K, y)), tolerance = 1e-8)
  drawn <- predict(fit, new, se.fit = TRUE, interval = "prediction", cov = "variables")
  field <- predict(fit, new, se.fit = TRUE, interval = "confidence", cov = "variables")
  expect_equal(drawn$p.se.fit^2 - field$p.se.fit^2, rep(0.3, 6))
  expect_equal(drawn$cov.p.r - field$cov.p.r, rep(0.1, 6))
})

test_that("user-defined formulas and intrinsic models can be structures of a coregionalisation", {
  S <- matrix(c(2, 0.5, 0.5, 1), 2)
  by <- function(part, method = "exact") {
    gp(cbind(p, r) ~ 1, wide, ~ a + b, lmc(part, nugget(), sills = list(S, c(0.1, 0.2))), method, "none")
  }
  exponential_formula <- covariance("Exp(-Norm2(x - y) / l)", list(l = 0.3))
  expect_equal(predict(by(exponential_formula), new), predict(by(exponential(range = 0.3)), new), tolerance = 1e-10)
  for (method in c("exact", "vecchia")) {
    expect_equal(predict(by(exponential_formula, method), new, nmax = 5),
                 predict(by(exponential(range = 0.3)), new, nmax = 5))
  }
  # variable r has a single observation, which determines the mean of r
  alone <- transform(wide, r = replace(r, -8, NA))
  both <- gp(cbind(p, r) ~ 1, alone, ~ a + b, lmc(power_law(power = 1.2), nugget(), sills = list(S, c(0.1, 0.2))),
             estimate = "none")
  one <- gp(p ~ 1, wide, ~ a + b, power_law(2, 1.2) + nugget(0.1), estimate = "none", na.action = na.omit)
  expect_equal(predict(both, new)$p, unname(predict(one, new)), tolerance = 1e-8)
})

test_that("without cross-sills, a joint fit agrees with separate fits of the variables", {
  skip_if_not_installed("Matrix")
  apart <- lmc(exponential(range = 0.3), nugget(), sills = list(diag(c(1, 900)), c(0.1, 30)))
  both <- gp(cbind(p, q) ~ w, wide, ~ a + b, apart, estimate = "none")
  each <- list(gp(p ~ w, wide, ~ a + b, exponential(1, 0.3) + nugget(0.1), estimate = "none", na.action = na.omit),
               gp(q ~ w, wide, ~ a + b, exponential(900, 0.3) + nugget(30), estimate = "none", na.action = na.omit))
  expect_equal(as.numeric(logLik(both)), sum(vapply(each, logLik, 0)))
  expect_equal(unname(coef(both)), unname(unlist(lapply(each, coef))))
  expect_equal(unname(vcov(both)), unname(as.matrix(Matrix::bdiag(lapply(each, vcov)))))
  expect_equal(sigma(both), c(p = sqrt(0.1), q = sqrt(30)))
  expect_equal(predict(both, new, se.fit = TRUE, interval = "prediction", probs = 0.1)[1:5],
               setNames(predict(each[[1]], new, se.fit = TRUE, interval = "prediction", probs = 0.1),
                        paste0("p.", c("fit", "se.fit", "lwr", "upr", "q0.1"))))
})
