# Exponents h - e |x - y|^2 with a number h of the column or row, as in Sinkhorn's algorithm. On a GPU, the distance is
# expanded into norms and an inner product. The oracle is plain R with the matrix of all pairs.

shifted_data <- function(D, rows = 140, columns = 90) withr::with_seed(D, {
  points <- \(n) matrix(round(64 * rnorm(n * D)) / 64, n) / 2^round(log2(D) / 2)
  list(x = points(rows), y = points(columns), h = matrix(rnorm(columns)), g = matrix(rnorm(rows)),
       b = cbind(1, 1:columns))
})
squares_between <- \(x, y) Reduce(`+`, lapply(seq_len(ncol(x)), \(d) outer(x[, d], y[, d], `-`)^2))
log_sum_exp <- \(f) apply(f, 1, \(r) max(r) + log(sum(exp(r - max(r)))))

test_that("reductions of exponentials are right if the exponent is a distance plus numbers of the row and the column", {
  for (D in c(1, 3, 8, 16, 33, 100)) {
    data <- shifted_data(D)
    args <- c(sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D), "h = Vj(1)", "g = Vi(1)", "b = Vj(2)", "e = Pm(1)")
    square <- squares_between(data$x, data$y)
    for_each_backend(\(kernel, precision) {
      for (e in c(0.7, 30)) for (size in c(1, 50)) {
        h <- size * data$h
        shift <- size * outer(data$g[, 1], data$h[, 1], `+`)
        run <- \(formula) {
          used <- vapply(strsplit(args, " "), `[[`, "", 1) %in% all.vars(str2lang(formula))
          kernel(formula, args[used])(unname(list(data$x, data$y, h, size * data$g, data$b, e))[used])
        }
        close <- \(actual, expected, ...) expect_close(actual, expected, precision, info = paste("D", D, "e", e), ...)
        f <- shift - e * square
        # errors are relative to the terms of the exponent, whose absolute values are about 100
        terms <- 100 + abs(log_sum_exp(f))
        close(run("LogSumExp_Reduction(g + h - e * SqDist(x, y), 1)"), cbind(log_sum_exp(f)), scale = terms)
        close(run("LogSumExp_Reduction(h - e * SqDist(x, y), 1)"), cbind(log_sum_exp(f) - size * data$g[, 1]),
              scale = terms)
        weights <- exp(f - log_sum_exp(f))
        close(run("SumSoftMaxWeight_Reduction(h - SqDist(x, y) * e, b, 1)"), weights %*% data$b, scale = 100 * ncol(f))
        if (size > 1) next
        close(run("Sum_Reduction(Exp(h - e * SqDist(x, y)) * b, 1)"), exp(f - data$g[, 1]) %*% data$b,
              scale = max(abs(exp(f - data$g[, 1]) %*% data$b)))
        distance <- rep(data$h[, 1], each = nrow(f)) - e * sqrt(square)
        close(run("LogSumExp_Reduction(h - e * Norm2(x - y), 1)"), cbind(log_sum_exp(distance)),
              scale = 10 + abs(log_sum_exp(distance)))
      }
    })
  }
})

test_that("the sum of a distance and a number may be scaled in an exponent, or used twice", {
  data <- shifted_data(3)
  args <- c("x = Vi(3)", "y = Vj(3)", "h = Vj(1)")
  f <- rep(data$h[, 1], each = nrow(data$x)) - squares_between(data$x, data$y)
  for_each_backend(\(kernel, precision) {
    run <- \(formula) kernel(formula, args)(unname(data[1:3]))
    expect_close(run("Sum_Reduction(Exp((h - SqDist(x, y)) / 3), 1)"), cbind(rowSums(exp(f / 3))), precision)
    expect_close(run("Sum_Reduction((h - SqDist(x, y)) * Exp(h - SqDist(x, y)), 1)"), cbind(rowSums(f * exp(f))),
                 precision, scale = ncol(f))
    expect_close(run("Sum_Reduction(Exp(-(SqDist(x, y) / 2 + SqDist(x, 2 * y) - h)), 1)"),
                 cbind(rowSums(exp(-squares_between(data$x, data$y) / 2 - squares_between(data$x, 2 * data$y) +
                                     rep(data$h[, 1], each = nrow(data$x))))), precision)
    expect_close(run("Sum_Reduction(Exp(Exp(-SqDist(x, y)) - h), 1)"),
                 cbind(rowSums(exp(exp(-squares_between(data$x, data$y)) - rep(data$h[, 1], each = nrow(data$x))))),
                 precision)
  })
})

test_that("a GPU kernel expands the distance in an exponent to which numbers are added", {
  expands <- \(formula, D) {
    op <- keops_kernel(formula, c(sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D), "h = Vj(1)", "e = Pm(1)"),
                       precision = "float32")
    grepl("expands = true", keops_source(op, device = "sm_90"), fixed = TRUE)
  }
  for (D in c(3, 64)) {
    expect_true(expands("LogSumExp_Reduction(h - e * SqDist(x, y), 1)", D))
    expect_true(expands("Sum_Reduction(Exp(h - e * SqDist(x, y)), 1)", D))
    expect_false(expands("Sum_Reduction(h * e * SqDist(x, y), 1)", D)) # not an exponent
  }
})
