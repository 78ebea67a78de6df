# Random sums of scalars times vectors, as in derivatives of kernels. The oracle is plain R on all pairs. The plan of a
# sum decides which parts are contractions, which are summed tile by tile, and which factors are taken out of the sum.

either <- \(...) sample(c(...), 1)
difference <- \() either("(x - y)", "(y - x)")

# Random texts of scalars and vectors of a pair, with operations nested up to `depth` deep.
sum_number <- function(depth = 2) {
  number <- \() sum_number(depth - 1)
  if (depth == 0) return(either("Exp(-SqDist(x, y))", "Exp(-SqDist(x, y))", "Exp(-WeightedSqDist(w, x, y))", "u", "f"))
  switch(sample(6, 1),
         sum_number(0), sprintf("(%s * %s)", number(), number()), sprintf("(%s + %s)", number(), number()),
         sprintf("Minus(%s)", number()), sprintf("(%s | %s)", difference(), either("h", "v", "x", "y")),
         sprintf("(%s | (w * %s))", either("h", "v"), difference()))
}
sum_vector <- function(depth = 3) {
  vector <- \() sum_vector(depth - 1)
  if (depth == 0) return(either(difference(), difference(), "h", "v", "x", "y", "Square(x - y)"))
  switch(sample(6, 1),
         sum_vector(0), sprintf("(%s * %s)", sum_number(), vector()), sprintf("(%s * %s)", vector(), sum_number()),
         sprintf("(w * %s)", vector()), sprintf("Minus(%s)", vector()),
         sprintf("(%s %s %s)", vector(), either("+", "-"), vector()))
}

in_r <- list(Exp = exp, Minus = `-`, Square = \(a) a^2, "|" = \(a, b) rowSums(a * b),
             SqDist = \(a, b) rowSums((a - b)^2), WeightedSqDist = \(w, a, b) rowSums(w * (a - b)^2))
# The scale of rounding errors: the value of the formula with absolute values in place of differences, so that nothing
# cancels, except within exponents.
sizes_in_r <- \(exp_of) list(Exp = exp_of, Minus = abs, Square = \(a) a^2, "|" = \(a, b) rowSums(abs(a * b)),
                            "+" = \(a, b) abs(a) + abs(b), "-" = \(a, b) abs(a) + abs(b), "*" = \(a, b) abs(a * b))
# The sums over the pairs of each row or column, and the scales of their rounding errors.
sums_of_pairs <- function(formula, data, axis) {
  pairs <- expand.grid(i = seq_len(nrow(data$x)), j = seq_len(nrow(data$y)))
  at <- list(x = pairs$i, h = pairs$i, f = pairs$i, y = pairs$j, v = pairs$j, u = pairs$j, w = rep(1, nrow(pairs)))
  all <- Map(\(values, n) drop(values[n, ]), data[names(at)], at)
  formula <- str2lang(formula)
  terms <- eval(formula, all, list2env(in_r))
  sizes <- eval(formula, all, list2env(sizes_in_r(\(a) exp(eval(substitute(a), all, list2env(in_r))))))
  kept <- if (axis == 1) pairs$i else pairs$j
  list(sum = unname(rowsum(terms, kept)), size = apply(rowsum(sizes, kept), 1, max))
}

for (seed in 1:12) test_that(paste("random sums of vectors are right, seed", seed), {
  withr::local_seed(seed)
  for (n in 1:40) {
    D <- either(2, 3, 5, 6, 7, 8, 17)
    points <- \(n) matrix(rnorm(n * D), n) / sqrt(D)
    m <- either(21, 21, 150) # with many rows and few columns, each SIMD lane of the CPU holds a row
    few <- if (m == 150) either(1, 5) else 27
    data <- list(x = points(m), y = points(few), h = points(m), v = points(few), f = matrix(runif(m) + 0.5),
                 u = matrix(runif(few) + 0.5), w = matrix(2^sample(-1:1, D, TRUE) * either(1, 1, -1, 0), 1))
    formula <- paste(sum_number(), "*", sum_vector())
    axis <- either(0, 1)
    expected <- sums_of_pairs(formula, data, axis)
    args <- c(sprintf(c("x = Vi(%d)", "y = Vj(%d)", "h = Vi(%d)", "v = Vj(%d)", "w = Pm(%d)"), D), "f = Vi(1)",
              "u = Vj(1)")
    names(args) <- sub(" =.*", "", args)
    used <- intersect(names(args), all.vars(str2lang(formula)))
    if (!any(c("x", "h", "f") %in% used) || !any(c("y", "v", "u") %in% used)) next
    for (precision in c("float64", "float32")) {
      op <- keops_kernel(sprintf("Sum_Reduction(%s, %d)", formula, axis), args[used], precision = precision)
      expect_close(op(replace(data, "w", list(drop(data$w)))[used]), expected$sum, precision,
                   info = paste(formula, "D =", D), scale = pmax(expected$size, 1e-30))
    }
  }
})
