# Random effects: terms of the covariance that depend on the levels of a factor.

#' Random effects
#'
#' Random effects of the levels of a factor, as terms of the covariance of [gp()]. The effects of different levels are
#' independent. In the formula of [gp()], random effects are written as in package lme4: `y ~ x + (1 | site)` has a
#' random intercept for each site, in addition to the field. `random_effect()` makes such a term with given values of
#' its parameters.
#'
#' @param effect a one-sided formula:
#'   * `~ 1 | g`: an intercept for each level of g, with the covariance v for two observations of the same level, and 0
#'     for different levels;
#'   * `~ 0 + x | g`: a slope in the numeric variable x for each level, with the covariance v x x' for observations of
#'     the same level;
#'   * `~ x | g`, `~ x + z | g`, `~ 0 + x + z | g`: an intercept and slopes for each level; the coefficients of a level
#'     are correlated.
#'
#'   With several variables, `zinc ~ 1 | g` is an effect on the variable zinc alone, see [lmc()].
#'
#'   The levels are the levels of a factor, or the distinct values of a variable: numbers, strings, dates, times. `a:b`
#'   has a level for each combination of levels. Levels of new data are matched by value: see [predict()][predict.gp].
#' @param variance,fixed as in [covariance_functions]; `variance` of several coefficients is a vector, with the
#'   intercept first.
#' @param correlation the correlation of two coefficients, between -1 and 1, or `NULL` to estimate it. For three or more
#'   coefficients, the canonical partial correlations of the pairs (1, 2), (1, 3), ..., (2, 3), ...: the value for
#'   coefficients j and k is their correlation given the coefficients before j. Any values between -1 and 1 are
#'   therefore possible. For pairs with the first coefficient, the values are ordinary correlations.
#'
#' @section In the formula of gp(): `(1 | g)`, `(0 + x | g)` and `(x | g)`; `(x || g)` is `(1 | g) + (0 + x | g)`, with
#'   independent intercepts and slopes. `(1 | a/b)` is `(1 | a) + (1 | a:b)`. Parameters have names such as `(x |
#'   g).variance.(Intercept)`, `(x | g).variance.x` and `(x | g).correlation`. With `covariance = nugget()`, the model
#'   is a linear mixed model, and `coords` are not needed. The restricted log-likelihood is the value that nlme computes
#'   plus half the logarithm of det(X'X), see [gp()]. With a [family][gp_families], `covariance = random_effect(~ 1 |
#'   g)` is the generalised linear mixed model.
#'
#'   The field of a fit includes the effects. [predict()][predict.gp] needs the variables of the effects in `newdata`.
#'   The effect of a level without observations has mean 0, and its variance is added to the variance of the field.
#'   Random effects are available with these methods: `"exact"`; `"vecchia"` and `"vif"`, which approximate the field
#'   but not the effects (for `"vif"`, at most 2000 effects and coefficients of smooths); and `"iterative"` (not for
#'   families). Without another field, observations without a common level are uncorrelated; `"exact"` is then faster,
#'   because it factorises a separate matrix for each block of correlated observations. With `group` of [gp()], the
#'   effects of a level are common to all groups; `day:site` gives separate levels within groups.
#'
#'   `ranef()` of a fit returns the predicted effects: see [ranef.gp()].
#' @return A covariance, for [gp()].
#' @section Errors: class `kernops_input_error` for effects of another form, for variables that are not numeric in `~
#'   0 + x | g`, and for a left side that is not a variable of [lmc()].
#' @references
#' Lewandowski, D., Kurowicka, D. and Joe, H. (2009) Generating random correlation matrices based on vines and extended
#' onion method. *Journal of Multivariate Analysis* 100(9), 1989-2001.
#'
#' Pinheiro, J. C. and Bates, D. M. (2000) *Mixed-Effects Models in S and S-PLUS*. Springer.
#' @seealso [gp()], whose argument `group` has an independent field for each level; [smooth_effect()];
#'   [covariance_functions]: the product `random_effect(~ 1 | g) * matern()` also has an independent field for each
#'   level, in addition to other terms.
#' @examples
#' set.seed(1)
#' d <- data.frame(x = runif(80), site = rep(letters[1:8], 10))
#' d$y <- sin(6 * d$x) + rnorm(8)[rep(1:8, 10)] + rnorm(80, sd = 0.1)
#' fit <- gp(y ~ 1 + (1 | site), d, ~ x)
#' fit
#' ranef(fit)
#' # prediction at a new site
#' predict(fit, data.frame(x = 0.5, site = c("a", "z")), se.fit = TRUE, interval = "confidence")
#' # a linear mixed model; a given variance
#' gp(y ~ x + (x || site), d, covariance = nugget(), estimate = "REML")
#' # an intercept and a slope for each site, which are correlated
#' gp(y ~ x + (x | site), d, covariance = nugget())
#' gp(y ~ 1, d, ~ x, exponential() + random_effect(~ 1 | site, 1, fixed = "variance") + nugget())
#' @export
random_effect <- function(effect, variance = NULL, fixed = character(), correlation = NULL) {
  sides <- sides_of_effect(effect)
  effect <- sides$formula
  bar <- if (inherits(effect, "formula") && length(effect) == 2) effect[[2]]
  if (!is_bar(bar)) {
    stop_kernops("input", "{.arg effect} must be a formula such as {.code ~ 1 | g}, {.code ~ x | g} or
                           {.code ~ 0 + x | g}.")
  }
  effects <- bar_effects(bar, environment(effect))
  if (length(effects) == 1) {
    return(belonging_to(effect_leaf(effects[[1]], variance, fixed, correlation), sides$variable))
  }
  stop_kernops("input", "{.arg effect} must be one effect, not {length(effects)}: join them by {.code +}.")
}

is_bar <- function(e) is.call(e) && length(e) == 3 && (identical(e[[1]], quote(`|`)) || identical(e[[1]], quote(`||`)))

# The effects of `lhs | group`, as a list. Each effect is a list of terms, whose coefficients are correlated with each
# other. A term is a list of a slope (NULL for an intercept) and a level.
bar_effects <- function(bar, env, call = caller_env()) {
  terms <- tryCatch(stats::terms(stats::as.formula(call("~", bar[[2]]), env)), error = function(e) NULL)
  slopes <- lapply(attr(terms, "term.labels"), str2lang)
  if (is.null(terms) || !length(slopes) && !attr(terms, "intercept")) {
    stop_kernops("input", "The random effect {.code ({deparse1(bar)})} must be such as {.code (1 | g)},
                           {.code (x | g)} or {.code (0 + x | g)}.", call = call)
  }
  coefficients <- c(if (attr(terms, "intercept")) list(NULL), slopes)
  correlated <- identical(bar[[1]], quote(`|`))
  unlist(lapply(nested_levels(bar[[3]]), function(level) {
    terms <- lapply(coefficients, function(slope) list(slope = slope, level = level, env = env))
    if (correlated) list(terms) else lapply(terms, list)
  }), recursive = FALSE)
}

# The grouping factors of a/b are a and a:b.
nested_levels <- function(e) {
  if (!is.call(e) || !identical(e[[1]], quote(`/`))) return(list(e))
  outer <- nested_levels(e[[2]])
  c(outer, list(call(":", outer[[length(outer)]], e[[3]])))
}

# The mean square of the covariates of an effect, or of the basis of a smooth, at points u.
mean_square_of_covariates <- function(leaf, u) {
  covariates <- u[, setdiff(leaf$dims, leaf$level), drop = FALSE]
  if (ncol(covariates)) max(sum(covariates^2) / nrow(u), .Machine$double.xmin) else 1
}

intercept_kernel <- kernel("intercept", function(variance, x, y) sprintf("%s * Equal(%s, %s)", variance, x, y),
                           screens = FALSE)

# The kernel of a random slope; a point consists of the covariate and the index of the level.
slope_kernel <- kernel("slope", function(variance, x, y) {
  sprintf("%1$s * Elem(%2$s, 0) * Elem(%3$s, 0) * Equal(Elem(%2$s, 1), Elem(%3$s, 1))", variance, x, y)
}, screens = FALSE, mean_square = mean_square_of_covariates)

# The leaf of the covariance for an effect, which is an element of a result of bar_effects().
effect_leaf <- function(terms, variance = NULL, fixed = character(), correlation = NULL, call = caller_env()) {
  first <- terms[[1]]
  as_formula <- function(e) stats::as.formula(call("~", e), first$env)
  slopes <- Filter(Negate(is.null), lapply(terms, `[[`, "slope"))
  intercept <- length(slopes) < length(terms)
  left <- paste(c(if (!intercept) "0" else if (!length(slopes)) "1", vapply(slopes, deparse1, "")), collapse = " + ")
  label <- sprintf("(%s | %s)", left, deparse1(first$level))
  columns <- c(lapply(slopes, function(e) new_column("number", as_formula(e), "variable of random effects")),
               list(new_column("level", as_formula(first$level), "random effects")))
  if (length(terms) > 1) return(correlated_leaf(terms, variance, correlation, fixed, label, columns, call))
  if (!is.null(correlation)) {
    stop_kernops("input", "{.arg correlation} is for effects with several coefficients, such as {.code ~ x | g}.",
                 call = call)
  }
  leaf <- new_leaf(if (intercept) intercept_kernel else slope_kernel, list(variance = variance), fixed, call = call)
  leaf[c("label", "sees")] <- list(label, columns)
  leaf$effect <- if (intercept) "(Intercept)" else deparse1(slopes[[1]])
  leaf
}

# Moves random effects and smooths from the formula to the covariance: returns the formula of the trend, and the
# covariance with these effects.
with_effects <- function(formula, covariance, data, call) {
  parts <- list(formula = formula, covariance = covariance)
  split <- if (inherits(formula, "formula") && length(formula) == 3) split_effects(formula[[3]])
  if (!is.null(split)) check_no_effects(split$rest, call)
  if (length(split$effects)) {
    if (!is_lmc(covariance)) for (e in split$effects) if (is_effect_of_variable(e)) check_no_effects(e, call)
    leaves <- unlist(lapply(split$effects, effect_leaves, environment(formula), data, call), recursive = FALSE)
    keys <- vapply(leaves, leaf_key, "")
    for (leaf in leaves[!duplicated(keys) & !keys %in% known_effects(covariance)]) {
      parts$covariance <- parts$covariance + leaf
    }
    parts$formula[[3]] <- split$rest %||% 1
  }
  if (!sees_effects(parts$covariance)) return(parts)
  parts$covariance <- change_leaves(parts$covariance, function(leaf, path) {
    if (is_smooth_leaf(leaf)) with_factors(leaf, data, call) else leaf
  })
  parts
}

# A key by which smooths of the same variables are recognised; other leaves have their label as the key.
leaf_key <- function(leaf) {
  if (!is_smooth_leaf(leaf)) leaf$label else paste(c(leaf$belongs$name, column_key(leaf$sees[[1]])), collapse = ":")
}

effect_leaves <- function(e, env, data, call) {
  if (is_effect_of_variable(e)) {
    return(lapply(effect_leaves(effect_behind(e), env, data, call), belonging_to, e[[2]]))
  }
  if (is_smooth(e)) return(smooth_leaves(e, env, data, call))
  lapply(bar_effects(e, env, call), effect_leaf, call = call)
}

# Splits a sum of terms into `effects`, a list of the random effects and smooths, and `rest`, the sum of the other
# terms. `rest` is NULL if there are no other terms.
split_effects <- function(e) {
  if (is_smooth(e) || is_effect_of_variable(e)) return(list(effects = list(e)))
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

# Checks that the terms `e` of the trend contain no effects, because R would interpret the bar of (1 | g) as "or".
check_no_effects <- function(e, call) {
  if (is_bar(e) || is_smooth(e)) {
    stop_kernops("input", "{.code {deparse1(e)}} must be a separate term, joined to the others by {.code +}.",
                 call = call)
  }
  joins <- c("+", "-", "*", ":", "/", "^", "%in%", "(")
  if (is.call(e) && deparse1(e[[1]]) %in% joins) for (part in as.list(e)[-1]) check_no_effects(part, call)
}

sees_effects <- function(covariance) !all_leaves(covariance, function(leaf) !length(leaf$sees))

# Stops for smooths that are factors of products, and for effects of named variables without lmc().
check_effects <- function(covariance, call) {
  if (!sees_effects(covariance)) return(invisible())
  if (!is_lmc(covariance)) check_no_variable(covariance, call)
  smooths <- function(leaves) sum(vapply(leaves, is_smooth_leaf, NA))
  if (smooths(leaves_of(covariance)) == smooths(added_leaves(covariance))) return(invisible())
  stop_kernops("input", "Smooths can be added to a covariance, but not multiplied by one.", call = call)
}

# TRUE if a term of the covariance is a field.
needs_coordinates <- function(covariance) {
  !all_leaves(covariance, function(leaf) length(leaf$sees) > 0 || leaf$label %in% c("nugget", "constant"))
}
