# The exact and the iterative method on a GPU, against the CPU.

data_of <- function(n) {
  withr::local_seed(n)
  smooth_case(n)
}
known_covariance <- matern(3/2, 1.3, 0.4) + nugget(0.05)
kriged <- \(n, ..., data = data_of(n), covariance = known_covariance) {
  gp(z ~ w, data, ~ a + b, covariance, method = "exact", estimate = "none", ...)
}
skip_unless_exact <- function() {
  skip_without_gpu()
  skip_if(nzchar(kernops:::factor_problem("cuda")))
}

test_that("likelihood, gradient and information of the exact method agree with the CPU", {
  skip_unless_exact()
  for (n in c(31, 300, 1500)) for (reml in c(FALSE, TRUE)) for (profile in c(FALSE, TRUE)) {
    fit <- kriged(n, backend = "cpu", known = list(noise = if (profile) 0 else 0.02), weights = 1 + (1:n) / n)
    both <- lapply(c("cpu", "cuda"), function(backend) {
      state <- kernops:::exact_likelihood(fit$data, fit$model, reml, backend)$evaluate(fit$theta, profile)
      c(state, list(slope = state$gradient(), curvature = state$information()))
    })
    for (part in c("value", "alpha", "beta", "z", "slope", "curvature")) {
      expect_close(as.matrix(both[[2]][[part]]), both[[1]][[part]], tolerance = 1e-8, info = paste(part, n))
    }
  }
})

test_that("large matrices are factorised recursively by halves", {
  skip_unless_exact()
  skip_if(emulated(), "takes hours without a GPU")
  n <- 18000
  fit <- kriged(n, backend = "cuda")
  likelihood_at <- function(theta) kernops:::exact_likelihood(fit$data, fit$model, FALSE,
                                                              "cuda")$evaluate(unname(theta), FALSE)
  state <- likelihood_at(fit$theta)
  u <- as.matrix(fit$data$u)
  product <- keops_kernel("Sum_Reduction(1.3 * (1 + Norm2(x - y)) * Exp(-Norm2(x - y)) * b, 1)",
                          c("x = Vi(2)", "y = Vj(2)", "b = Vj(1)"))
  residual <- fit$data$y - fit$data$x %*% state$beta
  scaled <- u * sqrt(3) / 0.4
  expect_close(product(list(x = scaled, y = scaled, b = state$alpha)) + 0.05 * state$alpha, residual, tolerance = 1e-9)
  slope <- sum(state$gradient() * fit$theta)
  change <- (likelihood_at(fit$theta * 1.0001)$value - likelihood_at(fit$theta * 0.9999)$value) / 2e-4
  expect_equal(slope, change, tolerance = 1e-5)
})

test_that("fits, predictions, draws and cross-validation on the GPU agree with the CPU", {
  skip_unless_exact()
  fits <- lapply(c("cpu", "cuda"), \(backend) gp(z ~ w, data_of(200), ~ a + b, method = "exact", backend = backend))
  expect_equal(fits[[2]]$loglik, fits[[1]]$loglik, tolerance = 1e-8)
  expect_equal(coef(fits[[2]], "covariance"), coef(fits[[1]], "covariance"), tolerance = 1e-4)
  fits[[2]]$theta[] <- fits[[1]]$theta
  fits <- list(kriged(200, backend = "cpu"), kriged(200, backend = "cuda"))
  new <- data_of(33)
  of_both <- function(f) expect_equal(f(fits[[2]]), f(fits[[1]]), tolerance = 1e-8)
  of_both(\(fit) predict(fit, new, se.fit = TRUE, interval = "prediction"))
  of_both(\(fit) gp_cv(fit)$se.fit)
  of_both(\(fit) simulate(fit, 2, seed = 1, newdata = new))
  of_both(vcov)
})

test_that("a saved fit gives the same predictions with and without a GPU", {
  fit <- kriged(60, backend = "cpu")
  new <- data_of(20)
  expected <- predict(fit, new, se.fit = TRUE)
  read <- \(fit) unserialize(serialize(fit, NULL))
  if (!"cuda" %in% backends()) {
    fit$how$backend <- "cuda"
    expect_message(at <- predict(read(fit), new, se.fit = TRUE), class = "kernops_no_gpu")
    return(expect_equal(at, expected))
  }
  skip_unless_exact()
  expect_equal(predict(read(kriged(60, backend = "cuda")), new, se.fit = TRUE), expected, tolerance = 1e-8)
})

test_that("errors explain that a matrix is not positive definite or is too large", {
  skip_unless_exact()
  close <- transform(data_of(50), a = a / 1e6, b = b / 1e6)
  expect_error(kriged(data = close, covariance = squared_exponential(1, 10), backend = "cuda"),
               class = "kernops_singular_error")
  withr::local_options(kernops.gpu_memory = 2^20)
  error <- expect_error(kriged(2000, backend = "cuda"), class = "kernops_memory_error")
  expect_match(conditionMessage(error), "2000 observations.*method = \"iterative\"")
})

test_that("the gradient and the information of the iterative method agree with the CPU", {
  skip_without_gpu()
  for (reml in c(FALSE, TRUE)) for (weights in list(NULL, 1 + (1:300) / 300)) {
    fit <- kriged(300, backend = "cpu", weights = weights)
    both <- lapply(c("cpu", "cuda"), function(backend) {
      how <- list(reml = reml, precision = "float64", backend = backend,
                  control = gp_control(cg_tol = 1e-11, search_tol = 1e-11, rank = 50))
      state <- kernops:::iterative_likelihood(fit$data, fit$model, how)$evaluate(unname(fit$theta), search = TRUE)
      list(slope = state$gradient(), curvature = state$information())
    })
    expect_close(matrix(both[[2]]$slope), both[[1]]$slope, tolerance = 1e-7)
    expect_close(both[[2]]$curvature, both[[1]]$curvature, tolerance = 1e-7)
  }
})

test_that("without probes, the iterative method has predictions, but no likelihood", {
  exact <- kriged(200, backend = "cpu")
  new <- data_of(20)
  for (backend in backends()) {
    fit <- gp(z ~ w, data_of(200), ~ a + b, known_covariance, method = "iterative", estimate = "none",
              backend = backend, control = gp_control(probes = 0))
    expect_true(is.na(fit$loglik))
    expect_equal(predict(fit, new), predict(exact, new), tolerance = 1e-5)
  }
  expect_error(gp(z ~ w, data_of(50), ~ a + b, method = "iterative", control = gp_control(probes = 0)), "probes = 0",
               class = "kernops_input_error")
})
