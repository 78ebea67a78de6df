# Gradients of masked formulas: a mask excludes the pairs for which an operation is infinite or undefined. The oracle is
# the central difference, in plain R, of the sum over the other pairs.

# Functions of u > 0 with a singularity: the text in a formula, and the function in R.
singular <- list(
  list("Log(%s)", log), list("Inv(%s)", \(u) 1 / u), list("Sqrt(%s)", sqrt), list("Rsqrt(%s)", \(u) 1 / sqrt(u)),
  list("Pow(%s, -3)", \(u) u^-3), list("Powf(%s, -0.7)", \(u) u^-0.7), list("Exp(Inv(%s))", \(u) exp(1 / u)),
  list("XLogX(%s)", \(u) u * log(u)), list("(1 / %s)", \(u) 1 / u), list("Log(Sqrt(%s))", \(u) log(u) / 2),
  list("Lgamma(%s)", lgamma), list("Square(Log(%s))", \(u) log(u)^2), list("Atan(Inv(%s))", \(u) atan(1 / u)),
  list("Powf(%s, s)", NULL) # the exponent is a parameter
)
# Masks: a pair (x, y) contributes if u > 0. Each element has the text of the masked formula and the value of an
# excluded pair. A third entry is a function of the value of a contributing pair; a fourth entry is a factor of all
# values.
masks <- list(
  list("IfElse(%1$s - 1e-9, %2$s, 0)", 0), list("IfElse(-%1$s, 0.5, %2$s)", 0.5), list("Mask(0 < %1$s, %2$s)", 0),
  list("IfElse(%1$s - 1e-9, IfElse(1, %2$s, Log(-1)), 0)", 0),
  list("IfElse(%1$s - 1e-9, Sin(%2$s), 0)", 0, sin), list("2 * IfElse(%1$s - 1e-9, %2$s * %2$s, 0)", 0, \(v) v^2, 2)
)
# Expressions u that are 0 or negative for some pairs.
arguments_of_pairs <- list(
  list("SqDist(x, y)", \(x, y) sum((x - y)^2)), list("Norm2(x - y)", \(x, y) sqrt(sum((x - y)^2))),
  list("Elem(x - y, 0)", \(x, y) (x - y)[[1]]), list("(SqDist(x, y) - 0.5)", \(x, y) sum((x - y)^2) - 0.5),
  list("Sum(Abs(x - y))", \(x, y) sum(abs(x - y))), list("ReLU(Elem(x - y, 1))", \(x, y) max(0, (x - y)[[2]])),
  list("Clamp(Elem(x - y, 0), 0, 5.5)", \(x, y) min(max((x - y)[[1]], 0), 5.5)), # x - y may be up to 5
  list("Max2(Elem(x - y, 0), 0)", \(x, y) max(0, (x - y)[[1]])),
  list("Max(Concat(Elem(x - y, 0), 0.7 * Elem(x - y, 1)))", \(x, y) max((x - y) * c(1, 0.7))) # without ties
)

one_mask <- function() {
  f <- pick(singular)
  mask <- pick(masks)
  u <- pick(arguments_of_pairs)
  s <- -0.4
  power <- f[[2]] %||% \(u) u^s
  scale <- if (length(mask) > 3) mask[[4]] else 1
  outer_function <- if (length(mask) > 2) mask[[3]] else identity
  text <- sprintf("Sum_Reduction(%s, 1)", sprintf(mask[[1]], u[[1]], sprintf(f[[1]], u[[1]])))
  x <- matrix(sample(1:6, 8, TRUE) + stats::runif(8, 0, 0.2) * stats::rbinom(8, 1, 0.5), 4)
  y <- rbind(x[1:2, ], matrix(sample(1:6, 4, TRUE), 2))
  term <- \(a, b) if (u[[2]](a, b) > 1e-9) scale * outer_function(power(u[[2]](a, b))) else scale * mask[[2]]
  value <- \(x) apply(x, 1, \(a) sum(apply(y, 1, \(b) term(a, b))))
  declared <- c("x = Vi(2)", "y = Vj(2)", if (grepl("\\bs\\b", text)) "s = Pm(1)")
  data <- c(list(x, y), if (length(declared) > 2) s)
  edges <- outer(1:4, 1:4, Vectorize(\(i, j) u[[2]](x[i, ], y[j, ])))
  terms <- c(power(edges[edges > 1e-9]), scale * outer_function(power(edges[edges > 1e-9])))
  if (any(abs(terms) > 1e4)) return() # large terms would make sums and central differences inexact
  compare(text, \() keops_kernel(text, declared)(data), \() value(x), may_refuse = FALSE)
  # central differences equal the gradient if no pair is near the edge of the mask; a smaller step confirms this
  other <- \(v) outer(1:4, 1:4, Vectorize(\(i, j) u[[2]](v[i, ], y[j, ])))
  differences <- \(h) sapply(1:2, \(k) {
    up <- down <- x
    up[, k] <- up[, k] + h
    down[, k] <- down[, k] - h
    smooth <- apply((other(up) > 1e-9) == (edges > 1e-9) & (other(down) > 1e-9) == (edges > 1e-9), 1, all)
    slope <- (value(up) - value(down)) / (2 * h)
    ifelse(smooth & abs(slope) < 1e4, slope, NA)
  })
  by_difference <- differences(1e-6)
  by_difference[!(abs(by_difference - differences(3e-7)) < 3e-4 * (1 + abs(by_difference)))] <- NA
  begin_attack(paste("gradient of", text))
  slope <- tryCatch(keops_grad(keops_kernel(text, declared), "x")(c(data, list(rep(1, 4)))), error = identity)
  if (inherits(slope, "error")) return(report_error(text, slope))
  if (anyNA(slope)) return(report("gradient of ", text, ": not a number"))
  kept <- !is.na(by_difference) & abs(slope) < 1e4
  if (any(abs(slope[kept] - by_difference[kept]) > 1e-3 * (1 + abs(by_difference[kept])))) {
    report("gradient of ", text, ": ", deparse1(slope[kept]), " instead of ", deparse1(by_difference[kept]))
  }
}
`%||%` <- \(a, b) if (is.null(a)) b else a

run_part <- function() while (there_is_time()) one_mask()
