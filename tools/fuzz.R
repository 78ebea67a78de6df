# One part of tools/fuzz: `Rscript tools/fuzz.R corpus|arguments|formulas|values SECONDS SEED`. A finding is an error
# that is not of class kernops_error, a call of more than a second of a core, or a value that plain R does not get. Each
# is a line.
# What is tried is in the file FUZZ_LAST, for tools/fuzz to tell when R dies of it.

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
  # R itself takes seconds to print many numbers
  tryCatch({quiet({value <- call(); if (is.object(value)) print(value)}); NULL}, error = identity)
}
try_now <- function(label) writeLines(label, Sys.getenv("FUZZ_LAST", nullfile()))
attack <- function(label, call) {
  try_now(label)
  taken <- sum(system.time(error <- error_of(call))[c("user.self", "sys.self")])
  if (taken > 1) report(label, ": ", round(taken, 1), " s")
  if (is.null(error) || inherits(error, "kernops_error")) return(invisible())
  report(label, ": ", class(error)[[1]], ": ", substr(gsub("\n", " ", conditionMessage(error)), 1, 100))
}

# What once failed, hung or crashed: the value of each file must be TRUE.
refuses <- \(code) tryCatch({code; FALSE}, kernops_error = \(e) TRUE)
corpus <- function() {
  for (file in list.files("tools/fuzzer/corpus", full.names = TRUE)) {
    try_now(file)
    value <- tryCatch(source(file, local = new.env())$value, error = conditionMessage)
    if (!isTRUE(value)) report(file, ": ", deparse1(value))
  }
}

wrong <- list(
  NULL, NA, NaN, Inf, -1, 0, 0.5, 1e300, .Machine$integer.max, 1:1e5, integer(), "a", "", c("a", "b"), TRUE, list(),
  list(list(1)), sum, function(...) 1, new.env(), Sys.Date(), factor(c("a", "b")), 1i, as.raw(1), matrix(0, 0, 0),
  array(1, c(2, 2, 2)), ~ q, quote(f(x)), quote(zz), data.frame(a = 1), structure(1, class = "integer64")
)
# Every argument of a valid call, one after the other, is replaced by what it cannot be.
arguments <- function() {
  calls <- local({source("tools/fuzzer/calls.R", local = TRUE); calls})
  functions <- sapply(names(calls), utils::getFromNamespace, "kernops")
  takes <- \(name) is.function(get(name)) && length(formals(args(get(name)))) > 0
  of_group <- c("Complex", "Math", "Ops", "Summary", "cbind2", "rbind2", "show")
  for (name in setdiff(Filter(takes, ls("package:kernops")), c(names(calls), of_group))) report(name, " is not called")
  for (name in names(calls)) {
    error <- error_of(\() do.call(functions[[name]], calls[[name]]))
    if (!is.null(error) && !inherits(error, "kernops_cuda_error")) report(name, ": ", conditionMessage(error))
  }
  # a method is not called for another object
  is_method <- \(name) grepl("[.]gp$", name) || exists(name, baseenv())
  for (name in sample(names(calls))) for (argument in seq_along(calls[[name]])) for (value in wrong) {
    if (argument == 1 && is_method(name)) next
    if (!there_is_time()) return()
    used <- replace(calls[[name]], argument, list(value))
    label <- paste0(name, "(", c(names(used)[argument], argument)[[1]], " = ", substr(deparse1(value), 1, 30), ")")
    attack(label, \() do.call(functions[[name]], used, quote = TRUE))
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
    try_now(paste(text, "of", length(x), "and", length(y), "points"))
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

invisible(switch(part, corpus = corpus(), arguments = arguments(), formulas = formulas(), values = values()))
cat("fuzz: ", part, ", ", findings, " findings\n", sep = "")
quit(status = as.integer(findings > 0))
