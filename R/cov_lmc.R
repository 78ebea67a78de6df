#' Linear model of coregionalisation
#'
#' Makes a model of the covariances and cross-covariances of several variables, for cokriging by [gp()]: `gp(cbind(a, b)
#' ~ 1, data, ~ x + y, lmc(matern(3/2), nugget()))`.
#'
#' @param ... the structures: [covariance_functions], such as `spherical()`, the product `exponential(dims = 1:2) *
#'   matern(dims = 3)` or, for several scales with the same coregionalisation matrix, `exponential() + spherical()`.
#'   Structures have ranges and other parameters, but no variance, since the variances are the `sills`. `nugget()`, and
#'   `microscale()`, are separate structures.
#' @param sills a list with a coregionalisation matrix for each structure, in the order of the structures or by their
#'   names (`"spherical"`, `"nugget"`, ...). The diagonal of the matrix contains the partial sills of the variables, and
#'   its other entries are the cross-sills. `NULL` in place of a matrix means that the matrix is estimated. For a
#'   nugget, a vector stands for a diagonal matrix. If a matrix has row and column names, these are the names of the
#'   variables, in any order.
#' @param fixed whether [gp()] keeps the given matrices; otherwise they are starting values.
#' @param cross_nugget whether the nuggets of the variables at a location are correlated. By default they are
#'   independent, except if the given matrix of the nugget has nonzero entries off its diagonal.
#'
#' @details Consider variable i at a point and variable j at another point, with the distance h between the points.
#'   Their covariance is the sum over the structures u of \eqn{B_u[i, j] C_u(h)}, where \eqn{C_u} has variance 1 and the
#'   coregionalisation matrix \eqn{B_u} is positive semi-definite (Goulard and Voltz 1992). With a single structure, the
#'   model is the separable (intrinsic) model of coregionalisation. The parameters of the search are the Cholesky
#'   factors of the matrices, so that the matrices are positive semi-definite at each step.
#'
#'   The response of [gp()] is a matrix: `cbind(a, b)`, or `cbind(zinc = log(zinc), lead = log(lead))`, which also names
#'   the variables. A variable may be `NA` in a row (heterotopic data): the other variables of the row are used. All
#'   variables have the trend of the formula, with separate coefficients, which have names such as `zinc:(Intercept)`.
#'   With `~ 0`, `known$beta` contains a mean for each variable (simple cokriging). `weights` divide the nuggets of all
#'   variables.
#'
#' @section Random effects and smooths: in the formula, `(1 | site)` and `s(x)` give each variable an independent
#'   effect, with separate variances such as `zinc:(1 | site).variance`. For an effect of one variable, write the name
#'   of the variable in front of the effect: `cbind(zinc, lead) ~ zinc:(1 | site) + lead:s(x)`. Effects with given
#'   values are added to the covariance: `lmc(matern(3/2), nugget()) + random_effect(~ 1 | site)` adds an effect of each
#'   variable, and `random_effect(zinc ~ 1 | site)` an effect of zinc alone; [smooth_effect()] and [time_effects] are
#'   added in the same way.
#'
#'   As a structure, an effect is correlated between the variables: in `lmc(matern(3/2), random_effect(~ 1 | site),
#'   nugget())`, the covariance matrix of the effects of a site is the coregionalisation matrix `(1 | site).sill`.
#'   Only these effects can be structures: effects with one coefficient for each level, `~ 1 | g` or `~ 0 + x | g`,
#'   [ar1()] and [random_walk()]. `ranef()` returns a column for each variable, such as `zinc:(Intercept)`.
#'
#' @section Methods of the fits: the methods of [gp_methods], with these differences.
#'   * `coef(fit, "covariance")` has the sills, `exponential.sill.zinc`, and the cross-sills,
#'     `exponential.sill.zinc.lead`; `vcov()`, `confint()` and `summary()` refer to these parameters.
#'   * `fitted()` and `residuals()` are matrices with a column for each variable; `sigma()` has a number for each
#'     variable.
#'   * [predict()][predict.gp] returns a column for each variable, or columns such as `zinc.fit` and `zinc.se.fit`. With
#'     `cov = "variables"` the result also contains the covariances of the errors of each pair of variables at the same
#'     point, in columns such as `cov.zinc.lead`; `cov = TRUE` gives the joint covariance matrix of all predictions,
#'     ordered by variable and then by point. With `nmax` and `maxdist`, the nearest observations of each variable are
#'     used. The prediction of a variable without observations within `maxdist` is `NA`, because its trend is unknown at
#'     that point, except if `known$beta` gives the trend. The other variables are predicted from their observations,
#'     whereas gstat returns `NA` for all variables.
#'   * [simulate()][simulate.gp] has columns such as `zinc.sim1`.
#'   * [gp_cv()] leaves out one value of one variable, and keeps the values of other variables at the same point; with
#'     `folds`, all values of a row are left out together. The result has a column `variable`.
#'   * `plot()` draws the variograms and cross-variograms.
#'
#' `method` may be `"exact"`, `"vecchia"` or `"vif"`. With `"vecchia"` and `"vif"`, the neighbours of an observation are
#' the nearest observations in space, of all variables. `transform`, `family` and `known$noise` are available for one
#' variable only.
#'
#' @return A covariance of class `kernops_lmc`, for [gp()] with several responses. Effects can be added to the result,
#'   but no other covariance, and the result cannot be multiplied.
#' @section Errors: class `kernops_input_error` for structures with a variance, matrices that are not symmetric and
#'   positive semi-definite, and for arguments that are not available for several variables, such as `method =
#'   "iterative"`; `kernops_dim_error` for matrices of another size than the number of variables.
#' @references
#' Goulard, M. and Voltz, M. (1992) Linear coregionalization model: tools for estimation and choice of cross-variogram
#' matrix. *Mathematical Geology* 24, 269-286.
#'
#' Wackernagel, H. (2003) *Multivariate Geostatistics*. 3rd edition. Springer.
#' @seealso [gp()]; [as_gp()] for models of `gstat::fit.lmc()`; [gp_variogram()] for empirical cross-variograms.
#' @examples
#' set.seed(1)
#' d <- data.frame(x = runif(60), y = runif(60))
#' common <- sin(6 * d$x) + cos(5 * d$y)
#' d$a <- common + rnorm(60, sd = 0.1)
#' d$b <- 2 * common + d$x + rnorm(60, sd = 0.3)
#' d$a[1:30] <- NA # observed at half of the points
#' fit <- gp(cbind(a, b) ~ 1, d, ~ x + y, lmc(matern(3/2), nugget()))
#' coef(fit, "covariance")
#' gp(cbind(a, b) ~ 1, d, ~ x + y, lmc(exponential())) # separable
#' # random effects on both variables, and on one of them
#' d$site <- rep(1:6, 10)
#' gp(cbind(a, b) ~ 1 + (1 | site), d, ~ x + y)
#' gp(cbind(a, b) ~ 1 + b:(1 | site), d, ~ x + y)
#' # effects of sites that are correlated between the variables
#' gp(cbind(a, b) ~ 1, d, ~ x + y, lmc(matern(3/2), random_effect(~ 1 | site), nugget()))
#' predict(fit, data.frame(x = 0.5, y = c(0.2, 0.8)), se.fit = TRUE, interval = "prediction")
#' # predictions with the covariance of the errors of both variables
#' predict(fit, data.frame(x = 0.5, y = 0.2), se.fit = TRUE, interval = "confidence",
#'         cov = "variables")
#' # a model with given sills
#' lmc(spherical(range = 900), nugget(), sills = list(matrix(c(0.6, 0.5, 0.5, 0.7), 2), c(0.05, 0.1)))
#' @export
lmc <- function(..., sills = NULL, fixed = FALSE, cross_nugget = FALSE) {
  check_flag(fixed, "fixed")
  check_flag(cross_nugget, "cross_nugget")
  structures <- list(...)
  if (any(nzchar(names(structures)))) {
    named <- structures[nzchar(names(structures))]
    stop_further_arguments("{.fn lmc}", named, c("sills", "fixed", "cross_nugget"))
  }
  if (!length(structures) || !all(vapply(structures, function(x) is_covariance(x) && !is_lmc(x), NA))) {
    stop_kernops("input", "{.fn lmc} takes covariances, such as {.code lmc(matern(3/2), nugget())}.")
  }
  for (structure in structures) check_effect_structure(structure)
  names <- structure_names(structures)
  if ("nugget2" %in% names) stop_kernops("input", "{.fn lmc} has at most one {.fn nugget}.")
  sills <- structure_sills(sills, names)
  parts <- Map(function(structure, sills, name) {
    plain <- unit_structure(structure)
    white <- all(is_white(leaf_labels(structure)))
    diagonal <- white && !cross_nugget && (is.null(sills) || !any(sills[row(sills) != col(sills)] != 0))
    join_parts("*", coregion(name, sills, diagonal, fixed && !is.null(sills)), plain)
  }, structures, sills, names)
  terms <- Reduce(function(a, b) join_parts("+", a, b), unname(parts))
  class(terms) <- c("kernops_lmc", class(terms))
  terms
}

is_lmc <- function(x) inherits(x, "kernops_lmc")

# The names of structures: the label of the first covariance of each structure, with a number if a label occurs several
# times.
structure_names <- function(structures) {
  labels <- vapply(structures, function(x) leaf_labels(x)[[1]], "")
  before <- vapply(seq_along(structures), function(k) {
    sum(unlist(lapply(structures[seq_len(k - 1)], leaf_labels)) == labels[[k]])
  }, 0)
  paste0(labels, ifelse(before > 0, before + 1, ""))
}

# The sills of structures: a list with a matrix or NULL for each structure.
structure_sills <- function(sills, names, call = caller_env()) {
  if (is.null(sills)) return(rep(list(NULL), length(names)))
  if (!is.list(sills)) {
    stop_kernops("input", "{.arg sills} must be a list with a matrix for each structure.", call = call)
  }
  if (!is.null(names(sills))) {
    check_subset(names(sills), "sills", names, call)
    sills <- lapply(stats::setNames(nm = names), function(name) sills[[name]])
  }
  if (length(sills) != length(names)) {
    stop_kernops("dim", "{.arg sills} must have a matrix or {.code NULL} for each of the {length(names)}
                         structure{?s}.", call = call)
  }
  Map(function(B, name) if (!is.null(B)) check_sills(B, name, call), sills, names)
}

check_sills <- function(B, name, call) {
  if (is.numeric(B) && is.null(dim(B)) && name %in% c("nugget", "microscale")) {
    names <- names(B)
    B <- diag(B, length(B))
    if (!is.null(names)) dimnames(B) <- list(names, names)
  }
  if (!is.numeric(B) || !is.matrix(B) || !length(B) || nrow(B) != ncol(B) || !all(is.finite(B))) {
    stop_kernops("input", "The sills of {.val {name}} must be a square matrix of finite numbers.", call = call)
  }
  if (any(abs(B - t(B)) > 1e-8 * max(abs(B)))) {
    stop_kernops("input", "The sills of {.val {name}} must be a symmetric matrix.", call = call)
  }
  B <- symmetric(B)
  values <- eigen(B, symmetric = TRUE, only.values = TRUE)$values
  if (min(values) < -1e-8 * max(abs(values), .Machine$double.xmin)) {
    stop_kernops("input", c("The sills of {.val {name}} must be a positive semi-definite matrix.",
                            x = "Its smallest eigenvalue is {signif(min(values), 3)}."), call = call)
  }
  B
}

# Returns a structure with variance 1, because the coregionalisation matrix contains the sills.
unit_structure <- function(x, call = caller_env(), single = TRUE) {
  if (x$kind == "leaf") return(unit_leaf(x, call, single))
  some <- if (x$kind == "*") seq_along(x$parts) else 1
  x$parts <- lapply(seq_along(x$parts), function(k) {
    if (k %in% some) return(unit_structure(x$parts[[k]], call, FALSE))
    refuse_white(x$parts[[k]], call)
    x$parts[[k]]
  })
  x
}

refuse_white <- function(x, call) {
  white <- Filter(is_white, leaf_labels(x))
  if (!length(white)) return(invisible())
  stop_kernops("input", "{.fn {white[[1]]}} must be a separate structure, as in {.code lmc(matern(), {white[[1]]}())}.",
               call = call)
}

# The kernel of the noise of an observation, for points with the columns that at_variables() adds.
noise_kernel <- kernel("nugget", function(x, y) {
  sprintf("Elem(%1$s, 1) * Elem(%2$s, 1) * Equal(Elem(%1$s, 0), Elem(%2$s, 0))", x, y)
})

unit_leaf <- function(leaf, call, single) {
  if (!single) refuse_white(leaf, call)
  if (leaf$kernel$by_formula) return(leaf)
  if (!is.null(leaf$parameters$variance) && leaf$parameters$variance != 1) {
    name <- if (is_effect(leaf)) "{.code {leaf$label}}" else "{.fn {leaf$label}}"
    stop_kernops("input", paste("The variances of", name, "in {.fn lmc} are the {.arg sills}: remove {.arg variance}."),
                 call = call)
  }
  if (leaf$label == "nugget") leaf$kernel <- noise_kernel
  leaf$parameters$variance <- NULL
  leaf$fixed <- setdiff(leaf$fixed, "variance")
  leaf
}

# lmc_terms() returns the products of a coregionalisation matrix and its structure; lmc_effects() returns the added
# effects.
lmc_terms <- function(x) Filter(function(term) term$kind == "*", sum_terms(x))
lmc_effects <- function(x) Filter(function(term) term$kind == "leaf", sum_terms(x))
sum_terms <- function(x) if (x$kind == "+") do.call(c, lapply(x$parts, sum_terms)) else list(x)

#' @export
format.kernops_lmc <- function(x, ...) paste(term_words(x), collapse = " + ")

# The texts of the terms of a covariance. In a covariance with lmc(), all structures together have one text.
term_words <- function(x) {
  if (!is_lmc(x)) return(vapply(sum_terms(x), format, ""))
  structures <- toString(vapply(lmc_terms(x), function(term) format(term$parts[[2]]), ""))
  c(paste0("lmc(", structures, ")"), vapply(lmc_effects(x), format, ""))
}

#' @export
print.kernops_lmc <- function(x, ...) {
  cli::cat_line("<covariance> ", format(x))
  for (term in lmc_terms(x)) {
    leaf <- term$parts[[1]]
    B <- sills_of(leaf)
    if (is.null(B)) next
    cli::cat_line("sills of ", leaf$name, if ("root" %in% leaf$fixed) " (fixed)", ":")
    print(signif(B, 4))
  }
  invisible(x)
}
