#' A covariance from a variogram model of gstat
#'
#' `as_gp()` converts a variogram model of gstat to a covariance for [gp()]. `gp()` also accepts a variogram model and
#' converts it in the same way. Models may be nested, and each term may have an anisotropy in 2-D or 3-D.
#'
#' @param model a result of `gstat::vgm()` or `gstat::fit.variogram()`; or an object of class `gstat` with a linear
#'   model of coregionalisation, such as a result of `gstat::fit.lmc()`, which becomes an [lmc()]. Terms become these
#'   [covariance_functions]:
#'
#'   | gstat | kernops |
#'   |---|---|
#'   | `"Nug"` | [microscale()]: variation of the field, honoured at sampled points |
#'   | `"Err"` | [nugget()]: errors of measurement |
#'   | `"Exp"`, `"Gau"`, `"Exc"` | [exponential()], [squared_exponential()], [powered_exponential()] |
#'   | `"Mat"`, `"Ste"`, `"Bes"` | [matern()]; `"Bes"` with nu = 1 |
#'   | `"Sph"`, `"Cir"`, `"Pen"` | [spherical()], [circular()], [pentaspherical()] |
#'   | `"Lin"` | [triangular()], in one dimension only; with range 0 [power_law()] with power 1 |
#'   | `"Wav"`, `"Hol"`, `"Per"` | [wave()] for both; [cosine()], in one dimension only |
#'   | `"Pow"` | [power_law()] |
#'   | `"Log"` | [logarithmic()] and [microscale()] of psill log(range), the jump at the origin of gstat's model |
#' @param fixed if `TRUE`, [gp()] keeps the values; if `FALSE`, the values are starting values. Parameters that are
#'   `NA`, as in `gstat::vgm("Sph")`, are estimated.
#' @return A covariance for [gp()]; for several variables, an [lmc()] whose matrices have the names of the variables in
#'   gstat.
#' @section Errors: class `kernops_input_error` for other terms, and for sums of `"Log"` and `"Nug"` that are negative
#'   at short distances. Two models of gstat are not valid variograms:
#'   * `"Spl"`, h^2 log(h), is negative for h < 1. Even with the trend `~ x + y` of a thin plate spline, kriging
#'     variances would not be positive, since the sign of the model is opposite to the sign of the variogram of a
#'     spline. gstat itself returns `NA`.
#'   * `"Leg"`, 2 - (1 - r^2) / (1 - 2 r cos(a) + r^2) with range r, is negative at short distances for r > 1/3. For
#'     other r, the model is not a valid variogram on the sphere, since gstat divides distances by 6378 pi km, not by
#'     6378 km, for the angle a.
#' @seealso [as_vgm()] for the reverse conversion; [gp_variogram()] for the empirical variogram, [covariance_functions]
#'   for covariances, [gp()].
#' @examples
#' if (requireNamespace("gstat", quietly = TRUE)) {
#'   print(as_gp(gstat::vgm(0.6, "Sph", 900, nugget = 0.05, Err = 0.02)))
#'   print(as_gp(gstat::vgm(2, "Pow", 1.2, anis = c(30, 0.5))))
#'   # nested models, each with an anisotropy
#'   short <- gstat::vgm(0.2, "Exp", 100, anis = c(120, 0.4), nugget = 0.05)
#'   print(as_gp(gstat::vgm(0.6, "Sph", 900, anis = c(30, 0.5), add.to = short)))
#'   for (name in c("Exp", "Gau", "Exc", "Mat", "Ste", "Bes", "Sph", "Cir", "Pen", "Lin", "Wav",
#'                 "Hol", "Per", "Log")) {
#'     print(as_gp(gstat::vgm(1, name, 300)))
#'   }
#'   # given values, and values that are estimated
#'   set.seed(1)
#'   d <- data.frame(x = runif(50), y = runif(50))
#'   d$z <- sin(5 * d$x) + d$y + rnorm(50, sd = 0.1)
#'   gp(z ~ 1, d, ~ x + y, gstat::vgm(0.5, "Sph", 0.8, nugget = 0.01), estimate = "none")
#'   gp(z ~ 1, d, ~ x + y, gstat::vgm(NA, "Sph", NA, nugget = NA))
#' }
#' @export
as_gp <- function(model, fixed = FALSE) {
  check_flag(fixed, "fixed")
  if (inherits(model, "gstat")) return(as_lmc(model, fixed))
  if (!inherits(model, "variogramModel")) {
    stop_kernops("input", "{.arg model} must be a {.cls variogramModel} or {.cls gstat} of gstat, not
                           {.cls {class(model)[[1]]}}.")
  }
  terms <- do.call(c, lapply(seq_len(nrow(model)), function(n) gstat_term(model[n, ], fixed)))
  size <- function(name) sum(unlist(terms[names(terms) == name]))
  smallest <- 1e-12 * sum(abs(model$psill), na.rm = TRUE) # sums below this number are rounding errors
  if (isTRUE(size("microscale") < -smallest)) {
    stop_kernops("input", "The model is negative at short distances: {.val Log} of gstat with a range below 1 needs a
                           {.val Nug} of at least -psill log(range).")
  }
  white <- Filter(function(name) is.na(size(name)) || size(name) > smallest, names(white_functions))
  white <- lapply(white, function(name) {
    if (is.na(size(name))) white_functions[[name]]() else white_functions[[name]](size(name), if (fixed) "variance")
  })
  all <- c(unname(terms[names(terms) == "field"]), white)
  if (!length(all)) stop_kernops("input", "The partial sills of {.arg model} must be positive.")
  Reduce(`+`, all)
}

white_functions <- list(microscale = microscale, nugget = nugget)

# A function for each model of gstat. For a term with sill v, range r and smoothness k, the function returns a list of
# the covariance of the field and of the variances of the uncorrelated parts of the term. term() creates a covariance,
# and adds the anisotropy and the fixed parameters.
gstat_models <- list(
  Nug = function(v, r, k, term) list(microscale = v),
  Err = function(v, r, k, term) list(nugget = v),
  Exp = function(v, r, k, term) term(exponential, range = r),
  Gau = function(v, r, k, term) term(squared_exponential, range = r / sqrt(2)),
  Exc = function(v, r, k, term) term(powered_exponential, range = r, power = k),
  Mat = function(v, r, k, term) term(matern, nu = k, range = r * sqrt(2 * k)),
  Ste = function(v, r, k, term) term(matern, nu = k, range = r / sqrt(2)),
  Bes = function(v, r, k, term) term(matern, nu = 1, range = r * sqrt(2)),
  Sph = function(v, r, k, term) term(spherical, range = r),
  Cir = function(v, r, k, term) term(circular, range = r),
  Pen = function(v, r, k, term) term(pentaspherical, range = r),
  Lin = function(v, r, k, term) {
    if (isTRUE(r == 0)) term(power_law, power = 1, fixed = "power") else term(triangular, range = r)
  },
  Wav = function(v, r, k, term) term(wave, range = r / pi),
  Hol = function(v, r, k, term) term(wave, range = r),
  Per = function(v, r, k, term) term(cosine, period = r),
  Pow = function(v, r, k, term) term(power_law, power = r),
  # gstat's variogram is log(h + r) for h > 0, and 0 at h = 0
  Log = function(v, r, k, term) c(term(logarithmic, range = r), list(microscale = v * log(r)))
)

gstat_term <- function(row, fixed) {
  name <- as.character(row$model)
  if (!name %in% names(gstat_models)) {
    stop_kernops("input", c("The model {.val {name}} of gstat is not supported.",
                            x = if (name %in% c("Spl", "Leg")) "It is not a valid variogram: {.code ?as_gp} gives the
                                                                reason.",
                            i = "{.val {names(gstat_models)}} are supported."), call = NULL)
  }
  term <- function(family, nu = NULL, fixed = character(), ...) {
    parameters <- c(Filter(Negate(anyNA), list(variance = row$psill, ...)), gstat_anisotropy(row))
    if (length(nu)) family <- function(...) matern(nu, ...)
    list(field = do.call(family, c(parameters, list(fixed = c(fixed, if (all_fixed) names(parameters))))))
  }
  all_fixed <- fixed
  gstat_models[[name]](row$psill, row$range, row$kappa, term)
}

gstat_anisotropy <- function(row) {
  value <- function(name, default) if (is.null(row[[name]])) default else row[[name]]
  angles <- c(value("ang1", 0), value("ang2", 0), value("ang3", 0))
  ratios <- c(value("anis1", 1), value("anis2", 1))
  if (all(ratios == 1)) return(NULL)
  if (ratios[[2]] == 1 && all(angles[-1] == 0)) return(list(angle = angles[[1]], ratio = ratios[[1]]))
  list(angle = angles, ratio = ratios)
}

# Converts an object of class `gstat` to an lmc(). All variograms of the object must have the same terms. The sills of a
# term for all pairs of variables form a matrix.
as_lmc <- function(model, fixed, call = caller_env()) {
  names <- names(model$data)
  variogram <- function(i, j) {
    part <- model$model[[if (i == j) names[[i]] else paste(names[c(i, j)], collapse = ".")]]
    if (is.null(part) && i != j) part <- model$model[[paste(names[c(j, i)], collapse = ".")]]
    if (is.null(part)) {
      stop_kernops("input", "{.arg model} has no variogram of {.val {names[c(i, j)]}}.", call = call)
    }
    part
  }
  if (length(names) < 2) {
    stop_kernops("input", "{.arg model} must have several variables; {.code model$model[[1]]} is the variogram of one.",
                 call = call)
  }
  first <- variogram(1, 1)
  columns <- setdiff(colnames(first), "psill")
  p <- length(names)
  sills <- rep(list(matrix(0, p, p, dimnames = list(names, names))), nrow(first))
  for (i in seq_len(p)) for (j in seq_len(i)) {
    other <- variogram(j, i)
    if (!isTRUE(all.equal(as.data.frame(first)[columns], as.data.frame(other)[columns], check.attributes = FALSE))) {
      stop_kernops("input", c("The variograms of {.arg model} must have the same terms and ranges.",
                              i = "{.fn gstat::fit.lmc} makes such a linear model of coregionalisation."), call = call)
    }
    for (k in seq_len(nrow(first))) sills[[k]][i, j] <- sills[[k]][j, i] <- other$psill[[k]]
  }
  first$psill <- 1
  structures <- lapply(seq_len(nrow(first)), function(k) {
    term <- gstat_term(first[k, ], fixed)
    if (identical(as.character(first$model[[k]]), "Log")) {
      stop_kernops("input", "The model {.val {first$model[[k]]}} of gstat is not supported in {.fn lmc}.", call = call)
    }
    term$field %||% white_functions[[names(term)]]()
  })
  do.call(lmc, c(structures, list(sills = sills, fixed = fixed)))
}
