# R_LIBS=.lib Rscript bench/families_intervals.R [--sets=200] [--first=1] [--seconds=Inf] [--cores=1] [family ...]
#
# Coverage of intervals of parameters for each family of gp_family(), in a model with a covariate, a group of 30 levels
# and a field. Each data set has 400 points in the unit square, a field of Matern 3/2 with variance 0.5 and range 0.15,
# levels of variance 0.25, and a slope of 0.4. All parameters are estimated by the default method. The link and the true
# parameters of each family are in the code below.
#
# The families (default: all) take turns: each round fits a few data sets of each family, `cores` fits at a time, and
# prints the results so far. The first data set has the seed `first`. The run ends after `sets` data sets of each
# family, or before a round that would probably end more than `seconds` after the start.
#
# Each row has three numbers for the slope, the variance and the range of the field, the variance of the levels and each
# parameter of the family: the percentage of 95 % intervals of confint() that contain the truth (estimates of a variance
# at 0 have no interval and are omitted), the mean of estimate / truth, and the standard error of this mean.

Sys.setenv(KERNOPS_THREADS = "1")
library(kernops)
arguments <- commandArgs(TRUE)
option <- \(name, default) {
  value <- sub(sprintf("--%s=", name), "", grep(sprintf("^--%s=", name), arguments, value = TRUE))
  as.numeric(c(value, default)[[1]])
}
sets <- option("sets", 200)
first <- option("first", 1)
seconds <- option("seconds", Inf)
cores <- option("cores", 1)
n <- 400
levels <- 30
truth <- c(x = 0.4, matern.variance = 0.5, matern.range = 0.15, "(1 | g).variance" = 0.25)

cases <- list(
  binomial = list(w = 5), beta_binomial = list(phi = c(precision = 8), w = 10), poisson = list(),
  negative_binomial = list(phi = c(theta = 3)), negative_binomial_1 = list(phi = c(alpha = 0.8)),
  generalised_poisson = list(phi = c(delta = 0.3)), truncated_poisson = list(),
  truncated_negative_binomial = list(phi = c(theta = 3)), zero_inflated_poisson = list(phi = c(zi = 0.2)),
  zero_inflated_negative_binomial = list(phi = c(theta = 3, zi = 0.2)), hurdle_poisson = list(phi = c(zero = 0.2)),
  hurdle_negative_binomial = list(phi = c(theta = 3, zero = 0.2)), Gamma = list(phi = c(shape = 3)),
  inverse_gaussian = list(phi = c(shape = 3)), lognormal = list(phi = c(sigma = 0.6)),
  weibull = list(phi = c(shape = 1.6), limit = 4), exponential = list(limit = 4),
  tweedie = list(phi = c(dispersion = 0.8, power = 1.5)), delta_gamma = list(phi = c(shape = 3, zero = 0.2)),
  delta_lognormal = list(phi = c(sigma = 0.6, zero = 0.2)), beta = list(phi = c(precision = 8)),
  ordered = list(phi = c(gap2 = 1, gap3 = 1.2), link = "logit", base = -1),
  student = list(phi = c(df = 5, scale = 0.5)), tobit = list(phi = c(sigma = 0.6), left = 0)
)

drawn <- function(name, case, seed) withr::with_seed(seed, {
  d <- data.frame(a = runif(n), b = runif(n), x = rnorm(n), g = factor(rep_len(seq_len(levels), n)[sample(n)]))
  h <- as.matrix(dist(d[c("a", "b")])) * sqrt(3) / truth[["matern.range"]]
  field <- crossprod(chol(truth[["matern.variance"]] * (1 + h) * exp(-h) + diag(1e-9, n)), rnorm(n))
  eta <- as.vector(field) + rnorm(levels, sd = sqrt(truth[["(1 | g).variance"]]))[d$g] + truth[["x"]] * d$x +
    (if (is.null(case$base)) 1 else case$base)
  family <- family_of(name, case)
  d$w <- if (is.null(case$w)) 1 else case$w
  d$y <- family$density$draw(eta, d$w, case$phi, family$link)
  if (!is.null(case$limit)) d$y <- cbind(time = pmin(abs(d$y), case$limit), status = d$y <= case$limit)
  if (!is.null(case$left)) d$y <- pmax(d$y, case$left)
  if (name == "beta") d$y <- pmin(pmax(d$y, 1e-12), 1 - 1e-12)
  if (name == "ordered") d$y <- factor(d$y, ordered = TRUE)
  d
})
family_of <- \(name, case) do.call(gp_family, c(list(name), case["link"][!is.null(case$link)],
                                                case["left"][!is.null(case$left)]))

# For each parameter: whether its interval contains the truth, and its estimate.
one_fit <- function(name, seed) {
  case <- cases[[name]]
  d <- drawn(name, case, seed)
  truth <- c(truth, case$phi)
  intervals <- tryCatch({
    fit <- suppressMessages(suppressWarnings(
      gp(y ~ x + (1 | g), d, ~ a + b, matern(3/2), family = family_of(name, case), weights = d$w, progress = FALSE)
    ))
    suppressWarnings(confint(fit))[names(truth), ]
  }, error = \(e) {
    message(name, ", seed ", seed, ": ", conditionMessage(e))
    NULL
  })
  if (is.null(intervals)) return(matrix(NA, 2, length(truth)))
  estimates <- c(fit$beta, fit$theta, fit$dispersion)[names(truth)]
  rbind(intervals[, 1] <= truth & truth <= intervals[, 2], estimates / truth)
}

wanted <- grep("^--", arguments, value = TRUE, invert = TRUE)
if (!length(wanted)) wanted <- names(cases)
stopifnot(wanted %in% names(cases))

row_of <- function(name, fits) {
  covered <- vapply(fits, \(fit) fit[1, ], fits[[1]][1, ])
  ratios <- vapply(fits, \(fit) fit[2, ], fits[[1]][2, ])
  columns <- c("slope", "variance", "range", "levels", names(cases[[name]]$phi))
  error <- apply(ratios, 1, sd, na.rm = TRUE) / sqrt(ncol(ratios))
  shown <- sprintf("%.0f %% %.2f (%.2f)", 100 * rowMeans(covered, na.rm = TRUE), rowMeans(ratios, na.rm = TRUE), error)
  sprintf("%-32s %d sets: %s; %d without an interval of the field\n", name, length(fits),
          paste(columns, shown, collapse = ", "), sum(is.na(covered[2, ])))
}

fits <- list()
finished <- 0
start <- before <- proc.time()[[3]]
while (finished < sets) {
  seeds <- first - 1 + finished + seq_len(min(max(2, ceiling(cores / 2)), sets - finished))
  round <- expand.grid(name = wanted, seed = seeds, stringsAsFactors = FALSE)
  done <- parallel::mclapply(seq_len(nrow(round)), \(k) one_fit(round$name[[k]], round$seed[[k]]), mc.cores = cores,
                             mc.preschedule = FALSE)
  for (k in which(vapply(done, is.matrix, NA))) fits[[round$name[[k]]]] <- c(fits[[round$name[[k]]]], done[k])
  finished <- finished + length(seeds)
  now <- proc.time()[[3]]
  cat(sprintf("\nAfter %.0f s:\n", now - start), vapply(names(fits), \(name) row_of(name, fits[[name]]), ""), sep = "")
  flush(stdout())
  if (now - start + 1.2 * (now - before) > seconds) break
  before <- now
}
