#' Gaussian process regression and kriging
#'
#' Fits a Gaussian process with a linear trend: \eqn{y = X\beta + f(u) + noise}, where the covariance of f is any
#' of [matern()] and its relatives, or a formula of the user's own. Its parameters are estimated by (restricted) maximum
#' likelihood with exact gradients, the trend by generalised least squares.
#'
#' @section Kriging:
#' `y ~ 1` is ordinary kriging, covariates make it universal kriging, and `y ~ 0` with `known = list(beta = m)`
#' is simple kriging around the mean m. The nugget is noise of the observations: [predict()][predict.gp]
#' gives a new observation, noise and all (`interval = "prediction"`), or the field without it (`"confidence"`).
#'
#' @section When not to use this:
#' For maps of two-dimensional data with a well-known covariance, local kriging (`gstat::krige(nmax = 50)`) is about as
#' accurate and takes a second. `gp()` is for likelihoods and their gradients, covariances of one's own, more
#' dimensions, seamless surfaces, conditional simulation, and GPUs.
#'
#' @param formula the response and its trend, as in [lm()].
#' @param data a data frame, or an sf or sp object of points.
#' @param coords the coordinates: a one-sided formula such as `~ x + y`, or a matrix with one row for each
#'   observation and any number of columns. Not needed for sf and sp objects. `scale(x)` is, at new points, by the mean
#'   and the spread that x had here.
#' @param covariance such as `matern(3/2) + nugget()`; see [covariance_functions]. `nugget()` alone is the null model:
#'   the trend and independent errors.
#' @param method `"exact"` factorises the n x n covariance matrix (8 n^2 bytes); `"iterative"` solves by preconditioned
#'   conjugate gradients, in memory that grows with n. `"auto"` is exact up to `control$exact_limit`.
#' @param estimate `"ML"`, `"REML"` (of error contrasts of unit length, Harville 1974: that of package nlme plus half
#'   the logarithm of det(X'X)), or `"none"`: the covariance is taken as it is, with a value for every parameter.
#' @param known a list of what is known: `beta`, the coefficients of the trend, by their names or in order (one number,
#'   the mean, with `y ~ 0`), and `noise`, the variance of the noise of each observation: numbers, or a formula such as
#'   `~ sd^2` of variables of `data`.
#' @param weights positive numbers, or an expression of variables of `data` as in [lm()]: the nugget of an observation
#'   is divided by its weight; an error where there is none.
#' @param precision as in [keops_kernel()], of the iterative method; the exact one works in float64. `"float32"` is for
#'   fields that do not vary much more than the noise: beyond a ratio of variances of some 1e6 over the number of
#'   observations its rounding hides which variance and range are best, and the fit says so.
#' @param backend `"cuda"`: all of the fit happens on a GPU, the first of the option `kernops.device`. Coordinates are
#'   taken there once, and the exact method factorises there, which needs cuSOLVER of the CUDA toolkit. `"cpu"`, or
#'   `"auto"`: the GPU for what is worth it, where there is one.
#' @param na.action what is done about missing values; default: `getOption("na.action")`.
#' @param control what [gp_control()] returns, or a list of some of its arguments.
#'
#' @return An object of class `gp`, with the usual methods: `summary()`, `coef()`, `vcov()`, `confint()`,
#'   `fitted()`, `residuals()`, `logLik()`, [predict()][predict.gp], [simulate()][simulate.gp], `update()`,
#'   [plot()][plot.gp]; and [gp_cv()]. Its list elements `covariance` (with the values found), `beta`, `loglik` and
#'   `search` may be read.
#'
#' @section Errors and warnings:
#' Class `kernops_input_error` for unfit arguments: among them points that occur twice without a nugget, a
#' constant response, a trend whose columns are collinear, each with the rows or names in question. Class
#' `kernops_singular_error` where the covariance matrix is not positive definite, `kernops_memory_error` where it is too
#' large for the GPU, `kernops_cuda_error` where a GPU, or cuSOLVER, is asked for and not found. Warnings of class
#' `kernops_not_converged` where the search stopped early (`kernops_near_singular`, too, where it ended at the edge of
#' singular matrices, `kernops_rounding` where float32 hides the optimum), `kernops_at_bound` for a range that ended at
#' a bound, `kernops_degenerate` for a range below the spacing of the points or a nugget estimated as zero, and
#' `kernops_copies` for observations that occur twice, response and all.
#'
#' @section Estimation:
#' Likelihoods of covariances have many optima. Starting values fill the space of the parameters evenly; for periods
#' they are the peaks of the periodogram. The likelihood is computed at all of them, of at most `subset` observations of
#' [gp_control()]; searches begin from the best `starts`, and from what is seen on lines through the optimum: longer and
#' shorter ranges, more and less nugget, other angles and periods. Of more observations than that, the optimum of the
#' subset and its rivals are the starts. Values that are given start the search. The search ends with Newton's steps, by
#' average information (Gilmour et al. 1995), when a step would gain less than 1e-8 of log-likelihood (1e-5 of more than
#' `subset` observations, `gain` of [gp_control()] in the iterative method). `summary()` shows rivals: other optima
#' within two units of log-likelihood.
#'
#' @section Saved fits:
#' A fit made on a GPU may be saved and read elsewhere. What it kept on the GPU is made anew when it is needed, on the
#' CPU if there is no GPU, with a message of class `kernops_no_gpu`.
#'
#' @references
#' Gilmour, A. R., Thompson, R. and Cullis, B. R. (1995) Average information REML: an efficient algorithm for variance
#' parameter estimation in linear mixed models. *Biometrics* 51(4), 1440-1450.
#'
#' Harville, D. A. (1974) Bayesian inference for variance components using only error contrasts. *Biometrika* 61,
#' 383-385.
#'
#' Rasmussen, C. E. and Williams, C. K. I. (2006) *Gaussian Processes for Machine Learning*. MIT Press.
#'
#' @examples
#' x <- seq(0, 10, length.out = 60)
#' y <- sin(x) + rnorm(60, sd = 0.1)
#' fit <- gp(y ~ 1, coords = ~ x, covariance = matern(5/2) + nugget())
#' fit
#' predict(fit, data.frame(x = c(2.5, 12)), interval = "prediction")
#' @export
gp <- function(formula, data = NULL, coords = NULL, covariance = matern(3/2) + nugget(),
               method = c("auto", "exact", "iterative"), estimate = c("ML", "REML", "none"), known = list(),
               weights = NULL, precision = c("float64", "float32"), backend = c("auto", "cpu", "cuda"),
               na.action = getOption("na.action"), control = gp_control()) {
  method <- check_choice(method, "method", c("auto", "exact", "iterative"))
  estimate <- check_choice(estimate, "estimate", c("ML", "REML", "none"))
  precision <- check_precision(precision)
  backend <- check_backend(backend)
  here <- environment()
  if (!is_covariance(covariance)) {
    stop_kernops("input", "{.arg covariance} must be a covariance, such as {.code matern(3/2) + nugget()}.")
  }
  known <- known %||% list()
  check_known(known)
  control <- as_control(control)
  weights <- within_data(rlang::enquo(weights), data, here)
  known$noise <- noise_values(known$noise, data, here)
  data_parts <- gp_data(formula, data, coords, weights, known$noise, na.action, here)
  known$beta <- known_coefficients(known$beta, colnames(data_parts$x), here)
  model <- covariance_model(covariance, ncol(data_parts$u), colnames(data_parts$u), here)
  if (!is.null(weights) && !length(model$nugget)) {
    stop_kernops("input", c("{.arg weights} divide the nugget, and there is none.",
                            i = "Add {.fn nugget} to the covariance; {.code known = list(noise = )} is noise as it
                                 is."))
  }
  if (data_parts$long_lat && model$movable) {
    warn_of_degrees("{.code distance = \"great_circle\"} in the covariance measures km.")
  }
  if (method == "auto") method <- if (length(data_parts$y) <= control$exact_limit) "exact" else "iterative"
  if (method == "iterative" && estimate != "none" && control$probes == 0) {
    stop_kernops("input", "{.code gp_control(probes = 0)} goes with {.code estimate = \"none\"}.")
  }
  problem <- prepare_problem(data_parts, model, known, estimate, here)
  how <- list(method = method, reml = estimate == "REML", precision = precision, backend = backend, control = control)
  likelihood <- likelihood_for(problem$data, problem$model, how)
  with_bar("Fitting", wanted = control$progress == "bar", {
    search <- estimate_covariance(problem, likelihood, how, estimate, here)
    fit <- finish_fit(problem, likelihood, search, how, here)
  })
  if (estimate != "none") warn_about_fit(fit)
  structure(c(fit, list(
    call = match.call(), formula = formula, method = method, estimate = estimate, known = known, search = search,
    how = how, parts = data_parts, na.action = data_parts$na.action
  )), class = "gp")
}

#' Settings of gp()
#'
#' @param starts from how many of the starting values that are tried a search begins. With package future.apply these
#'   searches run under any `future::plan()`.
#' @param subset so many observations serve to find a good start (four times as many beyond 4000 observations): half of
#'   them drawn at random, half the nearest neighbours of those.
#' @param exact_limit up to how many observations `method = "auto"` is exact.
#' @param tol relative change of the log-likelihood at which a search stops that Newton's steps do not finish (exact).
#' @param maxit the largest number of steps of the search.
#' @param probes number of random vectors that estimate the log-determinant and its gradient (iterative). A search draws
#'   more of them, up to 128, where these would leave its optimum more than 0.1 of log-likelihood below the true one.
#'   With 0 and `estimate = "none"` there is no log-likelihood, and predictions come sooner.
#' @param rank rank of the preconditioner (iterative); default: twice the root of the number of observations, between
#'   100 and 2000; two thirds of that where `probes` is 0 and `cg_tol` 0.001 or more.
#' @param cg_tol,search_tol relative residuals of the linear systems, in the end and during the search (iterative).
#'   Where a search finds no better step, it goes on with residuals of a tenth, down to 1e-5 (in float64). Residuals in
#'   the end are computed anew, in float64, of all rows, or of 10,000 drawn at random where `cg_tol` is 0.001 or more:
#'   these tell the norm to one per cent.
#' @param gain the search stops once a step would gain less log-likelihood than this (iterative).
#' @param seed of these random vectors, and of the subset. The state of R's generator is left as it was.
#' @param progress `"bar"`: a progress bar over the whole fit with the step, its log-likelihood and the time left, in
#'   interactive sessions; `"steps"`: a line for each likelihood of the search; `"none"`.
#' @return A list.
#' @examples
#' gp_control(starts = 1)
#' @export
gp_control <- function(starts = 3, subset = 400, exact_limit = 1e4, tol = 1e-9, maxit = 100, probes = 16, rank = NULL,
                       cg_tol = 1e-6, search_tol = 0.01, gain = 0.01, seed = 1, progress = c("bar", "steps", "none")) {
  for (name in c("starts", "subset", "exact_limit", "maxit")) check_number(get(name), name, least = 1, whole = TRUE)
  check_number(probes, "probes", least = 0, whole = TRUE)
  if (!is.null(rank)) check_number(rank, "rank", least = 0, whole = TRUE)
  check_number(tol, "tol", least = 0, above = TRUE)
  check_number(gain, "gain", least = 0, above = TRUE)
  check_number(cg_tol, "cg_tol", least = 0, above = TRUE)
  check_number(search_tol, "search_tol", least = 0, above = TRUE)
  check_number(seed, "seed", least = 0, whole = TRUE)
  progress <- check_choice(progress, "progress", c("bar", "steps", "none"))
  list(starts = starts, subset = subset, exact_limit = exact_limit, tol = tol, maxit = maxit, probes = probes,
       rank = rank, cg_tol = cg_tol, search_tol = search_tol, gain = gain, seed = seed, progress = progress)
}

# Settings checked; those that are not given are as `before`.
as_control <- function(control, before = list(), call = caller_env()) {
  if (!is.list(control)) {
    stop_kernops("input", "{.arg control} must be what {.fn gp_control} returns, or a list of its arguments.",
                 call = call)
  }
  known <- names(formals(gp_control))
  given <- names(control) %||% character(length(control))
  if (all(given %in% known)) return(do.call(gp_control, utils::modifyList(before, control)))
  stop_kernops("input", c("{.arg control} must be a list of some of {.code {known}}, by name.",
                          x = "{.val {setdiff(given, known)}} is none of them."), call = call)
}

check_known <- function(known, call = caller_env()) {
  if (!is.list(known) || !all(names(known) %in% c("beta", "noise")) || (length(known) && is.null(names(known)))) {
    stop_kernops("input", "{.arg known} must be a list of {.val beta} or {.val noise}, or of both.", call = call)
  }
  if (!is.null(known$beta) && !(is.numeric(known$beta) && all(is.finite(known$beta)))) {
    stop_kernops("input", "{.code known$beta} must be finite numbers.", call = call)
  }
}

# In the order of the trend.
known_coefficients <- function(beta, columns, call) {
  if (!length(columns)) return(if (length(beta)) unname(beta))
  if (is.null(names(beta)) || length(beta) != length(columns)) return(beta)
  if (setequal(names(beta), columns)) return(unname(beta[columns]))
  stop_kernops("input", "{.code known$beta} must be named as the columns of the trend, {.code {columns}}, or not at
                         all.", call = call)
}
