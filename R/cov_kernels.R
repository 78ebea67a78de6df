# Smooth and elementary covariances: each kernel and its constructor. See cov_kernel.R for the properties.

squared_exponential_kernel <- kernel(
  "squared_exponential", function(variance, q) sprintf("%s * Exp(-%s / 2)", variance, q),
  frequencies = normal_frequencies, smooth = TRUE, derivatives = "symbolic"
)

#' @rdname covariance_functions
#' @export
squared_exponential <- function(variance = NULL, range = NULL, ...) {
  ranged(squared_exponential_kernel, variance, range, ...)
}

exponential_kernel <- kernel("exponential", function(variance, q) sprintf("%s * Exp(-Sqrt(%s))", variance, q),
                             frequencies = student_frequencies, constants = list(nu = 0.5))

#' @rdname covariance_functions
#' @export
exponential <- function(variance = NULL, range = NULL, ...) ranged(exponential_kernel, variance, range, ...)

# The derivatives of Matern's covariance: K_nu(r) r^nu has the derivative -K_(nu - 1)(r) r^(nu - 1) with respect to r^2
# / 2. The function returns NULL if the field has no derivative. `nu` may be the text of a parameter whose lower bound
# is `least_smoothness`.
matern_derivatives <- function(variance, q, nu) {
  if (is.numeric(nu) && nu <= 1) return(NULL)
  twice <- if (is.numeric(nu)) 2 * nu else code_text("2 * ", nu)
  r <- code_text("Sqrt(", twice, " * ", q, ")")
  apart <- code_text("Sqrt(", twice, " * ", q, " + (", q, " == 0))")
  if (!is.numeric(nu)) {
    texts <- sprintf(c("-%1$s * MaternOrder(%1$s, %%1$s, 0, 1)", "%1$s * %1$s * MaternOrder(%1$s, %%2$s, 0, 2)"), nu)
    return(paste(variance, "* (", sprintf(texts, r, apart), ")"))
  }
  texts <- switch(
    code_text(nu), "1.5" = c("(-1.5) * Exp(-%1$s)", "2.25 * Exp(-%2$s) / %2$s"),
    "2.5" = c("(-2.5 / 3) * (1 + %1$s) * Exp(-%1$s)", "(6.25 / 3) * Exp(-%2$s)"),
    code_text(c(-nu, nu^2), " * MaternOrder(", nu, ", %", 1:2, "$s, 0, ", 1:2, ")")
  )
  paste(variance, "*", sprintf(texts, r, apart))
}

# `nu` is a number, or the text of a parameter.
matern_kernel <- kernel("matern", function(variance, q, nu) {
  known <- c("0.5" = "Exp(-%1$s)", "1.5" = "(1 + %1$s) * Exp(-%1$s)",
             "2.5" = "(1 + %1$s + Square(%1$s) / 3) * Exp(-%1$s)")
  closed <- if (is.numeric(nu)) known[code_text(nu)] else NA
  correlation <- if (is.na(closed)) code_text("Matern(", nu, ", Sqrt(", q, "))") else
    sprintf(closed, code_text("Sqrt(", 2 * nu, " * ", q, ")"))
  paste(variance, "*", correlation)
}, frequencies = student_frequencies, derivatives = matern_derivatives)

# The lower bound of an estimated smoothness if derivatives of the field are observed.
least_smoothness <- 1.01

#' @rdname covariance_functions
#' @export
matern <- function(nu = 3/2, variance = NULL, range = NULL, ...) {
  if (length(nu) == 1 && is.atomic(nu) && is.na(nu)) {
    kernel <- replace(matern_kernel, "smooth", TRUE) # `nu` may be NULL
    return(stationary(kernel, list(variance = variance, range = range, nu = NULL), ...))
  }
  check_smoothness(nu, ", or NA")
  kernel <- with_constants(matern_kernel, nu = nu)
  kernel[c("words", "smooth")] <- list(paste("nu =", format(nu)), nu >= 5/2)
  stationary(kernel, list(variance = variance, range = range), ...)
}

check_smoothness <- function(nu, or = "", call = caller_env()) {
  if (is.numeric(nu) && length(nu) == 1 && is.finite(nu) && nu > 0 && nu <= 50) return(invisible())
  stop_kernops("input", c(paste0("{.arg nu} must be a number above 0 and at most 50", or, ", not ", shown(nu), "."),
                          i = "{.fn squared_exponential} is the limit of large {.arg nu}."), call = call)
}

rational_quadratic_kernel <- kernel("rational_quadratic", function(variance, q, shape) {
  sprintf("%s * Exp(-%s * Log1p(%s / (2 * %s)))", variance, shape, q, shape)
}, frequencies = gamma_frequencies, smooth = TRUE, derivatives = "symbolic")

#' @rdname covariance_functions
#' @export
rational_quadratic <- function(variance = NULL, range = NULL, shape = NULL, ...) {
  stationary(rational_quadratic_kernel, list(variance = variance, range = range, shape = shape), ...)
}

periodic_kernel <- kernel("periodic", function(variance, x, y, range, period) {
  sprintf("%s * Exp(-2 * WeightedSqNorm(Inv(Square(%s)), Sin(3.141592653589793 * (%s - %s) / %s)))", variance, range, x,
          y, period)
}, frequencies = periodic_frequencies, geometry = circle_geometry, derivatives = "symbolic")

#' @rdname covariance_functions
#' @export
periodic <- function(variance = NULL, range = NULL, period = NULL, ...) {
  unsupported <- intersect(names(list(...)), c("angle", "ratio", "distance", "time", "speed"))
  if (length(unsupported)) {
    stop_kernops("input", "{.fn periodic} takes {.arg ard}, {.arg dims} and {.arg fixed}, not {.arg {unsupported}}.")
  }
  stationary(periodic_kernel, list(variance = variance, range = range, period = period), ...)
}

spherical_kernel <- ball_kernel("spherical", 3, "1 - 1.5 * %1$s + 0.5 * Pow(%1$s, 3)")

#' @rdname covariance_functions
#' @export
spherical <- function(variance = NULL, range = NULL, ...) ranged(spherical_kernel, variance, range, ...)

wendland_kernel <- kernel("wendland", function(variance, q) {
  sprintf("%1$s * Pow(ReLU(1 - Sqrt(%2$s)), 4) * (4 * Sqrt(%2$s) + 1)", variance, q)
}, frequencies = wendland_frequencies, most_dims = 3, derivatives = function(variance, q) {
  c(sprintf("%s * (-10) * Pow(ReLU(1 - Sqrt(%s)), 3)", variance, q),
    sprintf("%1$s * 15 * Pow(ReLU(1 - Sqrt(%2$s)), 2) / Sqrt(%2$s + (%2$s == 0))", variance, q))
})

#' @rdname covariance_functions
#' @export
wendland <- function(variance = NULL, range = NULL, ...) ranged(wendland_kernel, variance, range, ...)

linear_kernel <- kernel("linear", function(variance, x, y, center) {
  sprintf("%1$s * ((%2$s - %4$s) | (%3$s - %4$s))", variance, x, y, center)
}, screens = FALSE, stationary = FALSE, derivatives = "symbolic", mean_square = function(leaf, u) {
  v <- t(u[, leaf_dims(leaf, ncol(u)), drop = FALSE]) - leaf$parameters$center
  max(sum(v^2) / nrow(u), .Machine$double.xmin)
})

#' @rdname covariance_functions
#' @export
linear <- function(variance = NULL, center = 0, dims = NULL, fixed = character()) {
  new_leaf(linear_kernel, list(variance = variance, center = center), c("center", fixed), dims)
}

constant_kernel <- kernel("constant", function(variance, x, y) sprintf("(%s + 0 * SqDist(%s, %s))", variance, x, y),
                          screens = FALSE, derivatives = "symbolic")

#' @rdname covariance_functions
#' @export
constant <- function(variance = NULL, fixed = character()) new_leaf(constant_kernel, list(variance = variance), fixed)

#' @rdname covariance_functions
#' @export
nugget <- function(variance = NULL, fixed = character()) {
  new_leaf(kernel("nugget", NULL), list(variance = variance), fixed)
}

#' @rdname covariance_functions
#' @export
covariance <- function(formula, parameters = list(), positive = names(parameters), fixed = character()) {
  check_text(formula, "formula", one = TRUE)
  parameters <- as.list(parameters)
  words <- names(parameters) %||% rep("", length(parameters))
  taken <- c("x", "y", keops_ops()$name)
  if (!all(grepl("^[A-Za-z][A-Za-z0-9_.]*$", words)) || anyDuplicated(words) || any(words %in% taken)) {
    stop_kernops("input", "{.arg parameters} must be a list with unique names, other than {.code x}, {.code y}
                           and the names of operations.")
  }
  if (any(vapply(parameters, is.null, NA))) {
    stop_kernops("input", "Each of the {.arg parameters} of a user-defined formula needs a starting value.")
  }
  check_mentioned(formula, words)
  check_subset(positive, "positive", words)
  leaf <- new_leaf(with_constants(own_kernel, formula = formula), parameters, fixed)
  leaf$positive <- positive
  for (name in positive) check_positive(parameters[[name]], name)
  # operators on covariances read the parameters of a leaf, so a leaf without parameters is wrapped in a product
  if (length(words)) leaf else 1 * leaf
}
