# Linear predictors of the parameters of a family, from the arguments of gp().

# Adds predictors to the family. Gaussian observations with a predictor of the noise also get a family.
with_predictors <- function(family, predictors, zi, dispersion, call) {
  formulas <- check_predictors(predictors, call)
  family <- family %||% if (length(formulas) || !is.null(zi) || !is.null(dispersion)) new_family("gaussian")
  if (is.null(family)) return(NULL)
  familiar <- Filter(Negate(is.null), list(zi = zi, dispersion = dispersion))
  names(familiar) <- vapply(names(familiar), parameter_for, "", family, call)
  if (!length(c(formulas, familiar))) return(family)
  if (length(twice <- intersect(names(formulas), names(familiar)))) {
    stop_kernops("input", "The parameter {.val {twice}} must have one predictor, not two.", call = call)
  }
  formulas <- c(formulas, familiar)
  for (name in names(formulas)) check_predictor(family, name, formulas[[name]], call)
  family$plain <- family
  family$predictors <- lapply(stats::setNames(nm = names(formulas)), function(name) {
    list(column = predictor_column(formulas[[name]], name))
  })
  family
}

# For each of the arguments `zi` and `dispersion` of gp(), the parameters of families that the argument may describe.
familiar_parameters <- list(
  zi = c("zi", "zero"),
  dispersion = c("dispersion", "theta", "alpha", "delta", "shape", "sigma", "precision", "scale")
)

# The parameter that the argument `zi` or `dispersion` describes.
parameter_for <- function(argument, family, call) {
  names <- names(family$density$parameters)
  name <- intersect(familiar_parameters[[argument]], names)
  if (length(name) == 1) return(name)
  what <- c(zi = "probability of zeros", dispersion = "parameter of dispersion")[[argument]]
  stop_kernops("input", c(
    if (length(name)) "{.arg {argument}} is ambiguous: {.code {family_label(family$name)}} has the parameters
                       {.val {name}}." else "{.code {family_label(family$name)}} has no {what}: {.arg {argument}} is for
                                             other families.",
    i = if (length(names)) "Name the parameter, as in {.code predictors = list({names[[1]]} = ~ x)}; the parameters are
                            {.val {names}}."
  ), call = call)
}

predictor_columns <- function(family) unname(lapply(family$predictors, `[[`, "column"))

# Removes a nugget with a free variance from the covariance, if the noise of Gaussian observations has a predictor.
without_free_nugget <- function(covariance, family) {
  if (!identical(family$name, "gaussian") || is.null(family$predictors)) return(covariance)
  is_free_nugget <- function(leaves) {
    length(leaves) == 1 && leaves[[1]]$label == "nugget" && is.null(leaves[[1]]$parameters$variance)
  }
  none <- nugget(1, fixed = "variance")
  none$parameters$variance <- 0
  without_terms(covariance, is_free_nugget) %||% none
}

# The family of a fit, in which each predictor has the positions of its covariates among the columns of the points u,
# and a basis. If the coefficients of a predictor are known, the basis consists of the covariates.
settled_predictors <- function(family, parts, u, d, call) {
  if (is.null(family$predictors)) return(family)
  places <- column_places(parts$columns)
  for (name in names(family$predictors)) {
    k <- match(column_key(family$predictors[[name]]$column), names(places))
    family$predictors[[name]] <- list(column = parts$columns[[k]], dims = d + places[[k]],
                                      variances = family$predictors[[name]]$variances)
  }
  family$parameters <- parameters_of_predictors(family)
  for (name in names(family$predictors)) {
    predictor <- family$predictors[[name]]
    known <- !anyNA(family$parameters$value[family$parameters$of == name])
    z <- u[, predictor$dims, drop = FALSE]
    if (length(predictor$column$random)) {
      family$predictors[[name]]$variances <- predictor$variances %||% starting_variances(predictor$column$random, z)
    }
    family$predictors[[name]]$turn <- if (known) diag(ncol(z)) else turn_of(z, predictor$column, call)
  }
  family
}

# Replaces the row of a parameter that has a predictor by one row for each coefficient of the predictor.
parameters_of_predictors <- function(family) {
  parameters <- family$parameters
  if (!is.null(parameters$of)) return(parameters)
  rows <- lapply(seq_len(nrow(parameters)), function(k) {
    row <- cbind(parameters[k, ], of = parameters$name[[k]])
    names <- family$predictors[[row$name]]$column$names
    if (is.null(names)) return(row)
    data.frame(name = paste(row$name, names), value = NA_real_, fixed = FALSE, of = row$name)
  })
  do.call(rbind, rows)
}

turn_of <- function(z, column, call) {
  q <- qr(z)
  if (q$rank < ncol(z)) {
    aliased <- column$names[q$pivot[-seq_len(q$rank)]]
    stop_kernops("input", c("The columns of the {column$what} are collinear: {.code {aliased}} {?is a linear
                             combination/are linear combinations} of the others.",
                            i = "Remove {cli::qty(aliased)}{?it/them} from the formula."), call = call)
  }
  if (nrow(z) <= ncol(z)) {
    stop_kernops("input", "The {column$what} has {ncol(z)} coefficient{?s} for {nrow(z)} observation{?s}.", call = call)
  }
  sqrt(nrow(z)) * backsolve(qr.R(q), diag(ncol(z)))
}
