# Checks for separation. The trend or the field separates observations if its sign determines without an error which
# observations are successes, or which counts are zero. The likelihood then has no maximum (Albert and Anderson 1984).

warn_about_separation <- function(fit, separating) {
  if (length(separating)) return(warn_about_covariates(separating, fit$family$density$response))
  if (!is_separated_by_field(fit)) return(invisible())
  cli::cli_warn(c("The field separates the successes from the failures: fitted probabilities are 0 or 1, and the
                   likelihood increases with the variance of the field.",
                  i = "The variance is an arbitrary large number: give it a value or a {.arg prior}."),
                class = c("kernops_separation", "kernops_warning"))
}

# Replaces the warning that the search did not converge by a warning about separating covariates, because the search
# cannot converge and more steps do not help.
with_separation <- function(separating, search) {
  withCallingHandlers(search, kernops_not_converged = function(w) {
    if (length(separating) && !inherits(w, "kernops_near_singular")) invokeRestart("muffleWarning")
  })
}

warn_about_covariates <- function(names, family) {
  if (identical(names, "(Intercept)")) return(warn_about_constant(family))
  covariates <- if (length(names) > 1) setdiff(names, "(Intercept)") else names
  result <- if (family == "binomial") "without an error: fitted probabilities are 0 or 1" else
    "with certainty: fitted rates are 0"
  groups <- if (family == "binomial") "successes from failures" else "zero counts from others"
  cli::cli_warn(c("{.code {covariates}} {?separates/separate} {groups} {result}, and the likelihood has no maximum.",
                  i = "Coefficients and standard errors are arbitrary large numbers: merge levels, leave
                       {cli::qty(covariates)}{?it/one of them} out, or give coefficients by
                       {.code known = list(beta = )}."), class = c("kernops_separation", "kernops_warning"))
}

warn_about_constant <- function(family) {
  all <- if (family == "binomial") "All observations are successes, or all are failures" else "All counts are 0"
  cli::cli_warn(c(paste0(all, ": the likelihood has no maximum."),
                  i = "The intercept and its standard error are arbitrary large numbers."),
                class = c("kernops_separation", "kernops_warning"))
}

# The names of the smallest set of trend columns of which a linear combination separates the observations.
separating_covariates <- function(data) {
  sides <- sides_of_observations(data)
  x <- data$x
  if (is.null(sides) || !ncol(x) || !separates(x, sides)) return(NULL)
  kept <- seq_len(ncol(x))
  for (column in rev(kept)) {
    fewer <- setdiff(kept, column)
    if (length(fewer) && separates(x[, fewer, drop = FALSE], sides)) kept <- fewer
  }
  colnames(x)[kept] %||% paste("column", kept)
}

# For each observation, the direction of the linear predictor in which the likelihood increases without end: 1, -1, or 0
# for no direction.
sides_of_observations <- function(data) {
  y <- data$y
  density <- data$family$density
  # zeros with a separate probability carry no information about the mean
  if (any(c("zi", "zero") %in% names(density$parameters))) return(NULL)
  switch(density$response, binomial = (y == 1) - (y == 0), count = -as.numeric(y == 0), NULL)
}

# TRUE if there are coefficients b such that sides * x b is at least 0 for all observations and positive for some
# observations, and x b = 0 where `sides` is 0. By Stiemke's lemma, such a b exists exactly if no positive combination
# of the rows sides * x is zero. The shortest combination with coefficients of at least 1 is a solution b.
separates <- function(x, sides, tolerance = 1e-9) {
  basis <- qr.Q(qr(x)) * sqrt(nrow(x))
  within <- basis[sides == 0, , drop = FALSE]
  if (nrow(within)) {
    free <- null_space(within)
    if (!ncol(free)) return(FALSE)
    basis <- basis %*% free
  }
  rows <- (sides * basis)[sides != 0, , drop = FALSE]
  if (!nrow(rows)) return(FALSE)
  toward <- rows %*% shortest_combination(rows)
  min(toward) >= -tolerance && max(toward) > 1e3 * tolerance
}

null_space <- function(rows) {
  decomposition <- qr(t(rows), tol = 1e-9)
  qr.Q(decomposition, complete = TRUE)[, -seq_len(decomposition$rank), drop = FALSE]
}

# The shortest vector mean(rows) + t(rows) m with m >= 0: non-negative least squares by Lawson and Hanson (1974).
shortest_combination <- function(rows, tolerance = 1e-10) {
  target <- -colMeans(rows)
  m <- numeric(nrow(rows))
  active <- refused <- integer()
  for (step in seq_len(100 * ncol(rows))) {
    left <- target - as.vector(crossprod(rows[active, , drop = FALSE], m[active]))
    gain <- replace(as.vector(rows %*% left), c(active, refused), -Inf)
    best <- which.max(gain)
    if (max(abs(left)) <= tolerance || gain[[best]] <= tolerance) break
    moved <- nonnegative_step(rows, target, replace(m, best, 0), c(active, best))
    # if rounding errors keep the coefficient of a row at zero, the next steps exclude this row
    if (!best %in% moved$active) refused <- c(refused, best) else refused <- integer()
    m <- moved$m
    active <- moved$active
  }
  -left
}

# Solves least squares for the active rows; rows whose coefficients would become negative are removed, one at a time.
nonnegative_step <- function(rows, target, m, active) {
  repeat {
    solved <- qr.coef(qr(t(rows[active, , drop = FALSE]), tol = 1e-12), target)
    solved[is.na(solved)] <- 0
    if (all(solved > 0)) break
    shrinking <- which(solved <= 0)
    shares <- m[active[shrinking]] / pmax(m[active[shrinking]] - solved[shrinking], .Machine$double.xmin)
    share <- min(shares)
    m[active] <- m[active] + share * (solved - m[active])
    out <- active[shrinking[shares <= share]]
    m[out] <- 0
    active <- setdiff(active, out)
    if (!length(active)) return(list(m = m, active = active))
  }
  list(m = replace(m, active, solved), active = active)
}

# TRUE if the sign of the fitted linear predictor agrees with every binary observation, and the variance of the field is
# at least 50 times the variance of the latent distribution of the link. The likelihood then hardly depends on the
# variance of the field. For cauchit, whose latent distribution has no variance, the variance of a normal distribution
# with the same quartiles is used.
is_separated_by_field <- function(fit) {
  if (fit$family$density$response != "binomial") return(FALSE)
  if (all(fit$outer$parameters$fixed | fit$outer$parameters$kind == "trend")) return(FALSE)
  y <- fit$response$y
  if (!all(y %in% 0:1)) return(FALSE)
  centre <- link_of(0.5, fit$family$link)
  if (any((2 * y - 1) * (fit$latent$terms$eta - centre) <= 0)) return(FALSE)
  variance <- as.vector(covariance_diagonal(fit$model)(list(theta = fit$theta, x = fit$data$u)))
  stats::median(variance) > 50 * c(logit = pi^2 / 3, probit = 1, cloglog = pi^2 / 6, cauchit = 2.2)[[fit$family$link]]
}
