# Settings of R: calls under random options, locales and time zones must give the same results as under the defaults.

set.seed(1)
x <- matrix(stats::runif(40), 20)
d <- data.frame(u = x[, 1], v = x[, 2], g = rep(c("I", "i", "a", "B"), 5))
d$t <- as.POSIXct("2024-03-31", tz = "UTC") + 3600 * 1:20
d$z <- sin(5 * d$u) + stats::rnorm(20, sd = 0.1)
d$k <- stats::rpois(20, exp(1 + d$u))
K <- exp(-sqdist(Vi(x), Vj(x)) / 0.123456789012345)
field <- matern(1.2, 1, 0.3)
known <- field + nugget(0.1)
by_formula <- covariance("s * Exp(-SqDist(x, y) / r)", list(s = 1, r = 0.123456789)) + nugget(0.1)

calls <- list(
  sum = \() rowSums(K), loop = \() {L <- K; for (k in 1:3) L <- L * 1e-7 + 1234567; rowSums(L)},
  lazy = \() sum(exp(-sqdist(Vi(x), Vj(x + 1e-6)) * 1e5), "j"), solve = \() solve(K, d$z, 0.1),
  argmin = \() argKmin(sqdist(Vi(x), Vj(x)), 3, "j"),
  clamp = \() sum(clamp(Vi(x), 1e-5, 1e5), "j"), power = \() sum((1 + sqdist(Vi(x), Vj(x)))^-1.5, "j"),
  gradient = \() sum(grad(K, 1, Vi(x, name = "x")), "j"),
  kernel = \() keops_kernel("Sum_Reduction(Exp(-1e-1 * SqDist(x, y)), 1)", c("x = Vi(2)", "y = Vj(2)"))(list(x, x)),
  segments = \() seg_reduce(d$z, g = d$g, op = "mean"), keys = \() reduce_by_key(d$g, d$z)[[2]],
  rule = \() seg_reduce(d$z, g = d$g, op = seg_op("a + b")),
  axis = \() axis_reduce(array(1:24 + 0.5, 2:4), 2), softmax = \() softmax(x),
  exact = \() as.numeric(logLik(gp(z ~ u, d, ~ u + v, known, estimate = "none"))),
  fit = \() coef(gp(z ~ 1, d, ~ u, matern(1.7, range = 0.3) + nugget(0.1)), "both"),
  vecchia = \() as.numeric(logLik(gp(z ~ g, d, ~ u + v, known, "vecchia", "none"))),
  iterative = \() predict(gp(z ~ 1, d, ~ u + v, known, "iterative", "none"), d[1:3, ]),
  counts = \() predict(gp(k ~ 1, d, ~ u + v, field, "exact", "none", family = stats::poisson()), d[1:3, ]),
  effect = \() predict(gp(z ~ 1, d, ~ u, known + random_effect(~ 1 | g, 1), estimate = "none"), d[1:4, ]),
  time = \() predict(gp(z ~ t, d, ~ t, exponential(1, 0.2) + nugget(0.1), estimate = "none"), d[1:4, ]),
  smooth = \() predict(gp(z ~ 1, d, ~ u, known + smooth_effect(~ s(v, k = 5), 1), estimate = "none"), d[1:4, ]),
  formula = \() as.numeric(logLik(gp(z ~ 1, d, ~ u, by_formula, estimate = "none"))),
  variogram = \() gp_variogram(x, d$z, breaks = c(0, 0.1, 0.3, 1))$gamma,
  simulation = \() simulate(gp(z ~ 1, d, ~ u + v, known, estimate = "none"), 1, seed = 1, newdata = d[1:3, ]),
  folds = \() gp_cv(gp(z ~ 1, d, ~ u + v, known, estimate = "none"), 4, seed = 1)$fit
)
options_tried <- list(
  list(OutDec = ","), list(scipen = -5), list(scipen = 100), list(digits = 1), list(digits = 22), list(warn = 2),
  list(encoding = "latin1"), list(na.action = "na.exclude"), list(max.print = 5),
  list(digits.secs = 6), list(width = 20), list(keep.source = TRUE), list(expressions = 5000),
  list(useFancyQuotes = TRUE)
)
locales <- c("C", "C.UTF-8", "tr_TR.UTF-8", "de_DE.UTF-8", "ja_JP.UTF-8")
zones <- c("UTC", "America/New_York", "Asia/Kolkata", "Europe/Berlin", "Pacific/Apia")

run_part <- function() {
  expected <- lapply(calls, \(call) quietly(call()))
  locale <- Sys.getlocale("LC_COLLATE")
  while (there_is_time()) {
    name <- pick(names(calls))
    options <- pick(options_tried)
    zone <- pick(zones)
    language <- pick(locales)
    label <- sprintf("%s with %s, TZ %s, locale %s", name, deparse1(options), zone, language)
    old <- options(options)
    Sys.setenv(TZ = zone)
    for (category in c("LC_CTYPE", "LC_COLLATE", "LC_TIME", "LC_MONETARY")) {
      suppressWarnings(Sys.setlocale(category, language))
    }
    value <- tryCatch(suppressMessages(calls[[name]]()), error = identity, warning = identity)
    options(old)
    Sys.setenv(TZ = "UTC")
    for (category in c("LC_CTYPE", "LC_COLLATE", "LC_TIME", "LC_MONETARY")) Sys.setlocale(category, locale)
    begin_attack(label)
    if (inherits(value, "condition")) {
      if (!is.null(options$warn) || inherits(value, "error")) report_error(label, value)
    } else {
      # groups may be in another order in another locale, so that results are matched by name
      order <- if (is.null(names(value))) seq_along(value) else match(names(expected[[name]]), names(value))
      if (!isTRUE(all.equal(as.vector(value)[order], as.vector(expected[[name]]), tolerance = 1e-10))) {
        report(label, ": the value differs")
      }
    }
  }
}
