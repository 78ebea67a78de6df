# Linear predictors of the parameters of a family: phi = inverse_link(Z gamma), with a value for each observation.
#
# `family$predictors` has an entry for each parameter with a predictor: its `column` (data_predictors.R), `dims`, the
# indices of the columns of Z among the columns of points, and `turn`, an upper triangular matrix. The columns of the
# product Z turn are orthogonal with mean square 1 at the observations, and the search estimates their coefficients.
# Such a coefficient is then a row of `family$parameters`, and `of` is the name of the parameter of the density to which
# the coefficient belongs.

# The link of a parameter: the logarithm, or the logit of the position between the limits of the parameter. The list
# also has the inverse link and its derivative `slope`, a function of phi.
parameter_link <- function(family, name) {
  range <- attr(family$density$parameters[[name]], "range")
  if (is.null(range)) return(list(name = "log", link = log, inverse = exp, slope = identity))
  low <- range[[1]]
  width <- diff(range)
  share <- function(phi) (phi - low) / width
  list(name = "logit", link = function(phi) stats::qlogis(share(phi)),
       # z is bounded, so that no parameter is exactly at a limit
       inverse = function(z) low + width * stats::plogis(pmin(pmax(z, -36), 36)),
       slope = function(phi) width * share(phi) * (1 - share(phi)))
}

# Converts the parameters of the search to the parameters of the density: a named vector or, with predictors, a list of
# vectors with a value for each of the points u.
family_phi <- function(family, values, u) {
  parameters <- family$parameters
  if (is.null(family$predictors)) return(stats::setNames(values, parameters$name))
  lapply(stats::setNames(nm = unique(parameters$of)), function(name) {
    value <- values[parameters$of == name]
    predictor <- family$predictors[[name]]
    if (is.null(predictor)) return(value)
    parameter_link(family, name)$inverse(as.vector(predictor_basis(predictor, u) %*% value))
  })
}

# The fit in which the parameters of its family are evaluated at the points u.
with_phi_of <- function(object, u) {
  family <- object$family
  if (is.null(family$predictors)) return(object)
  values <- reported_parameters(family, unname(object$dispersion), inverse = TRUE)
  replace(object, "phi", list(family_phi(family, unname(values), u)))
}

predictor_basis <- function(predictor, u) u[, predictor$dims, drop = FALSE] %*% predictor$turn

# The parameters of a family at some of the observations.
some_phi <- function(phi, rows) if (is.list(phi)) lapply(phi, function(x) if (length(x) > 1) x[rows] else x) else phi

# Converts coefficients of the orthogonal columns to coefficients of the columns of Z or, with `inverse`, in the reverse
# direction.
reported_parameters <- function(family, values, inverse = FALSE) {
  for (name in names(family$predictors)) {
    rows <- family$parameters$of == name
    turn <- family$predictors[[name]]$turn
    values[rows] <- if (inverse) backsolve(turn, values[rows]) else as.vector(turn %*% values[rows])
  }
  stats::setNames(values, family$parameters$name)
}

# Converts sums over the observations to derivatives with respect to the parameters of the search. `slopes` contains the
# derivatives with respect to phi, with a column for each parameter.
sum_by_parameter <- function(slopes, phi, data) {
  family <- data$family
  if (is.null(family$predictors)) return(colSums(slopes))
  unlist(lapply(seq_along(phi), function(k) {
    predictor <- family$predictors[[names(phi)[[k]]]]
    if (is.null(predictor)) return(sum(slopes[, k]))
    by_predictor <- parameter_link(family, names(phi)[[k]])$slope(phi[[k]])
    as.vector(crossprod(predictor_basis(predictor, data$u), slopes[, k] * by_predictor))
  }))
}

# Twice the information on the coefficients of parameter k for a fixed process. slopes(phi) returns the derivatives of
# the log density of each observation with respect to the parameter. The information is at least 1 in each direction.
predictor_information <- function(predictor, link, k, phi, slopes, u, step = 1e-3) {
  z <- link$link(phi[[k]])
  along <- function(z) {
    value <- link$inverse(z)
    slopes(replace(phi, k, list(value))) * link$slope(value)
  }
  basis <- predictor_basis(predictor, u)
  information <- crossprod(basis, (along(z - step) - along(z + step)) / step * basis)
  e <- eigen((information + t(information)) / 2, symmetric = TRUE)
  e$vectors %*% (pmax(e$values, 1) * t(e$vectors))
}

# The parameters of a family in a search: the starting or given `value`, `lower`, `upper`, and `log`, TRUE if the search
# uses the logarithm.
searched_parameters <- function(family, data, spread) {
  limits <- family_limits(family, data$y, spread)
  parameters <- family$parameters
  name <- parameters$of %||% parameters$name
  limits <- limits[match(name, names(family$density$parameters)), , drop = FALSE]
  start <- ifelse(is.na(parameters$value), limits[, 1], parameters$value)
  rows <- data.frame(value = start, lower = pmin(limits[, 2], start), upper = pmax(limits[, 3], start),
                     log = rep(TRUE, length(start)))
  known <- reported_parameters(family, parameters$value, inverse = TRUE)
  for (each in names(family$predictors)) {
    k <- which(name == each)
    link <- parameter_link(family, each)$link
    ends <- link(limits[k[[1]], ])
    basis <- predictor_basis(family$predictors[[each]], data$u)
    value <- if (anyNA(known[k])) colMeans(basis) * ends[[1]] else known[k]
    reach <- max(abs(ends - ends[[1]]))
    rows[k, ] <- data.frame(value = value, lower = value - reach, upper = value + reach, log = FALSE)
  }
  rows
}
