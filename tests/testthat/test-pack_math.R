# The vectorised mathematical functions, against R's libm over the whole range, for every instruction set of the
# machine.

edges <- function(precision) {
  digits <- c(float64 = 52, float32 = 23)[[precision]]
  smallest <- c(float64 = -1022, float32 = -126)[[precision]]
  largest <- 2^(1 - smallest) * (2 - 2^-digits)
  tiny <- c(0, 2^(smallest - digits), 3 * 2^(smallest - digits), 2^(smallest - 1), 2^smallest, 2^-30)
  thresholds <- c(0.5, 1 - 2^-20, 1, 1 + 2^-20, pi, 88.75, 103.5, 104, 709.78, 745.25, 746)
  huge <- c(1e5, 2^22 + 0.5, 1e8, 1e15, 1e22, 1e30, largest, Inf)
  c(tiny, thresholds, huge, -tiny, -thresholds, -huge, NaN)
}
# Numbers spread over all exponents, over the period of sin and cos, and around 1.
spread <- function(n) {
  around_1 <- 1 + rnorm(n) * 2^runif(n, -50, 0)
  c(rnorm(n) * 2^runif(n, -40, 40), runif(n, -750, 750), around_1, 2^runif(n, -1074, 1023))
}

to_single <- function(x) {
  unit <- 2^pmax(floor(log2(abs(x))) - 23, -149)
  rounded <- ifelse(is.finite(x) & x != 0, round(x / unit) * unit, x)
  ifelse(abs(rounded) >= 2^128, sign(x) * Inf, rounded)
}

# The distance of two numbers in units of the last place of `expected`; 0 for equal infinities and for two NaN.
ulps <- function(actual, expected, precision) {
  digits <- c(float64 = 52, float32 = 23)[[precision]]
  lowest <- c(float64 = -1074, float32 = -149)[[precision]]
  distance <- abs(actual - expected) / 2^pmax(floor(log2(abs(expected))) - digits, lowest)
  ifelse((is.na(actual) & is.na(expected)) | (!is.na(actual) & actual == expected), 0, distance)
}

isas <- \() intersect(c("baseline", "avx2", "avx512"), kernops:::cpu_isas())

expect_ulps <- function(actual, expected, precision, call, ...) {
  wrong <- which(!(ulps(actual, expected, precision) <= 2))
  arguments <- vapply(list(...), \(x) sprintf("%.17g", x[wrong[1]]), "")
  expect(length(wrong) == 0, sprintf("%s: %s gives %.17g, not %.17g (and %d more)", call, toString(arguments),
                                     actual[wrong[1]], expected[wrong[1]], length(wrong) - 1L))
}

functions <- list(
  Exp = exp, Expm1 = expm1, Log = log, Log1p = log1p, Sin = sin, Cos = cos, Tanh = tanh,
  Sqrt = sqrt, Rsqrt = \(x) ifelse(x == 0, 0, 1 / sqrt(x))
)

# The first formula evaluates the function once per row, in a pass along the rows. The second formula evaluates it for
# each pair, in a loop over a single column. Both loops have full SIMD packs and remaining lanes.
formulas <- c("Max_Reduction(%s(x) * y, 1)", "Max_Reduction(%s(x * y), 1)")
xy <- c("x = Vi(1)", "y = Vj(1)")

for (name in names(functions)) for (precision in c("float64", "float32")) {
  test_that(paste(name, "agrees with R within 2 units of the last place in", precision), {
    withr::local_seed(1)
    x <- c(edges(precision), spread(20000))
    if (precision == "float32") x <- to_single(x)
    expected <- suppressWarnings(functions[[name]](x))
    if (precision == "float32") expected <- to_single(expected)
    for (isa in isas()) for (formula in formulas) {
      withr::local_options(kernops.isa = isa)
      op <- keops_kernel(sprintf(formula, name), xy, precision = precision, backend = "cpu")
      expect_ulps(as.vector(op(list(x = x, y = 1))), expected, precision, paste(name, isa), x)
    }
  })
}

test_that("zeros keep their sign", {
  for (isa in isas()) for (name in c("Sin", "Tanh", "Sqrt")) {
    withr::local_options(kernops.isa = isa)
    op <- keops_kernel(sprintf("Max_Reduction(%s(x) * y, 1)", name), xy, backend = "cpu")
    value <- as.vector(op(list(x = c(0, -0.0), y = 1)))
    expect_identical(1 / value, c(Inf, -Inf), label = paste(name, isa))
  }
})

for (precision in c("float64", "float32")) {
  test_that(paste("Powf agrees with ^ of R within 2 units of the last place in", precision), {
    withr::local_seed(2)
    rounded <- if (precision == "float32") to_single else identity
    bases <- c(0, 0.5, 1, 2, -1, -2, -0.5, 3, 1e30, 1e300, 1e-300, 5e-324, Inf, -Inf, NaN)
    powers <- c(0, 1, -1, 2, 3, -3, 0.5, -0.5, 1e3, -1e3, 1e30, 2^53 + 2, Inf, -Inf, NaN)
    anywhere <- data.frame(x = 2^runif(2e4, -1074, 1023), p = rnorm(2e4) * 2^runif(2e4, -8, 3))
    near_1 <- data.frame(x = 1 + rnorm(2e4) * 2^runif(2e4, -40, -2), p = rnorm(2e4) * 2^runif(2e4, 0, 40))
    pairs <- lapply(rbind(expand.grid(x = bases, p = powers), anywhere, near_1), rounded)
    expected <- rounded(suppressWarnings(pairs$x^pairs$p))
    for (isa in isas()) {
      withr::local_options(kernops.isa = isa)
      args <- c("x = Vi(1)", "p = Vi(1)", "y = Vj(1)")
      op <- keops_kernel("Max_Reduction(Powf(x, p) * y, 1)", args, precision = precision, backend = "cpu")
      actual <- as.vector(op(c(pairs, list(y = 1))))
      expect_ulps(actual, expected, precision, paste("Powf", isa), pairs$x, pairs$p)
    }
  })
}

# Arguments of all signs and sizes. The orders of Bessel functions are so small that no loop has millions of steps.
test_that("instruction sets agree within 2 units of the last place in every operation on numbers", {
  withr::local_seed(3)
  ops <- subset(keops_ops(), group %in% c("arithmetic", "elementwise", "special functions"))
  ops <- ops[grepl("[abc]", ops$arguments), ]
  spreads <- list(wide = \(n) rnorm(n) * 2^runif(n, -40, 40), narrow = \(n) runif(n, -1, 1),
                  middle = \(n) runif(n, -30, 30), large = \(n) runif(n, -750, 750),
                  near_1 = \(n) 1 + rnorm(n) * 2^runif(n, -30, 0))
  positive <- list(positive = \(n) rexp(n) * 5)
  for (row in seq_len(nrow(ops))) {
    arguments <- strsplit(ops$arguments[[row]], ", ")[[1]]
    variables <- setdiff(arguments, c("p", "q"))
    of_order <- grepl("BesselK|Matern", ops$name[[row]])
    for (p in if ("p" %in% arguments) c(0, 1, 3, 5) else 0) for (precision in c("float64", "float32")) {
      order <- sub("q", p + 1, sub("p", p, arguments))
      formula <- sprintf("%s(%s)", ops$name[[row]], toString(order))
      op <- keops_kernel(sprintf("Max_Reduction(%s * y, 1)", formula), c(sprintf("%s = Vi(1)", variables), "y = Vj(1)"),
                         precision = precision, backend = "cpu")
      for (spread in if (of_order) positive else spreads) {
        x <- lapply(stats::setNames(nm = variables), \(name) spread(if (of_order) 200 else 1000))
        if (precision == "float32") x <- lapply(x, to_single)
        value <- \(isa) withr::with_options(list(kernops.isa = isa), as.vector(op(c(x, list(y = 1)))))
        expected <- value("baseline")
        for (isa in setdiff(isas(), "baseline"))
          do.call(expect_ulps, c(list(value(isa), expected, precision, paste(formula, isa)), unname(x)))
      }
    }
  }
})
