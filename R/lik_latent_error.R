# The error of the incomplete factor of the posterior precision of a field and of effects (src/neighbours/posterior.h).
#
# With the factor L, the precision H has log det H = log det L L' + tr log A, where A = L^-1 H L'^-1. A is nearly the
# identity matrix, so a few vectors z of random signs are sufficient to estimate tr log A = E z' log(A) z (Ubaru, Chen
# and Saad 2017). The trace hardly depends on the parameters. Therefore the estimate at the first parameters is kept
# with the pattern of the factor, as a constant, and the gradient of log det L L' is used as the gradient of log det H.
# Levels with many neighbouring observations require a factor with more entries. If the standard error of the trace is
# large, or L L' is not positive definite, the conditioning sets are widened, and the pairs of points in the wide sets
# are added to the pattern.

# An environment that all conditioning sets of one likelihood share. The environment has the number `count` of
# neighbours in wide sets, which grows up to `most`; the number of `probes`; and `enough`, the largest acceptable
# standard error of log det H.
wide_sets <- function(count = 0, probes = 16, enough = 2 * allowed_monte_carlo) {
  list2env(list(count = count, most = Inf, probes = probes, enough = enough))
}

# Returns a function without arguments that returns the sparsity pattern of the factor for the conditioning sets. The
# function computes the pattern again if the number of neighbours in wide sets has grown. If wide sets have too many
# pairs, the pattern contains only pairs of neighbours. If effects have too many pairs, the function returns the pattern
# of the field alone, with the number of coefficients as `levels` (lik_latent_levels.R).
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

# Widens the sets if the number of neighbours is below its maximum, and returns TRUE if the sets were widened. Ten more
# neighbours divide the standard error `std_error` by about five (bench/HISTORY.md). A pattern takes some gigabytes if
# the sets have `most_wide` neighbours in total.
widen <- function(sets, std_error = NULL) {
  if (!can_widen(sets)) return(FALSE)
  wide <- sets$wide
  count <- wide_count(sets)
  lacking <- if (is.null(std_error)) count / 2 else 10 * log(std_error / wide$enough, 5)
  wide$count <- min(most_wide_count(sets), ceiling(count + min(max(lacking, count / 10), count)))
  TRUE
}
most_wide <- 4e7

# TRUE if a model has levels and so many places that the sets are as wide as possible from the start. For 1e6 places,
# the maximum of 40 neighbours gives a larger standard error than desired (bench/HISTORY.md), so that narrower sets
# would be computed in vain.
starts_wide <- function(parts, places) {
  any(lengths(lapply(parts$effects, `[[`, "levels")) > 1) && !isTRUE(parts$without_field) && places > most_wide / 45
}

wide_count <- function(sets) max(sets$wide$count, nrow(sets$neighbours))
most_wide_count <- function(sets) min(sets$wide$most, nrow(sets$points) - 1, 90, most_wide %/% nrow(sets$points))
can_widen <- function(sets) has_dropped_entries(sets) && wide_count(sets) < most_wide_count(sets)

# TRUE if the factor is incomplete because entries were dropped. The factor for effects without a field is exact, and
# the factor for a field without effects is nearly exact.
has_dropped_entries <- function(sets) !is.null(sets$observed) && !sets$without_field && !has_iterative_levels(sets)

has_iterative_levels <- function(sets) !is.null(sets$pattern()$levels)

has_precise_factor <- function(mode, sets) {
  !is.null(mode) && (!has_dropped_entries(sets) || mode$posterior$error$std_error <= sets$wide$enough)
}

# The estimate `logdet` of tr log A and its standard error `std_error`, at the first weights for which the pattern was
# used.
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
