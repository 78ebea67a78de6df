# The method update() of a fit, which changes arguments or adds observations.

#' Update a fit with further observations or other arguments
#'
#' `update(fit, newdata = )` adds observations to a fit. The search for the parameters begins at the estimates of `fit`
#' and ends at the optimum next to them, which takes a small part of the time of a new fit. With `refit = FALSE`, the
#' parameters of the covariance are kept. Without `newdata`, the call of `fit` is changed and evaluated, as `update()`
#' does for other models.
#'
#' @param object a fit of [gp()].
#' @param formula. changes of the formula, as in [update()][stats::update].
#' @param ... changed arguments of [gp()].
#' @param newdata further observations, which are appended to the observations of the fit: rows with all variables of
#'   the fit, including the response. For a fit of points of sf, sp or terra, points of the same class.
#' @param refit whether the parameters of the covariance are estimated again. With `FALSE`, the parameters are kept as
#'   with `estimate = "none"`, and the coefficients of the trend are estimated from all observations.
#' @param evaluate whether to evaluate the call; with `FALSE`, the call is returned.
#'
#' @details One search from the estimates of `fit` replaces the searches from several starting values, as with `starts =
#'   0` of [gp_control()]. The search evaluates few likelihoods, since it stops when a step would increase the
#'   log-likelihood by less than 0.001. If the new observations make another optimum the highest, the search may miss
#'   this optimum: `update()` of the result, without arguments, searches from all starting values. Formulas with random
#'   effects or smooths are fitted from the usual starting values.
#'
#'   With `refit = FALSE`, a fit of a Gaussian response by the exact method keeps its Cholesky factor, and k further
#'   observations add k rows to the factor: the time is proportional to k n^2 for n observations, instead of n^3. This
#'   update of the factor requires the CPU and one response without `group`, effects, priors and merged locations;
#'   otherwise the factor is computed again.
#'
#'   `update()` finds the data by evaluating the call of `fit` in the calling frame; the data must not have changed
#'   since the fit. The call of the result contains all data.
#'
#' @return A fit, see [gp()]; its call if `evaluate = FALSE`.
#' @section Errors: class `kernops_input_error` if `newdata` lacks a variable, if `fit` has no `data`, or if the number
#'   of rows of the data has changed since the fit; and if `refit = FALSE` is used with a family, or with effects in the
#'   formula.
#' @seealso [gp()]; [gp_methods] for the other methods; [gp_propose()] for the next observations.
#' @examples
#' set.seed(1)
#' d <- data.frame(x = runif(60), z = runif(60))
#' d$y <- sin(5 * d$x) + d$z^2
#' fit <- gp(y ~ 1, d[1:50, ], ~ x + z, matern(5/2, ard = TRUE) + nugget())
#' update(fit, newdata = d[51:60, ])
#' # with the same parameters
#' more <- update(fit, newdata = d[51:60, ], refit = FALSE)
#' predict(more, data.frame(x = 0.5, z = 0.5), se.fit = TRUE, interval = "confidence")
#' # with another trend
#' update(fit, . ~ x)
#' @importFrom stats update
#' @export
update.gp <- function(object, formula., ..., newdata = NULL, refit = TRUE, evaluate = TRUE) {
  check_flag(refit, "refit")
  call <- object$call
  env <- parent.frame()
  if (!missing(formula.)) call$formula <- stats::update(stats::formula(object), formula.)
  changed <- match.call(expand.dots = FALSE)$...
  for (name in names(changed)) call[[name]] <- changed[[name]]
  if (evaluate || !is.null(newdata)) check_data_present(call$data, env)
  if (is.null(newdata)) return(if (evaluate) eval(call, env) else call)
  call$data <- joined_data(object, newdata, names(changed), env)
  if (!evaluate) return(call)
  as_before <- missing(formula.) && !length(changed)
  fit <- if (!refit && as_before && has_growing_factor(object, call)) extended_fit(object, call, env)
  fit <- fit %||% continued_fit(object, call, refit, env)
  fit["call"] <- list(call)
  fit
}

check_data_present <- function(data, env, call = caller_env()) {
  if (!is.name(data) || exists(as.character(data), env)) return(invisible())
  stop_kernops("input", c("The data {.code {data}} of the fit were not found.",
                          i = "Give all observations by {.code update(fit, data = )}."), call = call)
}

# The observations of the fit and the new observations in one table, with the variables that both tables have.
joined_data <- function(object, newdata, changed, env, call = caller_env()) {
  data <- if (!inherits(object, "gp_blocks")) eval(object$call$data, env)
  if (is.null(data) || is_map(data) || "data" %in% changed) {
    stop_kernops("input", c("{.arg newdata} adds rows to {.arg data} of the fit, which must be a data frame or points.",
                            i = "For other data, give all observations by {.code update(fit, data = )}."), call = call)
  }
  if (NROW(data) != object$parts$total) {
    stop_kernops("input", c("{.arg data} of the fit have {NROW(data)} rows now, but had {object$parts$total}.",
                            i = "{.code update(fit, data = )} fits the present rows."), call = call)
  }
  used <- c(unlist(object$parts$needed), all.vars(object$formula),
            unlist(lapply(object$parts$layout$formulas, all.vars)))
  lacking <- setdiff(intersect(names(data), used), names(newdata))
  if (length(lacking)) {
    stop_kernops("input", "{.arg newdata} lacks the variable{?s} {.code {lacking}} of the fit.", call = call)
  }
  if (identical(class(data), "data.frame")) data <- data[names(data) %in% names(newdata)]
  tryCatch(rbind(data, newdata[, names(data)]), error = function(e) {
    stop_kernops("input", "{.arg newdata} cannot be added to the data of the fit: {conditionMessage(e)}.", call = call)
  })
}

# The fit after update(). With `refit`, the search begins at the estimates in `object`; otherwise the estimates are
# kept.
continued_fit <- function(object, call, refit, env, error_call = caller_env()) {
  by_formula <- length(split_effects(object$formula[[3]])$effects) > 0
  if (!refit && (by_formula || !is.null(object$family))) {
    what <- if (by_formula) "effects in its formula" else "a family"
    stop_kernops("input", "{.code refit = FALSE} is not available for a fit with {what}.", call = error_call)
  }
  if (by_formula) return(eval(call, env))
  call <- call[!names(call) %in% names(formals(gp_control))]
  if (!is.null(call$coords) && is_model_of_covariance(eval(call$coords, env))) call$coords <- NULL
  call$covariance <- object$covariance
  call$control <- replace(object$how$control, "starts", 0)
  if (!refit) {
    call$estimate <- "none"
    call$prior <- NULL
    if (!is.null(object$transform)) call$transform <- object$transform$lambda
  }
  fit <- eval(call, env)
  fit$how$control$starts <- object$how$control$starts
  fit
}

# TRUE if the Cholesky factor of the fit is on the host and can be extended by rows for additional observations.
has_growing_factor <- function(object, call) {
  model <- object$model
  plain <- !is_functional(model, object$parts$layout) && !length(model$prior) && !has_effects(model) &&
    !is_lmc(model$covariance)
  plain && identical(class(object), "gp") && object$method == "exact" && length(unique(object$data$block)) < 2 &&
    is.null(object$data$location) && is.null(call$subset) && is.null(call$group) && is.matrix(host_factor(object))
}

host_factor <- function(object) factor_of(object)[[1]]$k$numbers()

# The fit with the parameters, the centre and the factor of `object`. NULL if the first rows of the data differ from the
# rows of the data of the fit, for example because `scale()` has changed the coordinates.
extended_fit <- function(object, call, env) {
  clock <- new_clock()
  user <- caller_env()
  parts <- with_clock(clock, "data", extended_parts(object, call, env, user))
  parts$x <- trend_columns(parts, object$known$beta, user)
  data <- observation_data(parts, object$known$beta, object$center)
  before <- seq_along(object$data$y)
  same <- function(name) identical(as.vector(as.matrix(data[[name]])[before, ]), as.vector(object$data[[name]]))
  if (!all(vapply(c("y", "u", "noise", "weights"), same, NA))) return(NULL)
  data$logdet_xx <- check_trend(data, "none", user)
  check_duplicates(data, object$model, user)
  problem <- list(data = data, model = object$model, center = object$center)
  how <- replace(object$how, "reml", object$model$intrinsic)
  likelihood <- exact_likelihood(data, object$model, how$reml, how$backend, user, host_factor(object))
  known <- replace(object$known, "noise", list(parts$noise))
  fit <- with_clock(clock, "search", {
    search <- list(theta = unname(object$theta))
    fitted_parts(finish_fit(problem, likelihood, search, user), search, how, parts, known, "none")
  })
  fit$loglik <- fit$loglik + (parts$jacobian %||% 0)
  fit[c("transform", "formula", "na.action")] <- list(object$transform, object$formula, parts$na.action)
  fit$cost <- cost_table(clock)
  fit
}

# The parts of a fit (the data of its observations) for all rows of the data in the call, old rows and new rows.
extended_parts <- function(object, call, env, user) {
  source <- data_source(spatial_parts(call$data))
  value <- function(name) within_data(rlang::new_quosure(call[[name]], env), source$data, user)
  noise <- noise_values(as.list(eval(call$known, env))$noise, source$data, user)
  na.action <- if (is.null(call$na.action)) getOption("na.action") else eval(call$na.action, env)
  arguments <- list(weights = value("weights"), noise = noise, na.action = na.action)
  coords <- eval(call$coords, env)
  if (is_model_of_covariance(coords)) coords <- NULL
  parts <- data_and_model(object$formula, object$covariance, source, coords, arguments, "exact", NULL, user)$parts
  if (is.null(object$transform)) parts else transformed(parts, object$transform$lambda)
}
