# Sets of points on a GPU: what is summed over them and their weights are those of plain R and of the CPU.

n <- 130
points <- withr::with_seed(3, list(
  u = matrix(runif(2 * n), n), values = cbind(rnorm(n), 1, runif(n)), noise = runif(n, 0.01, 0.1), k = runif(n, 0.5, 2)
))
near <- \(m, u = points$u) {
  found <- earlier_neighbours(u, m)
  list(list = found, matrix = matrix(unlist(lapply(found, \(s) c(s, integer(m - length(s))))), m))
}
model_of <- \(covariance, d = 2) kernops:::covariance_model(covariance, d)
sums_by <- \(backend, model, neighbours, slopes = TRUE, columns = 1:2, u = points$u, noise = points$noise) {
  held <- kernops:::hold_sets(u, noise, 1 / points$k, points$values[, columns, drop = FALSE], neighbours)
  kernops:::set_sums(kernops:::set_operators(model, backend), model$parameters$value, model$nugget, held, slopes)
}
weights_by <- \(backend, model, neighbours, u = points$u, noise = points$noise) {
  kernops:::set_weights(kernops:::covariance_matrix(model, backend = backend), model$parameters$value, u, noise,
                        neighbours)
}
expect_alike <- \(at, expected, tolerance = 1e-10) {
  for (name in names(expected)) expect_equal(at[[!!name]], expected[[!!name]], tolerance = tolerance)
}

test_that("sums, derivatives and information are those of plain R and of the CPU", {
  skip_without_gpu()
  model <- model_of(matern(3/2, 1.3, 0.4) + nugget(0.05))
  theta <- model$parameters$value
  at <- list(theta = theta, x = points$u, y = points$u)
  K <- kernops:::covariance_matrix(model)(at) + diag(points$noise + 0.05 / points$k)
  slopes <- kernops:::covariance_derivatives(model)(at)
  slopes <- lapply(1:3, \(p) matrix(slopes, n * n)[, p])
  slopes <- lapply(slopes, matrix, n)
  diag(slopes[[3]]) <- 1 / points$k
  for (m in c(1, 5, 31, 32, 60, 100, 129)) {
    sets <- near(m)
    expected <- oracle_sums(K, slopes, sets$list, points$values[, 1:2])
    found <- sums_by("cuda", model, sets$matrix)
    expect_alike(found, expected, 1e-9)
    expect_alike(found, sums_by("cpu", model, sets$matrix))
    expect_alike(sums_by("cuda", model, sets$matrix, FALSE), found[c("bad", "logdet", "gram")], 1e-12)
    expect_identical(sums_by("cuda", model, sets$matrix), found)
    expect_alike(weights_by("cuda", model, sets$matrix), weights_by("cpu", model, sets$matrix))
  }
})

test_that("every covariance has the sums of the CPU", {
  skip_without_gpu()
  sphere <- points$u %*% diag(c(40, 30))
  for (covariance in vecchia_covariances()) {
    model <- model_of(covariance)
    for (u in list(points$u, sphere)) {
      sets <- near(9, u)$matrix
      expect_alike(sums_by("cuda", model, sets, u = u), sums_by("cpu", model, sets, u = u))
    }
  }
})

test_that("so have one to seven parameters, no column or three, more dimensions, and sets of the last points", {
  skip_without_gpu()
  sets <- near(9)$matrix
  seven <- exponential(1, 0.3, angle = 30, ratio = 0.5) + matern(5/2, 1, c(0.4, 0.2))
  one <- covariance("Exp(-r * SqDist(x, y))", c(r = 3))
  for (model in list(model_of(one), model_of(seven))) {
    for (columns in list(integer(), 1:3))
      expect_alike(sums_by("cuda", model, sets, columns = columns), sums_by("cpu", model, sets, columns = columns))
  }
  u <- cbind(points$u, points$values[, 3])
  model <- model_of(matern(3/2, 1, c(0.4, 0.2, 0.3)) + nugget(0.1), 3)
  expect_alike(sums_by("cuda", model, sets, u = u), sums_by("cpu", model, sets, u = u))
  last <- sets[, 60:n]
  expect_alike(sums_by("cuda", model, last, u = u), sums_by("cpu", model, last, u = u))
  expect_alike(weights_by("cuda", model, last, u = u), weights_by("cpu", model, last, u = u))
})

test_that("the first singular set is told, and points that are determined have no standard deviation", {
  skip_without_gpu()
  model <- model_of(exponential(1, 0.4))
  sets <- near(9)$matrix
  noise <- replace(points$noise, c(71, 90), -2)
  for (slopes in c(FALSE, TRUE)) {
    expect_identical(sums_by("cuda", model, sets, slopes, noise = noise), list(bad = 71))
  }
  by <- \(backend) weights_by(backend, model, sets[, 1:71], points$u[1:71, ], noise[1:71])
  expect_alike(by("cuda"), by("cpu"))
  expect_identical(by("cuda")$sd[[71]], 0)
  u <- replace(points$u, 5, NaN)
  expect_identical(sums_by("cuda", model, sets, u = u)$bad, 5)
})

test_that("the texts of all covariances compile for the oldest and for new GPUs", {
  skip_without_nvrtc()
  for (covariance in vecchia_covariances()) for (slopes in c(FALSE, TRUE)) {
    operators <- lapply(kernops:::set_operators(model_of(covariance)), kernops:::live)
    texts <- kernops:::sets_sources(operators$values, if (slopes) operators$slopes)
    for (text in texts) for (gpu in c("sm_75", "sm_90")) expect_gt(kernops:::cuda_compile(text, gpu), 1000)
  }
})

test_that("sets beyond the memory of a block are computed as well", {
  skip_without_gpu()
  model <- model_of(exponential(1, 0.4) + nugget(0.1))
  u <- withr::with_seed(1, matrix(runif(600), 300))
  sets <- matrix(pmax(0L, outer(1:280, 1:300, \(k, i) i - k)), 280)
  expect_alike(weights_by("cuda", model, sets, u, rep(0.1, 300)), weights_by("cpu", model, sets, u, rep(0.1, 300)))
})

test_that("several GPUs give the sums of one, and what is held serves any number of neighbours", {
  skip_without_gpu()
  skip_on_cran()
  model <- model_of(exponential(1, 0.4) + nugget(0.1))
  many <- 2^18 + 500
  u <- matrix(sin(seq_len(2 * many)^2), many)
  held <- kernops:::hold_sets(u, numeric(many), rep(1, many), matrix(u[, 1]), rbind(c(0L, seq_len(many - 1)), 0L))
  sums <- \(backend, count) {
    operators <- kernops:::set_operators(model, backend)
    kernops:::set_sums(operators, model$parameters$value, model$nugget, held, count = count)
  }
  found <- sums("cuda", 1)
  expect_alike(found, sums("cpu", 1))
  expect_identical(sums("cuda", 2), found)
  if (nrow(kernops:::cuda_describe()) > 1) expect_identical(with_kernops(sums("cuda", 1), device = 0:1), found)
})

test_that("a fit runs on a GPU", {
  skip_without_gpu()
  case <- withr::with_seed(5, smooth_case(200))
  by <- \(backend) gp(z ~ w, case, ~ a + b, matern(3/2) + nugget(), "vecchia", control = gp_control(neighbours = 12),
                      backend = backend)
  fit <- by("cuda")
  expected <- by("cpu")
  expect_equal(fit$theta, expected$theta, tolerance = 1e-4)
  expect_equal(fit$loglik, expected$loglik, tolerance = 1e-8)
  new <- case[1:9, ] + 0.01
  expect_equal(predict(fit, new, se.fit = TRUE, interval = "prediction"),
               predict(expected, new, se.fit = TRUE, interval = "prediction"), tolerance = 1e-3)
})
