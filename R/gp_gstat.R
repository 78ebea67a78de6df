#' A covariance from a variogram model of gstat
#'
#' @param model what `gstat::vgm()` or `gstat::fit.variogram()` returns: terms `"Nug"` and `"Err"` become a
#'   [nugget()], `"Exp"`, `"Gau"`, `"Sph"`, `"Mat"` and `"Ste"` the covariances of
#'   [covariance_functions], with the ranges in their convention and the anisotropy in the plane.
#' @param fixed whether [gp()] keeps the values rather than to start from them.
#' @return A covariance for [gp()].
#' @section Errors: class `kernops_input_error` for other terms, and for anisotropy in three dimensions.
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
  root <- sqrt(2 * row$kappa)
  make <- switch(name, Exp = list(exponential, 1), Gau = list(squared_exponential, 1 / sqrt(2)),
                 Sph = list(spherical, 1),
                 Mat = list(function(...) matern(row$kappa, ...), root),
                 Ste = list(function(...) matern(row$kappa, ...), 1 / sqrt(2)))
  if (is.null(make)) {
    stop_kernops("input", c("There is no covariance here for the model {.val {name}} of gstat.",
                            i = "{.val {c('Nug', 'Err', 'Exp', 'Gau', 'Sph', 'Mat', 'Ste')}} are known."), call = NULL)
  }
  turned <- !is.null(row$anis1) && row$anis1 != 1
  if (any(unlist(row[names(row) %in% c("ang2", "ang3")]) != 0, row$anis2 != 1)) {
    stop_kernops("input", "The anisotropy of {.val {name}} is in three dimensions: only that in the plane is known.",
                 call = NULL)
  }
  given <- c(list(variance = row$psill, range = row$range * make[[2]]),
             if (turned) list(angle = row$ang1, ratio = row$anis1))
  do.call(make[[1]], c(given, list(fixed = if (fixed) names(given) else character())))
}
