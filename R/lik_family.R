# A family defines the distribution of observations y given the linear predictor eta. Each family is a row of a table.
#
# A row, the result of family_row(), has the log density of an observation as a formula of keops_kernel() in y, eta, w
# (the prior weight of the observation) and the parameters of the family. Derivatives are computed from the formula. A
# single call of a compiled formula computes the density and the derivatives for all observations.
#
# formula   the log density, one string or one for each link. A formula without w is multiplied by w
# constant  terms that do not depend on eta, and that R computes more exactly than a formula or that only R can compute:
#           a function of y, w and the parameters phi. The function returns a vector of values, or a matrix with the
#           values in the first column and the derivatives with respect to parameters in the other columns. phi is a
#           named vector or, if parameters have predictors, a list of numbers and of vectors as long as y
# expected  if the log density is not concave, a positive formula, or a vector of formulas for some of the links: the
#           expectation of the negative second derivative, or (d mean / d eta)^2 / variance
# links     the names of the links, beginning with the default
# parameters  for each parameter a function of y and of the `spread` of the response on the scale of eta, which returns
#           the starting value and the lower and upper limits of the search
# response  the kind of response that y must be: a name in response_domains (lik_family_response.R)
# of_classes  for ordered responses, a function of the number of classes that returns the row
# limits    the limits at which y is censored
# noise     for normal observations with mean eta, a function of phi and w that returns their variance
# discrete  whether y is a whole number (for binomial responses: whether the number of successes is)
#
# The row also has functions of an observation given eta:
#   mean(eta, phi, link)      the mean, which increases in eta. Default: the inverse link
#   variance(mu, w, phi)      the variance of an observation with mean mu
#   draw(eta, w, phi, link)   a new observation for each eta
#   cdf(q, eta, w, phi, link)  the probability of values up to q. Default for discrete y: the sum of probabilities
#   deviance(y, mu, w, phi)   twice the difference between the maximum of the log density and its value at mu. Default:
#                             a search for the maximum
family_row <- function(formula, links, variance = NULL, draw = NULL, cdf = NULL, deviance = NULL, parameters = list(),
                       constant = NULL, expected = NULL, mean = NULL, response = "real", discrete = FALSE,
                       of_classes = NULL, limits = c(-Inf, Inf), noise = NULL) {
  mget(names(formals()))
}

# Marks the limits of a parameter as limits between 0 and 1.
in_unit_interval <- function(limits) structure(limits, range = c(0, 1))

# The density of a row with a link: the row, its mean as a function of eta, and the texts of formulas.
#   terms       value, the log density; slope, its derivative with respect to eta; weight, the negative second
#               derivative; bend, the derivative of the weight; and, if the log density is not concave, the expected
#               weight
#   dispersion  the derivatives of value, slope and weight with respect to each parameter
#   fallback    the terms and the dispersion with the expected weight in place of the weight; the terms are followed by
#               the negative second derivative
#   one_mode    whether the log density is concave, so that the process has one mode
density_of <- function(row, link) {
  pick <- function(formula) if (is.null(names(formula))) formula else as.list(formula)[[link]]
  weighted <- function(formula) if (mentions(formula, "w")) formula else code_text("w * (", formula, ")")
  value <- weighted(pick(row$formula))
  slope <- gradient_text(value, "eta")
  observed <- code_text("-", gradient_text(slope, "eta"))
  along <- names(row$parameters)
  texts_with <- function(weight, other) {
    gradients <- lapply(list(value, slope, weight), function(f) lapply(along, gradient_text, formula = f))
    list(terms = columns_text(c(value, slope, weight, gradient_text(weight, "eta"), other)),
         dispersion = if (length(along)) columns_text(unlist(gradients)))
  }
  expected <- if (!is.null(pick(row$expected))) weighted(pick(row$expected))
  row$one_mode <- is.null(expected)
  row$formula <- value
  row[c("terms", "dispersion")] <- texts_with(observed, expected)
  row$fallback <- if (!row$one_mode) texts_with(expected, observed)
  row$predictor <- if (is.null(row$mean)) function(mu, phi) link_of(mu, link) else
    function(mu, phi) predictor_of_mean(mu, row$mean, phi, link)
  row$mean <- row$mean %||% function(eta, phi, link) inverse_link(eta, link)
  row$cdf <- row$cdf %||% if (row$discrete) summed_cdf(row)
  row$deviance <- row$deviance %||% searched_deviance(row)
  for (name in c("variance", "draw", "cdf")) row[[name]] <- row[[name]] %||% lacking_function(name)
  variance <- row$variance
  if ("link" %in% names(formals(variance))) row$variance <- function(mu, w, phi) variance(mu, w, phi, link)
  row
}

mentions <- function(formula, name) grepl(code_text("(?<![\\w.])", name, "(?![\\w.(])"), formula, perl = TRUE)

check_mentioned <- function(formula, names, call = caller_env()) {
  unused <- Filter(function(name) !mentions(formula, name), names)
  if (length(unused)) {
    stop_kernops("input", "The formula does not contain the parameter {.val {unused}}.", call = call)
  }
}

gradient_text <- function(formula, variable) {
  if (mentions(formula, variable)) code_text("Grad(", formula, ", ", variable, ", 1)") else "0 * eta"
}

columns_text <- function(formulas) Reduce(function(a, b) code_text("Concat(", a, ", ", b, ")"), formulas)

# The values of a formula of a density: a matrix with a row for each observation and a column for each entry of the
# formula.
density_columns <- function(formula, y, w, eta, phi) {
  n <- length(eta)
  values <- c(list(y = rep_len(as.double(y), n), w = rep_len(as.double(w), n), eta = as.double(eta)), as.list(phi))
  values <- values[vapply(names(values), mentions, NA, formula = formula)]
  each <- names(values) %in% c("y", "w", "eta") | lengths(values) > 1
  declared <- code_text(names(values), ifelse(each, " = Vi(1)", " = Pm(1)"))
  map <- recent_operator(code_text("Sum_Reduction(", formula, ", 1)"), declared, "auto", "float64", "cpu",
                         stored = TRUE)
  matrix(map(values), n)
}

# The value and the derivatives of the log density at eta. `constant` is a result of density_constant(). If the log
# density is not concave, the result also has the `expected` weights or, with `fallback`, the negative second
# derivatives as `curvature`.
density_terms <- function(family, y, w, eta, phi, constant = density_constant(family, y, w, phi), fallback = FALSE) {
  texts <- if (fallback) family$density$fallback else family$density
  columns <- density_columns(texts$terms, y, w, eta, phi)
  other <- if (ncol(columns) > 4) stats::setNames(list(columns[, 5]), if (fallback) "curvature" else "expected")
  c(list(value = columns[, 1] + constant[, 1], slope = columns[, 2], weight = columns[, 3], bend = columns[, 4]), other)
}

density_constant <- function(family, y, w, phi) {
  constant <- family$density$constant
  if (is.null(constant)) return(matrix(0, 1, 1 + length(phi)))
  constant <- as.matrix(constant(y, w, phi))
  cbind(constant, matrix(0, nrow(constant), 1 + length(phi) - ncol(constant)))
}

# The derivatives of value, slope and weight: three matrices with a column for each parameter of the family.
density_dispersion <- function(family, y, w, eta, phi, fallback = FALSE) {
  texts <- if (fallback) family$density$fallback else family$density
  columns <- density_columns(texts$dispersion, y, w, eta, phi)
  count <- length(phi)
  by <- function(k) columns[, (k - 1) * count + seq_len(count), drop = FALSE]
  constant <- density_constant(family, y, w, phi)[, -1, drop = FALSE]
  list(value = by(1) + constant[rep_len(seq_len(nrow(constant)), length(eta)), ], slope = by(2), weight = by(3))
}
