# R_LIBS=.lib Rscript bench/prediction_designs.R [draws=K] [cores=K] [backend=NAME] [n] [new] [design ...]
#
# Local and joint predictions with a known covariance, compared with exact kriging: n observations (default 3000) and
# new points (400) of eight designs, Matern fields of smoothness 1/2, 3/2 and 5/2 with range 0.15 in the unit square,
# and a nugget of 1 % or 50 % of the variance of the field. Predictions are linear in the observations, so that root
# mean square error, CRPS and coverage of 95 % intervals are expectations over all data, not scores of one simulation:
# with the weights w of a prediction and the weights e of kriging, the mean square error of the prediction exceeds the
# mean square error of kriging by (w - e)' K (w - e).
#
# Each row of the output shows, for one case and one kind of predictions, by how many % RMSE and CRPS exceed the scores
# of exact kriging, and the coverage in %. The kinds are `default`: predict(); `local`: predictions from the nearest
# observations, as many as gp() chooses; and `observations`: predictions from the nearest observations and earlier new
# points, which gp() uses for more than 20,000 observations if predictions do not use the field at the observations.
#
# With `draws=20`, 20 data sets are simulated; for each, the covariance and a constant mean are estimated by the exact
# method, on `backend`, and by method = "vecchia" with its defaults. Scores are expectations under the true covariance,
# given the estimates. Each row then shows by how many % the scores of the approximate fits exceed the scores of the
# exact fits, the coverage of the exact fits and of the approximate fits, and the mean difference of log-likelihoods,
# exact minus approximate. `cores` is the number of rows that are computed at a time.

library(kernops)
internal <- asNamespace("kernops")
arguments <- commandArgs(TRUE)
option <- function(name, default) sub(".*=", "", c(grep(paste0("^", name, "="), arguments, value = TRUE), default)[[1]])
draws <- as.integer(option("draws", 0))
cores <- as.integer(option("cores", 1))
backend <- option("backend", "auto")
arguments <- grep("=", arguments, value = TRUE, invert = TRUE)
n <- as.integer(c(arguments, 3000)[[1]])
new <- as.integer(c(arguments[-1], 400)[[1]])

points <- function(count, inside = \(u) TRUE, draw = \(count) matrix(runif(2 * count), count)) {
  u <- matrix(0, 0, 2)
  in_square <- \(u) u[, 1] > 0 & u[, 1] < 1 & u[, 2] > 0 & u[, 2] < 1
  while (nrow(u) < count) {
    more <- draw(4 * count)
    u <- rbind(u, more[in_square(more) & inside(more), , drop = FALSE])
  }
  u[seq_len(count), ]
}
hole <- \(gap) list(observed = points(n, \(u) !gap(u)), new = points(new, gap))
box <- \(x, y, half) \(u) abs(u[, 1] - x) < half & abs(u[, 2] - y) < half
any_of <- \(tests) \(u) Reduce(`|`, lapply(tests, \(test) test(u)))
near <- \(x, y, r) \(u) (u[, 1] - x)^2 + (u[, 2] - y)^2 < r^2
around <- function(centres, sd) \(count) {
  centres[sample(nrow(centres), count, TRUE), ] + sd * matrix(rnorm(2 * count), count)
}
along_tracks <- function(count) {
  track <- sample(12, count, TRUE)
  angle <- c(0.3, 1.2, 2.2)[1 + track %% 3]
  off <- seq(-0.6, 0.6, length.out = 12)[track]
  along <- runif(count, -0.8, 0.8)
  0.5 + cbind(along * cos(angle) - off * sin(angle), along * sin(angle) + off * cos(angle)) + 0.002 * rnorm(2 * count)
}
set.seed(1)
at_random <- matrix(runif(60), 30)
thirds <- c(0.2, 0.5, 0.8)
designs <- list(
  random = \() list(observed = points(n), new = points(new)),
  "block gap" = \() hole(box(0.5, 0.5, 0.15)),
  edge = \() hole(\(u) u[, 1] > 0.85),
  "several blocks" = \() hole(any_of(Map(\(x, y) box(x, y, 0.06), rep(thirds, 3), rep(thirds, each = 3)))),
  corner = \() hole(box(1, 1, 0.25)),
  clusters = \() list(observed = points(n, draw = around(at_random, 0.04)), new = points(new)),
  holes = \() hole(any_of(Map(\(x, y) near(x, y, 0.05), at_random[, 1], at_random[, 2]))),
  tracks = \() list(observed = points(n, draw = along_tracks), new = points(new))
)

# The weights of the observations, a column for each new point, and the standard deviations of the predictions that
# predict() computes with these base points and numbers of neighbours.
joint <- function(case, base = "joint_base", m = case$fit$vecchia$m, new = case$fit$vecchia$new) {
  fit <- replace(case$fit, "cell", list(internal$new_cell()))
  fit$vecchia[c("m", "new")] <- list(m, new)
  targets <- targets_of(fit, case)
  base <- do.call(base, list(fit), envir = internal)
  field <- internal$joint_field(fit, base, targets, internal$joint_places(fit, base, targets$u, base$posterior()))
  weights <- t(field$means(diag(n)))
  if (!is.null(base$posterior())) {
    system <- internal$kept_for(fit, internal$gaussian_system)
    weights <- system$share(system$weight) * system$spread(system$mean(system$weight, weights))
  }
  list(weights = weights, sd = sqrt(field$variances()))
}
local <- function(case) {
  near <- do.call("nearest_base", list(case$fit), envir = internal)$nearest(targets_of(case$fit, case)$u)
  weights <- matrix(0, n, new)
  weights[cbind(as.vector(near$neighbours), as.vector(col(near$neighbours)))] <- near$weights
  list(weights = weights, sd = near$sd)
}
targets_of <- \(fit, case) internal$targets_of(fit, internal$new_points(fit, data.frame(case$new), NULL))

crps <- \(sd, mse) sqrt(2 * (sd^2 + mse) / pi) - sd / sqrt(pi)
scores <- function(case, by, sd = by$sd) {
  off <- by$weights - case$weights
  mse <- case$variance + colSums(off * case$covariance(off))
  excess <- \(x, exact) 100 * (x / exact - 1)
  c(rmse = excess(sqrt(mean(mse)), sqrt(mean(case$variance))),
    crps = excess(mean(crps(sd, mse)), mean(crps(sqrt(case$variance), case$variance))),
    cover = 100 * mean(2 * pnorm(qnorm(0.975) * sd / sqrt(mse)) - 1))
}

case_of <- function(design, nu, nugget) {
  k <- matern(nu, variance = 1, range = 0.15)
  data <- data.frame(design$observed, y = rnorm(n))
  fit <- gp(y ~ 0, data, ~ X1 + X2, k + nugget(nugget), method = "vecchia", estimate = "none")
  model <- internal$covariance_model(k, 2)
  theta <- model$parameters$value
  values <- internal$covariance_matrix(model)
  product <- internal$covariance_product(model, new)
  factor <- internal$dense_factor(n)
  stopifnot(factor$fill(values, theta, design$observed, rep(nugget, n)) == 0)
  half <- factor$solve(values(list(theta = theta, x = design$observed, y = design$new)))
  c(design, list(
    nugget = nugget, fit = fit, draw = \(normal) drop(factor$times(cbind(normal))), variance = 1 - colSums(half^2),
    covariance = \(b) product(list(theta = theta, x = design$observed, y = design$observed, b = b)) + nugget * b,
    weights = factor$solve(half, TRUE)
  ))
}

# Expected scores of normal predictions at the new points, if the field given the data is also normal.
expected_scores <- function(p, mean, variance) {
  gap <- p$fit - mean
  folded <- function(m, sd) sd * sqrt(2 / pi) * exp(-m^2 / (2 * sd^2)) + m * (2 * pnorm(m / sd) - 1)
  half <- qnorm(0.975) * p$se.fit
  c(mse = mean(variance + gap^2), crps = mean(folded(gap, sqrt(p$se.fit^2 + variance)) - p$se.fit / sqrt(pi)),
    cover = 100 * mean(pnorm((gap + half) / sqrt(variance)) - pnorm((gap - half) / sqrt(variance))))
}
estimated <- function(case, nu, draws) {
  from <- matern(nu, 1, 0.15) + nugget(case$nugget)
  each <- lapply(seq_len(draws), function(draw) {
    set.seed(draw)
    y <- case$draw(rnorm(n))
    data <- data.frame(case$observed, y)
    fits <- lapply(c(exact = "exact", vecchia = "vecchia"), \(method) {
      suppressWarnings(gp(y ~ 1, data, ~ X1 + X2, from, method, backend = if (method == "exact") backend else "cpu",
                          control = gp_control(starts = 1, progress = FALSE)))
    })
    mean <- drop(crossprod(case$weights, y))
    found <- vapply(fits, \(fit) {
      p <- predict(fit, data.frame(case$new), se.fit = TRUE, interval = "confidence")
      expected_scores(p, mean, case$variance)
    }, numeric(3))
    rbind(found, loglik = vapply(fits, \(fit) fit$loglik, 0))
  })
  total <- Reduce(`+`, each) / draws
  c(rmse = 100 * (sqrt(total["mse", 2] / total["mse", 1]) - 1),
    crps = 100 * (total["crps", 2] / total["crps", 1] - 1), cover = total["cover", 2], exact = total["cover", 1],
    gain = total["loglik", 1] - total["loglik", 2])
}

rows_of <- function(name, nu, nugget) {
  set.seed(2)
  case <- case_of(designs[[name]](), nu, nugget)
  if (draws > 0) {
    row <- estimated(case, nu, draws)
    return(sprintf("%-14s %3.1f %4.2f  RMSE %+6.2f  CRPS %+6.2f  coverage %5.2f (exact %5.2f)  log-lik %+.2f\n",
                   name, nu, nugget, row[["rmse"]], row[["crps"]], row[["cover"]], row[["exact"]], row[["gain"]]))
  }
  tries <- list(default = joint(case), local = local(case), observations = joint(case, "observed_base"))
  vapply(names(tries), FUN.VALUE = "", function(try) {
    row <- scores(case, tries[[try]])
    sprintf("%-14s %3.1f %4.2f %-12s  RMSE %+6.2f  CRPS %+6.2f  coverage %5.2f\n", name, nu, nugget, try, row[["rmse"]],
            row[["crps"]], row[["cover"]])
  })
}

wanted <- if (length(arguments) > 2) arguments[-(1:2)] else names(designs)
cells <- expand.grid(nugget = c(0.01, 0.5), nu = c(1, 3, 5) / 2, name = wanted, stringsAsFactors = FALSE)
if (cores > 1) options(kernops.threads = 1)
rows <- parallel::mclapply(seq_len(nrow(cells)), mc.cores = cores, mc.preschedule = FALSE, function(k) {
  cat(with(cells[k, ], rows_of(name, nu, nugget)), sep = "")
})
stopifnot(!vapply(rows, inherits, NA, "try-error"))
