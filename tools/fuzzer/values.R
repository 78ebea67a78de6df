# Compares random trees of operations with the same trees in plain R, for one pair; all numbers stay small.
of_one <- list(Sin = sin, Cos = cos, Atan = atan, Tanh = tanh, Minus = \(a) -a, Square = \(a) tanh(a)^2)
of_two <- c("+", "-", "*")
tree <- function(depth) {
  if (depth == 0) return(switch(sample(4, 1), list("x", \(x, y, s) x), list("y", \(x, y, s) y),
                                list("s", \(x, y, s) s), list("0.5", \(x, y, s) 0.5)))
  a <- tree(depth - 1)
  if (stats::runif(1) < 0.4) {
    name <- sample(names(of_one), 1)
    text <- if (name == "Square") sprintf("Square(Tanh(%s))", a[[1]]) else sprintf("%s(%s)", name, a[[1]])
    return(list(text, \(x, y, s) of_one[[name]](a[[2]](x, y, s))))
  }
  b <- tree(sample(0:(depth - 1), 1))
  name <- sample(of_two, 1)
  list(sprintf("(%s %s %s)", a[[1]], name, b[[1]]), \(x, y, s) match.fun(name)(a[[2]](x, y, s), b[[2]](x, y, s)))
}
reductions <- list(Sum = sum, Max = max, Min = min, LogSumExp = \(v) max(v) + log(sum(exp(v - max(v)))))
run_part <- function() {
  while (there_is_time()) {
    of <- tree(sample(1:6, 1))
    reduction <- sample(names(reductions), 1)
    text <- sprintf("%s_Reduction(%s + 0 * (x + y + s), 1)", reduction, of[[1]])
    x <- stats::runif(sample(1:9, 1), -1, 1)
    y <- stats::runif(sample(1:40, 1), -1, 1)
    s <- stats::runif(1, -1, 1)
    value <- \(x) vapply(x, \(one) reductions[[reduction]](rep_len(of[[2]](one, y, s), length(y))), 0)
    begin_attack(paste(text, "of", length(x), "and", length(y), "points"))
    op <- keops_kernel(text, c("x = Vi(1)", "y = Vj(1)", "s = Pm(1)"))
    differs <- \(a, b, tolerance) !isTRUE(all(abs(a - b) <= tolerance * (1 + abs(b))))
    size <- length(y) * (1 + max(abs(outer(x, y, \(a, b) rep_len(of[[2]](a, b, s), length(a))))))
    if (differs(op(list(x, y, s)), value(x), 1e-12 * size)) report(text, ": the value differs")
    if (!reduction %in% c("Sum", "LogSumExp")) next
    slope <- keops_grad(op, "x")(list(x, y, s, rep(1, length(x))))
    by_difference <- (value(x + 1e-5) - value(x - 1e-5)) / 2e-5
    if (differs(slope, by_difference, 1e-5 * size)) report(text, ": the gradient differs")
  }
}
