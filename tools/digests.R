# Digests of results on the CPU, to check that a change of the code does not change results: `Rscript tools/digests.R
# FILE` writes one line with an MD5 sum and a name for each formula of inst/cuda/catalogue.txt and of the benchmarks in
# both precisions, and for fits of every kind. Run the script with the package before and after a change (R_LIBS), then
# compare the two files by diff.

suppressMessages(library(kernops))
options(kernops.threads = 2, kernops.isa = "avx2")
arguments <- commandArgs(TRUE)
source(file.path("R", "catalogue.R"))

md5 <- function(value) {
  file <- tempfile()
  on.exit(unlink(file))
  writeBin(serialize(value, NULL, xdr = FALSE, version = 2)[-(1:14)], file)
  unname(tools::md5sum(file))
}
lines <- character()
record <- function(name, value) {
  text <- tryCatch(md5(suppressMessages(suppressWarnings(value))), error = \(e) paste("error:", conditionMessage(e)))
  lines <<- c(lines, paste(text, name))
}

# ---- Formulas: random points, scaled so that exponents stay moderate ----

size_of <- \(declared) as.integer(sub(".*\\((\\d+).*", "\\1", declared))
values_for <- function(declared) {
  size <- size_of(declared)
  side <- sub(".*= *(V[ij]|Pm).*", "\\1", declared)
  rows <- c(Vi = 97, Vj = 83, Pm = 1)[[side]]
  matrix(stats::runif(rows * size, 0.1, 1) / sqrt(size), rows)
}
digest_formula <- function(formula, args) {
  for (precision in c("float64", "float32")) {
    set.seed(1)
    record(paste(precision, formula, toString(args)),
           keops_kernel(formula, args, precision = precision)(unname(lapply(args, values_for))))
  }
}
entries <- catalogue(file.path("inst", "cuda", "catalogue.txt"))
entries <- entries[!entries$stored, ]
for (k in seq_len(nrow(entries))) digest_formula(entries$formula[[k]], entries$args[[k]])

points <- \(d) sprintf(c("x = Vi(%d)", "y = Vj(%d)"), d)
for (d in c(1, 3, 5, 10, 50, 100, 300)) {
  for (f in c("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", "Sum_Reduction(Exp(-Norm2(x - y)) * b, 1)",
              "Sum_Reduction(Exp(x | y) * b, 1)", "Sum_Reduction(Cos(x | y) * b, 1)",
              "SumSoftMaxWeight_Reduction(x | y, b, 1)", "Sum_Reduction(b / (1 + SqDist(x, y)), 1)")) {
    digest_formula(f, c(points(d), "b = Vj(2)"))
    if (d <= 50) digest_formula(sprintf("Grad(%s, x, e)", f), c(points(d), "b = Vj(2)", "e = Vi(2)"))
  }
  for (f in c("LogSumExp_Reduction(-SqDist(x, y), 1)", "ArgKMin_Reduction(SqDist(x, y), 10, 1)",
              "Min_Reduction(SqDist(x, y), 1)", "Max_Reduction(x | y, 1)", "ArgMin_Reduction(SqDist(x, y), 1)")) {
    digest_formula(f, points(d))
  }
}
for (nu in c(0.7, 1.5, 2.5)) digest_formula(sprintf("Sum_Reduction(Matern(%g, Norm2(x - y)), 1)", nu), points(3))

# ---- Fits: the numbers that a user sees ----

set.seed(2)
n <- 120
d <- data.frame(x = stats::runif(n), y = stats::runif(n), g = rep(letters[1:6], n / 6), v = stats::rnorm(n))
d$z <- sin(5 * d$x) + cos(4 * d$y) + 0.3 * d$v + stats::rnorm(n, sd = 0.2)
d$k <- stats::rpois(n, exp(1 + sin(4 * d$x)))
d$b <- stats::rbinom(n, 1, stats::plogis(2 * sin(5 * d$x)))
d$w <- 1.5 * d$z + stats::rnorm(n, sd = 0.3)
new <- data.frame(x = c(0.2, 0.5, 0.9), y = c(0.4, 0.5, 0.1), g = c("a", "b", "c"), v = 0, w = 0)
numbers <- function(fit) list(coef(fit, "both"), as.numeric(logLik(fit)), predict(fit, new, se.fit = TRUE))
fits <- list(
  exact = \() gp(z ~ v, d, ~ x + y, progress = FALSE),
  reml = \() gp(z ~ v, d, ~ x + y, matern(5/2) + nugget(), estimate = "REML"),
  ard = \() gp(z ~ 1, d, ~ x + y, matern(3/2, ard = TRUE) + nugget()),
  smoothness = \() gp(z ~ 1, d, ~ x + y, matern(NA) + nugget()),
  two_scales = \() gp(z ~ 1, d, ~ x + y, exponential(range = 0.1) + squared_exponential(range = 0.5) + nugget()),
  known = \() gp(z ~ 0, d, ~ x, exponential(1, 0.2) + nugget(0.1), estimate = "none"),
  weights = \() gp(z ~ 1, d, ~ x + y, weights = rep(1:4, 30)),
  effect = \() gp(z ~ 1 + (1 | g), d, ~ x + y),
  smooth = \() gp(z ~ s(v, k = 6), d, ~ x + y),
  group = \() gp(z ~ 1, d, ~ x, group = ~ g),
  transform = \() gp(exp(z) ~ 1, d, ~ x + y, transform = "boxcox"),
  iterative = \() gp(z ~ 1, d, ~ x + y, method = "iterative"),
  vecchia = \() gp(z ~ v, d, ~ x + y, method = "vecchia", neighbours = 15),
  poisson = \() gp(k ~ v, d, ~ x + y, family = stats::poisson()),
  binomial = \() gp(b ~ 1, d, ~ x + y, family = stats::binomial()),
  poisson_vecchia = \() gp(k ~ v, d, ~ x + y, family = stats::poisson(), method = "vecchia", neighbours = 15),
  cokriging = \() gp(cbind(z, w) ~ 1, d, ~ x + y, lmc(matern(3/2), nugget())),
  prior = \() gp(z ~ 1, d, ~ x + y, prior = list(range = lognormal(-1, 1)))
)
for (name in names(fits)) record(paste("fit", name), numbers(fits[[name]]()))
record("gp_cv", gp_cv(fits$exact(), 5, seed = 1))
record("simulate", simulate(fits$known(), 2, seed = 1, newdata = new))
record("variogram", gp_variogram(as.matrix(d[1:2]), d$z, breaks = c(0, 0.1, 0.3, 1)))

writeLines(lines, arguments[[1]])
cat(length(lines), "digests,", sum(grepl("error:", lines)), "errors\n")
