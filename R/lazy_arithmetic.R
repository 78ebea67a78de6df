# R's operators and mathematical functions for symbolic matrices, as methods of R's group generics.

comparisons <- c("<", "<=", ">", ">=", "==", "!=")
infix <- c("+", "-", "*", "/", "|")

# A tensor of conditions, whose entries are 0 or 1. The slot `truth` marks conditions for if_else(), and for `|`, which
# is the logical "or" of two conditions and the dot product of other tensors.
condition <- function(formula, arguments) {
  made <- combined(formula, arguments)
  made@truth <- TRUE
  made@points$vector <- NULL # check_vectors() accepts tensors without this element
  made
}
is_truth <- function(x) if (is_lazy(x)) x@truth else is.logical(x)

# Informs users, once, that a vector is a parameter. R would recycle the vector along the rows of a matrix.
say_parameter <- function(x, numbers) {
  if (!is_lazy(x) || is_lazy(numbers)) return(invisible())
  points <- length(numbers)
  if (points < 2 || entries(x) > 1 || !points %in% dim(x)) return(invisible())
  cli::cli_inform(c("A vector of {points} numbers is a parameter: each pair of points has {points} values.",
                    i = "{.code Vi(v)} is a number for each row, {.code Vj(v)} one for each column."),
                  class = "kernops_parameter", .frequency = "once", .frequency_id = "kernops_parameter")
}

elementwise <- function(op, x, y) {
  say_parameter(x, y)
  say_parameter(y, x)
  if (is_complex_value(x) || is_complex_value(y)) return(complex_elementwise(op, x, y))
  if (op == "|" && is_truth(x) && is_truth(y)) return(condition("Or(%s, %s)", list(x, y)))
  if (op %in% comparisons) return(condition(paste0("(%s ", op, " %s)"), list(x, y)))
  if (op %in% infix) return(combined(paste0("(%s ", op, " %s)"), list(x, y)))
  switch(op,
    `^` = power(x, y),
    `&` = condition("And(%s, %s)", list(x, y)),
    `%%` = combined("Mod(%s, %s, 0)", list(x, y)),
    `%/%` = whole_quotient(as_lazy(x), as_lazy(y))
  )
}

# The whole quotient x %/% y. The remainder is subtracted before the division: otherwise 1 %/% 0.1 would be 10 instead
# of 9, because 1 / 0.1 is rounded to 10.
whole_quotient <- function(x, y) {
  quotient <- x / y
  ordinary <- 1e38 - max(abs(quotient), abs(y))
  if_else(ordinary, round((x - x %% y) / y), floor(quotient))
}

# A power. Whole exponents are written into the formula as integers, so that the result is also exact for negative
# bases.
power <- function(x, y) {
  whole <- is.numeric(y) && length(y) == 1 && is.finite(y) && y == floor(y) && abs(y) <= 64
  if (whole) return(combined(sprintf("Pow(%%s, %d)", as.integer(y)), list(x)))
  if (identical(y, 0.5)) return(combined("Sqrt(%s)", list(x)))
  combined("Powf(%s, %s)", list(x, y))
}

#' @exportMethod Ops Math Summary Complex "+" "-" "!" log round signif dim dimnames length "%*%" "[" show
NULL

setMethod("Ops", signature("LazyTensor", "LazyTensor"), function(e1, e2) elementwise(.Generic, e1, e2))
setMethod("Ops", signature("LazyTensor", "ANY"), function(e1, e2) elementwise(.Generic, e1, e2))
setMethod("Ops", signature("ANY", "LazyTensor"), function(e1, e2) elementwise(.Generic, e1, e2))
setMethod("+", signature("LazyTensor", "missing"), function(e1, e2) e1)
setMethod("-", signature("LazyTensor", "missing"),
          function(e1, e2) combined("(-%s)", list(e1), is_complex(e1)))
setMethod("!", "LazyTensor", function(x) condition("Not(%s)", list(x)))

functions <- c(abs = "Abs", sign = "Sign", sqrt = "Sqrt", ceiling = "Ceil", floor = "Floor", trunc = "Trunc",
               exp = "Exp", expm1 = "Expm1", log1p = "Log1p", log2 = "Log2", log10 = "Log10", cos = "Cos",
               cosh = "Cosh", sin = "Sin", sinh = "Sinh", tan = "Tan", tanh = "Tanh", acos = "Acos", asin = "Asin",
               atan = "Atan", asinh = "Asinh", acosh = "Acosh", atanh = "Atanh", sinpi = "SinPi", cospi = "CosPi",
               gamma = "Gamma", lgamma = "Lgamma", digamma = "Digamma")

setMethod("Math", "LazyTensor", function(x) {
  if (.Generic == "tanpi") return(sinpi(x) / cospi(x))
  if (.Generic == "trigamma") return(combined("Polygamma(%s, 1)", list(x)))
  if (!.Generic %in% names(functions)) {
    stop_undefined(.Generic)
  }
  combined(paste0(functions[[.Generic]], "(%s)"), list(x))
})
complex_functions <- c(exp = "ComplexExp", sqrt = "ComplexSqrt", sin = "ComplexSin", cos = "ComplexCos",
                       tan = "ComplexTan", sinh = "ComplexSinh", cosh = "ComplexCosh", tanh = "ComplexTanh")

setMethod("Math", "ComplexLazyTensor", function(x) {
  if (.Generic %in% names(complex_functions)) {
    return(combined(paste0(complex_functions[[.Generic]], "(%s)"), list(x), complex = TRUE))
  }
  switch(.Generic,
    abs = combined("ComplexAbs(%s)", list(x), takes_complex = TRUE),
    log2 = log(x) / log(2),
    log10 = log(x) / log(10),
    asin = complex_asin(x),
    acos = complex_acos(x),
    atan = complex_atan(x),
    stop_undefined(.Generic, "ComplexLazyTensor")
  )
})
logarithm <- function(x, ...) {
  if (...length() && !is_lazy(..1)) check_number(..1, "base", least = 0, above = TRUE)
  value <- combined(if (is_complex(x)) "ComplexLog(%s)" else "Log(%s)", list(x), is_complex(x))
  if (...length()) value / log(..1) else value
}
setMethod("log", "LazyTensor", logarithm)
setMethod("log", "ComplexLazyTensor", logarithm) # replaces the method of the group generic
setMethod("round", "LazyTensor", function(x, digits = 0) {
  check_number(digits, "digits", least = -400, whole = TRUE)
  combined(sprintf("Round(%%s, %d)", as.integer(digits)), list(x), is_complex(x))
})
setMethod("signif", "LazyTensor", function(x, digits = 6) {
  check_number(digits, "digits", least = -400, whole = TRUE)
  if (is_complex(x)) stop_undefined("signif", "ComplexLazyTensor")
  combined(sprintf("Signif(%%s, %d)", as.integer(digits)), list(x))
})

# ---- complex numbers

is_complex_value <- function(x) is_complex(x) || is.complex(x)

as_complex <- function(x) {
  x <- as_lazy(x)
  if (is_complex(x)) x else combined("Real2Complex(%s)", list(x), complex = TRUE)
}

complex_elementwise <- function(op, x, y) {
  if (op %in% c("+", "-")) return(complex_sum(op, as_complex(x), as_complex(y)))
  if (op == "*") return(complex_product(as_lazy(x), as_lazy(y)))
  if (op == "/" && !is_complex_value(y)) return(complex_product(as_lazy(x), 1 / as_lazy(y)))
  if (op == "/") {
    y <- as_lazy(y)
    square <- combined("ComplexSquareAbs(%s)", list(y), takes_complex = TRUE)
    return(complex_product(complex_product(as_lazy(x), Conj(y)), 1 / square))
  }
  if (op == "|") return(combined("ComplexSum(%s)", list(complex_product(as_lazy(x), as_lazy(y))), complex = TRUE))
  if (op == "^") return(complex_power(x, y))
  stop_undefined(op, "ComplexLazyTensor")
}

complex_power <- function(x, y) {
  whole <- is.numeric(y) && length(y) == 1 && abs(y) %in% 1:64
  if (whole && y < 0) return(1 / complex_power(x, -y))
  if (whole) return(Reduce(complex_product, rep(list(x), y)))
  if (identical(y, 0.5)) return(sqrt(x))
  combined("ComplexPow(%s, %s)", spread_alike("^", list(as_complex(x), as_complex(y))), complex = TRUE)
}

complex_sum <- function(op, x, y) {
  combined(paste0("(%s ", op, " %s)"), spread_alike(op, list(x, y)), complex = TRUE)
}

# Repeats a single complex entry as many times as the other arguments have entries.
spread_alike <- function(op, arguments) {
  check_vectors(op, arguments, NULL)
  lapply(arguments, spread, max(vapply(arguments, function(z) z@size, 0L)))
}

spread <- function(z, size) {
  if (z@size == 2 && size > 2) combined(sprintf("ComplexSumT(%%s, %d)", size), list(z), TRUE) else z
}

complex_product <- function(x, y) {
  if (!is_complex(y)) return(complex_product(y, x))
  if (!is_complex(x)) {
    check_vectors("*", list(x, y), NULL)
    return(combined("ComplexRealScal(%s, %s)", list(x, spread(y, 2L * x@size)), complex = TRUE))
  }
  combined("ComplexMult(%s, %s)", spread_alike("*", list(x, y)), complex = TRUE)
}

# Inverse functions after Kahan (1987), "Branch cuts for complex elementary functions". In contrast to -i log(i z +
# sqrt(1 - z^2)), these formulas have no cancellation near 0 and near the ends of the branch cuts. On the branch cuts
# the functions have the values that R returns.
complex_asin <- function(z) {
  minus <- sqrt(1 - z)
  plus <- sqrt(1 + z)
  complex_of(atan2(Re(z), Re(minus * plus)), odd_asinh(Im(Conj(minus) * plus)))
}

complex_acos <- function(z) {
  minus <- sqrt(1 - z)
  plus <- sqrt(1 + z)
  complex_of(2 * atan2(Re(minus), Re(plus)), odd_asinh(Im(Conj(plus) * minus)))
}

# The arctangent is odd in the real and in the imaginary part, so it is evaluated at absolute values of both parts.
complex_atan <- function(z) {
  up <- side_of(Im(z))
  right <- if_else(Re(z) == 0, up, side_of(Re(z)))
  x <- right * Re(z)
  y <- up * Im(z)
  angle <- atan2(2 * x, (1 - y) * (1 + y) - x^2)
  angle <- side_of(angle) * angle # the angle is -pi if x is -0
  complex_of(right * angle / 2, up * log1p(4 * y / (x^2 + (1 - y)^2)) / 4)
}

odd_asinh <- function(x) {
  side <- side_of(x)
  x <- side * x
  side * log1p(x + x^2 / (1 + sqrt(1 + x^2)))
}

# The sign of x; the sign of 0 is 1. The gradient of x * side_of(x) at 0 is 1, whereas the gradient of abs(x) at 0 is 0.
side_of <- function(x) if_else(x, 1, -1)

complex_of <- function(real, imaginary) real2complex(real) + imag2complex(imaginary)

setMethod("Complex", "ComplexLazyTensor", function(z) {
  op <- c(Re = "ComplexReal", Im = "ComplexImag", Mod = "ComplexAbs", Arg = "ComplexAngle", Conj = "Conj")[[.Generic]]
  combined(paste0(op, "(%s)"), list(z), complex = .Generic == "Conj", takes_complex = TRUE)
})
setMethod("Complex", "LazyTensor", function(z) {
  switch(.Generic, Re = , Conj = z, Mod = abs(z), callGeneric(as_complex(z)))
})
