# One part of tools/fuzz: `Rscript tools/fuzz.R arguments|formulas|values SECONDS SEED`. A finding is an error that is
# not of class kernops_error, a call of more than two seconds, or a value that plain R does not get. Each is a line.

suppressMessages(library(kernops))
given <- commandArgs(TRUE)
part <- given[[1]]
end <- proc.time()[["elapsed"]] + as.numeric(given[[2]])
set.seed(as.integer(given[[3]]))
there_is_time <- \() proc.time()[["elapsed"]] < end
findings <- 0
report <- function(...) {
  findings <<- findings + 1
  cat("fuzz: ", ..., "\n", sep = "")
}

# What a call ends with: its error, or NULL.
error_of <- function(call) {
  quiet <- \(code) suppressMessages(suppressWarnings(utils::capture.output(code)))
  tryCatch({quiet(call()); NULL}, error = identity)
}
attack <- function(label, call) {
  taken <- system.time(error <- error_of(call))[["elapsed"]]
  if (taken > 2) report(label, ": ", round(taken, 1), " s")
  if (is.null(error) || inherits(error, "kernops_error")) return(invisible())
  report(label, ": ", class(error)[[1]], ": ", substr(gsub("\n", " ", conditionMessage(error)), 1, 100))
}

# Every argument of a valid call, one after the other, is replaced by what it cannot be.
x <- matrix(stats::runif(20), 10)
d <- data.frame(u = x[, 1], v = x[, 2], z = stats::rnorm(10))
op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", c("x = Vi(2)", "y = Vj(2)", "b = Vj(1)"))
input <- list(x = x, y = x, b = d$z)
K <- exp(-sqdist(Vi(x), Vj(x)))
known <- matern(3/2, 1, 1) + nugget(0.1)
fit <- gp(z ~ 1, d, ~ u + v, known, "exact", "none")
g <- rep(1:2, 5)
calls <- list(
  keops_kernel = list(formula = "Sum_Reduction(x, 1)", args = "x = Vi(2)", precision = "float64", backend = "cpu",
                      device = 0L, sum_scheme = "auto"),
  keops_grad = list(op = op, var = "x"), keops_source = list(op = op), keops_formula = list(x = K),
  LazyTensor = list(x = x, index = "i", name = "x"), Vi = list(x = x, name = "x"), Vj = list(x = x), Pm = list(x = 1:3),
  kernel_solve = list(op = op, var = "b", input = input, lambda = 1, tol = 1e-6, maxit = 10, method = "cg"),
  kernel_solve_grad = list(fit = kernel_solve(op, "b", input, 1), eta = d$z, var = "b"),
  kernel_preconditioner = list(op = op, var = "b", input = input, lambda = 1),
  kernel_interpolation = list(x = x, y = d$z, kernel = matern(3/2, 1, 1), lambda = 0.1),
  gp = list(formula = z ~ 1, data = d, coords = ~ u + v, covariance = known, method = "exact", estimate = "none"),
  gp_control = lapply(formals(gp_control), eval, asNamespace("kernops")),
  gp_neighbours = list(coords = x, m = 2, ordering = "maxmin", seed = 1),
  gp_cv = list(object = fit, folds = 3, seed = 1), gp_variogram = list(x = fit, breaks = c(0, 0.1, 0.3, 1)),
  predict.gp = list(newdata = d, se.fit = TRUE, interval = "none"), simulate.gp = list(nsim = 2, seed = 1, newdata = d),
  matern = list(nu = 1.5, variance = 1, range = 1), periodic = list(variance = 1, range = 1, period = 1),
  nugget = list(variance = 1), linear = list(variance = 1),
  covariance = list(formula = "s * Exp(-SqDist(x, y))", parameters = list(s = 1)),
  seg_reduce = list(x = d$z, g = g, op = "sum"), seg_softmax = list(x = d$z, g = g), seg_op = list(formula = "a + b"),
  seg_plan = list(lengths = c(4, 6)), reduce_by_key = list(keys = g, x = d$z, op = "sum"),
  axis_reduce = list(x = array(1:24, 2:4), dims = c(1, 3), op = "max"), softmax = list(x = x),
  sqdist = list(x = Vi(x), y = Vj(x)), norm2 = list(x = Vi(x)), argmin = list(x = K, index = "j"),
  Kmin = list(x = K, K = 2, index = "j"), logsumexp = list(x = K, index = "j"), elem = list(x = Vi(x), m = 0),
  grid_cluster = list(x = x, size = 0.1), sort_clusters = list(x = x, labels = g), gpu_matrix = list(x = x)
)
wrong <- list(
  NULL, NA, NaN, Inf, -1, 0, 0.5, 1e300, .Machine$integer.max, 1:1e5, integer(), "a", "", c("a", "b"), TRUE, list(),
  list(list(1)), sum, function(...) 1, new.env(), Sys.Date(), factor(c("a", "b")), 1i, as.raw(1), matrix(0, 0, 0),
  array(1, c(2, 2, 2)), ~ q, quote(f(x)), quote(zz), data.frame(a = 1), structure(1, class = "integer64")
)
arguments <- function() {
  methods <- list(predict.gp = list(object = fit), simulate.gp = list(object = fit))
  for (name in sample(names(calls))) for (argument in names(calls[[name]])) for (value in wrong) {
    if (!there_is_time()) return()
    used <- replace(calls[[name]], argument, list(value))
    label <- paste0(name, "(", argument, " = ", substr(deparse1(value), 1, 30), ")")
    attack(label, \() do.call(utils::getFromNamespace(name, "kernops"), c(methods[[name]], used), quote = TRUE))
  }
}

# Formulas with characters and words that are lost, doubled, or out of place.
formulas <- function() {
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

# Trees of operations, and what they are in plain R for one pair: numbers stay small.
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
values <- function() {
  while (there_is_time()) {
    of <- tree(sample(1:6, 1))
    reduction <- sample(names(reductions), 1)
    text <- sprintf("%s_Reduction(%s + 0 * (x + y + s), 1)", reduction, of[[1]])
    x <- stats::runif(sample(1:9, 1), -1, 1)
    y <- stats::runif(sample(1:40, 1), -1, 1)
    s <- stats::runif(1, -1, 1)
    value <- \(x) vapply(x, \(one) reductions[[reduction]](rep_len(of[[2]](one, y, s), length(y))), 0)
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

invisible(switch(part, arguments = arguments(), formulas = formulas(), values = values()))
cat("fuzz: ", part, ", ", findings, " findings\n", sep = "")
quit(status = as.integer(findings > 0))
