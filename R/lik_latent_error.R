# The error of the incomplete factor of the posterior precision of a field and of effects (src/neighbours/posterior.h).
#
# With the factor L, the precision H has log det H = log det L L' + tr log A, where A = L^-1 H L'^-1. A is nearly the
# identity, so a few random signs z estimate the trace tr log A = E z' log(A) z well (Ubaru, Chen and Saad 2017). The
# trace hardly depends on the parameters: the estimate at the first parameters is kept with the pattern of the factor,
# so that the gradient of log det L L' is the gradient of the likelihood. Levels of many neighbouring observations
# require a factor with more entries: if the standard error of the trace is large, or L L' is not positive definite,
# pairs of points in wider sets are added to the pattern.

# An environment that the sets of a likelihood share: the number `count` of neighbours in wide sets, which grows up to
# `most`; the number of `probes`; and `enough`, the largest standard error of log det H that is acceptable.
wide_sets <- function(count = 0, probes = 16, enough = 2 * allowed_monte_carlo) {
  list2env(list(count = count, most = Inf, probes = probes, enough = enough))
}

# Returns a function whose value is the pattern of sets; the pattern is computed again if the number of neighbours has
# grown. If wide sets have too many pairs, the pattern contains only pairs of neighbours; if effects have too many
# pairs, the result is the pattern of the field, with the number of coefficients as `levels` (lik_latent_levels.R).
wide_pattern <- function(sets) {
  pattern <- NULL
  count <- NULL
  pattern_with <- function(wide) {
    if (isTRUE(sets$iterative) || is.null(sets$observed$sparse$within)) return(NULL)
    tryCatch(sparse_pattern(sets$neighbours, sets$observed$sparse, wide), kernops_input_error = function(e) NULL)
  }
  function() {
    if (identical(count, sets$wide$count)) return(pattern)
    wide <- as.integer(min(sets$wide$count, nrow(sets$points) - 1))
    is_wide <- wide > nrow(sets$neighbours)
    pattern <<- NULL # frees memory for the next pattern
    pattern <<- if (is_wide) pattern_with(sets$search(wide))
    if (is_wide && is.null(pattern)) sets$wide$most <- sets$wide$count <- 0
    pattern <<- pattern %||% pattern_with(sets$neighbours[0, , drop = FALSE])
    if (is.null(pattern)) pattern <<- c(sparse_pattern(sets$neighbours), list(levels = sets$observed$count))
    count <<- sets$wide$count
    pattern
  }
}

# TRUE if the sets have been widened because of a standard error `std_error`. Patterns of up to `most_wide` neighbours
# of all points take some gigabytes. As a rule, ten more neighbours divide the error by five (bench/HISTORY.md).
widen <- function(sets, std_error = NULL) {
  if (!can_widen(sets)) return(FALSE)
  wide <- sets$wide
  count <- wide_count(sets)
  lacking <- if (is.null(std_error)) count / 2 else 10 * log(std_error / wide$enough, 5)
  wide$count <- min(most_wide_count(sets), ceiling(count + min(max(lacking, count / 10), count)))
  TRUE
}
most_wide <- 4e7
wide_count <- function(sets) max(sets$wide$count, nrow(sets$neighbours))
most_wide_count <- function(sets) min(sets$wide$most, nrow(sets$points) - 1, 90, most_wide %/% nrow(sets$points))
can_widen <- function(sets) has_dropped_entries(sets) && wide_count(sets) < most_wide_count(sets)

# TRUE if the factor has dropped entries: the factor of effects alone is exact, and the factor of a field alone nearly
# so.
has_dropped_entries <- function(sets) !is.null(sets$observed) && !sets$without_field && !has_iterative_levels(sets)

has_iterative_levels <- function(sets) !is.null(sets$pattern()$levels)

has_precise_factor <- function(mode, sets) {
  !is.null(mode) && (!has_dropped_entries(sets) || mode$posterior$error$std_error <= sets$wide$enough)
}

# The estimate of tr log A, `logdet`, and its `std_error`, at the first weights of the pattern.
error_of_factor <- function(posterior, sets) {
  kept <- sets$pattern()$filled
  if (is.null(kept$error)) {
    count <- sets$wide$probes
    forms <- posterior$log_forms(with_seed(1, random_signs(sets$observed$count + nrow(sets$points), count)))
    kept$error <- list(logdet = mean(forms), std_error = stats::sd(forms) / sqrt(count))
  }
  kept$error
}

warn_of_factor <- function(std_error, sets = NULL) {
  if (!is.null(sets) && has_iterative_levels(sets)) return(warn_of_monte_carlo(std_error))
  if ((std_error %||% 0) / 2 <= allowed_monte_carlo) return(invisible())
  cli::cli_warn(c("The log-likelihood has a Monte Carlo error of {signif(std_error / 2, 2)}: the factor of the precision
                   of the field and of random effects drops entries.",
                  i = "Levels of many neighbouring observations make this error large."),
                class = c("kernops_monte_carlo_error", "kernops_warning"))
}
