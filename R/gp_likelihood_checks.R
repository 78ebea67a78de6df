# Checks of likelihoods that users write as formulas.

check_parameters <- function(parameters, fixed, call = caller_env()) {
  named <- is.list(parameters) && (length(parameters) == 0 || all(nzchar(names(parameters) %||% "")))
  if (!named || anyDuplicated(names(parameters)) || any(names(parameters) %in% c("y", "eta", "w", "mu"))) {
    stop_kernops("input", "{.arg parameters} must be a list of numbers with different names, other than {.code y},
                           {.code eta}, {.code mu} and {.code w}.", call = call)
  }
  for (name in names(parameters)) check_number(parameters[[name]], name, least = 0, above = TRUE, call = call)
  unknown <- setdiff(fixed, names(parameters))
  if (length(unknown)) {
    stop_kernops("input", "{.arg fixed} must be names of {.arg parameters}, not {.val {unknown}}.", call = call)
  }
}

check_density_function <- function(f, name, call = caller_env()) {
  if (is.null(f) || is.function(f)) return(invisible())
  stop_kernops("input", "{.arg {name}} must be a function, not {.obj_type_friendly {f}}.", call = call)
}

# Errors are shown in the formula as the user wrote it.
check_density_formula <- function(formula, parameters, link, call = caller_env()) {
  names <- c("y", "w", "eta", "mu", names(parameters))
  used <- names[vapply(names, mentions, NA, formula = formula)]
  declared <- sprintf("%s = %s(1)", used, ifelse(used %in% names(parameters), "Pm", "Vi"))
  operator <- recent_operator(code_text("Sum_Reduction(", formula, ", 1)"), declared, "auto", "float64", "cpu")
  size <- environment(operator)$about$size
  if (size != 1) {
    stop_kernops("input", "{.code {formula}} must be one number for each observation, not {size}.", call = call)
  }
}

# For each kind of response, the values at which a density is checked.
checked_responses <- list(
  real = c(-2, -0.5, 0.3, 3), positive = c(0.1, 0.6, 1, 5), nonnegative = c(0, 0.1, 0.6, 5), count = c(0, 1, 2, 12),
  positive_count = c(1, 2, 12), share = c(0.05, 0.3, 0.9), binomial = c(0, 0.4, 1)
)

check_density <- function(family, phi, call = caller_env()) {
  kind <- family$density$response
  grid <- expand.grid(y = checked_responses[[kind]], eta = c(-1.3, -0.4, 0.2, 1.1))
  trials <- if (kind == "binomial") 5 else 1
  terms_at <- function(eta) density_terms(family, grid$y, trials, eta, phi)
  terms <- terms_at(grid$eta)
  refuse <- function(bad, rule) {
    if (!any(bad <- is.na(bad) | bad)) return(invisible())
    place <- as.list(grid[which(bad)[[1]], ])
    stop_kernops("input", c(rule, x = "This fails at {.code y = {signif(place$y, 4)}}, {.code eta = {place$eta}}, at the
                                       starting values of the parameters."), call = call)
  }
  refuse(!is.finite(terms$value), "The log density must be finite for all responses of the kind {.val {kind}}.")
  step <- 1e-4
  differences <- (terms_at(grid$eta + step)$value - terms_at(grid$eta - step)$value) / (2 * step)
  refuse(abs(terms$slope - differences) > 1e-5 * (1 + abs(terms$slope) + max(abs(terms$value))),
         "The log density must have a derivative with respect to {.code eta}.")
  concave <- is.null(terms$expected)
  step_weight <- step_weights(terms)
  refuse(!is.finite(terms$weight) | !is.finite(step_weight) | step_weight < (if (concave) -1e-10 else 1e-300),
         if (concave) c(
           "The log density is not concave in {.code eta}.",
           i = "Give {.arg information}, a formula that replaces minus the second derivative, such as the expected
                information."
         ) else "The values of {.arg information} must be positive.")
  if (all(step_weight <= 1e-12)) {
    stop_kernops("input", "The log density must have a second derivative with respect to {.code eta} that is not 0
                           everywhere.", call = call)
  }
  warn_unless_normalised(family, phi)
}

warn_unless_normalised <- function(family, phi) {
  kind <- family$density$response
  values <- switch(kind, binomial = (0:5) / 5, count = 0:3000, positive_count = 1:3000, NULL)
  if (is.null(values)) return(invisible())
  terms <- density_terms(family, values, if (kind == "binomial") 5 else 1, rep(-0.4, length(values)), phi)
  sum <- sum(exp(terms$value))
  if (isTRUE(abs(sum - 1) < 1e-3)) return(invisible())
  cli::cli_warn(c("The probabilities of all responses sum to {signif(sum, 4)}, not to 1.",
                  i = "Log-likelihoods and distribution functions lack the missing terms, such as
                       {.code -Lgamma(y + 1)}."),
                class = c("kernops_not_normalised", "kernops_warning"))
}
