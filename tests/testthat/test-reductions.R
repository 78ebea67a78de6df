# Every reduction, against double loops in plain R, over both axes.

# Multiples of 1/8, whose squares are exact in float32, with many ties.
grid <- \(n, d = 1) matrix(sample(-8:8, n * d, replace = TRUE) / 8, n, d)
squares <- \(x, y, p) (x - y)^2
xy <- c("x = Vi(3)", "y = Vj(3)")

check_against_loops <- function(reduction, option = "", f = squares, formula = "Square(x - y)", w = NULL,
                                K = NULL, ...) {
  withr::local_seed(nchar(reduction))
  input <- list(x = grid(70, 3), y = grid(60, 3))
  for (axis in 0:1) {
    expected <- oracle_reduce(f, reduction, input$x, input$y, axis = axis, K = K, w = w)
    for_each_backend(function(kernel, precision) {
      op <- kernel(sprintf("%s_Reduction(%s%s, %d)", reduction, formula, option, axis), xy, ...)
      expect_close(op(input), expected, precision, info = paste(reduction, "over", axis))
    })
  }
}

reductions <- keops_reductions()
for (row in seq_len(nrow(reductions))) with(reductions[row, ], {
  test_that(sprintf("every row of the table agrees with its line in the oracle: %s(%s)", name, arguments), {
    expect(name %in% names(oracle_reductions), sprintf("oracle_reductions of helper-reduce.R lacks %s", name))
    one_value <- grepl("F == 1", size)
    w <- if (grepl("w", arguments)) \(x, y, p) 1 + x * y
    options <- c(if (grepl("p", arguments)) "3", if (!is.null(w)) "1 + x * y")
    check_against_loops(name, paste0(rep(", ", length(options)), options, collapse = ""),
                        f = if (one_value) \(x, y, p) sum((x - y)^2) else squares,
                        formula = if (one_value) "SqDist(x, y)" else "Square(x - y)",
                        w = w, K = if (grepl("p", arguments)) 3)
  })
})

test_that("Sum agrees with loops in plain R, for every sum scheme", {
  for (scheme in c("auto", "direct_sum", "block_sum", "kahan_scheme")) {
    check_against_loops("Sum", sum_scheme = scheme)
  }
})

test_that("Min, Max and their positions agree with loops, and select the first of several equal values", {
  for (reduction in c("Min", "Max", "ArgMin", "ArgMax", "Min_ArgMin", "Max_ArgMax")) {
    check_against_loops(reduction)
  }
})

test_that("the K smallest values are in ascending order; the first of several equal values comes first", {
  for (reduction in c("KMin", "ArgKMin", "KMin_ArgKMin", "KMax", "ArgKMax", "KMax_ArgKMax")) {
    for (K in c(1, 2, 7)) check_against_loops(reduction, paste(",", K), K = K)
  }
})

test_that("Mean, Var, Count, Any, All and Prod agree with loops in plain R", {
  for (reduction in c("Mean", "Var", "Count", "Any", "All")) check_against_loops(reduction)
  near_1 <- \(x, y, p) 1 + (x - y) / 8
  check_against_loops("Prod", f = near_1, formula = "1 + (x - y) / 8")
})

test_that("LogSumExp, SumSoftMaxWeight and Max_SumShiftExp agree with loops in plain R", {
  distance <- \(x, y, p) sum((x - y)^2)
  check_against_loops("LogSumExp", f = distance, formula = "SqDist(x, y)")
  check_against_loops("LogSumExp", ", Exp(x | y)", distance, "SqDist(x, y)", w = \(x, y, p) exp(sum(x * y)))
  check_against_loops("LogSumExp", ", Exp(x + y)", distance, "SqDist(x, y)", w = \(x, y, p) exp(x + y))
  check_against_loops("SumSoftMaxWeight", ", x * y", distance, "SqDist(x, y)", w = \(x, y, p) x * y)
  check_against_loops("Max_SumShiftExp", f = distance, formula = "SqDist(x, y)")
  check_against_loops("Max_SumShiftExpWeight", ", x * y", distance, "SqDist(x, y)", w = \(x, y, p) x * y)
})

test_that("positions are integers that count from 1", {
  withr::local_seed(1)
  input <- list(x = grid(5, 3), y = grid(6, 3))
  for (reduction in c("ArgMin_Reduction(x - y,", "ArgMax_Reduction(x - y,", "ArgKMin_Reduction(x - y, 2,")) {
    places <- keops_kernel(paste(reduction, "1)"), xy)(input)
    expect_type(places, "integer")
    expect_true(all(places >= 1 & places <= 6))
  }
  expect_type(keops_kernel("Min_ArgMin_Reduction(x - y, 1)", xy)(input), "double")
})

# Reduces the numbers y of a single variable, for rows x = 1.
reduce <- function(reduction, y, option = "", weights = NULL, rows = 1, ...) {
  args <- c("x = Vi(1)", "y = Vj(1)", if (!is.null(weights)) "w = Vj(1)")
  op <- keops_kernel(sprintf("%s_Reduction(x * y%s, 1)", reduction, option), args, ...)
  op(c(list(x = rep(1, rows), y = y), if (!is.null(weights)) list(w = weights)))
}

test_that("the K smallest of many values are right", {
  withr::local_seed(2)
  y <- sample(1e4) / 1e4
  y[sample(1e4, 500)] <- 0.5
  expect_identical(reduce("ArgKMin", y, ", 100"), t(order(y)[1:100]))
  expect_identical(reduce("KMin", y, ", 100", rows = 3), matrix(sort(y)[1:100], 3, 100, byrow = TRUE))
  expect_identical(reduce("ArgKMin", rep(7, 1e4), ", 100"), t(1:100))
  expect_identical(reduce("ArgKMin", 1e4:1, ", 256"), t(1e4:9745))
})

test_that("if there are more neighbours than points, results are padded with Inf and NA", {
  expect_identical(reduce("KMin", c(3, 1, 2), ", 5"), t(c(1, 2, 3, Inf, Inf)))
  expect_identical(reduce("ArgKMin", c(3, 1, 2), ", 5"), t(c(2L, 3L, 1L, NA, NA)))
  expect_identical(reduce("KMin_ArgKMin", c(3, 1), ", 3"), t(c(1, 3, Inf, 2, 1, NA)))
})

test_that("a reduction over no values gives the neutral element", {
  empty <- list(Sum = 0, Min = Inf, Max = -Inf, ArgMin = NA_integer_, ArgMax = NA_integer_, LogSumExp = -Inf)
  for (reduction in names(empty)) {
    value <- reduce(reduction, numeric(), rows = 2)
    expect_identical(value, matrix(empty[[reduction]], 2, 1), label = reduction)
  }
  expect_identical(reduce("Min_ArgMin", numeric()), t(c(Inf, NA)))
  expect_identical(reduce("KMin", numeric(), ", 2"), t(c(Inf, Inf)))
  expect_identical(reduce("ArgKMin", numeric(), ", 2"), t(c(NA_integer_, NA)))
})

test_that("reductions of no values, of one value, and of NaN agree with the rules of base R", {
  for (reduction in c("Prod", "All")) expect_identical(drop(reduce(reduction, numeric())), 1, label = reduction)
  for (reduction in c("Any", "Count")) expect_identical(drop(reduce(reduction, numeric())), 0, label = reduction)
  for (reduction in c("Mean", "Var")) expect_identical(drop(reduce(reduction, numeric())), NaN, label = reduction)
  expect_identical(drop(reduce("Var", 3)), NaN)
  expect_identical(reduce("KMax", c(3, NaN, 1), ", 4"), t(c(3, 1, NaN, -Inf)))
  expect_identical(drop(reduce("Any", c(0, NaN, 1))), 1)
  expect_identical(drop(reduce("Any", c(0, NaN))), NaN)
  expect_identical(drop(reduce("All", c(0, NaN))), 0)
  expect_identical(drop(reduce("All", c(1, NaN))), NaN)
  for (reduction in c("Mean", "Var", "Prod")) {
    expect_identical(drop(reduce(reduction, c(1, NaN))), NaN, label = reduction)
  }
})

test_that("the variance is accurate for a large mean or an outlier", {
  withr::local_seed(4)
  for (y in list(1e9 + rnorm(1e4), c(1e12, rnorm(999)), c(rnorm(999), 1e12))) {
    expect_equal(drop(reduce("Var", y)), stats::var(y), tolerance = 1e-12)
  }
  expect_identical(drop(reduce("Var", rep(0.1, 1000))), 0)
})

test_that("LogSumExp does not overflow, and the value for zero mass is not NaN", {
  rows <- list(list(c(1000, 1000), 1000 + log(2)), list(c(-1000, -1000), -1000 + log(2)),
               list(c(-Inf, -Inf), -Inf), list(c(0, Inf), Inf), list(c(Inf, Inf), Inf), list(c(-Inf, 1), 1),
               list(c(0, NaN), NaN), list(c(Inf, NaN), NaN), list(c(-800, 800), 800))
  for (row in rows) for (times in c(1, 1000)) {
    value <- drop(reduce("LogSumExp", rep(row[[1]], times)))
    label <- paste(times, "times", toString(row[[1]]))
    expect_equal(value, row[[2]] + log(times), tolerance = 1e-14, label = label)
  }
  weighted <- reduce("LogSumExp", c(1000, 1000, -1000), ", w", weights = c(1, 3, 5))
  expect_equal(drop(weighted), 1000 + log(4), tolerance = 1e-14)
})

test_that("NaN and Inf agree with R", {
  y <- c(2, Inf, NaN, -Inf, NaN, 1)
  late <- replace(seq_len(1000), c(700, 900), NaN)
  for (reduction in c("Sum", "Min", "Max", "LogSumExp")) {
    expect_identical(drop(reduce(reduction, y)), NaN, label = reduction)
    expect_identical(drop(reduce(reduction, late)), NaN, label = reduction)
  }
  for (reduction in c("ArgMin", "ArgMax")) {
    expect_identical(drop(reduce(reduction, y)), 3L, label = reduction)
    expect_identical(drop(reduce(reduction, late)), 700L, label = reduction)
  }
  expect_identical(reduce("ArgKMin", y, ", 6"), t(order(y)))
  expect_identical(reduce("KMin", y, ", 6"), t(y[order(y)]))
  expect_identical(drop(reduce("Sum", c(Inf, 1))), Inf)
  expect_identical(drop(reduce("Sum", c(Inf, -Inf))), NaN)
  expect_identical(drop(reduce("ArgMin", c(Inf, Inf))), 1L)
  expect_identical(drop(reduce("ArgMax", c(-Inf, -Inf))), 1L)
})

test_that("the sum schemes have the documented accuracy", {
  tenth <- 13421773 / 2^27  # 0.1 in float32
  exact <- 1e7 * tenth
  ulp <- 2^(19 - 23)
  sum_of_tenths <- \(scheme) drop(reduce("Sum", rep(0.1, 1e7), sum_scheme = scheme, precision = "float32"))
  expect_lte(abs(sum_of_tenths("kahan_scheme") - exact), ulp)
  expect_lte(abs(sum_of_tenths("block_sum") - exact), 16 * ulp)
  withr::local_seed(3)
  y <- rnorm(1e5) * 10^runif(1e5, -8, 8)
  rounding <- abs(drop(reduce("Sum", y, sum_scheme = "kahan_scheme")) - sum(y)) / sum(abs(y))
  expect_lte(rounding, 2 * .Machine$double.eps)
})

test_that("sums in float64 of float32 terms are accurate to all digits", {
  withr::local_seed(4)
  single <- \(x) readBin(writeBin(x, raw(), size = 4), "double", length(x), size = 4)
  y <- single(rnorm(3e5) * 10^runif(3e5, -3, 3))
  args <- c("x = Vi(1)", "y = Vj(1)")
  for (n in c(1, 5, 130, 3e5)) for (scheme in c("direct_sum", "block_sum", "kahan_scheme")) {
    for_each_backend(function(kernel, precision) {
      op <- kernel("Sum_Reduction(x * y, 1)", args, sum_scheme = scheme, accumulator = "float64")
      value <- op(list(rep(1, 3), y[seq_len(n)]))
      expect_lte(max(abs(value - sum(y[seq_len(n)]))) / sum(abs(y[seq_len(n)])), 1e-14)
    })
  }
})

test_that("LogSumExp and SumSoftMaxWeight may be summed in float64, too", {
  withr::local_seed(5)
  y <- rep(1, 1e5) # ones, so that all terms are exact
  w <- round(uniform(1e5) * 2^20) / 2^20
  args <- c("x = Vi(1)", "y = Vj(1)", "w = Vj(1)")
  for_each_backend(function(kernel, precision) {
    reduce <- \(name) kernel(paste0(name, "_Reduction(x * y, w, 1)"), args, accumulator = "float64")(list(1, y, w))
    expect_equal(drop(reduce("SumSoftMaxWeight")), mean(w), tolerance = 1e-12)
    w <- abs(w)
    # the maximum is in float32, although sums are in float64
    expect_equal(drop(reduce("LogSumExp")), 1 + log(sum(w)), tolerance = 1e-8)
  })
})

test_that("products, means and variances may be accumulated in float64, too", {
  withr::local_seed(6)
  single <- \(x) readBin(writeBin(x, raw(), size = 4), "double", length(x), size = 4)
  y <- matrix(single(c(runif(2e4, 0.9, 1.1), 1000 + rnorm(2e4))), ncol = 2)
  args <- c("x = Vi(1)", "y = Vj(2)")
  for (n in c(2, 7, 130, 2e4)) for_each_backend(function(kernel, precision) {
    reduce <- \(name) kernel(paste0(name, "_Reduction(x * y, 1)"), args, accumulator = "float64")
    of_each <- \(f) matrix(apply(y[seq_len(n), ], 2, f), 3, 2, TRUE)
    expect_equal(reduce("Prod")(list(rep(1, 3), cbind(y[seq_len(n), 1], 1))), cbind(of_each(prod)[, 1], 1),
                 tolerance = 1e-11)
    expect_equal(reduce("Mean")(list(rep(1, 3), y[seq_len(n), ])), of_each(mean), tolerance = 1e-13)
    expect_equal(reduce("Var")(list(rep(1, 3), y[seq_len(n), ])), of_each(var), tolerance = 1e-11)
  })
})

test_mistakes("kernops_input_error", alist(`unknown accumulator` = reduce("Sum", 1, accumulator = "float16")))
test_mistakes("kernops_input_error", alist(`unknown sum scheme` = reduce("Sum", 1, sum_scheme = "no_scheme")))

test_that("a product is right even if partial products overflow or underflow", {
  withr::local_seed(1)
  cases <- list(rep(c(1e3, 1e-3), 1000), sample(rep(c(2^100, -2^-100), c(64, 63))), c(1e-30, 1e-30, 1e30, 1e30, -5),
                c(2^-149, 2^-126, 2^120, 2^127), rep(c(1e30, 0), 40), c(rep(1e30, 20), Inf), c(Inf, 0), rep(2^100, 100))
  by_exponents <- \(x) prod(sign(x)) * 2^sum(log2(abs(x)))
  for_each_backend(function(kernel, precision) {
    for (accumulator in c("auto", "float64")) {
      op <- kernel("Prod_Reduction(x * y, 1)", c("x = Vi(1)", "y = Vj(1)"), accumulator = accumulator)
      for (x in cases) {
        actual <- op(list(1, x))
        expect_close(actual, by_exponents(x), precision, 1e-3, toString(utils::head(x, 4)))
      }
      by_y <- keops_grad(op, "y")(list(1, cases[[1]], 1))
      expect_close(by_y, 1 / cases[[1]], precision, 1e-3)
    }
  })
})
