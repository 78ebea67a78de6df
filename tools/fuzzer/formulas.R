# Formulas with missing, doubled or misplaced characters and words.
run_part <- function() {
  words <- unlist(lapply(c("Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 1)", "ArgKMin_Reduction(Norm2(x - y), 3, 1)",
                           "Grad(Sum_Reduction((x | y)^2 * [b, 1.5e3], 0), x, Var(4, 1, 0))",
                           "Let(t, x - y, LogSumExp_Reduction(IfElse(t, Sqrt(Elem(x, 1)), Rsqrt(s)), 1))"),
                         \(f) regmatches(f, gregexpr("[A-Za-z_]+|[0-9.e]+|[^A-Za-z0-9_ ]", f))))
  while (there_is_time()) {
    text <- sample(words, sample(3:40, 1), TRUE)
    if (stats::runif(1) < 0.5) text <- c("Sum_Reduction", "(", text, ",", "1", ")")
    if (stats::runif(1) < 0.2) text <- c(text, intToUtf8(sample(c(1:31, 127, 233, 8364), 1)))
    if (stats::runif(1) < 0.02) text <- rep(text, 2000)
    formula <- paste(text, collapse = sample(c("", " "), 1))
    attack(paste0("keops_kernel(", deparse1(substr(formula, 1, 80)), ")"),
           \() keops_kernel(formula, c("s = Pm(1)", "x = Vi(2)", "y = Vj(2)", "b = Vj(1)")))
  }
}
