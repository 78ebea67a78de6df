# Conditioning sets on a GPU: sums over the sets and the kriging weights of the sets, against plain R and the CPU.

n <- 130
points <- withr::with_seed(3, list(
  u = matrix(runif(2 * n), n), values = cbind(rnorm(n), 1, runif(n)), noise = runif(n, 0.01, 0.1), k = runif(n, 0.5, 2)
))
near <- \(m, u = points$u) {
  found <- earlier_neighbours(u, m)
  list(list = found, matrix = matrix(unlist(lapply(found, \(s) c(s, integer(m - length(s))))), m))
}
model_of <- \(covariance, d = 2) kernops:::covariance_model(covariance, d)
sums_by <- \(backend, model, neighbours, slopes = TRUE, columns = 1:2, u = points$u, noise = points$noise,
             precision = "float64") {
  held <- kernops:::hold_sets(u, noise, 1 / points$k, points$values[, columns, drop = FALSE], neighbours)
  operators <- kernops:::set_operators(model, backend, precision)
  set_sums(operators, model$parameters$value, model$nugget, held, slopes)
}
weights_by <- \(backend, model, neighbours, u = points$u, noise = points$noise, precision = "float64") {
  kernops:::set_weights(kernops:::covariance_matrix(model, precision, backend), model$parameters$value, u, noise,
                        neighbours)
}
slopes_by <- \(backend, model, neighbours, u = points$u, noise = points$noise, precision = "float64") {
  kernops:::set_slopes(kernops:::set_operators(model, backend, precision), model$parameters$value, u, noise, neighbours)
}
tolerances <- c(float64 = 1e-10, float32 = 1e-5)
# The scale of the error of each sum. The terms of sums of products of two columns may cancel. The scale of these sums
# is that of the sums of squares of the columns.
size_of <- \(x) {
  if (length(dim(x)) == 3) return(array(apply(x, 3, size_of), dim(x)))
  if (is.matrix(x)) sqrt(outer(abs(diag(x)), abs(diag(x)))) else abs(x)
}
expect_alike <- \(at, expected, tolerance = 1e-10, info = NULL) {
  expect_identical(names(at)[names(at) %in% names(expected)], names(expected)[names(expected) %in% names(at)])
  for (name in names(expected)) {
    error <- max(0, abs(at[[name]] - expected[[name]]) / pmax(size_of(expected[[name]]), 1e-300))
    expect_lte(error, tolerance, label = paste("error of", name, toString(info)))
  }
}
# Compares weights of conditioning sets. If points of a set are close to each other, their weights have opposite signs
# and may be as large as the condition number of the set.
expect_same_weights <- \(at, expected, tolerance = 1e-10) {
  expect_lte(max(abs(at$weights - expected$weights)), 5 * tolerance)
  expect_lte(max(abs(at$sd - expected$sd) / pmax(abs(expected$sd), 1e-300)), 2 * tolerance)
}

test_that("sums, derivatives and information agree with plain R and with the CPU", {
  skip_without_gpu()
  # noise makes the sets well conditioned, because rounding errors of float32 are multiplied by the condition number
  model <- model_of(matern(3/2, 1.3, 0.4) + nugget(2))
  noise <- points$noise + 2 / points$k
  theta <- model$parameters$value
  inputs <- list(theta = theta, x = points$u, y = points$u)
  K <- kernops:::covariance_matrix(model)(inputs) + diag(noise)
  slopes <- kernops:::covariance_derivatives(model)(inputs)
  slopes <- lapply(1:3, \(p) matrix(slopes, n * n)[, p])
  slopes <- lapply(slopes, matrix, n)
  diag(slopes[[3]]) <- 1 / points$k
  for (m in c(1, 5, 31, 32, 129)) {
    sets <- near(m)
    expected <- oracle_sums(K, slopes, sets$list, points$values[, 1:2])
    weights <- weights_by("cpu", model, sets$matrix, noise = noise)
    expect_alike(sums_by("cuda", model, sets$matrix), sums_by("cpu", model, sets$matrix))
    for (precision in names(tolerances)) {
      tolerance <- tolerances[[precision]]
      by <- \(...) sums_by("cuda", model, sets$matrix, precision = precision, ...)
      found <- by()
      expect_alike(found, expected, tolerance, c(precision, m))
      expect_alike(by(FALSE), found[c("bad", "logdet", "gram")], tolerance)
      if (m == 31) expect_identical(by(), found)
      expect_same_weights(weights_by("cuda", model, sets$matrix, noise = noise, precision = precision), weights,
                          tolerance)
    }
  }
})

test_that("in float32 the points of a set are centred, and the CPU computes in float64", {
  skip_without_gpu()
  sets <- near(20)$matrix
  far <- round(points$u * 2^12) / 2^12 # exact in float32, and far from the origin
  noise <- points$noise + 1 # with this noise, the sets are well conditioned
  for (covariance in vecchia_covariances()[c("exponential", "matern52", "turned", "own")]) {
    model <- model_of(covariance)
    by <- \(u, ...) sums_by(..., model = model, neighbours = sets, u = u, noise = noise)
    at_hand <- by(far, "cuda", precision = "float32")
    expect_identical(by(far + 2^20, "cuda", precision = "float32"), at_hand)
    expect_alike(at_hand, by(far, "cpu"), 1e-5)
    expect_false(identical(at_hand$logdet, by(far, "cuda")$logdet))
    expect_identical(by(far, "cpu", precision = "float32"), by(far, "cpu"))
  }
  absolute <- model_of(linear(0.5) + nugget(1))
  expect_alike(sums_by("cuda", absolute, sets, precision = "float32"), sums_by("cpu", absolute, sets), 1e-5)
})

test_that("sums over conditioning sets agree with the CPU for every covariance", {
  skip_without_gpu()
  sphere <- points$u %*% diag(c(40, 30))
  for (covariance in vecchia_covariances()) {
    model <- model_of(covariance)
    for (u in list(points$u, sphere)) {
      sets <- near(9, u)$matrix
      expect_alike(sums_by("cuda", model, sets, u = u), sums_by("cpu", model, sets, u = u), 1e-8)
    }
  }
})

test_that("sums agree with the CPU for other numbers of parameters, columns, dimensions and points", {
  skip_without_gpu()
  sets <- near(9)$matrix
  seven <- exponential(1, 0.3, angle = 30, ratio = 0.5) + matern(5/2, 1, c(0.4, 0.2))
  one <- covariance("Exp(-r * SqDist(x, y))", c(r = 3))
  for (precision in names(tolerances)) {
    tolerance <- tolerances[[precision]]
    by <- \(...) sums_by("cuda", ..., precision = precision)
    for (model in list(model_of(one), model_of(seven))) for (columns in list(integer(), 1:3)) {
      expect_alike(by(model, sets, columns = columns), sums_by("cpu", model, sets, columns = columns), tolerance)
    }
    u <- cbind(points$u, points$values[, 3])
    model <- model_of(matern(3/2, 1, c(0.4, 0.2, 0.3)) + nugget(0.1), 3)
    expect_alike(by(model, sets, u = u), sums_by("cpu", model, sets, u = u), tolerance)
    last <- sets[, 60:n]
    expect_alike(by(model, last, u = u), sums_by("cpu", model, last, u = u), tolerance)
    expect_same_weights(weights_by("cuda", model, last, u = u, precision = precision),
                        weights_by("cpu", model, last, u = u), tolerance)
  }
})

test_that("rows of sparse factors, and their derivatives, agree with the CPU for every covariance", {
  skip_without_gpu()
  sets <- near(9)$matrix
  seven <- exponential(1, 0.3, angle = 30, ratio = 0.5) + matern(5/2, 1, c(0.4, 0.2))
  for (covariance in c(vecchia_covariances(), list(seven))) {
    model <- model_of(covariance)
    for (some in list(sets, sets[, 60:n])) {
      expect_equal(slopes_by("cuda", model, some), slopes_by("cpu", model, some), tolerance = 1e-8)
    }
  }
})

test_that("the first singular set is reported, and the point of this set has standard deviation 0", {
  skip_without_gpu()
  model <- model_of(exponential(1, 0.4))
  sets <- near(9)$matrix
  noise <- replace(points$noise, c(71, 90), -2)
  expected <- weights_by("cpu", model, sets[, 1:71], points$u[1:71, ], noise[1:71])
  for (precision in names(tolerances)) {
    for (slopes in c(FALSE, TRUE)) {
      expect_identical(sums_by("cuda", model, sets, slopes, noise = noise, precision = precision), list(bad = 71))
    }
    found <- weights_by("cuda", model, sets[, 1:71], points$u[1:71, ], noise[1:71], precision)
    expect_same_weights(found, expected, tolerances[[precision]])
    expect_identical(found$sd[[71]], 0)
    u <- replace(points$u, 5, NaN)
    expect_identical(sums_by("cuda", model, sets, u = u, precision = precision)$bad, 5)
  }
})

test_that("a covariance that is singular only in float32 is reported", {
  skip_without_gpu()
  near <- data.frame(a = (1:40) / 40, z = sin(1:40))
  by <- \(...) gp(z ~ 1, near, ~ a, squared_exponential(1, 0.15), "vecchia", "none", backend = "cuda",
                  control = list(neighbours = 6), ...)
  expect_true(is.finite(by()$loglik))
  error <- expect_error(by(precision = "float32"), class = "kernops_singular_error")
  expect_match(conditionMessage(error), 'positive definite in `precision = "float64"`', fixed = TRUE)
  error <- expect_error(update(by(), covariance = squared_exponential(1, 30)), class = "kernops_singular_error")
  expect_no_match(conditionMessage(error), "float64")
})

test_that("the CUDA texts of all covariances compile for the oldest supported GPUs and for new GPUs", {
  skip_without_nvrtc()
  texts <- \(covariance, single, derivatives = TRUE) {
    operators <- lapply(kernops:::set_operators(model_of(covariance)), kernops:::live)
    kernops:::sets_sources(operators$values, if (derivatives) operators$derivatives, single)
  }
  compile <- \(texts, gpu) for (text in texts) expect_compiles(text, gpu)
  for (single in c(FALSE, TRUE)) {
    for (covariance in vecchia_covariances()) compile(texts(covariance, single)[[1]], "sm_90")
    for (gpu in c("sm_75", "sm_90")) compile(texts(exponential(1, 0.4), single, FALSE), gpu)
    compile(texts(exponential(1, 0.4), single), "sm_75")
  }
})

test_that("the GPU computes sets whose matrices exceed the shared memory of a block", {
  skip_without_gpu()
  model <- model_of(exponential(1.2, 0.4) + nugget(1))
  n <- 420
  u <- withr::with_seed(1, matrix(runif(2 * n), n))
  values <- withr::with_seed(2, cbind(rnorm(n), 1))
  noise <- rep(1, n)
  # matrices of 400 neighbours exceed the shared memory in float32, too; the first sets have few neighbours
  for (m in c(230, 400)) {
    sets <- matrix(pmax(0L, outer(seq_len(m), seq_len(n), \(k, i) i - k)), m)
    weights <- weights_by("cpu", model, sets, u, noise)
    held <- kernops:::hold_sets(u, noise, noise, values, sets)
    sums <- \(...) {
      set_sums(kernops:::set_operators(model, ...), model$parameters$value, model$nugget, held, TRUE)
    }
    expected <- sums("cpu")
    for (precision in names(tolerances)) {
      tolerance <- tolerances[[precision]]
      expect_same_weights(weights_by("cuda", model, sets, u, noise, precision), weights, tolerance)
      result <- sums("cuda", precision)
      expect_alike(result, expected, tolerance, c(precision, m))
      # a result that differs from the float64 result of the CPU shows that the GPU computed in float32
      if (precision == "float32") expect_false(identical(result$logdet, expected$logdet))
    }
  }
  expect_same_slopes <- \(result, expected) {
    for (name in names(expected)) expect_equal(result[[name]], expected[[name]], tolerance = 1e-8)
  }
  some <- sets[1:300, 380:n]
  expect_same_slopes(slopes_by("cuda", model, some, u, noise), slopes_by("cpu", model, some, u, noise))
})

test_that("points and neighbours that exceed the GPU memory are copied in batches, with the same bits", {
  skip_without_gpu()
  model <- model_of(matern(3/2, 1.3, 0.4) + nugget(0.05))
  many <- 2000
  u <- matrix(sin(seq_len(2 * many)^2), many)
  sets <- matrix(pmax(0L, outer(c(1:20, 23L), seq_len(many), \(k, i) i - k)), 21) # neighbours of 168 kB
  held <- \() kernops:::hold_sets(u, rep(0.1, many), rep(1, many), cbind(u[, 1], 1), sets)
  gc()
  limit_memory <- \(kilobytes) withr::local_options(kernops.gpu_memory = if (is.finite(kilobytes)) 1e3 * kilobytes +
                                               sum(kernops:::cuda_describe()$used_bytes), .local_envir = parent.frame())
  results <- \(kilobytes, precision) {
    limit_memory(kilobytes)
    operators <- kernops:::set_operators(model, "cuda", precision)
    by <- \(sets, ...) set_sums(operators, model$parameters$value, model$nugget, sets, ...)
    points <- kernops:::hold_sets(u[1:1000, ], rep(0.1, 1000))
    last <- 1001:many
    list(
      with(list(kept = held()), list(by(kept, TRUE), by(kept, TRUE, 7))), by(held()),
      kernops:::set_weights(operators$values, model$parameters$value, u, rep(0.1, many), sets),
      kernops:::set_slopes(operators, model$parameters$value, u, rep(0.1, many), sets),
      kernops:::set_weights_at(operators$values, model$parameters$value, points, u[last, ], sets[, last] %/% 2L)
    )
  }
  # the points take 96 kB in float64 and 48 kB in float32: they fit into a memory of 270 kB, but not into 80 kB
  for (precision in names(tolerances)) for (kilobytes in c(270, 80)) {
    expect_identical(results(kilobytes, precision), results(Inf, precision), info = paste(precision, kilobytes))
  }
})

test_that("weights at other points agree with weights of points that follow the stored points", {
  model <- model_of(matern(3/2, 1.3, 0.4) + nugget(0.05))
  theta <- model$parameters$value
  for (backend in backends()) for (precision in names(tolerances)) {
    values <- kernops:::covariance_matrix(model, precision, backend)
    held <- kernops:::hold_sets(points$u[1:60, ], points$noise[1:60])
    for (some in list(61:75, 61:n, 99)) { # the second call has more sets than the first, and hence needs more memory
      near <- kernops:::nearest_points(points$u[some, , drop = FALSE], points$u[1:60, ], 9L)
      all <- kernops:::set_weights(values, theta, points$u[c(1:60, some), ],
                                   c(points$noise[1:60], numeric(length(some))), near)
      at <- kernops:::set_weights_at(values, theta, held, points$u[some, , drop = FALSE], near)
      if (precision == "float64") expect_identical(at, all) else expect_same_weights(at, all, 1e-5)
    }
  }
})

test_that("several GPUs give the sums of one GPU, and stored sets can be used with any number of neighbours", {
  skip_without_gpu()
  skip_on_cran()
  skip_if(kernops:::cuda_describe()$name[[1]] == "emulator", "minutes of an emulated GPU")
  model <- model_of(exponential(1, 0.4) + nugget(0.1))
  many <- 2^18 + 500
  u <- matrix(sin(seq_len(2 * many)^2), many)
  held <- kernops:::hold_sets(u, numeric(many), rep(1, many), matrix(u[, 1]), rbind(c(0L, seq_len(many - 1)), 0L))
  sums <- \(backend, count) {
    operators <- kernops:::set_operators(model, backend)
    set_sums(operators, model$parameters$value, model$nugget, held, count = count)
  }
  found <- sums("cuda", 1)
  expect_alike(found, sums("cpu", 1))
  expect_identical(sums("cuda", 2), found)
  if (nrow(kernops:::cuda_describe()) > 1) expect_identical(with_kernops(sums("cuda", 1), device = 0:1), found)
})

test_that("a fit on a GPU agrees with the CPU", {
  skip_without_gpu()
  case <- withr::with_seed(5, smooth_case(200))
  by <- \(backend, precision) gp(z ~ w, case, ~ a + b, matern(3/2) + nugget(), "vecchia", backend = backend,
                                 precision = precision, control = gp_control(neighbours = 12))
  expected <- by("cpu", "float64")
  new <- case[1:9, ] + 0.01
  for (precision in names(tolerances)) {
    fit <- by("cuda", precision)
    expect_equal(fit$theta, expected$theta, tolerance = c(float64 = 1e-4, float32 = 1e-2)[[precision]])
    expect_equal(fit$loglik, expected$loglik, tolerance = c(float64 = 1e-8, float32 = 1e-5)[[precision]])
    expect_equal(predict(fit, new, se.fit = TRUE, interval = "prediction"),
                 predict(expected, new, se.fit = TRUE, interval = "prediction"), tolerance = 1e-3)
  }
})
