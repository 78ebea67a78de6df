# The definition of every operation in plain R: one line each, written independently of the engine.
#
#   name = each(f, domains)    f works entry by entry; arguments of size 1 are recycled
#   name = whole(f, domains)   f uses whole vectors
#
# f(a, b, c, p, q) is the value for one pair. A domain draws random numbers that f accepts, away from kinks of f. The
# sum of two draws must also be acceptable, so that an argument can be Vi + Vj. For random m and n, sizes(m, n) are
# the sizes of the vector arguments, and integers(m, n) the integer arguments. If `flat` is TRUE, the gradient is
# 0, also at the jumps of f.

each <- function(f, ..., integers = \(m, n) NULL, flat = FALSE) {
  rows <- function(count, arguments, integers) {
    entries <- max(sapply(arguments, ncol))
    widened <- lapply(arguments, \(a) as.vector(a[, rep_len(seq_len(ncol(a)), entries)]))
    matrix(do.call(f, c(widened, integers)), count)
  }
  sizes <- \(m, n) sample(c(m, m, 1), ...length(), replace = TRUE)
  list(rows = rows, domains = list(...), sizes = sizes, integers = integers, flat = flat)
}

whole <- function(f, ..., sizes = \(m, n) rep(m, ...length()), integers = \(m, n) NULL, flat = FALSE) {
  row <- \(r, arguments, integers) as.numeric(do.call(f, c(lapply(arguments, \(a) a[r, ]), integers)))
  rows <- \(count, arguments, integers) do.call(rbind, lapply(seq_len(count), row, arguments, integers))
  list(rows = rows, domains = list(...), sizes = sizes, integers = integers, flat = flat)
}

# All numbers are multiples of 2^-16 below 2^7, so that the numbers and their sums are exact in float32.
dyadic <- \(x) round(x * 2^16) / 2^16
between <- \(low, high) \(n) dyadic(runif(n, low, high))
one_of <- \(values) \(n) values[sample.int(length(values), n, replace = TRUE)]
real <- between(-1, 1)
wide <- between(-8, 8)
positive <- between(0.3, 1)
wide_positive <- between(0.3, 15)
inside_1 <- between(-0.45, 0.45)
above_1 <- between(1.2, 8)
small_integer <- one_of(-1:1)
off_integers <- \(n) one_of(-2:1)(n) + between(0.15, 0.35)(n)
tens_ones_tenths <- \(n) one_of(c(-10, 0, 10))(n) + one_of(-1:1)(n) + one_of(-2:2 / 10)(n)
decimal <- \(n) dyadic(tens_ones_tenths(n) + runif(n, -0.01, 0.01))
odd <- one_of(c(-1.5, 0.5, 2.5))
place <- \(m) sample.int(m, 1) - 1

spherical_bessel <- function(a, p) {
  value <- sqrt(pi / 2 / abs(a)) * besselJ(abs(a), p + 0.5)
  ifelse(a == 0, as.numeric(p == 0), ifelse(a < 0, (-1)^p, 1) * value)
}
by_row <- \(a, columns) matrix(a, ncol = columns, byrow = TRUE)
logical_number <- \(f) \(...) as.numeric(f(...))

# The p-th derivative of besselK(b, a) in a: the derivative of exp(-b cosh(t)) cosh(a t), integrated over t by a fine
# grid.
bessel_k_order <- function(a, b, p) {
  t <- (seq_len(512) - 0.5) / 64
  even_or_odd <- if (p %% 2) sinh else cosh
  rowSums(rep(t^p, each = length(b)) * exp(-outer(b, cosh(t))) * even_or_odd(outer(rep_len(a, length(b)), t))) / 64
}
# The p-th derivative of b^a besselK(b, a) in a, from the polynomial through 9 values of this function.
pow_bessel_k_order <- function(a, b, p) {
  values <- vapply((-4:4) / 500, \(step) b^(a + step) * besselK(b, abs(a + step)), numeric(length(b)))
  drop(matrix(values, ncol = 9) %*% weights_of_derivative(p))
}
weights_of_derivative <- function(p) {
  500^p * solve(outer(0:8, -4:4, \(n, step) step^n), replace(numeric(9), p + 1, factorial(p)))
}
# The p-th derivative of 2^(1 - a) / gamma(a) b^(a - q) besselK(b, a - q) in a.
matern_order <- function(a, b, p, q) {
  values <- vapply((-4:4) / 500, function(step) {
    2^(1 - a - step) / gamma(a + step) * b^(a + step - q) * besselK(b, abs(a + step - q))
  }, numeric(length(b)))
  drop(matrix(values, ncol = 9) %*% weights_of_derivative(p))
}
polygamma_difference <- function(a, b, p) {
  if (p < 0) lgamma(a + b) - lgamma(a) else psigamma(a + b, p) - psigamma(a, p)
}
normal_hazard <- \(a) exp(dnorm(a, log = TRUE) - pnorm(-a, log.p = TRUE))
bessel_j <- \(a, p) ifelse(a < 0 & p %% 2 == 1, -1, 1) * ifelse(p < 0, (-1)^p, 1) * besselJ(abs(a), abs(p))
as_complex <- \(a) complex(real = a[c(TRUE, FALSE)], imaginary = a[c(FALSE, TRUE)])
parts <- \(z) as.vector(rbind(Re(z), Im(z)))

oracle_ops <- list(
  Add              = each(\(a, b) a + b, real, real),
  Subtract         = each(\(a, b) a - b, real, real),
  Mult             = each(\(a, b) a * b, real, real),
  Divide           = each(\(a, b) a / b, real, positive),
  Minus            = each(\(a) -a, real),
  Inv              = each(\(a) 1 / a, positive),
  Square           = each(\(a) a^2, real),
  Pow              = each(\(a, p) a^p, positive, integers = \(m, n) sample(-3:5, 1)),
  Powf             = each(\(a, b) a^b, positive, real),
  Sqrt             = each(sqrt, positive),
  Rsqrt            = each(\(a) 1 / sqrt(a), positive),
  Zero             = whole(\(p) numeric(p), integers = \(m, n) m),
  IntCst           = whole(\(p) p, integers = \(m, n) sample(-9:9, 1)),
  IntInv           = whole(\(p) 1 / p, integers = \(m, n) sample(c(-3, 7), 1)),
  RatCst           = whole(\(p, q) p / q, integers = \(m, n) c(sample(-9:9, 1), sample(c(-4, 3), 1))),
  Exp              = each(exp, real),
  Exp2             = each(\(a) 2^a, real),
  Log              = each(log, positive),
  XLogX            = each(\(a) a * log(a), positive),
  Sin              = each(sin, wide),
  Cos              = each(cos, wide),
  Tan              = each(tan, between(-0.6, 0.6)),
  SinXDivX         = each(\(a) ifelse(a == 0, 1, sin(a) / a), wide),
  SphericalBesselJ = each(spherical_bessel, wide, integers = \(m, n) place(4)),
  Asin             = each(asin, inside_1),
  Acos             = each(acos, inside_1),
  Atan             = each(atan, wide),
  Atan2            = each(atan2, real, positive),
  Sinh             = each(sinh, real),
  Cosh             = each(cosh, real),
  Tanh             = each(tanh, real),
  Asinh            = each(asinh, wide),
  Acosh            = each(acosh, above_1),
  Atanh            = each(atanh, inside_1),
  SinPi            = each(sinpi, wide),
  CosPi            = each(cospi, wide),
  Expm1            = each(expm1, real),
  Log1p            = each(log1p, inside_1),
  Log2             = each(log2, positive),
  Log10            = each(log10, positive),
  Sigmoid          = each(plogis, wide),
  Softplus         = each(\(a) log1p(exp(a)), wide),
  SoftplusDiff     = each(\(a, b) log1p(exp(a)) - log1p(exp(b)), wide, wide),
  Erf              = each(\(a) 2 * pnorm(a * sqrt(2)) - 1, real),
  Erfc             = each(\(a) 2 * pnorm(-a * sqrt(2)), real),
  Hypot            = each(\(a, b) sqrt(a^2 + b^2), real, positive),
  Abs              = each(abs, off_integers),
  Sign             = each(sign, small_integer, flat = TRUE),
  Step             = each(logical_number(\(a) a >= 0), small_integer, flat = TRUE),
  ReLU             = each(\(a) pmax(a, 0), off_integers),
  Floor            = each(floor, real, flat = TRUE),
  Ceil             = each(ceiling, real, flat = TRUE),
  Trunc            = each(trunc, real, flat = TRUE),
  Round            = each(round, decimal, integers = \(m, n) sample(-1:1, 1), flat = TRUE),
  Signif           = each(signif, wide, integers = \(m, n) sample(1:4, 1), flat = TRUE),
  Mod              = each(\(a, b, c) (a - c) %% b + c, off_integers, one_of(1:2), small_integer),
  Clamp            = each(\(a, b, c) pmin(pmax(a, b), c), off_integers, one_of(c(-2, 0, 2)), odd),
  ClampInt         = each(\(a, p, q) pmin(pmax(a, p), q), off_integers, integers = \(m, n) c(-1, 2)),
  DiffClampInt     = each(\(a, p, q) as.numeric(p <= a & a <= q), off_integers, integers = \(m, n) c(-1, 2),
                          flat = TRUE),
  Max2             = each(pmax, off_integers, small_integer),
  Min2             = each(pmin, off_integers, small_integer),
  IfElse           = each(\(a, b, c) ifelse(a >= 0, b, c), off_integers, real, real),
  Mask             = each(\(a, b) ifelse(a == 0, 0, b), small_integer, real),
  Equal            = each(logical_number(`==`), small_integer, small_integer, flat = TRUE),
  NotEqual         = each(logical_number(`!=`), small_integer, small_integer, flat = TRUE),
  LessThan         = each(logical_number(`<`), small_integer, small_integer, flat = TRUE),
  LessOrEqual      = each(logical_number(`<=`), small_integer, small_integer, flat = TRUE),
  And              = each(logical_number(`&`), small_integer, small_integer, flat = TRUE),
  Or               = each(logical_number(`|`), small_integer, small_integer, flat = TRUE),
  IsNaN            = each(logical_number(is.nan), real, flat = TRUE),
  Not              = each(logical_number(`!`), small_integer, flat = TRUE),
  Gamma            = each(gamma, positive),
  Lgamma           = each(lgamma, positive),
  LgammaDiff       = each(\(a, b) lgamma(a + b) - lgamma(a), wide_positive, wide_positive),
  PolygammaDiff    = each(polygamma_difference, wide_positive, wide_positive, integers = \(m, n) sample(-1:3, 1)),
  LogNormalCdf     = each(\(a) pnorm(a, log.p = TRUE), wide),
  NormalHazard     = each(normal_hazard, wide),
  NormalExcess     = each(\(a) normal_hazard(a) - a, wide),
  Digamma          = each(digamma, wide_positive),
  Polygamma        = each(psigamma, wide_positive, integers = \(m, n) place(4)),
  BesselJ0         = each(\(a) bessel_j(a, 0), wide),
  BesselJ1         = each(\(a) bessel_j(a, 1), wide),
  BesselJ          = each(bessel_j, wide, integers = \(m, n) sample(-1:3, 1)),
  BesselK          = each(\(a, b) besselK(b, abs(a)), real, positive),
  BesselKOrder     = each(bessel_k_order, real, positive, integers = \(m, n) sample(0:2, 1)),
  PowBesselKOrder  = each(pow_bessel_k_order, positive, positive, integers = \(m, n) sample(0:1, 1)),
  PowBesselK       = each(\(a, b) b^a * besselK(b, a), positive, positive),
  MaternOrder      = each(matern_order, positive, positive, integers = \(m, n) c(sample(0:1, 1), sample(0:1, 1))),
  Matern           = each(\(a, b) 2^(1 - a) / gamma(a) * (sqrt(2 * a) * b)^a * besselK(sqrt(2 * a) * b, a), positive,
                          positive),
  ComplexReal      = whole(\(a) Re(as_complex(a)), real, sizes = \(m, n) 2 * m),
  ComplexImag      = whole(\(a) Im(as_complex(a)), real, sizes = \(m, n) 2 * m),
  Real2Complex     = whole(\(a) parts(a + 0i), real),
  Imag2Complex     = whole(\(a) parts(complex(imaginary = a)), real),
  Conj             = whole(\(a) parts(Conj(as_complex(a))), real, sizes = \(m, n) 2 * m),
  ComplexAbs       = whole(\(a) Mod(as_complex(a)), positive, sizes = \(m, n) 2 * m),
  ComplexSquareAbs = whole(\(a) Mod(as_complex(a))^2, real, sizes = \(m, n) 2 * m),
  ComplexAngle     = whole(\(a) Arg(as_complex(a)), positive, sizes = \(m, n) 2 * m),
  ComplexAdd       = whole(\(a, b) parts(as_complex(a) + as_complex(b)), real, real, sizes = \(m, n) c(2, 2) * m),
  ComplexSubtract  = whole(\(a, b) parts(as_complex(a) - as_complex(b)), real, real, sizes = \(m, n) c(2, 2) * m),
  ComplexMult      = whole(\(a, b) parts(as_complex(a) * as_complex(b)), real, real, sizes = \(m, n) c(2, 2) * m),
  ComplexDivide    = whole(\(a, b) parts(as_complex(a) / as_complex(b)), real, positive, sizes = \(m, n) c(2, 2) * m),
  ComplexRealScal  = whole(\(a, b) parts(a * as_complex(b)), real, real, sizes = \(m, n) c(sample(c(1, m), 1), 2 * m)),
  ComplexScal      = whole(\(a, b) parts(as_complex(a) * as_complex(b)), real, real, sizes = \(m, n) c(2, 2 * m)),
  ComplexSum       = whole(\(a) parts(sum(as_complex(a))), real, sizes = \(m, n) 2 * m),
  ComplexSumT      = whole(\(a, p) rep(a, p / 2), real, sizes = \(m, n) 2, integers = \(m, n) 2 * m),
  ComplexExp       = whole(\(a) parts(exp(as_complex(a))), real, sizes = \(m, n) 2 * m),
  ComplexExp1j     = whole(\(a) parts(exp(1i * a)), wide),
  ComplexLog       = whole(\(a) parts(log(as_complex(a))), positive, sizes = \(m, n) 2 * m),
  ComplexSqrt      = whole(\(a) parts(sqrt(as_complex(a))), positive, sizes = \(m, n) 2 * m),
  ComplexPow       = whole(\(a, b) parts(as_complex(a)^as_complex(b)), positive, real, sizes = \(m, n) c(2, 2) * m),
  ComplexSin       = whole(\(a) parts(sin(as_complex(a))), real, sizes = \(m, n) 2 * m),
  ComplexCos       = whole(\(a) parts(cos(as_complex(a))), real, sizes = \(m, n) 2 * m),
  ComplexTan       = whole(\(a) parts(tan(as_complex(a))), inside_1, sizes = \(m, n) 2 * m),
  ComplexSinh      = whole(\(a) parts(sinh(as_complex(a))), real, sizes = \(m, n) 2 * m),
  ComplexCosh      = whole(\(a) parts(cosh(as_complex(a))), real, sizes = \(m, n) 2 * m),
  ComplexTanh      = whole(\(a) parts(tanh(as_complex(a))), inside_1, sizes = \(m, n) 2 * m),
  MatMult          = whole(\(a, b, p) t(by_row(a, p) %*% by_row(b, length(b) / p)), real, real,
                           sizes = \(m, n) c(2 * n, n * m), integers = \(m, n) n),
  Transpose        = whole(\(a, p, q) aperm(array(a, c(q, p, 2)), c(2, 1, 3)), real, sizes = \(m, n) 2 * m * n,
                           integers = \(m, n) c(m, n)),
  Reverse          = whole(rev, real),
  Factorize        = whole(\(a, b) a, real, real),
  AutoFactorize    = whole(\(a) a, real),
  Sum              = whole(\(a) sum(a), real),
  SumT             = whole(\(a, p) rep(a, p), real, sizes = \(m, n) 1, integers = \(m, n) m),
  Scalprod         = whole(\(a, b) sum(a * b), real, real),
  SqNorm2          = whole(\(a) sum(a^2), real),
  SqDist           = whole(\(a, b) sum((a - b)^2), real, real),
  DiagSqNorm       = whole(\(a, b) sum(a * b^2), real, real),
  DiagSqDist       = whole(\(a, b, c) sum(a * (b - c)^2), real, real, real),
  Norm2            = whole(\(a) sqrt(sum(a^2)), positive),
  Normalize        = whole(\(a) a / sqrt(sum(a^2)), positive),
  WeightedSqNorm   = whole(\(a, b) sum(b * weigh(a, b)), real, real, sizes = \(m, n) weights_and(m)),
  WeightedSqDist   = whole(\(a, b, c) sum((b - c) * weigh(a, b - c)), real, real, real,
                           sizes = \(m, n) c(weights_and(m), m)),
  SqNormIso        = whole(\(a, b) a * sum(b^2), real, real, sizes = \(m, n) c(1, m)),
  SqNormDiag       = whole(\(a, b) sum(a * b^2), real, real, sizes = \(m, n) c(m, m)),
  SymSqNorm        = whole(\(a, b) sum(b * weigh(a, b)), real, real, sizes = \(m, n) c(m^2, m)),
  Max              = whole(\(a) max(a), wide),
  Min              = whole(\(a) min(a), wide),
  ArgMax           = whole(\(a) which.max(a) - 1, real, flat = TRUE),
  ArgMin           = whole(\(a) which.min(a) - 1, real, flat = TRUE),
  Elem             = whole(\(a, p) a[p + 1], real, integers = \(m, n) place(m)),
  ElemT            = whole(\(a, p, q) replace(numeric(p), q + 1, a), real, sizes = \(m, n) 1,
                           integers = \(m, n) c(m, place(m))),
  Extract          = whole(\(a, p, q) a[p + seq_len(q)], real, sizes = \(m, n) m + n,
                           integers = \(m, n) c(m - 1, n)),
  ExtractT         = whole(\(a, p, q) replace(numeric(q), p + seq_along(a), a), real,
                           integers = \(m, n) c(n, m + n + 1)),
  Concat           = whole(\(a, b) c(a, b), real, real, sizes = \(m, n) c(m, n)),
  OneHot           = whole(\(a, p) as.numeric(floor(a + 0.5) == seq_len(p) - 1), one_of(c(0:2, 0.7, 1.2)),
                           sizes = \(m, n) 1, integers = \(m, n) m, flat = TRUE),
  MatVecMult       = whole(\(a, b) by_row(a, length(b)) %*% b, real, real, sizes = \(m, n) c(m * n, n)),
  VecMatMult       = whole(\(a, b) a %*% by_row(b, length(b) / length(a)), real, real,
                           sizes = \(m, n) c(m, m * n)),
  TensorProd       = whole(\(a, b) t(a %o% b), real, real, sizes = \(m, n) c(m, n))
)

weigh <- \(a, b) if (length(a) == length(b)^2) by_row(a, length(b)) %*% b else a * b
weights_and <- \(m) c(sample(c(1, m, m^2), 1), m)
