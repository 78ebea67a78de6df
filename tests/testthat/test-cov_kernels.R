# Covariance functions against plain R.

points_of <- \(n, d = 2) matrix(runif(n * d), n)

test_that("each covariance agrees with its formula", {
  withr::local_seed(1)
  a <- points_of(7)
  b <- rbind(points_of(4), a[1:2, ])
  objects <- oracle_objects()
  expect_identical(names(objects), names(oracle_covariance))
  for (name in names(objects)) {
    expect_close(covariance_values(objects[[name]], a, b), oracle_covariance[[name]](a, b), info = name)
  }
})

test_that("sums, products and multiples of covariances agree with their formulas", {
  withr::local_seed(2)
  a <- points_of(5)
  k <- oracle_covariance
  object <- oracle_objects()
  expect_close(covariance_values(object$matern32 + object$periodic * object$linear, a, a),
               k$matern32(a, a) + k$periodic(a, a) * k$linear(a, a))
  expect_close(covariance_values(3 * object$exponential, a, a), 3 * k$exponential(a, a))
})

test_that("ranges may differ between coordinates, and a covariance may use selected coordinates", {
  withr::local_seed(3)
  a <- points_of(6, 3)
  scaled <- \(x) exp(-as.matrix(dist(x)))
  expect_close(covariance_values(exponential(1, c(0.2, 0.5, 3)), a, a), scaled(a %*% diag(1 / c(0.2, 0.5, 3))))
  expect_close(covariance_values(exponential(1, 0.2, dims = c(1, 3)), a, a), scaled(a[, c(1, 3)] / 0.2))
  expect_close(covariance_values(exponential(1, 0.2, dims = 3) * exponential(1, 2, dims = 1:2), a, a),
               scaled(a[, 3] / 0.2) * scaled(a[, 1:2] / 2))
})

test_that("correlations extend farthest in the direction of the anisotropy angle", {
  withr::local_seed(4)
  a <- points_of(6)
  t <- 30 * pi / 180
  along <- a %*% c(sin(t), cos(t))
  across <- a %*% c(cos(t), -sin(t))
  expect_close(covariance_values(exponential(1, 0.5, angle = 30, ratio = 0.4), a, a),
               exp(-as.matrix(dist(cbind(along / 0.5, across / 0.2)))))
})

test_that("the distance \"great_circle\" is the length of the chord in km", {
  lon_lat <- rbind(c(13.4, 52.5), c(2.35, 48.86), c(-74, 40.7), c(13.4, 52.5001))
  rad <- lon_lat * pi / 180
  arc <- outer(1:4, 1:4, Vectorize(function(i, j) {
    h <- sin((rad[i, 2] - rad[j, 2]) / 2)^2 + cos(rad[i, 2]) * cos(rad[j, 2]) * sin((rad[i, 1] - rad[j, 1]) / 2)^2
    2 * 6371.0088 * sqrt(h)
  }))
  expect_close(covariance_values(exponential(1, 500, distance = "great_circle"), lon_lat, lon_lat), exp(-arc / 500))
})

test_that("each name in a user-defined formula is replaced once, and parts of names are not replaced", {
  withr::local_seed(5)
  a <- points_of(4)
  own <- covariance("s * Exp(-SqDist(x, y) * l.1) + x2 * Exp(-1e-3 * Norm2(x - y))", list(s = 2, l.1 = 3, x2 = 0.5))
  h2 <- as.matrix(dist(a))^2
  expect_close(covariance_values(own, a, a), 2 * exp(-3 * h2) + 0.5 * exp(-1e-3 * sqrt(h2)))
})

test_that("exactly one factor of a product keeps a free variance", {
  table <- kernops:::covariance_model(matern() * periodic() + constant() + nugget(), 1)$parameters
  expect_identical(table$name[table$fixed], "periodic.variance")
  expect_identical(table$value[table$fixed], 1)
  model <- kernops:::covariance_model((matern() + exponential()) * periodic(), 1)
  expect_identical(model$parameters$name[model$scale], c("matern.variance", "exponential.variance"))
})

test_that("in products, redundant variances are fixed, and the other variances stay free", {
  held <- function(covariance) {
    table <- kernops:::covariance_model(covariance, 1)$parameters
    setNames(table$value, table$name)[table$fixed]
  }
  expect_identical(held(exponential() * (2 * matern())), c(constant.variance = 2, matern.variance = 1))
  expect_identical(held(periodic() * (matern(variance = 1, fixed = "variance") * exponential())),
                   c(matern.variance = 1, exponential.variance = 1))
  expect_identical(held((matern() + 1) * exponential()), c(constant.variance = 1))
  expect_identical(held(exponential() * (matern() + 1)), c(constant.variance = 1))
  expect_identical(held(exponential() * (matern() + periodic())), c(matern.variance = 1))
  expect_identical(held(matern() * periodic(variance = 3)), c(periodic.variance = 3))

  # the derivatives of the covariance in the free variances are linearly independent
  withr::local_seed(10)
  a <- points_of(8, 1)
  products <- list(exponential(1, 0.3) * (2 * matern(1.5, 1.5, 0.4)), (matern(1.5, 2, 0.4) + 1) * exponential(1, 2),
                   exponential(1, 0.3) * (matern(1.5, 2, 0.4) + wendland(3, 0.5)))
  for (product in products) {
    table <- kernops:::covariance_model(product, 1)$parameters
    at <- function(n) {
      other <- kernops:::with_values(list(covariance = product, parameters = table),
                                     replace(table$value, n, 1.1 * table$value[n]))
      as.vector(covariance_values(other, a, a))
    }
    free <- which(table$kind == "variance" & !table$fixed)
    moves <- vapply(free, function(n) at(n) - at(0), numeric(64))
    expect_identical(qr(moves)$rank, length(free))
  }
})

test_that("if a factor of a product is a sum, the ratio of the variances of the summands is estimated", {
  withr::local_seed(11)
  d <- data.frame(x = runif(40))
  d$y <- sin(6 * d$x) + rnorm(40, sd = 0.1)
  covariance <- (matern(1.5, NULL, 0.3, fixed = "range") + 1) * exponential(NULL, 0.5, fixed = "range") + nugget(0.01)
  fit <- gp(y ~ 1, d, ~ x, covariance, method = "exact")
  h <- as.matrix(dist(d$x))
  m <- sqrt(3) * h / 0.3
  X <- matrix(1, 40)
  deviance <- function(s) {
    t <- exp(s)
    oracle_likelihood((t[1] * (1 + m) * exp(-m) + 1) * t[2] * exp(-h / 0.5) + diag(t[3], 40), d$y, X)$value
  }
  best <- optim(log(c(1, 1, 0.01)), deviance, control = list(maxit = 2000))
  expect_equal(fit$df, 4)
  expect_lt(-2 * fit$loglik, best$value + 1e-3)
})

test_that("a parameter of a user-defined formula may be called range or center", {
  withr::local_seed(12)
  a <- points_of(5, 3)
  own <- covariance("range | (Exp(-SqDist(x, y)) * center)", list(range = 1:2, center = 3:4))
  expect_close(covariance_values(own, a, a), 11 * exp(-as.matrix(dist(a))^2))
})

test_that("covariances print", {
  expect_snapshot({
    matern(3/2, range = c(1, 2), fixed = "range") * periodic(dims = 1) + linear() + nugget(0.1)
    2 * (exponential(distance = "great_circle") + covariance("s * Exp(-Norm2(x - y))", list(s = 1)))
    spherical(angle = 30, ratio = 0.5)
  })
})

test_that("a user-defined formula may have no parameters", {
  withr::local_seed(9)
  a <- points_of(5)
  bare <- covariance("Exp(-SqDist(x, y))")
  expected <- exp(-as.matrix(dist(a))^2)
  expect_close(covariance_values(bare, a, a), expected)
  expect_close(covariance_values(bare * exponential(2, 0.5) + constant(3), a, a),
               2 * expected * exp(-as.matrix(dist(a)) / 0.5) + 3)
  expect_no_match(format(bare), "one")
})

test_mistakes("kernops_input_error", alist(
  `nu that is not positive` = matern(0),
  `negative variance` = matern(variance = -1),
  `range in words` = exponential(range = "far"),
  `fixed without a value` = exponential(fixed = "range"),
  `fixed that is no parameter` = exponential(fixed = "shape"),
  `anisotropy with two ranges` = exponential(range = 1:2, angle = 30),
  `ratio above 1` = exponential(ratio = 2),
  `an argument that is not there` = matern(rnge = 1),
  `an argument that periodic lacks` = periodic(dims = 1, rnge = 1),
  `more arguments than there are` = exponential(1, 2, FALSE, NULL, NULL, "euclidean", 1, "range", 3),
  `periodic on a sphere` = periodic(distance = "great_circle"),
  `difference of covariances` = matern() - nugget(),
  `sum with a word` = matern() + "nugget",
  `product with a nugget` = matern() * nugget(),
  `parameter named like an operation` = covariance("Exp * Exp(-SqDist(x, y))", list(Exp = 1)),
  `user-defined formula without names` = covariance("Exp(-SqDist(x, y))", list(1)),
  `user-defined formula without values` = covariance("s * Exp(-SqDist(x, y))", list(s = NULL)),
  `negative start of a positive parameter` = covariance("s * Exp(-SqDist(x, y))", list(s = -1))
))
test_mistakes("kernops_dim_error", alist(
  `more ranges than coordinates` = kernops:::covariance_model(exponential(range = 1:3), 2),
  `coordinates that are not there` = kernops:::covariance_model(exponential(dims = 3), 2),
  `spherical in 4 dimensions` = kernops:::covariance_model(spherical(), 4),
  `anisotropy in 3 dimensions` = kernops:::covariance_model(exponential(angle = 10), 3),
  `two centers for one coordinate` = kernops:::covariance_model(linear(1, center = 1:2), 1),
  `two centers for three coordinates` = kernops:::covariance_model(linear(1, center = 1:2), 3),
  `three centers for two dims` = kernops:::covariance_model(linear(1, center = 1:3, dims = 2:3), 3)
))
