# Settings of the search and of the methods of gp().

#' Settings of gp()
#'
#' Makes a list of settings for the argument `control` of [gp()]. If only some methods use a setting, parentheses
#' contain the names of these methods.
#'
#' @param starts number of starting values from which searches begin: the best of all starting values that are tried. If
#'   starting values differ in more than four parameters, searches begin from four times as many starting values. A
#'   larger number never gives a worse optimum. With package future.apply these searches run under any `future::plan()`.
#'   With 0, one search begins at the given values of the parameters, and finds the optimum next to these values, as in
#'   `update(fit, newdata = )`.
#' @param subset number of observations used to find good starting values. A subset is used if there are more than 1.25
#'   `subset` observations; for more than 4000 observations, the subset has 4 `subset` observations. Half of the subset
#'   is drawn at random, and the other half are the nearest neighbours of the drawn observations.
#' @param exact_limit the largest number of observations for which `method = "auto"` is exact.
#' @param tol relative change of the log-likelihood at which a search without Newton steps stops (exact).
#' @param maxit the largest number of steps of the search.
#' @param probes number of random vectors that estimate the log-determinant and its gradient (iterative). A search draws
#'   more vectors, up to 128, if the estimated optimum could otherwise be more than 0.1 below the true maximum of the
#'   log-likelihood. With 0 and `estimate = "none"` the log-likelihood is not computed, and predictions are faster. For
#'   random effects with many scattered levels and `method = "vecchia"`, at least 16 vectors are used. More vectors, up
#'   to 96 (256 with a family), are drawn as long as the Monte Carlo error of the log-likelihood is above 0.04.
#' @param precond preconditioner (iterative): `"vecchia"`, `"pivoted_cholesky"` or, for clusters and outliers,
#'   `"rpcholesky"`, see [kernel_preconditioner()]. `"auto"` chooses `"pivoted_cholesky"` if `rank` is given, or if a
#'   few columns of the covariance matrix explain the field up to 0.3 times the noise variance, as for smooth fields
#'   with long ranges; otherwise it chooses `"vecchia"`. On a GPU, for fewer than 300,000 observations, the limit is 2
#'   times the noise variance. The choice is made once, at the first parameters of a search.
#' @param rank rank of the preconditioner (iterative). Default: twice the square root of the number of observations,
#'   between 100 and 2000; if `probes` is 0 and `cg_tol` is at least 0.001, two thirds of this number. For `"vecchia"`,
#'   `rank` is the number of neighbours; default: 40.
#' @param cg_tol,search_tol relative residuals of the linear systems, at the end (`cg_tol`) and during the search
#'   (`search_tol`) (iterative). For n > 10,000 observations, the last steps of the search use `search_tol` multiplied
#'   by sqrt(10000 / n), and the systems of random vectors have relative residuals of at most 0.1 / sqrt(n) at the end.
#'   If a search finds no better step, the search continues with a tenth of `search_tol`, down to 1e-5 (in float64). The
#'   final residuals are computed in float64. If `cg_tol` is at least 0.001, the final residuals are computed from
#'   10,000 random rows (norms accurate to one per cent), otherwise from all rows.
#' @param gain the search stops when a step would increase the log-likelihood by less than `gain` (iterative, vecchia,
#'   vif).
#' @param seed seed of the random vectors and of the subset. The state of R's random number generator is not changed.
#' @param progress `"bar"`: in interactive sessions, a progress bar over the whole fit with the step, its log-likelihood
#'   and the remaining time; `"steps"`: a line for each likelihood of the search; `"none"`: no output. `TRUE` means
#'   `"bar"`, and `FALSE` means `"none"`.
#' @param neighbours number m of neighbours on which an observation is conditioned (vecchia). Default: 60; for more than
#'   20,000 observations with up to 3 coordinates, 30; with a [family][gp_families], 20; with `responses`, 10; for
#'   `method = "vif"`, 30. Where `method = "auto"` chooses more neighbours, the default is up to 120, see [gp()]. With
#'   `"auto"`, the search begins with the default number of neighbours and doubles this number, see the section about
#'   the number of neighbours. In [predict()][predict.gp], `neighbours` is the number of neighbours of new points. With
#'   package future.apply, likelihoods and predictions that take long are distributed over the processes of
#'   `future::plan()`, if those processes have more cores than this session uses. For likelihoods, each process keeps a
#'   part of the observations.
#' @param inducing number of inducing points of `method = "vif"`, at most the number of observations.
#' @param neighbour_tol the largest tolerated change of the log-likelihood for each observation when the number of
#'   neighbours is doubled. The other tolerances are multiples of `neighbour_tol`, see the section about the number of
#'   neighbours.
#' @param neighbour_limit the largest number of neighbours with `neighbours = "auto"`.
#' @param null_draws number of responses that are simulated without a field, for the p-values of [gp_responses].
#' @param ordering the ordering of the observations (vecchia), see [gp_neighbours()].
#' @param workdir a directory for the files of a fit of a table that is read in chunks, see [gp()]. Each fit makes a
#'   separate subdirectory, which is kept. Therefore a saved fit can predict in another session, and an interrupted fit
#'   continues from the stored results when `gp()` is called again with the same arguments. Delete the subdirectory if
#'   the data change. If the disk is full, there is an error of class `kernops_disk_error`, and the files are removed.
#'   Default: a temporary directory that is removed with the fit.
#' @param memory a bound on the memory of a fit of a table that is read in chunks, and of its predictions: a string such
#'   as `"8 GB"`, or a number of bytes. A prediction divides the bound among this process and its workers. Each worker
#'   holds the field of a cell, 0.5 to 1 GB; the number of workers that predict at a time is limited by the bound, and
#'   this process predicts alone if two workers exceed the bound. Results have the same digits for any number of
#'   workers. A fit that needs more memory, or a cell whose field does not fit, is an error of class
#'   `kernops_memory_error`. In [predict()][predict.gp], `control = list(memory = )` replaces the bound of the fit.
#'   Default: no bound, with chunks of 200,000 rows.
#' @section The number of neighbours:
#' Each fit with `method = "vecchia"` is compared with a fit with twice as many neighbours. `print()` shows the verdict,
#' `summary()` and `glance()` show all changes, and `fit$vecchia$changes` contains them as numbers. The following
#' changes are computed:
#'   * the change of the log-likelihood at the same parameters; if there are more than 10,000 observations, this change
#'     is estimated from 10,000 observations;
#'   * the changes of the estimates, in standard errors, by a Newton step from the optimum (a standard error below a
#'     tenth of a positive parameter counts as a tenth of the parameter);
#'   * the changes of predictions of the field at 200 sites, in standard errors, and the relative changes of these
#'     standard errors. The changes of predictions and of standard errors are root mean squares and include the change
#'     of the estimates. Half of the sites are between observations that are next to each other.
#'
#' An approximation is good if four changes are small enough: the change of the log-likelihood is at most
#' `neighbour_tol` = 0.001 for each observation (at most 1 for less than 1000 observations), the change of the estimates
#' at most half a standard error (500 `neighbour_tol`), the change of predictions at most a tenth of a standard error
#' (100 `neighbour_tol`), and the change of standard errors at most 3 % (30 `neighbour_tol`). The approximation is fair
#' if the changes are at most five times these limits, otherwise poor. [certify()] compares a fit with exact answers.
#' For a family with more than 20,000 observations, only the changes of predictions are computed, except with
#' `neighbours = "auto"`. For `method = "vif"` with more than 10,000 observations, the expected change of the
#' log-likelihood is computed from 100 observations, predictions are compared for a fit to 10,000 observations, and the
#' change of the estimates is not computed.
#'
#' With `neighbours = "auto"`, the number of neighbours is doubled, and the search continues, until the approximation is
#' good. If more than `neighbour_limit` neighbours would be required, a warning of class `kernops_neighbours` reports
#' the changes and the method to use instead. A poor approximation with the default number of neighbours for more than
#' 20,000 observations gives the same warning. New points that are predicted from observations have at least twice as
#' many neighbours as the observations; this number is doubled, up to 240, as long as doubling changes the predictions
#' by more than the tolerance. For noisy observations, see [predict()][predict.gp].
#'
#' The default is a fixed number because the time of a likelihood grows with the third power of the number of
#' neighbours. The approximation is good for 3000 of the satellite temperatures of Heaton et al. (2019) with 60
#' neighbours, and for all 105,569 temperatures with 30 neighbours (3 s; all times are for two cores). For a smooth
#' field (Matern 5/2, noise of 1 % of its variance, n = 3000), the approximation is good with 60 neighbours (1 s; with
#' 30 neighbours, the log-likelihood is 15 lower, and predictions are the same to three digits). For the borehole
#' function (8 inputs, n = 3000) the approximation is poor with 60 neighbours (10 s), and `"auto"` stops at 240
#' neighbours (53 s). The log-likelihood is then 200 units higher, but the error of predictions is the same: in this
#' example, automatic doubling takes more time without better predictions.
#'
#' @references
#' Heaton, M. J. et al. (2019) A case study competition among methods for analyzing large spatial data. *Journal of
#' Agricultural, Biological and Environmental Statistics* 24, 398-425.
#' @return A list.
#' @seealso [gp()]; [gp_neighbours()] for the neighbours of `method = "vecchia"`.
#' @examples
#' str(gp_control(starts = 1)[c("starts", "exact_limit", "neighbours")])
#' fit <- gp(mag ~ 1, quakes[1:200, ], ~ long + lat, control = gp_control(starts = 1))
#' logLik(fit)
#' @export
gp_control <- function(starts = 3, subset = 400, exact_limit = 1e4, tol = 1e-9, maxit = 100, probes = 16, rank = NULL,
                       cg_tol = 1e-6, search_tol = 0.01, gain = 0.01, seed = 1, progress = c("bar", "steps", "none"),
                       neighbours = NULL, neighbour_tol = 1e-3, neighbour_limit = 240, inducing = 200,
                       ordering = c("maxmin", "random", "coordinate", "given"),
                       precond = c("auto", "vecchia", "pivoted_cholesky", "rpcholesky"), workdir = NULL,
                       memory = NULL, null_draws = 400) {
  for (name in c("subset", "exact_limit", "maxit")) check_number(get(name), name, least = 1, whole = TRUE)
  for (name in c("starts", "probes")) check_number(get(name), name, least = 0, whole = TRUE)
  if (!is.null(rank)) check_number(rank, "rank", least = 0, whole = TRUE)
  for (name in c("tol", "gain", "cg_tol", "search_tol")) check_number(get(name), name, least = 0, above = TRUE)
  check_number(seed, "seed", least = 0, whole = TRUE, most = .Machine$integer.max)
  if (is.logical(progress)) progress <- if (check_flag(progress, "progress")) "bar" else "none"
  progress <- check_choice(progress, "progress", c("bar", "steps", "none"))
  check_neighbours(neighbours)
  check_number(inducing, "inducing", least = 1, whole = TRUE)
  check_number(neighbour_tol, "neighbour_tol", least = 0, above = TRUE)
  check_number(null_draws, "null_draws", least = 0, whole = TRUE)
  check_number(neighbour_limit, "neighbour_limit", least = 1, whole = TRUE)
  ordering <- check_choice(ordering, "ordering", c("maxmin", "random", "coordinate", "given"))
  precond <- check_choice(precond, "precond", c("auto", "vecchia", "pivoted_cholesky", "rpcholesky"))
  if (!is.null(workdir)) check_text(workdir, "workdir", one = TRUE)
  check_memory_bound(memory)
  mget(names(formals()))
}

# Checks that the arguments of gp() in `...` are settings.
check_settings_of_gp <- function(arguments, call) {
  settings <- names(formals(gp_control))
  names <- names(arguments) %||% character(length(arguments))
  unknown <- !names %in% settings
  if (!any(unknown)) return(invisible())
  known <- c(setdiff(names(formals(gp)), "..."), settings)
  stop_further_arguments("{.fn gp}", arguments[unknown], known, call)
}

# Checks settings; missing settings keep their values in `before`.
as_control <- function(control, before = list(), call = caller_env()) {
  if (!is.list(control)) {
    stop_kernops("input", "{.arg control} must be a result of {.fn gp_control}, or a list of its arguments.",
                 call = call)
  }
  known <- names(formals(gp_control))
  arguments <- names(control) %||% character(length(control))
  if (all(arguments %in% known)) return(do.call(gp_control, utils::modifyList(before, control)))
  stop_kernops("input", c("{.arg control} must be a named list with elements among {.code {known}}.",
                          x = "Unknown: {.val {setdiff(arguments, known)}}."), call = call)
}
