# Preconditioners: agreement with dense matrices, and the number of iterations that they save.

types <- c("jacobi", "pivoted_cholesky", "rpcholesky", "nystrom")

test_that("rows, columns and diagonal of K are computed by the formula", {
  withr::local_seed(1)
  case <- problem(20)
  formulas <- list(
    gaussian(),
    gaussian(precision = "float32"),
    gaussian(3),
    keops_kernel("Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 0)", c("s = Pm(1)", "x = Vi(2)", "y = Vj(2)", "b = Vi(1)"))
  )
  for (op in formulas) {
    system <- kernel_system(op, "b", case$input, 0.5)
    expect_close(as.matrix(system$columns(7)), case$K[, 7])
    expect_close(matrix(system$diagonal()), diag(case$K))
  }
  numbered <- "Sum_Reduction((Exp(-s * SqDist(x, y)) + IndexI ( ) * IndexJ() + 3 * (IndexI() == IndexJ())) * b, 1)"
  K <- case$K + 1:20 %o% 1:20 + 3 * diag(20)
  args <- c("s = Pm(1)", "x = Vi(2)", "y = Vj(2)", "b = Vj(1)")
  for_each_space(function(backend) {
    system <- kernel_system(keops_kernel(numbered, args, backend = backend), "b", case$input)
    expect_close(as.matrix(system$columns(7)), K[, 7])
    expect_close(matrix(system$diagonal()), diag(K))
  })
})

test_that("the inverse, the determinant and the covariance of probes agree with the dense matrix", {
  withr::local_seed(2)
  case <- problem(50)
  for_each_space(\(backend) for (type in types) for (lambda in list(0.01, runif(50, 0.01, 1))) {
    system <- system_of(case, lambda, backend = backend)
    precond <- system_preconditioner(system, type, 12)
    P <- solve(inverse_of(precond, system))
    expect_close(P, t(P), tolerance = 1e-8)
    expect_equal(precond$logdet, as.vector(determinant(P)$modulus), tolerance = 1e-8)
    if (type == "jacobi") expect_close(P, diag(diag(shifted(case, lambda))), tolerance = 1e-8)
    z <- probe_vectors(system, precond, 5)
    expect_close(as.matrix(z$weights), solve(P, as.matrix(z$probes)), tolerance = 1e-8, info = type)
    sample <- as.matrix(probe_vectors(system, precond, 1e4)$probes)
    expect_close(tcrossprod(sample) / 1e4, P, tolerance = 0.1, info = type)
  })
})

test_that("pivoted Cholesky agrees with the dense matrix, and ends at the rank", {
  withr::local_seed(3)
  case <- problem(40)
  reference <- suppressWarnings(chol(case$K, pivot = TRUE))
  reference <- t(reference[1:10, order(attr(reference, "pivot"))])
  for_each_space(function(backend) {
    system <- system_of(case, 0.1, backend = backend)
    low <- pivoted_cholesky(system, system$diagonal(), 10)
    expect_close(tcrossprod(as.matrix(low$columns)), tcrossprod(reference), tolerance = 1e-8)
    expect_equal(low$left, sum(diag(case$K)) - sum(reference^2), tolerance = 1e-8)
  })
  few <- case
  few$input$x <- few$input$y <- case$input$x[rep(1:5, 8), ]
  expect_identical(system_preconditioner(system_of(few, 0.1), "pivoted_cholesky", 30)$rank, 5L)
})

test_that("with pivots from a subset of the points, K is projected on the columns of the pivots", {
  withr::local_seed(4)
  case <- problem(120)
  for_each_space(function(backend) {
    system <- system_of(case, 0.1, backend = backend)
    some <- round(seq(1, 120, length.out = 40))
    chosen <- some[pivots(system$subset(some), rep(1, 40), 20, 1e-10)$pivots]
    low <- pivoted_cholesky(system, system$diagonal(), 20, candidates = 40)
    expect_length(unique(chosen), 20)
    expected <- case$K[, chosen] %*% solve(case$K[chosen, chosen], case$K[chosen, ])
    expect_close(tcrossprod(as.matrix(low$columns)), expected, tolerance = 1e-6)
    expect_equal(low$left, sum(diag(case$K - expected)), tolerance = 1e-6)
    expect_close(as.matrix(system$columns(c(7, 3))), case$K[, c(7, 3)])
  })
})

test_that("an orthogonal factor has orthogonal columns, and its product is the matrix", {
  withr::local_seed(5)
  x <- matrix(rnorm(900), 90)
  for_each_space(function(backend) {
    space <- vector_space(if (backend == "cuda") 0L else -1L)
    for (passes in 1:2) for (size in c(1, 1e3)) {
      of <- space$orthogonal(space$copy(size * x), passes)
      Q <- rbind(as.matrix(of$Q), solve(of$R))
      expect_close(Q %*% of$R, rbind(size * x, diag(10)))
      expect_close(crossprod(Q), diag(10), tolerance = if (passes == 2) 1e-10 else 1e-8)
      expect_true(all(of$R[lower.tri(of$R)] == 0))
    }
    core <- crossprod(x)
    white <- as.matrix(space$whiten(space$copy(x), space$copy(core), 0.5))
    expect_close(white %*% t(white), x %*% solve(core + diag(0.5, 10), t(x)))
  })
})

test_that("the Nystrom approximation projects K on the selected columns", {
  withr::local_seed(4)
  case <- problem(40)
  chosen <- c(3, 9, 20, 31)
  expected <- case$K[, chosen] %*% solve(case$K[chosen, chosen], case$K[chosen, ])
  for_each_space(function(backend) {
    low <- nystrom(system_of(case, 0.1, backend = backend), diag(case$K), chosen)
    expect_close(tcrossprod(as.matrix(low$columns)), expected, tolerance = 1e-8)
    expect_equal(low$left, sum(diag(case$K - expected)), tolerance = 1e-8)
  })
})

test_that("the factors of the inverse are accurate for a small shift", {
  withr::local_seed(10)
  columns <- qr.Q(qr(uniform(60, 8))) %*% (10^-(0:7) * qr.Q(qr(uniform(8, 8))))
  shift <- 1e-13 * runif(60, 1, 2)
  factor <- woodbury_factor(vector_space(), columns, shift, sum(columns^2))
  expect_close(shift * factor$Q %*% factor$R, columns, tolerance = 1e-10)
  expect_close(t(factor$Q) %*% (shift * factor$Q) + crossprod(solve(factor$R)), diag(8), tolerance = 1e-10)
})

test_that("a low-rank preconditioner saves most iterations for an ill-conditioned system, with the same solution", {
  withr::local_seed(5)
  case <- problem(300, 2)
  for_each_space(function(backend) {
    solve_by <- function(...) kernel_solve(gaussian(2, backend = backend), "b", case$input, 1e-4, tol = 1e-9, ...)
    plain <- solve_by()
    for (type in c("pivoted_cholesky", "nystrom")) {
      few <- solve_by(precond = type, rank = 20)
      more <- solve_by(precond = type, rank = 120)
      expect_lt(few$iterations, plain$iterations)
      expect_lt(more$iterations, plain$iterations / 5)
      expect_lt(max(residuals_of(case, more$solution, 1e-4)), 2e-9)
    }
  })
})

test_that("the Jacobi preconditioner saves iterations if the diagonal varies", {
  withr::local_seed(6)
  case <- problem(100)
  lambda <- 10^runif(100, 0, 6)
  steps <- \(...) kernel_solve(gaussian(), "b", case$input, lambda, tol = 1e-10, ...)$iterations
  expect_lt(steps(precond = "jacobi"), steps() / 2)
})

test_that("a preconditioner can be reused for similar systems", {
  withr::local_seed(7)
  case <- problem(200)
  precond <- kernel_preconditioner(gaussian(), "b", case$input[-4], 1e-3, rank = 60)
  expect_s3_class(precond, "kernel_preconditioner")
  for_each_space(\(backend) for (lambda in c(1e-3, 2e-3)) {
    op <- gaussian(backend = backend)
    solve_by <- \(precond) kernel_solve(op, "b", case$input, lambda, tol = 1e-9, precond = precond)
    expect_lt(solve_by(precond)$iterations, solve_by("none")$iterations / 4)
    expect_lt(residuals_of(case, solve_by(precond)$solution, lambda), 2e-9)
  })
})

test_that("preconditioners work for K without lambda, for full rank and for a single point", {
  withr::local_seed(8)
  x <- as.matrix(expand.grid(1:6, 1:5))
  case <- list(input = list(s = 1, x = x, y = x, b = uniform(30)), K = unname(exp(-as.matrix(dist(x))^2)))
  case$b <- case$input$b
  fit <- kernel_solve(gaussian(), "b", case$input, precond = "pivoted_cholesky", tol = 1e-12)
  expect_close(fit$solution, dense(case, 0), tolerance = 1e-8)
  expect_lte(fit$iterations, 5)
  one <- list(s = 1, x = t(1:2), y = t(1:2), b = 3)
  for (type in types) expect_close(kernel_solve(gaussian(), "b", one, 0.5, precond = type)$solution, matrix(2))
})

test_that("random columns depend only on the seed, and do not change R's random numbers", {
  withr::local_seed(9)
  case <- problem(50)
  for_each_space(function(backend) {
    op <- gaussian(backend = backend)
    made <- \(seed) as.matrix(kernel_preconditioner(op, "b", case$input, 0.1, "nystrom", rank = 5, seed = seed)$Q)
    set.seed(1)
    first <- made(1)
    after <- runif(1)
    set.seed(1)
    expect_identical(runif(1), after)
    expect_identical(made(1), first)
    expect_false(identical(made(2), first))
  })
})

test_that("a preconditioner prints as a summary", {
  x <- as.matrix(expand.grid(1:6, 1:5))
  print_it <- \(type) print(kernel_preconditioner(gaussian(), "b", list(s = 1, x = x, y = x), 1, type, rank = 10))
  expect_snapshot(for (type in c("jacobi", "pivoted_cholesky")) print_it(type))
})

tiny <- list(s = 8, x = diag(2), y = diag(2))
make_tiny <- \(..., op = gaussian(), input = tiny) kernel_preconditioner(op, "b", input, ...)
per_column <- keops_kernel("Sum_Reduction(Concat(Elem(b, 0), 2 * Elem(b, 1)) * Exp(-s * SqDist(x, y)), 1)",
                           c("s = Pm(1)", "x = Vi(2)", "y = Vj(2)", "b = Vj(2)"))
linear <- keops_kernel("Sum_Reduction(((x|y) + 0 * s) * b, 1)", c("s = Pm(1)", "x = Vi(2)", "y = Vj(2)", "b = Vj(1)"))
test_mistakes("kernops_input_error", alist(
  `unknown type` = make_tiny(type = "ilu"),
  `rank in words` = make_tiny(rank = "all"),
  `fractional seed` = make_tiny(seed = 0.5),
  `formula for vectors of one size only` = make_tiny(op = per_column),
  `diagonal with a zero` = make_tiny(op = linear, input = list(s = 1, x = diag(2)[, c(1, 1)], y = diag(2)[, c(1, 1)])),
  `no points` = make_tiny(input = list(s = 1, x = matrix(0, 0, 2), y = matrix(0, 0, 2))),
  `gradient of an operator` = kernel_preconditioner(keops_grad(gaussian(), "b"), "eta", c(tiny, list(b = 1:2))),
  `missing points` = make_tiny(input = tiny[-2])
))
test_mistakes("kernops_dim_error", alist(
  `preconditioner of other points` =
    kernel_solve(gaussian(), "b", c(tiny, b = list(1:2)),
                 precond = kernel_preconditioner(gaussian(), "b", list(s = 1, x = diag(3)[, 1:2], y = diag(3)[, 1:2])))
))

test_that("randomly pivoted Cholesky projects K on the columns of its pivots, which are distinct", {
  withr::local_seed(21)
  case <- problem(150)
  for_each_space(\(backend) for (block in c(1, 4, 40)) {
    system <- system_of(case, 0.1, backend = backend)
    low <- rpcholesky(system, system$diagonal(), 25, seed = 3, block = block)
    chosen <- low$pivots
    expect_length(unique(chosen), 25)
    projected <- case$K[, chosen] %*% solve(case$K[chosen, chosen], case$K[chosen, ])
    expect_close(tcrossprod(as.matrix(low$columns)), projected, tolerance = 1e-6)
    expect_equal(low$left, sum(diag(case$K - projected)), tolerance = 1e-6)
    expect_identical(rpcholesky(system, system$diagonal(), 25, seed = 3, block = block)$pivots, chosen)
  })
})

test_that("the mean trace error of random pivots is within its theoretical bound, for blocks and single pivots", {
  withr::local_seed(22)
  case <- problem(200)
  system <- system_of(case, 0.1, backend = "cpu")
  values <- eigen(case$K, TRUE, TRUE)$values
  # The error is (1 + e) times the best error of rank r for k >= r / e + r log(1 / (e eta)) columns, where eta is the
  # best relative error (Chen, Epperly, Tropp and Webber 2025, theorem 5.1).
  rank <- 3
  best <- sum(values[-seq_len(rank)])
  columns <- ceiling(rank / 1 + rank * log(sum(values) / best))
  left <- \(block) mean(vapply(1:60, \(seed) {
    rpcholesky(system, diag(case$K), columns, seed = seed, block = block)$left
  }, 0))
  by_one <- left(1)
  by_many <- left(20)
  expect_lt(by_one, 2 * best)
  expect_lt(by_many, 2 * best)
  expect_lt(abs(by_many / by_one - 1), 0.25)
})

test_that("accepted pivots of a block have the distribution of pivots that are drawn one after another", {
  withr::local_seed(23)
  K <- tcrossprod(matrix(rnorm(12), 4)) + diag(0.1, 4)
  # the probability of each ordered pair of pivots
  pair <- outer(1:4, 1:4, Vectorize(\(i, j) {
    left <- diag(K) - K[i, ]^2 / K[i, i]
    if (i == j) 0 else K[i, i] / sum(diag(K)) * left[[j]] / sum(left)
  }))
  drawn <- replicate(4000, {
    repeat {
      proposed <- sample.int(4, 8, replace = TRUE, prob = diag(K))
      kept <- accepted_pivots(K[proposed, proposed], 2)$pivots
      if (length(kept) == 2) break
    }
    proposed[kept]
  })
  counts <- table(factor(drawn[1, ], 1:4), factor(drawn[2, ], 1:4))
  off <- row(pair) != col(pair)
  expect_identical(sum(counts[!off]), 0L)
  expect_gt(stats::chisq.test(counts[off], p = pair[off] / sum(pair[off]))$p.value, 1e-3)
})

test_that("clusters with outliers need fewer steps with random pivots than with evenly spaced candidates", {
  withr::local_seed(24)
  x <- rbind(matrix(rnorm(400, sd = 0.01), ncol = 2), uniform(60, 2))[sample(260), ]
  b <- uniform(260, 1)
  input <- list(s = 40, x = x, y = x, b = b)
  expected <- solve(exp(-40 * as.matrix(dist(x))^2) + diag(1e-4, 260), b)
  solved <- lapply(c("rpcholesky", "nystrom"), \(type) {
    kernel_solve(gaussian(), "b", input, 1e-4, precond = type, rank = 40, tol = 1e-10)
  })
  for (fit in solved) expect_close(fit$solution, expected, tolerance = 1e-6)
  expect_lt(solved[[1]]$iterations, solved[[2]]$iterations)
  few <- replace(input, c("x", "y"), list(x[rep(1:5, 8), ], x[rep(1:5, 8), ]))
  expect_identical(kernel_preconditioner(gaussian(), "b", few, 0.1, "rpcholesky", rank = 30)$rank, 5L)
})
