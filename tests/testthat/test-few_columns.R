# In a reduction over few columns, each SIMD lane holds a row; in a reduction over few rows, each lane holds a column
# (kernops/cpu/rows_in_lanes.h). The oracle is plain R with the matrix of all pairs.

# Calls body(reduce, close) for each instruction set and precision, where reduce(formula, declared, data) computes a
# reduction.
for_few_columns <- function(body) {
  for (isa in kernops:::cpu_isas()) for (precision in c("float64", "float32")) {
    withr::local_options(kernops.isa = isa)
    reduce <- \(formula, declared, data, ...) {
      keops_kernel(formula, declared, precision = precision, backend = "cpu", ...)(data)
    }
    close <- \(actual, expected, ...) expect_close(actual, expected, precision, info = isa, ...)
    body(reduce, close)
  }
}

few_points <- function(rows, columns, D) {
  eighths <- \(n, d = D) matrix(sample(-16:16, n * d, TRUE) / 8, n) # exact in float32, with ties
  list(x = eighths(rows), y = eighths(columns), b = eighths(columns, 2), e = eighths(rows, 1))
}
squares <- \(x, y) matrix(rowSums((x[rep(seq_len(nrow(x)), nrow(y)), , drop = FALSE] -
                                     y[rep(seq_len(nrow(y)), each = nrow(x)), , drop = FALSE])^2), nrow(x))

test_that("all reductions of few columns are right", {
  for (shape in list(c(8, 1, 3), c(530, 2, 1), c(1100, 7, 3), c(1030, 70, 2), c(900, 10, 9))) withr::with_seed(1, {
    data <- few_points(shape[[1]], shape[[2]], shape[[3]])
    d <- squares(data$x, data$y)
    declared <- sprintf(c("x = Vi(%d)", "y = Vj(%d)", "b = Vj(2)"), c(shape[[3]], shape[[3]], 2))
    for_few_columns(\(reduce, close) {
      run <- \(formula, ...) {
        used <- seq_len(2 + grepl("b", formula))
        reduce(formula, declared[used], unname(data[used]), ...)
      }
      for (scheme in c("auto", "direct_sum", "kahan_scheme")) {
        close(run("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", sum_scheme = scheme), exp(-d) %*% data$b)
      }
      close(run("LogSumExp_Reduction(-40 * SqDist(x, y), 1)"),
            cbind(apply(-40 * d, 1, \(f) max(f) + log(sum(exp(f - max(f)))))), scale = 1)
      weights <- exp(-d) / rowSums(exp(-d))
      close(run("SumSoftMaxWeight_Reduction(-SqDist(x, y), b, 1)"), weights %*% data$b, scale = 2)
      highest <- apply(-d, 1, max)
      close(run("Max_SumShiftExp_Reduction(-SqDist(x, y), 1)"), cbind(highest, rowSums(exp(-d - highest))))
      close(run("Min_ArgMin_Reduction(SqDist(x, y), 1)"), cbind(apply(d, 1, min), apply(d, 1, which.min)))
      close(run("ArgMax_Reduction(SqDist(x, y), 1)"), cbind(apply(d, 1, which.max)))
      close(run("Max_Reduction(SqDist(x, y), 1)"), cbind(apply(d, 1, max)))
      close(run("Mean_Reduction(SqDist(x, y), 1)"), cbind(rowMeans(d)))
      if (shape[[2]] > 1) close(run("Var_Reduction(SqDist(x, y), 1)"), cbind(apply(d, 1, var)), scale = max(d)^2)
      close(run("Prod_Reduction(1 + SqDist(x, y) / 64, 1)"), cbind(apply(1 + d / 64, 1, prod)))
      close(run("Any_Reduction(SqDist(x, y) == 0, 1)"), cbind(apply(d == 0, 1, any)))
      close(run("Count_Reduction(SqDist(x, y), 1)"), cbind(rep(ncol(d), nrow(d))))
      close(run("Sum_Reduction(IndexJ() * (IndexI() + SqDist(x, y)), 1)"),
            (d + seq_len(nrow(d))) %*% seq_len(ncol(d)))
    })
  })
})

test_that("gradients and sums over i with few rows are right", {
  withr::local_seed(2)
  data <- few_points(700, 6, 3)
  k <- exp(-squares(data$x, data$y)) * (data$e %*% t(data$b[, 1]))
  declared <- c("x = Vi(3)", "y = Vj(3)", "b = Vj(1)", "e = Vi(1)")
  all <- list(data$x, data$y, data$b[, 1, drop = FALSE], data$e)
  for_few_columns(\(reduce, close) {
    close(reduce("Grad(Sum_Reduction(Exp(-SqDist(x, y)) * b, 1), x, e)", declared, all),
          -2 * (data$x * rowSums(k) - k %*% data$y), scale = 10)
    swapped <- c("x = Vj(3)", "y = Vi(3)", "b = Vi(1)", "e = Vj(1)")
    close(reduce("Sum_Reduction(Exp(-SqDist(x, y)) * b * e, 0)", swapped, all), cbind(rowSums(k)))
    close(reduce("ArgMin_Reduction(SqDist(x, y) + b * e, 0)", swapped, all),
          cbind(apply(squares(data$x, data$y) + data$e %*% t(data$b[, 1]), 1, which.min)))
  })
})

test_that("infinite and missing values of few columns agree with R", {
  f <- rbind(c(-Inf, -Inf), c(Inf, 1), c(Inf, Inf), c(NaN, 1), c(1, NA), c(-Inf, 2), c(5, 5), c(1, -Inf))
  f <- f[rep(1:8, 40), ]
  for_few_columns(\(reduce, close) {
    run <- \(formula) reduce(formula, c("f = Vi(2)", "j = Vj(2)"), list(f, diag(2)))
    true <- apply(f, 1, \(r) if (anyNA(r)) NaN else if (max(r) %in% c(Inf, -Inf)) max(r) else {
      max(r) + log(sum(exp(r - max(r))))
    })
    close(run("LogSumExp_Reduction(IfElse(Elem(j, 0) - 0.5, Elem(f, 0), Elem(f, 1)), 1)"), cbind(true))
    close(run("Max_Reduction(IfElse(Elem(j, 0) - 0.5, Elem(f, 0), Elem(f, 1)), 1)"),
          cbind(apply(f, 1, \(r) if (anyNA(r)) NaN else max(r))))
  })
})
