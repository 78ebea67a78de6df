# Creates the family of a fit from the user's argument.

# A family is a list of
#   name, link  the name of the family and of its link
#   density     how observations depend on the linear predictor: density_of() in lik_family.R
#   parameters  a data frame of the parameters with the columns of covariance_model(): name, value (NA: to be
#               estimated), fixed
new_family <- function(name, values = list(), link = NULL, row = family_row_of(name, values), call = caller_env()) {
  link <- link %||% row$links[[1]]
  if (!link %in% row$links) {
    stop_kernops("input", "The link of {.code {family_label(name)}} must be {.or {.val {row$links}}}, not
                           {.val {link}}.", call = call)
  }
  structure(list(name = name, link = link, density = density_of(row, link),
                 parameters = family_parameters(values[names(row$parameters)], row$parameters, call)),
            class = "gp_family")
}

# The row of the table of families for a name. If the entry of the table is a function, the function is called with
# constants, such as limits of the response.
family_row_of <- function(name, values) {
  row <- family_table()[[name]]
  if (is.function(row)) return(do.call(row, values[intersect(names(values), names(formals(row)))]))
  if (!is.null(row$of_classes)) row$of_classes(length(values) + 2) else row
}

# The call by which a user makes the family, such as a call of gp_family(), as text.
family_label <- function(name) {
  constructed <- c("binomial", "poisson", "Gamma", "negative_binomial", "student", "tweedie", "likelihood")
  if (name %in% constructed) paste0(name, "()") else paste0("gp_family(\"", name, "\")")
}

family_parameters <- function(values, limits, call) {
  names <- names(limits)
  given <- !vapply(values, is.null, NA)
  for (name in names[given]) {
    range <- attr(limits[[name]], "range") %||% c(0, Inf)
    check_number(values[[name]], name, least = range[[1]], above = TRUE, most = range[[2]], call = call)
  }
  value <- replace(rep(NA_real_, length(names)), given, as.numeric(unlist(values)))
  data.frame(name = names %||% character(), value = value, fixed = unname(given))
}

family_table <- function() list(
  gaussian = gaussian_row, binomial = binomial_row, beta_binomial = beta_binomial_row, poisson = poisson_row,
  negative_binomial = negative_binomial_row, negative_binomial_1 = negative_binomial_1_row,
  generalised_poisson = generalised_poisson_row, truncated_poisson = truncated_poisson_row,
  truncated_negative_binomial = truncated_nb_row, zero_inflated_poisson = zero_inflated_poisson_row,
  zero_inflated_negative_binomial = zero_inflated_nb_row, hurdle_poisson = hurdle_poisson_row,
  hurdle_negative_binomial = hurdle_nb_row, Gamma = gamma_row, inverse_gaussian = inverse_gaussian_row,
  lognormal = lognormal_row, weibull = weibull_row, exponential = exponential_row, tweedie = tweedie_row,
  delta_gamma = delta_gamma_row, delta_lognormal = delta_lognormal_row, beta = beta_row, ordered = ordered_row(),
  student = student_row, tobit = tobit_row
)

# The family of a fit, settled when the response is known: for an ordered response, the family gets a parameter for each
# additional class.
settled_family <- function(family, y, call = caller_env()) {
  of_classes <- family$density$of_classes
  count <- max(y)
  gaps <- nrow(family$parameters)
  if (is.null(of_classes) || gaps >= max(1, count - 2)) return(family)
  if (any(family$parameters$fixed)) {
    stop_kernops("input", "{.code {family_label(family$name)}} has values for {gaps + 2} classes, but the response has
                           {count}.", call = call)
  }
  new_family(family$name, list(), family$link, of_classes(count))
}

# Converts the argument `family` to a family; NULL means Gaussian observations.
as_family <- function(family, call = caller_env()) {
  if (is.character(family) && length(family) == 1) {
    if (family %in% setdiff(names(family_table()), "gaussian")) return(new_family(family, call = call))
    family <- get0(family, mode = "function") %||% family
  }
  if (is.function(family)) family <- tryCatch(family(), error = function(e) NULL)
  if (inherits(family, "gp_family")) return(family$plain %||% family)
  if (!inherits(family, "family")) stop_unknown_family(if (rlang::is_string(family)) family, call)
  name <- paste(family$family, collapse = ", ")
  if (name == "gaussian" && family$link == "identity") return(NULL)
  known <- known_family(name, family)
  if (is.null(known)) stop_unknown_family(name, call)
  new_family(known[[1]], known[-1], family$link, call = call)
}

# Names of families in packages glmmTMB and sdmTMB that have other names in gp_family().
other_family_names <- c(
  nbinom2 = "negative_binomial", nbinom1 = "negative_binomial_1", betabinomial = "beta_binomial", Beta = "beta",
  truncated_nbinom2 = "truncated_negative_binomial"
)

# The name and the values of parameters of a family object from package stats, MASS, mgcv, glmmTMB or sdmTMB; NULL for
# other families. In families of mgcv whose parameter has a value, `n.theta`, the number of parameters to estimate, is
# 0.
known_family <- function(name, family) {
  value <- function() if (identical(as.numeric(family$n.theta), 0)) family$getTheta(TRUE)
  size <- function() if (inherits(family, "extended.family")) value() else get(".Theta", environment(family$variance))
  name <- sub("\\(.*", "", name)
  switch(name, binomial = , poisson = , Gamma = list(name), inverse.gaussian = list("inverse_gaussian"),
         `Negative Binomial` = , `negative binomial` = list("negative_binomial", theta = size()),
         Tweedie = if (inherits(family, "extended.family")) list("tweedie", power = value()),
         `Beta regression` = list("beta", precision = value()),
         nbinom2 = , nbinom1 = , betabinomial = , Beta = , truncated_nbinom2 = list(other_family_names[[name]]),
         t = , student = list("student", df = family$df),
         tweedie = , beta = , lognormal = , truncated_poisson = list(name))
}

stop_unknown_family <- function(name, call) {
  instead <- switch(name %||% "", quasipoisson = "negative_binomial", quasibinomial = "beta_binomial",
                    quasi = "tweedie")
  if (!is.null(instead)) {
    stop_kernops("input", c("{.fn {name}} has no likelihood.",
                            i = "{.code gp_family(\"{instead}\")} is a family with overdispersion."), call = call)
  }
  similar <- if (is.character(name)) similar_name(name, names(family_table()))
  stop_kernops("input", c("{.arg family} must be {.fn gaussian}, {.fn binomial}, {.fn poisson},
                           {.code Gamma(link = \"log\")}, {.fn negative_binomial}, {.fn student}, {.fn tweedie}, or a
                           family of {.fn gp_family}.",
                          i = if (length(similar)) "Did you mean {.val {similar}}?"), call = call)
}
