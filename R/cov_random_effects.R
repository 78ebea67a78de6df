# Random effects: terms of the covariance that depend on the levels of a factor.

#' Random effects
#'
#' Independent random effects of the levels of a factor, as terms of the covariance of [gp()]. In the formula of `gp()`
#' they are written as in package lme4: `y ~ x + (1 | site)` has a random intercept for each site, in addition to the
#' field. `random_effect()` is the same term with a value for its variance.
#'
#' @param effect a one-sided formula:
#'   * `~ 1 | g`: an intercept for each level of g, with the covariance v for two observations of the same level, else
#'     0;
#'   * `~ 0 + x | g`: a slope in the numeric variable x for each level, with the covariance v x x' for observations of
#'     the same level.
#'
#'   Levels are those of a factor, or the values of a variable: numbers, strings, dates, times. `a:b` has a level for
#'   each combination. New data match by value: see [predict()][predict.gp].
#' @param variance,fixed as in [covariance_functions].
#'
#' @section In the formula of gp(): `(1 | g)` and `(0 + x | g)`; `(x || g)` is `(1 | g) + (0 + x | g)`: intercepts and
#'   slopes that are independent. `(1 | a/b)` is `(1 | a) + (1 | a:b)`. Correlated intercepts and slopes, `(x | g)`, are
#'   not available. With `covariance = nugget()`, the model is a linear mixed model, and `coords` are not needed. Its
#'   restricted log-likelihood is that of nlme plus half the logarithm of det(X'X), see [gp()]. With a
#'   [family][gp_families], `covariance = random_effect(~ 1 | g)` is the generalised linear mixed model.
#'
#'   The field of a fit includes the effects. [predict()][predict.gp] needs the variables of the effects in `newdata`. A
#'   level without observations has an effect of mean 0, and its variance is added to that of the field. The methods
#'   are `"exact"`, which uses that observations without a common level are uncorrelated if there is no other field;
#'   `"vecchia"` (not for families), where the effects are exact beside Vecchia's approximation of the field, with up to
#'   2000 effects and coefficients of smooths; and `"iterative"` (not for families). With `group` of [gp()], the effects
#'   of a level are common to all groups: `day:site` are levels within groups.
#'
#'   `nlme::ranef()` of a fit returns the predicted effects (BLUPs), a list of data frames with the levels as rows, as
#'   in lme4. Names of rows have as many digits as distinguish the levels. Effects in products of covariances are not
#'   among them: these are fields.
#' @return A covariance, for [gp()].
#' @section Errors: class `kernops_input_error` for effects of another form, for variables that are not numeric in
#'   `~ 0 + x | g`, and for `method = "vif"` or several responses.
#' @references
#' Pinheiro, J. C. and Bates, D. M. (2000) *Mixed-Effects Models in S and S-PLUS*. Springer.
#' @seealso [gp()], whose argument `group` has an independent field for each level; [smooth_effect()];
#'   [covariance_functions]: the product `random_effect(~ 1 | g) * matern()` has one, too, in addition to other terms.
#' @examples
#' set.seed(1)
#' d <- data.frame(x = runif(80), site = rep(letters[1:8], 10))
#' d$y <- sin(6 * d$x) + rnorm(8)[rep(1:8, 10)] + rnorm(80, sd = 0.1)
#' fit <- gp(y ~ 1 + (1 | site), d, ~ x)
#' fit
#' if (requireNamespace("nlme", quietly = TRUE)) nlme::ranef(fit)
#' # a new site
#' predict(fit, data.frame(x = 0.5, site = c("a", "z")), se.fit = TRUE, interval = "confidence")
#' # a linear mixed model; a given variance
#' gp(y ~ x + (x || site), d, covariance = nugget(), estimate = "REML")
#' gp(y ~ 1, d, ~ x, exponential() + random_effect(~ 1 | site, 1, fixed = "variance") + nugget())
#' @aliases ranef.gp
#' @export
random_effect <- function(effect, variance = NULL, fixed = character()) {
  bar <- if (inherits(effect, "formula") && length(effect) == 2) effect[[2]]
  if (!is_bar(bar)) {
    stop_kernops("input", "{.arg effect} must be a formula such as {.code ~ 1 | g} or {.code ~ 0 + x | g}.")
  }
  terms <- effect_terms(bar, environment(effect))
  if (length(terms) == 1) return(effect_leaf(terms[[1]], variance, fixed))
  stop_kernops("input", "{.arg effect} must be one effect, not {length(terms)}: join them by {.code +}.")
}

is_bar <- function(e) is.call(e) && length(e) == 3 && (identical(e[[1]], quote(`|`)) || identical(e[[1]], quote(`||`)))

# The effects of `lhs | group`: lists of a slope, NULL for an intercept, and a level.
effect_terms <- function(bar, env, call = caller_env()) {
  what <- deparse1(bar)
  terms <- tryCatch(stats::terms(stats::as.formula(call("~", bar[[2]]), env)), error = function(e) NULL)
  slopes <- lapply(attr(terms, "term.labels"), str2lang)
  if (is.null(terms) || !length(slopes) && !attr(terms, "intercept")) {
    stop_kernops("input", "The random effect {.code ({what})} must be such as {.code (1 | g)} or {.code (0 + x | g)}.",
                 call = call)
  }
  effects <- c(if (attr(terms, "intercept")) list(NULL), slopes)
  if (length(effects) > 1 && identical(bar[[1]], quote(`|`))) {
    stop_kernops("input", c("Correlated random effects, {.code ({what})}, are not available.",
                            i = "{.code ({deparse1(bar[[2]])} || {deparse1(bar[[3]])})} has independent ones."),
                 call = call)
  }
  levels <- nested_levels(bar[[3]])
  unlist(lapply(levels, function(level) lapply(effects, function(slope) list(slope = slope, level = level, env = env))),
         recursive = FALSE)
}

# a/b is a and a:b.
nested_levels <- function(e) {
  if (!is.call(e) || !identical(e[[1]], quote(`/`))) return(list(e))
  outer <- nested_levels(e[[2]])
  c(outer, list(call(":", outer[[length(outer)]], e[[3]])))
}

# The mean square of the covariates, or of the basis of a smooth, at points.
mean_square_of_covariates <- function(leaf, u) {
  covariates <- u[, setdiff(leaf$dims, leaf$level), drop = FALSE]
  if (ncol(covariates)) max(sum(covariates^2) / nrow(u), .Machine$double.xmin) else 1
}

intercept_kernel <- kernel("intercept", function(variance, x, y) sprintf("%s * Equal(%s, %s)", variance, x, y),
                           screens = FALSE)

# The points are the covariate and the number of the level.
slope_kernel <- kernel("slope", function(variance, x, y) {
  sprintf("%1$s * Elem(%2$s, 0) * Elem(%3$s, 0) * Equal(Elem(%2$s, 1), Elem(%3$s, 1))", variance, x, y)
}, screens = FALSE, mean_square = mean_square_of_covariates)

effect_leaf <- function(term, variance = NULL, fixed = character(), call = caller_env()) {
  as_formula <- function(e) stats::as.formula(call("~", e), term$env)
  slope <- if (!is.null(term$slope)) deparse1(term$slope)
  label <- sprintf("(%s | %s)", if (is.null(slope)) "1" else paste("0 +", slope), deparse1(term$level))
  kernel <- if (is.null(slope)) intercept_kernel else slope_kernel
  leaf <- new_leaf(kernel, list(variance = variance), fixed, call = call)
  leaf$label <- label
  leaf$sees <- c(if (!is.null(slope)) list(new_column("number", as_formula(term$slope), "variable of random effects")),
                 list(new_column("level", as_formula(term$level), "random effects")))
  leaf$effect <- slope %||% "(Intercept)"
  leaf
}

# The formula of the trend, and the covariance with the random effects and smooths of the formula.
with_effects <- function(formula, covariance, data, call) {
  told <- list(formula = formula, covariance = covariance)
  if (!inherits(formula, "formula") || length(formula) != 3) return(told)
  split <- split_effects(formula[[3]])
  check_no_effects(split$rest, call)
  if (!length(split$effects)) return(told)
  if (is_lmc(covariance)) stop_kernops("input", "Random effects and smooths are for one response.", call = call)
  leaves <- unlist(lapply(split$effects, effect_leaves, environment(formula), data, call), recursive = FALSE)
  known <- leaf_labels(covariance)
  for (leaf in leaves) if (!leaf$label %in% known) told$covariance <- join("+", told$covariance, leaf)
  told$formula[[3]] <- split$rest %||% 1
  told
}

effect_leaves <- function(e, env, data, call) {
  if (is_smooth(e)) return(random_smooth(e, env, data, call) %||% smooth_leaves(e, env, data, call))
  lapply(effect_terms(e, env, call), effect_leaf, call = call)
}

# The bars and the smooths in a sum of terms, and the rest of it, NULL if there is none.
split_effects <- function(e) {
  if (is_smooth(e)) return(list(effects = list(e)))
  sign <- if (is.call(e)) deparse1(e[[1]]) else ""
  if (sign == "(") {
    if (is_bar(e[[2]])) return(list(effects = list(e[[2]])))
    inner <- split_effects(e[[2]])
    return(if (length(inner$effects)) inner else list(rest = e))
  }
  if (!sign %in% c("+", "-") || length(e) != 3) return(list(rest = e))
  left <- split_effects(e[[2]])
  right <- split_effects(e[[3]])
  rest <- if (is.null(right$rest)) left$rest else if (!is.null(left$rest)) call(sign, left$rest, right$rest) else
    if (sign == "-") call("-", right$rest) else right$rest
  list(rest = rest, effects = if (sign == "+") c(left$effects, right$effects) else {
    Filter(function(e) !deparse1(e) %in% vapply(right$effects, deparse1, ""), left$effects)
  })
}

# The rest of a formula has no effects: R would take bars for "or".
check_no_effects <- function(e, call) {
  if (is_bar(e) || is_smooth(e)) {
    stop_kernops("input", "{.code {deparse1(e)}} must be a term of its own, joined to the others by {.code +}.",
                 call = call)
  }
  joins <- c("+", "-", "*", ":", "/", "^", "%in%", "(")
  if (is.call(e) && deparse1(e[[1]]) %in% joins) for (part in as.list(e)[-1]) check_no_effects(part, call)
}

sees_effects <- function(covariance) !all_leaves(covariance, function(leaf) !length(leaf$sees))

# Errors for methods and responses without random effects and smooths, and for smooths as factors of products.
check_effects <- function(covariance, method, call) {
  if (!sees_effects(covariance)) return(invisible())
  what <- if (method == "vif") "for the methods {.val exact}, {.val vecchia} and {.val iterative}" else
    if (is_lmc(covariance)) "for one response"
  if (!is.null(what)) stop_kernops("input", paste0("Random effects and smooths are ", what, "."), call = call)
  smooths <- function(leaves) sum(vapply(leaves, is_smooth_leaf, NA))
  if (smooths(leaves_of(covariance)) == smooths(added_leaves(covariance))) return(invisible())
  stop_kernops("input", "Smooths can be added to a covariance, but not multiplied by one.", call = call)
}

# TRUE if a term of the covariance is a field.
needs_coordinates <- function(covariance) {
  !all_leaves(covariance, function(leaf) length(leaf$sees) > 0 || leaf$label %in% c("nugget", "constant"))
}

#' @exportS3Method nlme::ranef
ranef.gp <- function(object, ...) {
  no_further("ranef", ...)
  effects <- Filter(function(leaf) !is.null(leaf$effect), added_leaves(object$covariance))
  if (!length(effects)) stop_kernops("input", "The fit has no random effects, such as {.code (1 | g)}.")
  u <- object$data$u
  tables <- list()
  for (leaf in effects) {
    level <- settled_column(leaf, object)
    name <- deparse1(level$formula[[2]])
    times <- if (length(leaf$dims) > 1) u[, leaf$dims[[1]]] else 1
    sums <- rowsum(times * object$state$alpha, factor(u[, leaf$level], seq_along(level$levels)))
    tables[[name]] <- tables[[name]] %||% data.frame(row.names = level$levels)
    tables[[name]][[leaf$effect]] <- leaf$parameters$variance * as.vector(sums)
  }
  tables
}

# The terms of a sum that are no products.
added_leaves <- function(x) {
  if (x$kind == "leaf") return(list(x))
  if (x$kind == "+") do.call(c, lapply(x$parts, added_leaves))
}
