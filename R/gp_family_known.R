# The family of a fit from what users give.

# A family is
#   name, link
#   density     how observations depend on the linear predictor: density_of() in lik_family.R
#   parameters  a data frame of its own parameters as covariance_model() has it: name, value (NA: to be estimated), fixed
new_family <- function(name, values = list(), link = row$links[[1]], row = family_table()[[name]], call = caller_env()) {
  if (!link %in% row$links) {
    stop_kernops("input", "The link of {.fn {name}} must be {.or {.val {row$links}}}, not {.val {link}}.", call = call)
  }
  structure(list(name = name, link = link, density = density_of(row, link),
                 parameters = family_parameters(values[names(row$parameters)], names(row$parameters), call)),
            class = "gp_family")
}

family_parameters <- function(values, names, call) {
  given <- !vapply(values, is.null, NA)
  for (name in names[given]) check_number(values[[name]], name, least = 0, above = TRUE, call = call)
  value <- replace(rep(NA_real_, length(names)), given, as.numeric(unlist(values)))
  data.frame(name = names %||% character(), value = value, fixed = unname(given))
}

family_table <- function() list(binomial = binomial_row, poisson = poisson_row, Gamma = gamma_row,
                     negative_binomial = negative_binomial_row, student = student_row)

# NULL is the family of Gaussian observations.
as_family <- function(family, call = caller_env()) {
  if (is.character(family) && length(family) == 1) family <- get0(family, mode = "function") %||% family
  if (is.function(family)) family <- tryCatch(family(), error = function(e) NULL)
  if (inherits(family, "gp_family")) return(family)
  if (!inherits(family, "family") || inherits(family, "extended.family")) stop_unknown_family(call)
  name <- family$family
  if (name == "gaussian" && family$link == "identity") return(NULL)
  if (grepl("^Negative Binomial", name)) {
    return(new_family("negative_binomial", list(theta = get(".Theta", environment(family$variance))), family$link,
                      call = call))
  }
  if (!name %in% names(family_table())) stop_unknown_family(call)
  new_family(name, link = family$link, call = call)
}

stop_unknown_family <- function(call) {
  stop_kernops("input", "{.arg family} must be {.fn gaussian}, {.fn binomial}, {.fn poisson},
                         {.code Gamma(link = \"log\")}, {.fn negative_binomial} or {.fn student}.", call = call)
}
