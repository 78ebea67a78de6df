# Smooths: functions of covariates, written in a penalised basis. The unpenalised coefficients belong to the trend; the
# penalised coefficients are random and form a term of the covariance.

#' Smooths
#'
#' Smooth functions of covariates, with the bases and the penalties of package mgcv, are terms of [gp()]: `y ~ z + s(x)`
#' has a smooth function of x in addition to the field, and `y ~ te(x, z)` has a smooth function of two variables in
#' different units. `smooth_effect()` makes such a term with given values of its variances.
#'
#' @param effect a one-sided formula such as `~ s(x)`, `~ s(x, k = 20, bs = "cr")`, `~ s(x, z)` or `~ te(x, z)`: see
#'   [mgcv::s()], [mgcv::te()] and [mgcv::t2()]. With several variables, `zinc ~ s(x)` is a smooth for the variable zinc
#'   alone, see [lmc()].
#' @param variance,fixed as in [covariance_functions]; `variance` has a number for each penalty.
#'
#' @details A penalised smooth is a linear mixed model (Wood 2017, section 5.8). The functions without a penalty, such
#'   as straight lines, are columns of the trend, with names such as `s(x).1`. The other functions have random
#'   coefficients, whose precision matrix is the sum of S_k / v_k over the penalty matrices S_k of mgcv. The `variance`
#'   v_k of a penalty is the variance of the noise divided by the smoothing parameter `sp` of mgcv, and is estimated
#'   with the other parameters of the covariance. With `covariance = nugget()`, the model equals `mgcv::gam(method =
#'   "REML")`, or `"ML"`, and `coords` are not needed. (For `t2()`, results by `"ML"` differ from mgcv, since `gp()`
#'   also centres smooths by `t2()` over the observations.)
#'
#'   The smooths are
#'   * `s()` with one variable or several, and all bases: `"tp"`, `"ts"`, `"cr"`, `"cc"`, `"ps"`, `"bs"`, `"ad"`
#'     (adaptive), `"ds"`, `"gp"`, `"sos"`, `"mrf"` (of the levels of a factor) and others;
#'   * tensor products `te()`, `ti()` and `t2()`, with a variance for each margin or component: `te(x, z).variance1` is
#'     the variance of the margin x;
#'   * `s(x, g, bs = "fs")`: a random smooth of x for each level of the factor g. The coefficients are independent from
#'     level to level, and new levels have mean 0 and the variance of the model;
#'   * `s(x, g, bs = "sz")`: smooths of x for the levels of the factor g, which add up to zero over the levels and are
#'     used in addition to `s(x)`. Predictions for new levels are `NA`. Predictions are also `NA` for new levels of a
#'     factor `by` and for regions that are not on the map;
#'   * `s(g, bs = "re")` of a factor, which is the random effect `(1 | g)`, and `s(g, x, bs = "re")`, which is
#'     `(0 + x | g)`, see [random_effect()].
#'
#'   Smooths have the names that mgcv gives them, such as `s(x)`, `te(x,z)` and `s(x):z`. With `select = TRUE` among the
#'   arguments of a smooth, such as `s(x, select = TRUE)`, functions without a penalty get a penalty, so that the whole
#'   smooth can be estimated as zero; `mgcv::gam(select = TRUE)` does this for all smooths.
#'
#'   As in mgcv, a smooth adds up to zero over the observations, except if `by` is a numeric variable. The basis depends
#'   on the observations that are used. In the formula of [gp()], `by` may be a factor: `y ~ g + s(x, by = g)` has a
#'   smooth for each level, `s(x):ga`, ..., with separate variances; an ordered factor has no smooth for its first
#'   level. Functions without a penalty that the trend already contains are omitted: in `s(x) + s(z) + te(x, z)`,
#'   straight lines in x belong to `s(x)`. The data can hardly distinguish a smooth of a coordinate from a field with a
#'   long range.
#'
#'   The field of a fit includes the penalised part of smooths. [predict()][predict.gp] needs the variables of the
#'   smooths in `newdata`, and with its argument `terms` it predicts parts of the model. `summary()` shows the effective
#'   degrees of freedom of each smooth, including its columns in the trend. Smooths are available with the same methods
#'   as [random_effect()].
#'   With more than 2,000 observations, kernops evaluates the functions of `"tp"` smooths with [keops_kernel()], which
#'   uses all threads; mgcv uses one thread. The functions of kernops and mgcv agree to rounding.
#' @aliases Predict.matrix.kernops_plate smooth.construct.kernops_plate.smooth.spec
#' @return A covariance, for [gp()].
#' @section Errors: class `kernops_input_error` for smooths without a penalty, for smooths with three or more penalties
#'   without common eigenvectors (such as `s(x, z, bs = "ad")`), for smooths with `sp` or `id`, for factors in
#'   `smooth_effect()`, and for smooths in products of covariances.
#' @references
#' Wood, S. N. (2017) *Generalized Additive Models: An Introduction with R*. Second edition. Chapman and Hall/CRC.
#' @seealso [gp()]; [random_effect()]; [squared_exponential()] and other [covariance_functions], whose argument `dims`
#'   makes a field of one coordinate.
#' @examplesIf requireNamespace("mgcv", quietly = TRUE)
#' set.seed(1)
#' d <- data.frame(u = runif(80), v = runif(80), x = runif(80))
#' d$y <- sin(6 * d$x) + d$u + rnorm(80, sd = 0.2)
#' # a smooth function and a field
#' fit <- gp(y ~ s(x), d, ~ u + v, exponential() + nugget())
#' summary(fit)
#' predict(fit, data.frame(u = 0.5, v = 0.5, x = c(0.2, 0.8)), se.fit = TRUE, interval = "confidence")
#' # an additive model without a field
#' gp(y ~ u + s(x, bs = "cr"), d, covariance = nugget(), estimate = "REML")
#' # a function of two variables, without a main effect of x
#' gp(y ~ te(u, x, k = 4), d, covariance = nugget())
#' # another function for each level of a factor
#' d$g <- factor(rep(c("a", "b"), 40))
#' gp(y ~ g + s(x, by = g), d, covariance = nugget())
#' gp(y ~ u, d, covariance = smooth_effect(~ s(x), 2, fixed = "variance") + nugget())
#' @export
smooth_effect <- function(effect, variance = NULL, fixed = character()) {
  sides <- sides_of_effect(effect)
  smooth <- if (inherits(effect, "formula")) sides$formula[[2]]
  if (is_smooth(smooth)) {
    return(belonging_to(smooth_leaf(smooth, environment(effect), variance, fixed), sides$variable))
  }
  stop_kernops("input", "{.arg effect} must be a formula such as {.code ~ s(x)}.")
}

is_smooth <- function(e) is.call(e) && deparse1(e[[1]]) %in% c(smooth_names, paste0("mgcv::", smooth_names))
smooth_names <- c("s", "te", "ti", "t2")

is_smooth_column <- function(column) column$kind == "smooth"

is_smooth_leaf <- function(leaf) any(vapply(leaf$sees, is_smooth_column, NA))

has_smooths <- function(object) any(vapply(object$parts$columns, is_smooth_column, NA))

# The leaves of a smooth in a formula, for variables in `data`. As in mgcv, s(g, bs = "re") with factors among its
# variables is a random effect: its levels are the combinations of levels of the factors, and its coefficient is an
# intercept, or a slope in the product of the numeric variables. If a factor is given as `by`, there is a leaf for each
# level, except the first level of an ordered factor.
smooth_leaves <- function(e, env, data, call) {
  leaf <- smooth_leaf(e, env, call = call)
  spec <- leaf$sees[[1]]$spec
  factors <- smooth_factors(leaf, data)
  if (is_random_effect(spec, factors)) {
    return(list(random_effect_leaf(smooth_variables(spec), names(factors), env, call)))
  }
  by <- factors[[spec$by]]
  if (is.null(by)) return(list(leaf))
  lapply(levels(by)[if (is.ordered(by)) -1 else TRUE], function(level) of_level(leaf, level))
}

smooth_variables <- function(spec) c(spec$term, if (spec$by != "NA") spec$by)

str2lang_all <- function(x) lapply(x, str2lang)

# The factors among the variables of a smooth. Levels without observations are kept for maps (bs = "mrf") only.
smooth_factors <- function(leaf, data) {
  column <- leaf$sees[[1]]
  env <- environment(column$formula)
  names <- smooth_variables(column$spec)
  values <- lapply(str2lang_all(names), function(v) tryCatch(eval(v, data, env), error = function(e) NULL))
  factors <- Filter(function(x) is.factor(x) || is.character(x), stats::setNames(values, names))
  lapply(factors, if (inherits(column$spec, "mrf.smooth.spec")) as.factor else factor)
}

# TRUE for smooths whose variables are all factors, and for bs = "re" with factors, except if `by` is a factor.
is_random_effect <- function(spec, factors) {
  among <- intersect(spec$term, names(factors))
  of_levels <- inherits(spec, c("fs.smooth.spec", "sz.smooth.spec")) && length(among) == length(spec$term)
  length(among) > 0 && is.null(factors[[spec$by]]) && (of_levels || inherits(spec, "re.smooth.spec"))
}

# The random effect of s(..., bs = "re").
random_effect_leaf <- function(variables, factors, env, call) {
  product <- function(parts, by) if (length(parts)) Reduce(function(a, b) call(by, a, b), str2lang_all(parts))
  effect_leaf(list(list(slope = product(setdiff(variables, factors), "*"), level = product(factors, ":"), env = env)),
              call = call)
}

# A smooth with factors among its variables; the values of these factors are indices of levels. The coefficients of bs =
# "fs" are independent between the levels of its factor, so the basis is constructed for a single level and then
# combined with the levels.
with_factors <- function(leaf, data, call) {
  column <- leaf$sees[[1]]
  factors <- smooth_factors(leaf, data)
  check_factors(column, factors, call)
  env <- environment(column$formula)
  among <- intersect(column$spec$term, names(factors))
  column$among <- if (inherits(column$spec, "fs.smooth.spec") && length(among) == 1) among
  column$names <- setdiff(smooth_variables(column$spec), column$among)
  column$factors <- lapply(factors[setdiff(names(factors), column$among)], levels)
  column$variables <- lapply(column$names, function(name) {
    levels <- column$factors[[name]]
    if (is.null(levels)) str2lang(name) else bquote(match(as.character(.(str2lang(name))), .(levels)))
  })
  column$formula <- sum_formula(column$names, env)
  leaf$sees <- c(list(column), if (!is.null(column$among)) {
    list(new_column("level", sum_formula(column$among, env), "random smooths"))
  })
  leaf
}

# Stops for factors in smooth_effect(), because smooth_effect() makes a single term, and for factors in bases that
# require numbers.
check_factors <- function(column, factors, call) {
  spec <- column$spec
  if (spec$by %in% spec$term) {
    stop_kernops("input", "The smooth {.code {column$label}} must not have {.code {spec$by}} as a variable and as
                           {.arg by}.", call = call)
  }
  among <- intersect(spec$term, names(factors))
  if (length(among) && inherits(spec, paste0(numeric_bases, ".smooth.spec"))) {
    stop_kernops("input", c("The smooth {.code {column$label}} must have numeric variables, but {.code {among}} {?is a
                             factor/are factors}.", i = "The factor may be {.arg by}, or {.arg bs} may be {.val re},
                             {.val fs}, {.val sz} or {.val mrf}."), call = call)
  }
  several <- !is.null(factors[[spec$by]]) && is.null(column$by_level)
  if (!several && !is_random_effect(spec, factors)) return(invisible())
  stop_kernops("input", c("The smooth {.code {column$label}} must not be an argument of {.fn smooth_effect}.", i = if (
    several) "A smooth for each level of the factor {.code {spec$by}} is a term of the formula." else
    "Give the variance of a random effect by {.fn random_effect}."), call = call)
}

# The bases of mgcv that accept numeric variables only.
numeric_bases <- c("tp", "ts", "cr", "cs", "cc", "ps", "cp", "bs", "ad", "ds", "gp", "sos", "so")

sum_formula <- function(names, env) {
  stats::as.formula(call("~", Reduce(function(a, b) call("+", a, b), str2lang_all(names))), env)
}

# A smooth that is 0 except at one level of the factor `by`.
of_level <- function(leaf, level) {
  column <- leaf$sees[[1]]
  column$by_level <- level
  leaf$label <- paste0(column$spec$label, ":", column$spec$by, level)
  column$title <- leaf$label
  leaf$sees[[1]] <- column
  leaf
}

smooth_kernel <- kernel("smooth", function(variance, x, y) sprintf("%s * (%s | %s)", variance, x, y), screens = FALSE,
                        mean_square = mean_square_of_covariates)

# A leaf with one variance for each penalty. settled_smooth() sets the number of penalties after the basis is
# constructed. The label of the leaf is the label that mgcv uses.
smooth_leaf <- function(e, env, variance = NULL, fixed = character(), call = caller_env()) {
  label <- sub("^mgcv::", "", deparse1(e))
  need_package("mgcv", paste0("The smooth {.code ", label, "}"), call)
  select <- e$select
  if (!is.null(select)) check_flag(select, "select", call)
  e$select <- NULL
  e[[1]] <- call("::", quote(mgcv), as.name(sub("^mgcv::", "", deparse1(e[[1]]))))
  spec <- tryCatch(eval(e, env), error = function(e) stop_smooth(label, e, call))
  odd <- c("id", "sp", "fx")[c(!is.null(spec$id), !is.null(spec$sp), isTRUE(spec$fixed))]
  if (length(odd)) {
    stop_kernops("input", c("The smooth {.code {label}} must not have the argument{cli::qty(odd)}{?s} {.arg {odd}}.",
                            i = "Give the variance by {.fn smooth_effect}."), call = call)
  }
  title <- paste(c(spec$label, if (spec$by != "NA") spec$by), collapse = ":")
  leaf <- new_leaf(smooth_kernel, list(variance = NULL), call = call)
  leaf <- with_variances(leaf, variance, fixed, call)
  leaf$label <- title
  formula <- sum_formula(smooth_variables(spec), env)
  leaf$sees <- list(new_column("smooth", formula, "variables of smooths", label = label, title = title, spec = spec,
                               select = isTRUE(select)))
  leaf
}

# The leaf with the user's variances, one for each penalty.
with_variances <- function(leaf, variance, fixed, call) {
  check_subset(fixed, "fixed", "variance", call)
  if (length(fixed) && is.null(variance)) {
    stop_kernops("input", "{.arg variance} must have a value if it is fixed.", call = call)
  }
  if (!is.null(variance)) {
    if (!is.numeric(variance) || !length(variance) || !all(is.finite(variance))) {
      stop_kernops("input", "{.arg variance} must be finite and numeric, or {.code NULL} to be estimated.", call = call)
    }
    check_positive(variance, "variance", call)
  }
  leaf["parameters"] <- list(list(variance = variance))
  leaf$fixed <- unique(fixed)
  leaf
}

stop_smooth <- function(label, e, call) {
  stop_kernops("input", "The smooth {.code {label}} cannot be made: {conditionMessage(e)}", call = call)
}

# The effective degrees of freedom of the smooths of a fit: the number of coefficients in the trend, plus the effective
# degrees of freedom of the random coefficients.
smooth_edf <- function(object) {
  leaves <- Filter(is_smooth_leaf, leaves_of(object$covariance))
  determined <- if (length(leaves)) conditioning_for(object)$determined
  edf <- vapply(leaves, function(leaf) {
    determined(leaf) + if (is.null(object$known$beta)) ncol(settled_basis(leaf, object)$trend) else 0
  }, 0)
  stats::setNames(edf, vapply(leaves, `[[`, "", "label"))
}

determined_by_solver <- function(object, leaf) {
  effects <- effects_of(object$model, object$data$u)
  entries <- effect_entries(effects, unname(object$theta), object$data$u)
  Z <- dense_entries(entries, coefficients_of(effects, leaf))
  sum(Z * solver_for(object)(Z)) - sum(crossprod(object$state$z, Z)^2)
}
