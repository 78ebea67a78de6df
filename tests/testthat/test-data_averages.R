# Observations of averages, gp(averages = ), against dense algebra with the covariance matrix A K A' in plain R.

areas <- withr::with_seed(3, {
  d <- expand.grid(a = seq(0.05, 0.95, 0.1), b = seq(0.05, 0.95, 0.1))
  d$area <- paste0("r", ceiling(5 * d$a), ceiling(3 * d$b))
  d$size <- runif(100, 0.5, 1.5)
  points <- data.frame(a = runif(8), b = runif(8), area = NA, size = 1)
  d <- rbind(d, points)
  d$key <- ifelse(is.na(d$area), paste("point", seq_len(108)), d$area)
  d$cover <- sin(7 * d$a * d$b)
  d
})
areas$y <- with(areas, ave(sin(5 * a) + b + cover, key) + withr::with_seed(4, rnorm(108, sd = 0.2))[match(key, key)])
fresh <- data.frame(a = c(0.3, 0.61), b = c(0.42, 0.17), cover = c(0, 1))
kernel <- function(u, v = u, variance = 1.3, range = c(0.3, 0.5)) {
  r <- sqrt(3 * (outer(u$a, v$a, `-`)^2 / range[[1]]^2 + outer(u$b, v$b, `-`)^2 / range[[2]]^2))
  variance * (1 + r) * exp(-r)
}
keys <- unique(areas$key)
A <- outer(keys, areas$key, `==`) / as.vector(table(areas$key)[keys])
given <- matern(3/2, 1.3, c(0.3, 0.5)) + nugget(0.01)
K <- A %*% kernel(areas) %*% t(A) + diag(0.01, nrow(A))
y <- areas$y[match(keys, areas$key)]

test_that("likelihood, gradient and predictions agree with dense algebra", {
  fit <- gp(y ~ cover + offset(a), areas, ~ a + b, given, averages = ~ area, estimate = "none")
  X <- A %*% cbind(1, areas$cover)
  offset <- as.vector(A %*% areas$a)
  expect_identical(nobs(fit), nrow(A))
  expect_equal(fit$loglik, -oracle_likelihood(K, y - offset, X)$value / 2, tolerance = 1e-9)
  expected <- oracle_kriging(K, A %*% kernel(areas, fresh), rep(1.3, 2), y - offset, X, cbind(1, fresh$cover))
  p <- predict(fit, fresh, se.fit = TRUE, interval = "confidence")
  expect_equal(unname(p$fit), expected$mean + fresh$a, tolerance = 1e-8)
  expect_equal(unname(p$se.fit), sqrt(expected$variance), tolerance = 1e-7)
  expect_exact_gradient(fit)
})

test_that("predictions of averages are right, at the observations and as sums of new points", {
  fit <- gp(y ~ 1, areas, ~ a + b, given, averages = ~ area, estimate = "none")
  X <- matrix(1, nrow(A), 1)
  C <- K - diag(0.01, nrow(A))
  expected <- oracle_kriging(K, C, diag(C), y, X, X)
  p <- predict(fit, se.fit = TRUE, interval = "confidence")
  expect_equal(unname(p$fit), expected$mean, tolerance = 1e-8)
  expect_equal(unname(p$se.fit), sqrt(expected$variance), tolerance = 1e-6)
  expect_equal(unname(residuals(fit)), y - expected$mean, tolerance = 1e-7)
  first <- areas[areas$key == "r11", ]
  sum <- predict(fit, first, sums = rep(1 / nrow(first), nrow(first)), se.fit = TRUE, interval = "confidence")
  expect_equal(c(sum$fit, sum$se.fit), c(p$fit[[1]], p$se.fit[[1]]), tolerance = 1e-7)
  joint <- predict(fit, fresh, cov = TRUE)$cov
  k <- A %*% kernel(areas, fresh)
  gap <- 1 - crossprod(X, solve(K, k))
  errors <- kernel(fresh) - crossprod(k, solve(K, k)) + crossprod(gap, solve(crossprod(X, solve(K, X)), gap))
  expect_equal(unname(joint), errors, tolerance = 1e-7)
})

test_that("node weights give weighted sums, and averages over a single node equal point observations", {
  fit <- gp(y ~ cover, areas, ~ a + b, given, averages = size / 4 ~ area, estimate = "none")
  B <- outer(keys, areas$key, `==`) * rep(areas$size / 4, each = length(keys))
  V <- B %*% kernel(areas) %*% t(B) + diag(0.01, nrow(B))
  expect_equal(fit$loglik, -oracle_likelihood(V, y, B %*% cbind(1, areas$cover))$value / 2, tolerance = 1e-9)
  known <- gp(y ~ 0, areas, ~ a + b, given, averages = size / 4 ~ area, estimate = "none", known = list(beta = 0.4))
  centred <- y - 0.4 * rowSums(B)
  expect_equal(unname(predict(known)), as.vector(0.4 * rowSums(B) + (V - diag(0.01, nrow(V))) %*% solve(V, centred)))
  points <- areas[is.na(areas$area), ]
  by_nodes <- gp(y ~ 1, points, ~ a + b, given, averages = ~ key, estimate = "none")
  plain <- gp(y ~ 1, points, ~ a + b, given, estimate = "none")
  expect_equal(logLik(by_nodes), logLik(plain), tolerance = 1e-12)
  expect_equal(predict(by_nodes, fresh, derivative = "a"), predict(plain, fresh, derivative = "a"))
})

test_that("estimates, cross-validation, draws and updates work with averages", {
  fit <- gp(y ~ 1, areas, ~ a + b, matern(3/2, range = 0.4) + nugget(0.01), averages = ~ area)
  moved <- \(f) gp(y ~ 1, areas, ~ a + b, f, averages = ~ area, estimate = "none")$loglik
  best <- fit$covariance
  at <- coef(fit, "covariance")
  for (k in 1:3) for (factor in c(0.97, 1.03)) {
    t <- replace(at, k, at[[k]] * factor)
    expect_lt(moved(matern(3/2, t[[1]], t[[2]]) + nugget(t[[3]])), fit$loglik + 1e-6)
  }
  without <- gp(y ~ 1, areas[areas$key != "r11", ], ~ a + b, best, averages = ~ area, estimate = "none")
  first <- areas[areas$key == "r11", ]
  weights <- rep(1 / nrow(first), nrow(first))
  folds <- gp_cv(fit, folds = c(1, rep(2, nrow(A) - 1)))
  expect_equal(folds$fit[[1]], unname(predict(without, first, sums = weights)), tolerance = 1e-6)
  expect_equal(gp_cv(fit)$fit[[1]], folds$fit[[1]], tolerance = 1e-6)
  drawn <- simulate(fit, 500, seed = 1)
  p <- predict(fit, se.fit = TRUE, interval = "confidence")
  expect_equal(rowMeans(drawn), p$fit, tolerance = 0.05, ignore_attr = TRUE)
  expect_equal(apply(drawn, 1, sd), p$se.fit, tolerance = 0.15, ignore_attr = TRUE)
  more <- update(fit, newdata = transform(fresh, y = 1, area = "new", key = "new", size = 1), refit = FALSE)
  expect_identical(nobs(more), nobs(fit) + 1L)
})

block <- function(..., data = areas, averages = ~ area, covariance = given) {
  gp(y ~ 1, data, ~ a + b, covariance, averages = averages, estimate = "none", ...)
}
test_mistakes("kernops_input_error", alist(
  form = block(averages = "area"),
  method = block(method = "vecchia"),
  family = block(family = poisson(), covariance = matern(3/2, 1, 1)),
  both = block(derivatives = list(cover ~ a)),
  group = block(group = ~ size > 1),
  microscale = block(covariance = given + microscale(0.1)),
  effects = gp(y ~ (1 | key), areas, ~ a + b, given, averages = ~ area, estimate = "none"),
  response = block(data = transform(areas, y = a)),
  missing = block(data = transform(areas, a = replace(a, 1, NA))),
  weight = block(averages = (area == "r11") ~ area),
  local = predict(block(), fresh, nmax = 3),
  proposal = gp_propose(block()),
  derivative = predict(block(), derivative = "a"),
  table = gp(y ~ 1, gp_table(function(number) if (number == 1) areas), ~ a + b, averages = ~ area)
))
