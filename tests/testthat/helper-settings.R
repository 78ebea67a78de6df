# Calls of functions of each part of the package. R's settings may change the names and labels that a call returns, but
# not its numbers.

settings_data <- function() {
  withr::local_seed(1)
  d <- data.frame(x = runif(40), y = runif(40), u = rnorm(40), g = rep(c("i", "I", "ii", "b"), 10))
  d$z <- sin(5 * d$x) + 0.3 * d$u + rnorm(40, sd = 0.1)
  d$w <- d$z + rnorm(40)
  d$count <- rpois(40, exp(d$z))
  d$time <- as.POSIXct("2024-03-30 12:00:00", tz = "UTC") + 3600 * seq_len(40)
  d
}

# The numbers that f() returns, in the order in which they appear.
numbers_of <- function(f) {
  value <- f()
  # groups are sorted as factor() sorts, in the order of the locale
  if (is.numeric(value) && !is.null(names(value))) value <- value[order(names(value), method = "radix")]
  if (is.data.frame(value)) value <- lapply(value, \(column) if (is.factor(column)) as.integer(column) else column)
  as.numeric(unlist(Filter(\(part) is.numeric(part) || is.list(part), if (is.list(value)) value else list(value))))
}

calls_of_pairs <- function(d) {
  X <- as.matrix(d[c("x", "y")])
  K <- \() exp(-sqdist(Vi(X), Vj(X)) / 0.3)
  op <- \() keops_kernel("Sum_Reduction(Exp(-SqDist(x, y) / 0.3) * b, 1)", c("x = Vi(2)", "y = Vj(2)", "b = Vj(1)"))
  A <- list(offsets = c(0, 2, 2, 3), columns = c(0, 2, 1), values = c(1, 2, 3))
  list(
    sums = \() rowSums(K()), product = \() K() %*% d$z, block = \() K()[3:5, 7], power = \() sum((K() + 0.1)^3.7, "j"),
    whole_power = \() sum(K()^-2, "i"), rounded = \() sum(round(K(), 2), "j"),
    entry = \() sum(elem(Vi(X), 2) * K(), "j"),
    smallest = \() Kmin_argKmin(sqdist(Vi(X), Vj(X)), 3, "j"), parts = \() sum(extract(Vi(X) - Vj(X), 2, 1)^2, "j"),
    contraction = \() tensordot(Pm(1:6 / 7), Pm(1:4 / 3), c(3, 2), c(2, 2), 2, 1)[1, 1],
    spline = \() sum(bspline(Pm(0:9 / 9), elem(Vi(X), 1), 3), "i"), complex = \() Re(sum(exp1j(K()), "j")),
    constants = \() sum(exp(-sqdist(Vi(2), Vj(2)) * 1.234567890123456) * 1e5, "j")(list(X, X)),
    gradient = \() keops_grad(op(), "x")(list(X, X, d$z, d$u)), derivative = \() sum(laplacian(K(), Vi(X)), "j"),
    lazy_gradient = \() {p <- Vi(X); sum(grad(exp(-sqdist(p, Vj(X)) / 0.3), 1, p), "j")},
    solution = \() kernel_solve(op(), "b", list(X, X, d$z), 0.1, precond = "pivoted_cholesky", rank = 10)$solution,
    vecchia = \() kernel_solve(op(), "b", list(X, X, d$z), 0.1, precond = "vecchia")$solution,
    interpolation = \() kernel_interpolation(X, d$z, matern(1.7, 1, 0.2), 0.01)(X[1:3, ]),
    segments = \() seg_reduce(d$z, g = d$g, op = "mean"), own = \() seg_reduce(d$z, g = d$g, op = seg_op("a + b", 0.1)),
    softmax = \() seg_softmax(d$z, lengths = c(15, 25)), keys = \() reduce_by_key(d$x, d$z, same = "Abs(a - b) <= 0.1"),
    axes = \() axis_reduce(array(d$z, c(2, 4, 5)), c(1, 3), "var"), sparse = \() spmv(A, c(0.1, 0.2, 0.3))
  )
}

calls_of_fits <- function(d) {
  fit_at <- \(model, ..., estimate = "none") gp(z ~ u, d, ~ x + y, model, estimate = estimate, progress = "none", ...)
  fit <- \(...) fit_at(matern(3/2, 1, 0.3) + nugget(0.1), ...)
  new <- data.frame(d[1:3, ], row.names = NULL)
  new$x <- new$x + 0.01
  fields <- lmc(exponential(range = 0.3), nugget(), sills = list(matrix(c(1, 0.5, 0.5, 1), 2), c(0.1, 0.2)))
  effect <- random_effect(~ 1 | g, 0.4)
  list(
    exact = \() c(logLik(fit()), coef(fit())), ml = \() logLik(fit(estimate = "REML", starts = 1)),
    iterative = \() logLik(fit(method = "iterative")), neighbours = \() logLik(fit(method = "vecchia")),
    rough = \() logLik(fit_at(matern(1.234567890123456, 1, 0.3) + nugget(0.1))),
    families = \() vapply(list(spherical, exponential, wendland, squared_exponential, circular), \(family) {
      as.numeric(logLik(fit_at(family(1, 0.3) + nugget(0.1))))
    }, 0),
    anisotropic = \() logLik(fit_at(matern(5/2, 1, 0.3, angle = 30, ratio = 0.5) + periodic(1, 2, 0.4) + nugget(0.1))),
    one_dimension = \() logLik(fit_at(exponential(1, 0.3, dims = 2) * linear(1, 0.3) + nugget(0.1))),
    prediction = \() predict(fit(), new, se.fit = TRUE), levels = \() predict(fit(), new, probs = 0.025, above = 1e5),
    draws = \() simulate(fit(), 2, seed = 1, type = "field"), cv = \() gp_cv(fit(), folds = 5),
    effects = \() predict(fit_at(matern(3/2, 1, 0.3) + effect + nugget(0.1)), new),
    smooth = \() {
      skip_if_not_installed("mgcv")
      predict(fit_at(matern(3/2, 1, 0.3) + smooth_effect(~ s(w, k = 5), 0.4) + nugget(0.1)), new)
    },
    groups = \() predict(fit(group = ~ g), new),
    several = \() predict(gp(cbind(z, w) ~ 1, d, ~ x + y, fields, estimate = "none"), new, se.fit = TRUE),
    counts = \() {
      counted <- gp(count ~ u, d, ~ x + y, matern(3/2, 1, 0.3), family = poisson(), estimate = "none")
      predict(counted, new, type = "response")
    },
    times = \() {
      of_time <- gp(z ~ 1, d, ~ time, exponential(1, 3) + nugget(0.1), estimate = "none")
      predict(of_time, data.frame(time = d$time[3] + 1800))
    },
    factors = \() predict(gp(z ~ factor(g), d, ~ x + y, matern(3/2, 1, 0.3) + nugget(0.1), estimate = "none"), new),
    variogram = \() gp_variogram(z ~ 1, d, breaks = 5, coords = ~ x + y)[c("np", "dist", "gamma")],
    directions = \() gp_variogram(z ~ 1, d, breaks = 3, coords = ~ x + y, alpha = c(0, 22.5))[c("np", "dist", "gamma")],
    by_variogram = \() {
      found <- fit_variogram(gp_variogram(z ~ 1, d, coords = ~ x + y), exponential() + nugget())
      unlist(lapply(found$parts, \(part) part$parameters))
    },
    set_of_neighbours = \() gp_neighbours(as.matrix(d[c("x", "y")]), m = 5)$neighbours
  )
}

printed_of_fits <- function(d) {
  fit <- gp(z ~ u, d, ~ x + y, matern(3/2, 1, 0.3) + nugget(0.1), estimate = "none")
  K <- exp(-sqdist(Vi(d$x), Vj(d$x)))
  things <- list(fit, summary(fit), fit$model$covariance, gp_cv(fit, folds = 5), K, seg_plan(g = d$g))
  utils::capture.output(for (thing in things) print(thing))
}

# The output of `code` in a separate R process that attaches only the packages of R itself.
run_fresh <- function(code) {
  file <- withr::local_tempfile(lines = c(sprintf(".libPaths(%s)", deparse1(.libPaths())), code))
  paste(system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", file), stdout = TRUE, env = "R_TESTS="),
        collapse = "\n")
}
