# What is doubtful about a fit, each told in a warning that says what to do.

warn_about_search <- function(search, control) {
  if (search$convergence != 0 && grepl("singular", search$message)) {
    cli::cli_warn(c(
      "The search ended where the covariance matrix becomes singular: the likelihood may rise beyond.",
      i = "Smooth covariances without noise need a small one: add {.fn nugget}, or choose a rougher covariance."
    ), class = c("kernops_near_singular", "kernops_not_converged"))
  } else if (search$convergence != 0) {
    limited <- grepl("limit|as allowed", search$message)
    cli::cli_warn(c("The search for the covariance stopped after {search$iterations} step{?s}: {search$message}.",
                    i = if (limited) "{.code gp_control(maxit = )} allows more than {control$maxit}."),
                  class = "kernops_not_converged")
  }
  if (isTRUE(search$rounding > 0.5)) {
    cli::cli_warn(c("float32 leaves the log-likelihood uncertain by about {signif(search$rounding, 2)}: variance and
                     ranges may be larger or smaller together.",
                    i = "{.code precision = \"float64\"} tells them, where the field varies so much more than the
                          noise."),
                  class = c("kernops_rounding", "kernops_not_converged"))
  }
  if (length(search$at_bound)) {
    cli::cli_warn(c("{.code {search$at_bound}} ended at a bound of the search.",
                    i = "The data say little about {cli::qty(search$at_bound)}{?it/them}: simplify the covariance,
                         or give values."),
                  class = "kernops_at_bound")
  }
}

# A variance at a bound is an answer: it, or that which it is relative to, is next to nothing.
at_bound <- function(model, theta) {
  p <- model$parameters
  near <- function(a, b) is.finite(b) & abs(a - b) <= 1e-6 * abs(b)
  p$name[!p$fixed & p$kind != "variance" & (near(theta, p$lower) | near(theta, p$upper))]
}

# Estimates that fit the observations and say nothing of what is between them.
warn_about_fit <- function(fit) {
  if (short <- length(ranges <- short_ranges(fit))) {
    cli::cli_warn(c(
      "{.code {ranges}} {?is/are} below the spacing of the points: that part of the field cannot be told from noise.",
      i = "It explains the observations and predicts nothing between them. Leave it out
           ({.code covariance = nugget()} is noise alone), or give the range a value."
    ), class = "kernops_degenerate")
  }
  if (has_no_nugget(fit)) {
    cli::cli_warn(c(
      "The nugget is estimated as zero: the fitted field goes through every observation.",
      i = if (short) "With such a range, an R-squared near 1 means nothing." else
        "If the observations have errors, give their variance by {.arg known} or {.code nugget(, fixed = \"variance\")};
         if they have none, leave {.fn nugget} out."
    ), class = "kernops_degenerate")
  }
}

# Ranges of those parts whose correlation with the nearest other point is below a third, for half of the points.
short_ranges <- function(fit) {
  parameters <- fit$model$parameters
  leaves <- leaves_of(fit$covariance)
  short <- vapply(seq_along(leaves), function(n) {
    leaf <- leaves[[n]]
    ranges <- parameters$leaf == n & parameters$kind == "range" & !parameters$fixed
    if (leaf$label == "periodic" || !any(ranges)) return(FALSE)
    near <- nearest_semivariance(covariance_model(leaf, fit$model$d), fit$data$u)
    stats::median(near$semivariance / near$variance) > 2 / 3
  }, NA)
  parameters$name[parameters$kind == "range" & !parameters$fixed & parameters$leaf %in% which(short)]
}

# Whether a nugget that was estimated is less than a hundredth of what nearest points differ by.
has_no_nugget <- function(fit) {
  nugget <- fit$model$nugget
  if (!length(nugget) || fit$model$parameters$fixed[[nugget]] || nrow(fit$model$parameters) == 1) return(FALSE)
  fitted <- replace(fit$model, "parameters", list(transform(fit$model$parameters, value = fit$theta)))
  fit$theta[[nugget]] < 0.01 * stats::median(nearest_semivariance(fitted, fit$data$u)$semivariance)
}

# For some points: the variance of the field, and half that of its difference to the point where that is least.
nearest_semivariance <- function(model, u, some = 200) {
  own <- replace_names(model$formula, c(y = "x"))
  other <- replace_names(model$formula, c(x = "y"))
  half <- sprintf("(((%s) + (%s)) / 2 - (%s))", own, other, model$formula)
  least <- kernel_operator(paste0("KMin_Reduction(", half, ", 2, 1)"), point_declarations(model), "auto", "float64",
                           "auto")
  rows <- round(seq(1, nrow(u), length.out = min(nrow(u), some)))
  input <- list(theta = model$parameters$value, x = u[rows, , drop = FALSE], y = u)
  list(variance = as.vector(covariance_diagonal(model)(input[c("theta", "x")])),
       semivariance = matrix(least(input), length(rows))[, 2])
}

# Observations that occur twice, response and all, say that there is no nugget, whatever the others say.
warn_about_copies <- function(data, model) {
  if (!length(model$nugget) || model$parameters$fixed[[model$nugget]]) return(invisible())
  # a number for each place; a product of matrices would round by the place of a row
  key <- Reduce(`+`, lapply(seq_len(ncol(data$u)), function(k) data$u[, k] * sqrt(k + 1)))
  if (!anyDuplicated(key)) return(invisible())
  places <- split(seq_along(key), match(key, unique(key)))
  places <- places[lengths(places) > 1]
  same <- vapply(places, function(rows) {
    all(data$u[rows, ] == data$u[rep(rows[[1]], length(rows)), ]) && all(data$y[rows] == data$y[[rows[[1]]]])
  }, NA)
  if (!all(same)) return(invisible())
  shown <- vapply(utils::head(places, 5), function(rows) paste0("(", toString(data$rows[rows]), ")"), "")
  cli::cli_warn(c(
    "All observations at one point are copies: rows {toString(shown)}{if (length(places) > 5) ', ...'}.",
    i = "To the likelihood they are measurements without error, which leaves no nugget: leave the copies out."
  ), class = "kernops_copies")
}
