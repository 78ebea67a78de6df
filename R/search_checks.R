# Warnings about doubtful fits, each with a recommendation.

# `derivatives` is TRUE if some observations are derivatives of the response; derivatives have no nugget.
warn_about_search <- function(search, control, derivatives = FALSE) {
  if (is.null(search$convergence)) return(invisible())
  if (search$convergence != 0 && grepl("singular", search$message)) {
    cli::cli_warn(c(
      "The search ended where the covariance matrix becomes singular: the likelihood may increase further.",
      i = if (derivatives) "Many derivatives of a smooth field need a small variance of their own:
                            {.code known = list(derivative_noise = )}." else
        "Smooth covariances without noise need a small nugget: add {.fn nugget}, or choose a rougher covariance."
    ), class = c("kernops_near_singular", "kernops_not_converged"))
  } else if (search$convergence != 0) {
    limited <- grepl("limit|maximum number", search$message)
    cli::cli_warn(c("The search for the covariance stopped after {search$iterations} step{?s}: {search$message}.",
                    i = if (limited) "{.code gp_control(maxit = )} allows more than {control$maxit} steps."),
                  class = "kernops_not_converged")
  }
  if (isTRUE(search$rounding > allowed_rounding)) {
    cli::cli_warn(c("float32 rounding makes the log-likelihood uncertain by about {signif(search$rounding, 2)}: variance
                     and ranges are not determined separately.",
                    i = "Use {.code precision = \"float64\"} if the field varies much more than the noise."),
                  class = c("kernops_rounding", "kernops_not_converged"))
  }
  if (length(search$at_bound)) {
    cli::cli_warn(c("{.code {search$at_bound}} ended at a bound of the search.",
                    i = "The data hardly determine {cli::qty(search$at_bound)}{?it/them}: simplify the covariance,
                         or give values."),
                  class = "kernops_at_bound")
  }
}

# The names of estimated parameters that are at a bound of the search. Variances are excluded, because zero, or a number
# that is tiny relative to other variances, is a valid estimate of a variance.
at_bound <- function(p, theta) {
  near <- function(a, b) is.finite(b) & abs(a - b) <= 1e-6 * abs(b)
  p$name[!p$fixed & !p$kind %in% c("variance", "sill", "cross") & (near(theta, p$lower) | near(theta, p$upper))]
}

# If rounding changes the log-likelihood by more than this number, the fit gives a warning.
allowed_rounding <- 0.5

# Warns about estimates that fit the observations but are useless for predictions between the observations.
warn_about_fit <- function(fit) {
  if (short <- length(ranges <- short_ranges(fit))) {
    cli::cli_warn(c(
      "{.code {ranges}} {?is/are} below the spacing of the points: this component is indistinguishable from noise.",
      i = "It fits the observations but predicts nothing between them. Remove it
           ({.code covariance = nugget()} is noise alone), or give the range a value."
    ), class = "kernops_degenerate")
  }
  if (length(lacking <- variables_without_nugget(fit))) {
    cli::cli_warn(c(
      "The nugget of {.val {lacking}} is estimated as zero: the fitted field interpolates {cli::qty(lacking)}
       {?its/their} observations.",
      i = "If these have errors, give their variances: {.code sills = list(nugget = )} of {.fn lmc}."
    ), class = "kernops_degenerate")
  }
  if (has_no_nugget(fit)) {
    cli::cli_warn(c(
      "The nugget is estimated as zero: the fitted field interpolates all observations.",
      i = if (short) "With such a range, an R-squared near 1 is not meaningful." else
        "If the observations have errors, give their variance by {.arg known} or {.code nugget(, fixed = \"variance\")};
         if they have none, remove {.fn nugget}."
    ), class = "kernops_degenerate")
  }
}

# Reports terms whose variance is estimated as zero, if there are other terms. For a smooth, only the penalised part
# vanishes; the columns of the smooth in the trend remain.
tell_vanished <- function(fit) {
  terms <- vanished_terms(fit)
  tell_vanished_penalties(fit, unlist(lapply(terms, names)))
  if (!length(terms)) return(invisible())
  remain <- vapply(terms, is_partly_trend, NA, fit)
  smooths <- names(terms)[remain]
  terms <- names(terms)[!remain]
  cli::cli_inform(c(
    i = if (length(terms)) "The variance of {.code {terms}} is estimated as zero: {cli::qty(terms)}{?this term
                            has/these terms have} no effect.",
    i = if (length(terms)) "{cli::qty(terms)}{?Its/Their} other parameters are not determined. {?It/They} may be left
                            out.",
    i = if (length(smooths)) "The variance of {.code {smooths}} is estimated as zero: {cli::qty(smooths)}{?this smooth
                              is/these smooths are} linear combinations of the functions without a penalty, such as a
                              straight line, which the trend contains."
  ), class = "kernops_vanished")
}

# Reports penalties of smooths whose variances are estimated as zero, if the smooth itself does not vanish; excludes
# `leaves`.
tell_vanished_penalties <- function(fit, leaves) {
  parameters <- fit$model$parameters
  several <- stats::ave(seq_along(parameters$leaf), parameters$leaf, parameters$kind, FUN = length) > 1
  smooth <- parameters$leaf %in% names(Filter(is_smooth_leaf, leaves_of(fit$model$covariance)))
  low <- smooth & several & !parameters$fixed & fit$theta < 1000 * parameters$lower & !parameters$leaf %in% leaves
  names <- parameters$name[which(low)]
  if (!length(names)) return(invisible())
  cli::cli_inform(c(i = "{.code {names}} {?is/are} estimated as zero: {?its smooth has/their smooths have} only
                         functions without {?this penalty/these penalties}, such as straight lines."),
                  class = "kernops_vanished")
}

# TRUE if one of the leaves is a smooth that has columns in the trend, which are its functions without a penalty.
is_partly_trend <- function(leaves, fit) {
  any(vapply(Filter(is_smooth_leaf, leaves), function(leaf) ncol(settled_basis(leaf, fit)$trend) > 0, NA))
}

# The terms of a covariance, without noise, whose standard deviation is below a limit: 0.5 % of the standard deviation
# of the sum of all terms or, if smaller, of the response. For fields with long ranges, the response has a far smaller
# standard deviation than the sum of terms. Estimates below this limit count as 0, because searches do not come closer
# to 0. In a fit of several variables, only effects are checked, and each effect is compared with the response of its
# variable.
vanished_terms <- function(fit) {
  model <- fit$model
  several <- is_lmc(model$covariance)
  terms <- covariance_terms(model$covariance)
  if (several) terms <- Filter(function(leaves) !is.null(leaves[[1]]$belongs), terms)
  if (length(terms) + length(model$nugget) < 2 - several) return(NULL)
  free <- !model$parameters$fixed & model$parameters$kind == "variance"
  sizes <- mean_variances(model, fit$theta, typical_sites(fit$data$u))
  variances <- vapply(terms, function(leaves) prod(sizes[names(leaves)]), 0)
  estimated <- vapply(terms, function(leaves) any(model$parameters$leaf[free] %in% names(leaves)), NA)
  whole <- if (!several) min(sum(variances) + sum(fit$theta[model$nugget]), spread_of_response(fit)) else {
    vapply(terms, function(leaves) model$moments$sd[[leaves[[1]]$belongs$number]]^2, 0)
  }
  terms[estimated & variances < 2.5e-5 * whole]
}

# The variance of the response minus its trend, in the units of the field; infinite for fits with a family.
spread_of_response <- function(fit) {
  if (is.null(fit$family) && nobs.gp(fit) > 1) stats::var(process_of_data(fit)) else Inf
}

# For each leaf, the mean of its variance over the points u. White noise has no metric, and its variance is the same at
# all points.
mean_variances <- function(model, theta, u) {
  mapply(function(leaf, values) {
    if (is_white(leaf$label)) values$variance %||% 0 else leaf_metric(leaf, values, u)$variance
  }, leaves_of(model$covariance), leaf_values(model, theta))
}

# The names of the ranges of leaves with short correlations. A correlation is short if, for half of the points, the
# correlation with the nearest other point is below a third.
short_ranges <- function(fit) {
  parameters <- fit$model$parameters
  leaves <- leaves_of(covariance_of_points(fit))
  u <- fit$data$u
  if (is_lmc(fit$model$covariance)) u <- unique(u[, seq_len(fit$model$d), drop = FALSE])
  short <- vapply(names(leaves), function(path) {
    leaf <- leaves[[path]]
    ranges <- parameters$leaf == path & parameters$kind == "range" & !parameters$fixed
    if (!leaf$geometry$lengths || !any(ranges)) return(FALSE)
    for_nearest(covariance_model(leaf, fit$model$d, width = ncol(u)), u, function(near) {
      stats::median(near$semivariance / near$variance) > 2 / 3
    })
  }, NA)
  parameters$name[parameters$kind == "range" & !parameters$fixed & parameters$leaf %in% names(which(short))]
}

# TRUE if the nugget is estimated as zero.
has_no_nugget <- function(fit) {
  nugget <- fit$model$nugget
  if (!length(nugget) || fit$model$parameters$fixed[[nugget]] || nrow(fit$model$parameters) == 1) return(FALSE)
  is_negligible(fit$theta[[nugget]], fit, fit$data, process_of_data(fit), fit$data$u)
}

# TRUE if two conditions hold. First, the nugget is less than a hundredth of the semivariance of nearest points. Second,
# the nugget is less than a hundredth of the variance of the field given the nearest observations of `data`, or less
# than 1e-7 of `process`, the variance of the response without its trend. The variance given the nearest observations is
# computed only if the first condition holds, because computing it takes more time. For smooth fields, this variance is
# far below the semivariance.
is_negligible <- function(nugget, fit, data, process, field_sites) {
  fitted <- replace(fit$model, "parameters", list(transform(fit$model$parameters, value = fit$theta)))
  is_small <- function(variances) isTRUE(nugget < 0.01 * stats::median(variances))
  for_nearest(fitted, field_sites, function(near) is_small(near$semivariance)) &&
    (isTRUE(nugget < 1e-7 * stats::var(process)) ||
       is_small(conditional_variances(data, fit$model, fit$theta, field_sites = field_sites)$field))
}

# Computes test(near) for a sample of the points u, where `near` has the variances of the field and the smallest
# semivariances with another point. If there are many points, test() is first called with the semivariances to the
# nearest point and to the sample. The remaining points can only decrease the semivariances, and smaller semivariances
# never change the result from FALSE to TRUE.
for_nearest <- function(model, u, test, count = 200) {
  rows <- round(seq(1, nrow(u), length.out = min(nrow(u), count)))
  if (nrow(u) > 1e4) {
    near <- as.vector(nearest_points(u[rows, , drop = FALSE], u, 2L))
    if (isFALSE(test(nearest_semivariance(model, u[rows, , drop = FALSE], u[unique(c(rows, near)), , drop = FALSE])))) {
      return(FALSE)
    }
  }
  test(nearest_semivariance(model, u[rows, , drop = FALSE], u))
}

# The points x are a subset of the points y. Returns, for each point of x, the variance of the field and the smallest
# semivariance with another point of y.
nearest_semivariance <- function(model, x, y) {
  formula <- code_text("KMin_Reduction(", semivariance_text(model), ", 2, 1)")
  # uses the CPU, which takes less time than compiling a GPU kernel that runs once
  least <- recent_operator(formula, point_declarations(model), "auto", "float64", "cpu")
  input <- list(theta = model$parameters$value, x = x, y = y)
  list(variance = as.vector(covariance_diagonal(model)(input[c("theta", "x")])),
       semivariance = matrix(least(input), nrow(x))[, 2])
}

# Warns if all repeated observations at a location have identical responses. Such duplicates imply a zero nugget,
# whatever the other observations are.
warn_about_copies <- function(data, model) {
  if (!length(model$nugget) || model$parameters$fixed[[model$nugget]]) return(invisible())
  first <- first_rows(data$u)
  again <- which(first != seq_along(first))
  if (!length(again) || any(data$y[again] != data$y[first[again]])) return(invisible())
  rows <- which(first %in% first[again])
  places <- split(rows, first[rows])
  shown <- vapply(utils::head(places, 5), function(rows) paste0("(", toString(data$rows[rows]), ")"), "")
  cli::cli_warn(c(
    "Observations at the same location are identical: rows {toString(shown)}{if (length(places) > 5) ', ...'}.",
    i = "The likelihood treats them as measurements without error, which makes the nugget zero: remove duplicates."
  ), class = "kernops_copies")
}
