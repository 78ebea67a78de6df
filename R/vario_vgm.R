#' A variogram model of gstat from a covariance
#'
#' Converts a fit or a covariance to a variogram model of gstat, which `gstat::krige()`, `gstat::variogramLine()` and
#' other functions accept. [as_gp()] is the reverse conversion.
#'
#' @param object a fit of [gp()], or a covariance whose parameters have values: a sum of [covariance_functions] that
#'   exist in gstat. [microscale()] becomes `"Nug"` and [nugget()] becomes `"Err"`, so that gstat's predictions are
#'   those of `predict(interval = "confidence")`. [matern()] becomes `"Mat"`, and [wave()] becomes `"Hol"`.
#' @return A `variogramModel` of gstat. For an [lmc()], a list of the models of the variables and their pairs, with
#'   gstat's names, such as `zinc`, `lead` and `zinc.lead`: the component `model` of an object of `gstat::gstat()`.
#' @section Errors: class `kernops_input_error` for covariances that gstat does not have: products, `dims`, a range for
#'   each coordinate, `time`, great-circle distances and other functions.
#' @seealso [as_gp()], [gp_variogram()], whose results gstat accepts.
#' @examples
#' if (requireNamespace("gstat", quietly = TRUE)) {
#'   as_vgm(spherical(0.6, 900, angle = 30, ratio = 0.5) + nugget(0.05))
#'   as_vgm(gp(dist ~ 1, cars, ~ speed))
#' }
#' @export
as_vgm <- function(object) {
  rlang::check_installed("gstat", "to make its variogram models.")
  covariance <- if (inherits(object, "gp")) object$covariance else object
  if (!is_covariance(covariance)) {
    stop_kernops("input", "{.arg object} must be a fit of {.fn gp} or a covariance, not {.cls {class(object)[[1]]}}.")
  }
  if (is_lmc(covariance)) return(vgm_of_pairs(covariance))
  rows_to_vgm(vgm_rows(covariance))
}

vgm_row <- function(model, range, kappa = 0.5) list(model = model, range = range, kappa = kappa)

# For each label of a covariance, a function of its parameters p that returns the row of a gstat model.
vgm_models <- list(
  exponential = function(p) vgm_row("Exp", p$range),
  squared_exponential = function(p) vgm_row("Gau", p$range * sqrt(2)),
  powered_exponential = function(p) vgm_row("Exc", p$range, p$power),
  matern = function(p) vgm_row("Mat", p$range / sqrt(2 * p$nu), p$nu),
  spherical = function(p) vgm_row("Sph", p$range),
  circular = function(p) vgm_row("Cir", p$range),
  pentaspherical = function(p) vgm_row("Pen", p$range),
  triangular = function(p) vgm_row("Lin", p$range),
  wave = function(p) vgm_row("Hol", p$range),
  cosine = function(p) vgm_row("Per", p$period),
  power_law = function(p) vgm_row("Pow", p$power),
  logarithmic = function(p) vgm_row("Log", p$range),
  microscale = function(p) vgm_row("Nug", 0),
  nugget = function(p) vgm_row("Err", 0)
)

# A list of the arguments of gstat::vgm() for each term. `factor` multiplies the variance.
vgm_rows <- function(x, factor = 1) {
  if (x$kind == "leaf") return(vgm_leaf(x, factor))
  if (x$kind == "+") return(do.call(c, lapply(x$parts, vgm_rows, factor)))
  number <- vapply(x$parts, function(part) part$kind == "leaf" && part$label == "constant", NA)
  if (sum(!number) != 1) stop_kernops("input", "gstat has no products of covariances.", call = NULL)
  sizes <- vapply(x$parts[number], function(part) part$parameters$variance %||% NA_real_, 0)
  vgm_rows(x$parts[[which(!number)]], factor * prod(sizes))
}

vgm_leaf <- function(leaf, factor) {
  plain <- leaf$geometry$name %in% c("none", "circle", "euclidean", "anisotropic") &&
    (is.null(leaf$dims) || isTRUE(leaf$placed))
  if (!plain || !leaf$label %in% names(vgm_models)) {
    stop_kernops("input", "gstat has no variogram model for {.code {format(leaf)}}.", call = NULL)
  }
  p <- c(leaf$parameters, leaf$kernel$constants["nu"])
  if (anyNA(c(factor, unlist(lapply(leaf$parameters, function(value) value %||% NA))))) {
    stop_kernops("input", "The parameters of {.code {format(leaf)}} must have values.", call = NULL)
  }
  variance <- factor * (p$variance %||% 1)
  row <- c(vgm_models[[leaf$label]](p), psill = variance, if (length(p$ratio)) list(anis = c(p$angle %% 360, p$ratio)))
  # gstat's variogram log(h + r) is log(1 + h / r) plus a nugget of log(r)
  jump <- if (leaf$label == "logarithmic") list(c(vgm_row("Nug", 0), psill = -variance * log(p$range)))
  c(list(row), jump)
}

# Converts rows to a model of gstat. All nuggets of one kind are merged into one row, which is omitted if its sill is 0
# and `all` is FALSE.
rows_to_vgm <- function(rows, all = FALSE) {
  models <- vapply(rows, `[[`, "", "model")
  sills <- vapply(rows, `[[`, 0, "psill")
  white <- c("Nug", "Err")
  sizes <- vapply(white, function(name) sum(sills[models == name]), 0)
  # a sum of nuggets that differs from 0 only by rounding errors is omitted
  kept <- if (all) white %in% models else abs(sizes) > 1e-12 * sum(abs(sills))
  jumps <- lapply(white[kept], function(name) c(vgm_row(name, 0), psill = sizes[[name]]))
  Reduce(function(model, row) do.call(gstat::vgm, c(row, if (!is.null(model)) list(add.to = model))),
         c(rows[!models %in% white], jumps), NULL)
}

vgm_of_pairs <- function(covariance) {
  terms <- lmc_terms(covariance)
  lapply(lmc_effects(covariance), vgm_rows) # stops, because gstat has no random effects
  sills <- lapply(terms, function(term) sills_of(term$parts[[1]]))
  if (any(vapply(sills, is.null, NA))) {
    stop_kernops("input", "The sills of {.arg object} must be given.", call = NULL)
  }
  names <- rownames(sills[[1]]) %||% paste0("var", seq_len(nrow(sills[[1]])))
  pairs <- which(upper.tri(sills[[1]], TRUE), arr.ind = TRUE)
  models <- apply(pairs, 1, function(pair) {
    rows <- Map(function(term, B) vgm_rows(term$parts[[2]], B[pair[[1]], pair[[2]]]), terms, sills)
    rows_to_vgm(do.call(c, rows), all = TRUE)
  })
  stats::setNames(models, apply(pairs, 1, function(pair) paste(unique(names[pair]), collapse = ".")))
}
