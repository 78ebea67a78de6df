#' A covariance from a variogram model of gstat
#'
#' @param model a result of `gstat::vgm()` or `gstat::fit.variogram()`: the terms `"Nug"` and `"Err"` become a
#'   [nugget()]; `"Exp"`, `"Gau"`, `"Sph"`, `"Mat"` and `"Ste"` become the corresponding [covariance_functions], with
#'   the ranges converted and with anisotropy in the plane.
#' @param fixed whether [gp()] keeps the values; otherwise they are starting values.
#' @return A covariance for [gp()].
#' @section Errors: class `kernops_input_error` for other terms and for anisotropy in three dimensions.
#' @seealso [gp_variogram()] for the empirical variogram, [covariance_functions] for covariances, [gp()].
#' @examples
#' if (requireNamespace("gstat", quietly = TRUE)) {
#'   as_gp(gstat::vgm(0.6, "Sph", 900, nugget = 0.05))
#' }
#' @export
as_gp <- function(model, fixed = FALSE) {
  check_flag(fixed, "fixed")
  if (!inherits(model, "variogramModel")) {
    stop_kernops("input", "{.arg model} must be a {.cls variogramModel} of gstat, not {.cls {class(model)[[1]]}}.")
  }
  terms <- lapply(seq_len(nrow(model)), function(n) gstat_term(model[n, ], fixed))
  noise <- vapply(terms, is.numeric, NA)
  smooth <- Reduce(`+`, terms[!noise])
  total <- sum(unlist(terms[noise]))
  if (total == 0) return(smooth)
  own <- nugget(total, fixed = if (fixed) "variance" else character())
  if (is.null(smooth)) own else smooth + own
}

# One term: a covariance, or the number that is its part of the nugget.
gstat_term <- function(row, fixed) {
  name <- as.character(row$model)
  if (name %in% c("Nug", "Err")) return(row$psill)
  smoothness <- if (name %in% c("Mat", "Ste")) row$kappa else 0.5
  families <- list(exponential, squared_exponential, spherical, function(...) matern(smoothness, ...))
  factors <- lapply(families, function(make) make()$gstat)
  family <- which(vapply(factors, function(known) name %in% names(known), NA))
  if (!length(family)) {
    stop_kernops("input", c("The model {.val {name}} of gstat is not supported.",
                            i = "{.val {c('Nug', 'Err', names(unlist(factors)))}} are supported."), call = NULL)
  }
  anisotropic <- !is.null(row$anis1) && row$anis1 != 1
  if (any(unlist(row[names(row) %in% c("ang2", "ang3")]) != 0, row$anis2 != 1)) {
    stop_kernops("input", "The anisotropy of {.val {name}} is in three dimensions: only anisotropy in
                           the plane is supported.",
                 call = NULL)
  }
  given <- c(list(variance = row$psill, range = row$range * factors[[family]][[name]]),
             if (anisotropic) list(angle = row$ang1, ratio = row$anis1))
  do.call(families[[family]], c(given, list(fixed = if (fixed) names(given) else character())))
}
