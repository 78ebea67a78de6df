# Random formulas of long vectors, against plain R pair by pair. The plan decides which parts of a formula a GPU
# contracts, sums or stores; every combination must be right.

# A scalar or a vector of a pair, as the text of a formula that R can also parse, with operations nested up to
# `depth` deep.
random_number <- function(depth) {
  number <- \() random_number(depth - 1)
  vector <- \() random_vector(depth - 1)
  if (depth == 0) return(sample(c("a", "b", "0.3", "(x | y)", "SqDist(x, y)"), 1))
  switch(sample(7, 1),
         sprintf("Exp(-Square(%s))", number()), sprintf("Cos(%s)", number()), sprintf("(%s * %s)", number(), number()),
         sprintf("(%s | %s)", vector(), vector()), sprintf("SqDist(%s, %s)", vector(), vector()),
         sprintf("Sum(%s)", vector()), "Exp(-SqDist(x, y))")
}
random_vector <- function(depth) {
  vector <- \() random_vector(depth - 1)
  if (depth == 0) return(sample(c("x", "y", "u", "v"), 1))
  switch(sample(6, 1),
         sprintf("(%s + %s)", vector(), vector()), sprintf("(%s * %s)", vector(), vector()),
         sprintf("(%s * %s)", random_number(depth - 1), vector()),
         sprintf("(%s + %s)", random_number(depth - 1), vector()), sprintf("Cos(%s)", vector()), "(x - y)")
}

in_r <- list2env(list(Exp = exp, Cos = cos, Sum = sum, Square = \(x) x^2, SqDist = \(a, b) sum((a - b)^2),
                      "|" = \(a, b) sum(a * b)))
# The value for all pairs: an array of rows, columns and entries.
of_pairs <- function(formula, data, rows, columns) {
  expression <- str2lang(formula)
  all <- lapply(columns, \(j) lapply(rows, \(i) {
    pair <- c(lapply(data[c("x", "u", "a")], \(v) v[i, ]), lapply(data[c("y", "v", "b")], \(v) v[j, ]))
    eval(expression, pair, in_r)
  }))
  size <- length(all[[1]][[1]])
  aperm(array(unlist(all), c(size, length(rows), length(columns))), c(2, 3, 1))
}

for (seed in 1:16) test_that(paste("random formulas are right, seed", seed), {
  withr::local_seed(seed)
  rows <- 1:21
  columns <- 1:37
  for (D in sample(c(16, 33, 48, 70, 130, 300), 2)) {
    vectors <- \(n) matrix(rnorm(n * D), n) / sqrt(D)
    data <- list(x = vectors(21), y = vectors(37), u = vectors(21), v = vectors(37), a = matrix(rnorm(21)),
                 b = matrix(rnorm(37)))
    args <- c(sprintf(c("x = Vi(%d)", "y = Vj(%d)", "u = Vi(%d)", "v = Vj(%d)"), D), "a = Vi(1)", "b = Vj(1)")
    formula <- if (runif(1) < 0.7) random_vector(3) else random_number(3)
    reduction <- sample(c("Sum", "Sum", "Max"), 1)
    pairs <- of_pairs(formula, data, rows, columns)
    expected <- apply(pairs, c(1, 3), if (reduction == "Sum") sum else max)
    scale <- apply(apply(abs(pairs), c(1, 3), if (reduction == "Sum") sum else max), 1, max)
    both <- grepl("\\b[xua]\\b", formula) && grepl("\\b[yvb]\\b", formula)
    whole <- sprintf("%s_Reduction(%s%s, 1)", reduction, formula, if (both) "" else " + 0 * a * b")
    is_used <- \(name) grepl(paste0("\\b", name, "\\b"), whole)
    used <- args[vapply(sub(" =.*", "", args), is_used, NA)]
    for_each_backend(\(kernel, precision) {
      op <- kernel(whole, used)
      tolerance <- c(float64 = 1e-10, float32 = 1e-4)[[precision]]  # the arguments of functions are rounded to float32
      expect_close(op(data[sub(" =.*", "", used)]), expected, precision, tolerance, info = paste(whole, "D =", D),
                   scale = pmax(scale, 1e-2))
    })
  }
})
