# Inputs of 16 bits: the oracle rounds the inputs in plain R and computes in double precision.

# The nearest number with 8 significant bits; ties are rounded to even. The fraction of a double has 52 bits. The
# function drops 45 of these bits: all bits of the bytes 1 to 5 and five bits of byte 6. A carry increments the
# exponent.
as_bfloat16 <- function(x) {
  bytes <- matrix(as.integer(writeBin(as.vector(x), raw(), size = 8, endian = "little")), 8)
  low <- colSums(bytes[1:6, , drop = FALSE] * 256^(0:5))
  kept <- low %/% 2^45
  rest <- low %% 2^45
  kept <- kept + (rest > 2^44 | rest == 2^44 & kept %% 2 == 1)
  high <- bytes[7, ] + 256 * bytes[8, ] + kept %/% 8
  rounded <- rbind(matrix(0, 5, length(x)), kept %% 8 * 32, high %% 256, high %/% 256)
  x[] <- readBin(as.raw(rounded), "double", length(x), 8, endian = "little")
  x
}
# The nearest number with 11 significant bits, by arithmetic; numbers below 2^-14 are multiples of 2^-24.
as_float16 <- function(x) {
  unit <- 2^(pmax(floor(log2(abs(x))), -14) - 10)
  x[] <- ifelse(x == 0, 0, round(x / unit) * unit)
  x
}
rounding <- list(bfloat16 = as_bfloat16, float16 = as_float16)

p <- withr::with_seed(1, list(x = matrix(rnorm(90), 30), y = matrix(rnorm(120), 40), b = rnorm(40), s = 0.3,
                              e = rnorm(30)))
args <- c("x = Vi(3)", "y = Vj(3)", "b = Vj(1)", "s = Pm(1)")
squares <- \(x, y) outer(rowSums(x^2), rowSums(y^2), `+`) - 2 * x %*% t(y)
untold <- \(code) suppressMessages(code, classes = "kernops_rounded_input")
each_format <- function(body) {
  for (backend in backends()) for (precision in names(rounding)) {
    near <- rapply(p[-4], rounding[[precision]], how = "list")
    kernel <- \(formula, args) keops_kernel(formula, args, precision = precision, backend = backend)
    body(kernel, near, precision, backend)
  }
}

test_that("sums over rounded points agree with plain R", {
  each_format(function(kernel, near, precision, backend) untold({
    K <- exp(-p$s * squares(near$x, near$y))
    op <- kernel("Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 1)", args)
    expect_close(op(p[1:4]), K %*% near$b, "float32", scale = sum(abs(near$b)))
    expect_gt(max(abs(op(p[1:4]) - exp(-p$s * squares(p$x, p$y)) %*% p$b)), 1e-4)
    expect_output(print(op), paste("runs      ", precision))
    other <- kernel("Sum_Reduction(Exp(-s * SqDist(x, y)) * e, 0)", c(args[c(1, 2, 4)], "e = Vi(1)"))
    expect_close(other(p[c("x", "y", "s", "e")]), t(K) %*% near$e, "float32", scale = sum(abs(near$e)))
    logs <- kernel("LogSumExp_Reduction(-s * SqDist(x, y), 1)", args[c(1, 2, 4)])
    expect_close(logs(p[c("x", "y", "s")]), cbind(log(rowSums(K))), "float32", scale = 1)
    closest <- kernel("ArgMin_Reduction(SqDist(x, y), 1)", args[1:2])
    expect_identical(as.vector(closest(p[1:2])), apply(squares(near$x, near$y), 1, which.min))
    rows <- op(list(t(p$x), t(p$y), t(p$b), p$s), inner_dim = "row")
    expect_identical(t(rows), op(p[1:4]))
    batches <- op(list(array(c(p$x, -p$x), c(30, 3, 2)), p$y, p$b, p$s))
    second <- exp(-p$s * squares(-near$x, near$y)) %*% near$b
    expect_close(cbind(batches[, , 2]), second, "float32", scale = sum(abs(near$b)))
  }))
})

test_that("gradients agree with those at the rounded points", {
  each_format(function(kernel, near, precision, backend) untold({
    op <- kernel("Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 1)", args)
    data <- c(p[1:4], list(eta = p$e))
    K <- exp(-p$s * squares(near$x, near$y)) * outer(near$e, near$b)
    by_x <- -2 * p$s * (rowSums(K) * near$x - K %*% near$y)
    expect_close(keops_grad(op, "x")(data), by_x, "float32", scale = max(abs(by_x)))
    by_s <- -sum(K * squares(near$x, near$y))
    expect_close(keops_grad(op, "s")(data), matrix(by_s), "float32", scale = sum(abs(K * squares(near$x, near$y))))
    expect_close(keops_grad(op, "b")(data), cbind(colSums(K) / near$b), "float32", scale = sum(abs(near$e)))
  }))
})

test_that("the largest and smallest numbers are rounded as in plain R", {
  limits <- c(1 + 2^-8, 1 + 3 * 2^-8, 1 + 2^-8 + 2^-40, 256 * (1 - 2^-10), 1e-7, 3e-8, 0, -pi, 65504, 6.1e-5)
  each_format(function(kernel, near, precision, backend) untold({
    op <- kernel("Sum_Reduction(x, 1)", "x = Vi(1)")
    expect_identical(as.vector(op(list(limits))), rounding[[precision]](limits))
    odd <- c(NA, Inf, -Inf, -0)
    expect_identical(as.vector(op(list(odd))), c(NaN, Inf, -Inf, 0))
  }))
})

test_that("symbolic matrices, stored terms and medians round their points", {
  near <- rapply(p[c("x", "y")], as_bfloat16, how = "list")
  D <- squares(near$x, near$y)
  K <- exp(-sqdist(Vi(p$x), Vj(p$y)))
  untold({
    expect_close(sum(K, "j", precision = "bfloat16"), cbind(rowSums(exp(-D))), "float32", scale = 1)
    local_kernops(precision = "bfloat16")
    expect_close(sum(K, "j"), cbind(rowSums(exp(-D))), "float32", scale = 1)
    expect_close(as.matrix(K), exp(-D), "float32", scale = 1)
    op <- keops_kernel("Sum_Reduction(A * SqDist(x, y), 1)", c("x = Vi(3)", "y = Vj(3)", "A = Vij(1)"))
    A <- withr::with_seed(2, matrix(runif(1200), 30))
    expect_close(op(list(p$x, p$y, A)), cbind(rowSums(as_bfloat16(A) * D)), "float32")
    op <- keops_kernel("Median_Reduction(SqDist(x, y), 1)", c("x = Vi(3)", "y = Vj(3)"))
    expect_close(op(p[1:2]), cbind(apply(D, 1, median)), "float32")
  })
})

test_that("the rounding error is measured once for each formula", {
  op <- keops_kernel("Sum_Reduction(Exp(-3 * SqDist(x, y)), 1)", args[1:2], precision = "bfloat16", backend = "cpu")
  message <- expect_message(op(p[1:2]), "30 points", class = "kernops_rounded_input")
  near <- rapply(p[1:2], as_bfloat16, how = "list")
  exact <- rowSums(exp(-3 * squares(p$x, p$y)))
  error <- rowSums(exp(-3 * squares(near$x, near$y))) - exact
  expect_equal(message$error, sqrt(sum(error^2) / sum(exact^2)), tolerance = 1e-3)
  expect_no_message(op(p[1:2]))
  nearest <- keops_kernel("Min_ArgMin_Reduction(SqDist(x, y), 1)", args[1:2], precision = "bfloat16", backend = "cpu")
  expect_lt(expect_message(nearest(p[1:2]), class = "kernops_rounded_input")$error, 0.05)
  position <- keops_kernel("ArgKMin_Reduction(2 * SqDist(x, y), 5, 0)", args[1:2], precision = "bfloat16")
  expect_message(position(p[1:2]), "% of the positions", class = "kernops_rounded_input")
  expect_no_message(keops_kernel("Sum_Reduction(7 * x, 0)", "x = Vi(1)", precision = "bfloat16")(list(numeric())))
})

test_that("matrices of 16 bits stay on the GPU", {
  skip_without_gpu()
  for (precision in names(rounding)) {
    there <- lapply(p[1:2], gpu_matrix, precision)
    near <- rapply(p[1:2], rounding[[precision]], how = "list")
    expect_identical(as.matrix(there$x), near$x)
    expect_identical(as.matrix(there$x[3:5, 2:3]), near$x[3:5, 2:3])
    expect_output(print(there$x), paste0("30 x 3, ", precision, ", 180 bytes"))
    exact <- keops_kernel("Sum_Reduction(SqDist(x, y), 1)", args[1:2])
    expect_close(exact(there), cbind(rowSums(squares(near$x, near$y))))
    op <- keops_kernel("Sum_Reduction(SqDist(x, y), 1)", args[1:2], precision = precision)
    untold({
      for (from in c("float64", "float32")) {
        expect_close(op(lapply(p[1:2], gpu_matrix, from)), exact(there), "float32")
      }
      expect_close(as.matrix(op(there, output = "gpu")), exact(there), "float32")
    })
    refused <- expect_error(seg_reduce(there$x[, 1], lengths = 30), class = "kernops_input_error")
    expect_match(conditionMessage(refused), ", which only formulas read: convert it with `gpu_matrix(x, \"float32\")`",
                 fixed = TRUE)
  }
})

rounded <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", args[1:3], precision = "bfloat16")
test_mistakes("kernops_error", alist(
  precision = keops_kernel("Sum_Reduction(x, 1)", "x = Vi(1)", precision = "float8"),
  large = keops_kernel("Sum_Reduction(x, 1)", "x = Vi(1)", precision = "float16")(list(c(1, 1e6))),
  solve = kernel_solve(rounded, "b", list(x = p$x, y = p$x, b = p$x[, 1]), lambda = 1),
  kde = kde(p$x, precision = "bfloat16"),
  sinkhorn = sinkhorn(p$x, p$y, epsilon = 1, precision = "float16"),
  gp = gp(b ~ 1, data = data.frame(b = p$x[, 1], x = p$x[, 2]), coordinates = ~x, precision = "bfloat16"),
  option = with_kernops(kde(p$x), precision = "bfloat16")
))
