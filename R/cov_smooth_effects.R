# Smooths: functions of covariates by a penalised basis. The trend holds the unpenalised coefficients; the penalised
# coefficients are random, a term of the covariance.

#' Smooths
#'
#' Smooth functions of covariates, with the bases and the penalties of package mgcv, as terms of [gp()]: `y ~ z + s(x)`
#' has a smooth function of x in addition to the field. `smooth_effect()` is the same term with a value for its
#' variance.
#'
#' @param effect a one-sided formula such as `~ s(x)`, `~ s(x, k = 20, bs = "cr")` or `~ s(x, z)`: see [mgcv::s()].
#'   With several variables, `zinc ~ s(x)` is a smooth of one of them, see [lmc()].
#' @param variance,fixed as in [covariance_functions].
#'
#' @details A penalised smooth is a linear mixed model (Wood 2017, section 5.8): the functions that the penalty leaves
#'   alone, such as straight lines, are columns of the trend, with names such as `s(x).1`; the other functions are
#'   scaled such that the penalty is the sum of squares of their coefficients, and these coefficients are independent
#'   with a common `variance`, which is estimated with the other parameters of the covariance. It is the variance of
#'   the noise divided by the smoothing parameter `sp` of mgcv. With `covariance = nugget()`, the model is that of
#'   `mgcv::gam(method = "REML")`, or `"ML"`, and `coords` are not needed.
#'
#'   Each smooth has one variance: all bases of `s()` with one penalty, such as `bs = "tp"`, `"cr"`, `"cc"`, `"ps"` and
#'   `"bs"`, of any number of variables. As in mgcv, a smooth adds up to zero over the observations, unless `by` is a
#'   numeric variable, and the basis depends on the observations that are used. In the formula of [gp()], `by` may be a
#'   factor: `y ~ g + s(x, by = g)` has a smooth for each level, `s(x):ga`, ..., with variances of their own; an
#'   ordered factor has none for its first level. There, `s(g, bs = "re")` of a factor is the random effect `(1 | g)`,
#'   and `s(g, x, bs = "re")` is `(0 + x | g)`, see [random_effect()]. A smooth of a coordinate and a field with a long
#'   range can hardly be told apart.
#'
#'   The field of a fit includes the penalised part. [predict()][predict.gp] needs the variables of the smooths in
#'   `newdata`. `summary()` has the effective degrees of freedom of each smooth, with the trend's. The methods are
#'   those of [random_effect()].
#' @return A covariance, for [gp()].
#' @section Errors: class `kernops_input_error` for `te()`, `ti()` and `t2()`, for smooths with several penalties or
#'   none, with `sp` or `id`, with a factor as `by` in `smooth_effect()`, and in products of
#'   covariances.
#' @references
#' Wood, S. N. (2017) *Generalized Additive Models: An Introduction with R*. Second edition. Chapman and Hall/CRC.
#' @seealso [gp()]; [random_effect()]; [squared_exponential()] and its neighbours, whose argument `dims` makes a field
#'   of one coordinate.
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

is_smooth_leaf <- function(leaf) any(vapply(leaf$sees, function(column) column$kind == "smooth", NA))

has_smooths <- function(object) any(vapply(object$parts$columns, function(column) column$kind == "smooth", NA))

# s(g, bs = "re") with factors among its variables is a random effect of their combinations, as in mgcv: an intercept,
# or a slope in the product of the other variables. NULL for other smooths.
random_smooth <- function(e, env, data, call) {
  if (!identical(e$bs, "re")) return(NULL)
  spec <- smooth_leaf(e, env, call = call)$sees[[1]]$spec
  variables <- lapply(c(spec$term, if (spec$by != "NA") spec$by), str2lang)
  values <- lapply(variables, function(v) tryCatch(eval(v, data, env), error = function(e) NULL))
  factors <- vapply(values, function(x) is.factor(x) || is.character(x), NA)
  if (!any(factors) || spec$by != "NA" && factors[[length(factors)]]) return(NULL)
  product <- function(parts, by) if (length(parts)) Reduce(function(a, b) call(by, a, b), parts)
  term <- list(slope = product(variables[!factors], "*"), level = product(variables[factors], ":"), env = env)
  list(effect_leaf(list(term), call = call))
}

# The leaves of a smooth in a formula: one for each level if `by` is a factor, without the first if it is ordered.
smooth_leaves <- function(e, env, data, call) {
  leaf <- smooth_leaf(e, env, call = call)
  name <- leaf$sees[[1]]$spec$by
  by <- if (name != "NA") tryCatch(eval(str2lang(name), data, env), error = function(e) NULL)
  if (!is.factor(by) && !is.character(by)) return(list(leaf))
  levels <- levels(factor(by))
  lapply(if (is.ordered(by)) levels[-1] else levels, function(level) at_level(leaf, level, levels))
}

# A smooth that is 0 except at one level of the factor. Values of the factor are numbers of levels.
at_level <- function(leaf, level, levels) {
  column <- leaf$sees[[1]]
  by <- length(column$variables)
  column$variables[[by]] <- bquote(match(as.character(.(column$variables[[by]])), .(levels)))
  column[c("level", "by_levels")] <- list(level, levels)
  leaf$label <- column$label <- paste0(column$spec$label, ":", column$spec$by, level)
  leaf$sees <- list(column)
  leaf
}

smooth_kernel <- kernel("smooth", function(variance, x, y) sprintf("%s * (%s | %s)", variance, x, y), screens = FALSE,
                        mean_square = mean_square_of_covariates)

smooth_leaf <- function(e, env, variance = NULL, fixed = character(), call = caller_env()) {
  label <- sub("^mgcv::", "", deparse1(e))
  if (!startsWith(label, "s(")) {
    stop_kernops("input", c("The smooth {.code {label}} is not available: it has several penalties.",
                            i = "{.code s()} is, with one variable or several."), call = call)
  }
  need_package("mgcv", paste0("The smooth {.code ", label, "}"), call)
  e[[1]] <- quote(mgcv::s)
  spec <- tryCatch(eval(e, env), error = function(e) stop_smooth(label, e, call))
  odd <- c("id", "sp", "fx")[c(!is.null(spec$id), !is.null(spec$sp), isTRUE(spec$fixed))]
  if (length(odd)) {
    stop_kernops("input", c("The smooth {.code {label}} must be without {.arg {odd}}.",
                            i = "{.fn smooth_effect} gives a smooth a known variance."), call = call)
  }
  variables <- lapply(c(spec$term, if (spec$by != "NA") spec$by), str2lang)
  formula <- stats::as.formula(call("~", Reduce(function(a, b) call("+", a, b), variables)), env)
  leaf <- new_leaf(smooth_kernel, list(variance = variance), fixed, call = call)
  leaf$label <- label
  leaf$sees <- list(new_column("smooth", formula, "variables of smooths", label = label, variables = variables,
                               spec = spec))
  leaf
}

stop_smooth <- function(label, e, call) {
  stop_kernops("input", "The smooth {.code {label}} cannot be made: {conditionMessage(e)}", call = call)
}

# The variables of a smooth in the form that mgcv takes.
smooth_data <- function(column, values) {
  names <- c(column$spec$term, if (column$spec$by != "NA") column$spec$by)
  data <- stats::setNames(as.data.frame(values), names)
  by <- column$by_levels
  if (!is.null(by)) data[[column$spec$by]] <- factor(by[data[[column$spec$by]]], by)
  data
}

# The basis of the observations: its coefficients b have the penalty b' S b. Unpenalised coefficients belong to the
# trend; the others are rotated and scaled such that the penalty is their sum of squares.
with_basis <- function(column, values, call) {
  data <- smooth_data(column, values)
  made <- tryCatch(mgcv::smoothCon(column$spec, data, absorb.cons = TRUE),
                   error = function(e) stop_smooth(column$label, e, call))
  level <- column$level
  if (length(level) && !level %in% data[[column$spec$by]]) {
    stop_kernops("input", "There are no observations of the level {.val {level}} of {.code {column$spec$by}}.",
                 call = call)
  }
  made <- if (is.null(level)) made[[1]] else Filter(function(one) one$by.level == level, made)[[1]]
  if (length(made$S) != 1) {
    stop_kernops("input", "The smooth {.code {column$label}} must have one penalty, not {length(made$S)}.", call = call)
  }
  penalty <- eigen(made$S[[1]], symmetric = TRUE)
  random <- seq_len(made$rank)
  made$X <- NULL # as long as the data
  column$basis <- made
  column$width <- length(random)
  column$random <- penalty$vectors[, random, drop = FALSE] / rep(sqrt(penalty$values[random]), each = ncol(made$S[[1]]))
  column$trend <- penalty$vectors[, -random, drop = FALSE]
  colnames(column$trend) <- sprintf("%s.%d", column$label, seq_len(ncol(column$trend)))
  column
}

# The basis at values of the variables, NA where one of them is: `values` of the random functions, and the `trend`.
smooth_functions <- function(column, values) {
  known <- stats::complete.cases(values)
  basis <- matrix(NA_real_, nrow(values), nrow(column$random))
  if (any(known)) basis[known, ] <- mgcv::PredictMat(column$basis, smooth_data(column, values[known, , drop = FALSE]))
  list(values = basis %*% column$random, trend = basis %*% column$trend)
}

# The effective degrees of freedom of the smooths of a fit: those of the coefficients in the trend, and of the random
# coefficients.
smooth_edf <- function(object) {
  leaves <- Filter(is_smooth_leaf, leaves_of(object$covariance))
  determined <- if (length(leaves)) conditioning_for(object)$determined
  edf <- vapply(leaves, function(leaf) {
    determined(leaf) + if (is.null(object$known$beta)) ncol(settled_column(leaf, object)$trend) else 0
  }, 0)
  stats::setNames(edf, vapply(leaves, `[[`, "", "label"))
}

determined_by_solver <- function(object, leaf) {
  Z <- object$data$u[, leaf$dims, drop = FALSE] * seen_by(leaf, object$data$u)
  explained <- sum(Z * solver_for(object)(Z)) - sum(crossprod(object$state$z, Z)^2)
  leaf$parameters$variance * explained
}
