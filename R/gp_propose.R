# The next evaluations of an expensive function. The proposed points maximise a criterion that is computed from a
# surrogate model.

#' Propose the next evaluations of an expensive function
#'
#' Finds the points of a box where the next evaluations of a function are most useful: to find its minimum, to find the
#' region where the function crosses a threshold, or to predict the function in the whole box. The surrogate of the
#' function is a fit of [gp()] to its observed values.
#'
#' @param fit a fit of [gp()] for one Gaussian response by the exact method, without `group` and effects. The
#'   coordinates are the arguments of the function.
#' @param lower,upper limits of the box, one number for each coordinate, by name or in order. Default: the ranges of the
#'   observations.
#' @param criterion the criterion that the proposal maximises, see the details.
#' @param batch number of points that are proposed together.
#' @param minimise whether the function is to be minimised; otherwise it is maximised.
#' @param best the value to be improved. Default: the best fitted value at the observations.
#' @param threshold the value whose contour is sought, for `criterion = "contour"`.
#' @param sds number of standard deviations, for `"ucb"` and `"contour"`.
#' @param starts number of searches. The searches begin at the best of the `candidates`.
#' @param candidates number of points that fill the box evenly. The criterion is first computed at these points.
#'   Default: 50 for each coordinate, up to 500.
#' @param seed seed of the positions of candidates. The state of R's random number generator is not changed.
#'
#' @details With the mean m(x) and the standard deviation s(x) of the field at x, and the standard normal density
#'   \eqn{\phi} and distribution function \eqn{\Phi}, the criteria are:
#'   * `"ei"`, the expected improvement \eqn{s (\phi(z) + z \Phi(z))} with z = (best - m) / s (Jones, Schonlau and Welch
#'     1998), and `"log_ei"`, its logarithm (Ament et al. 2023). The two criteria have the same maximum. The search
#'     always maximises the logarithm, whose value and gradient are exact even where the improvement underflows to zero;
#'   * `"ucb"`, the confidence bound -(m - `sds` s) (Srinivas et al. 2012);
#'   * `"integrated variance"`, the decrease of the mean variance of the field in the box by an observation at x. The
#'     decrease is the mean of \eqn{c(u, x)^2 / (s(x)^2 + nugget)} over 256 points u, with the covariances c of the
#'     field given the data (Sacks et al. 1989, as a criterion for one point);
#'   * `"contour"`, the expected improvement for contour estimation, \eqn{E \max(0, e^2 - (y - threshold)^2)} with e =
#'     `sds` s(x) and y from the distribution of the field at x (Ranjan, Bingham and Michailidis 2008).
#'
#'   To maximise the function, the criteria use -m and -`best`. The uncertainty of the trend is part of s(x). With a
#'   transformation, all values are on the transformed scale.
#'
#'   Gradients with respect to the point are exact: the derivatives of the covariance are symbolic, and the derivatives
#'   of the trend are central differences of sixth order. Searches are quasi-Newton steps in the box (`"L-BFGS-B"` of
#'   [stats::optim()]).
#'
#'   The points of a batch are proposed one after the other by the kriging believer (Ginsbourger, Le Riche and Carraro
#'   2010): before the next point is proposed, each proposed point is treated as observed, with the predicted mean as
#'   its value. The factor of the covariance matrix grows by a row for each point.
#'
#' @return A data frame with a row for each proposal: its coordinates; the `mean` and the standard error `se` of the
#'   field at the proposed point, given the observations and the earlier proposals; and the value of the `criterion`.
#' @section Errors: class `kernops_input_error` for limits that are not a box, for fits of other kinds, for coordinates
#'   that are expressions and for a trend with variables other than the coordinates.
#'
#' @references
#' Ament, S., Daulton, S., Eriksson, D., Balandat, M. and Bakshy, E. (2023) Unexpected improvements to expected
#' improvement for Bayesian optimization. *Advances in Neural Information Processing Systems* 36.
#'
#' Ginsbourger, D., Le Riche, R. and Carraro, L. (2010) Kriging is well-suited to parallelize optimization. In
#' *Computational Intelligence in Expensive Optimization Problems*, Springer, 131-162.
#'
#' Jones, D. R., Schonlau, M. and Welch, W. J. (1998) Efficient global optimization of expensive black-box functions.
#' *Journal of Global Optimization* 13, 455-492.
#'
#' Ranjan, P., Bingham, D. and Michailidis, G. (2008) Sequential experiment design for contour estimation from complex
#' computer codes. *Technometrics* 50(4), 527-541.
#'
#' Sacks, J., Welch, W. J., Mitchell, T. J. and Wynn, H. P. (1989) Design and analysis of computer experiments.
#' *Statistical Science* 4(4), 409-423.
#'
#' Srinivas, N., Krause, A., Kakade, S. M. and Seeger, M. W. (2012) Information-theoretic regret bounds for Gaussian
#' process optimization in the bandit setting. *IEEE Transactions on Information Theory* 58(5), 3250-3265.
#'
#' @seealso [update()][update.gp], which adds the results to the fit.
#' @examples
#' branin <- function(a, b) (b - 5.1 * a^2 / (4 * pi^2) + 5 * a / pi - 6)^2 +
#'   10 * (1 - 1 / (8 * pi)) * cos(a) + 10
#' set.seed(1)
#' d <- data.frame(a = runif(15, -5, 10), b = runif(15, 0, 15))
#' d$y <- branin(d$a, d$b)
#' fit <- gp(y ~ 1, d, ~ a + b, matern(5/2, ard = TRUE))
#' for (step in 1:3) {
#'   new <- gp_propose(fit, lower = c(-5, 0), upper = c(10, 15))
#'   new$y <- branin(new$a, new$b)
#'   fit <- update(fit, newdata = new)
#' }
#' min(fit$parts$y)
#' # four evaluations at once; points where the function is near 20
#' gp_propose(fit, batch = 4)
#' gp_propose(fit, criterion = "contour", threshold = 20)
#' @export
gp_propose <- function(fit, lower = NULL, upper = NULL,
                       criterion = c("log_ei", "ei", "ucb", "integrated variance", "contour"), batch = 1,
                       minimise = TRUE, best = NULL, threshold = NULL, sds = 2, starts = 5, candidates = NULL,
                       seed = 1) {
  criterion <- check_choice(criterion, "criterion", eval(formals()$criterion))
  check_surrogate(fit)
  for (name in c("batch", "starts")) check_number(get(name), name, least = 1, whole = TRUE)
  box <- proposal_box(fit, lower, upper)
  candidates <- candidates %||% min(50 * ncol(box), 500)
  check_number(candidates, "candidates", least = 1, whole = TRUE)
  check_number(seed, "seed", least = 0, whole = TRUE, most = .Machine$integer.max)
  check_number(sds, "sds", least = 0, above = TRUE)
  check_flag(minimise, "minimise")
  if (!is.null(best)) check_number(best, "best", least = -Inf)
  if (criterion == "contour" && is.null(threshold)) {
    stop_kernops("input", "{.code criterion = \"contour\"} needs a {.arg threshold}.")
  }
  if (!is.null(threshold)) check_number(threshold, "threshold", least = -Inf)
  sign <- if (minimise) 1 else -1
  fitted <- sign * predicted_mean(fit, new_points(fit, NULL, NULL))
  settings <- list(sign = sign, best = if (is.null(best)) min(fitted) else sign * best, threshold = threshold,
                   sds = sds, box = box)
  leaders <- fit$parts$u[utils::head(order(fitted), 4), , drop = FALSE]
  proposals <- vector("list", batch)
  for (k in seq_len(batch)) {
    target <- proposal_target(criterion, fit, settings)
    x <- best_of_box(target, box, starts, candidates, leaders, seed + k - 1)
    moments <- target$posterior$moments(x)
    proposals[[k]] <- data.frame(x, mean = moments$mean, se = moments$sd,
                                 criterion = target$report(target$value(x)), check.names = FALSE)
    if (k < batch) fit <- with_believed(fit, x, moments$mean)
    settings$best <- min(settings$best, sign * moments$mean)
  }
  do.call(rbind, proposals)
}

check_surrogate <- function(fit, call = caller_env()) {
  if (!inherits(fit, "gp")) stop_kernops("input", "{.arg fit} must be a fit of {.fn gp}.", call = call)
  plain <- identical(class(fit), "gp") && fit$method == "exact" && !is_lmc(fit$model$covariance) &&
    !is_averages(fit$parts$layout)
  beside <- ncol(fit$data$u) - fit$model$d - length(functional_part(fit$model, fit$data$u[1, , drop = FALSE])) -
    length(fit$model$functional)
  if (!plain || beside > 0 || fit$model$d == 0) {
    stop_kernops("input", "{.arg fit} must be a fit of one Gaussian response in coordinates by
                           {.code method = \"exact\"}, without {.arg group}, {.arg averages}, effects and smooths.",
                 call = call)
  }
  check_plain_coordinates(fit$parts$coords, "The coordinates of {.arg fit} must be plain variables", call)
  others <- setdiff(all.vars(stats::delete.response(fit$parts$terms)), all.vars(fit$parts$coords))
  if (length(others)) {
    stop_kernops("input", "The trend of {.arg fit} has {cli::qty(others)}the variable{?s} {.code {others}} besides the
                           coordinates.", call = call)
  }
}

# The limits of the search, as a matrix with two rows and one column for each coordinate.
proposal_box <- function(fit, lower, upper, call = caller_env()) {
  u <- fit$parts$u
  names <- colnames(u) %||% paste0("x", seq_len(ncol(u)))
  limits <- function(x, default, name) {
    if (is.null(x)) return(default)
    x <- unlist(x)
    if (!is.numeric(x) || !length(x) %in% c(1, length(names)) || !all(is.finite(x))) {
      stop_kernops("input", "{.arg {name}} must have one finite number for each of the coordinates {.code {names}}.",
                   call = call)
    }
    if (is.null(names(x))) return(rep_len(x, length(names)))
    if (setequal(names(x), names)) return(x[names])
    stop_kernops("input", "{.arg {name}} must have the names of the coordinates, {.code {names}}.", call = call)
  }
  box <- rbind(lower = limits(lower, apply(u, 2, min), "lower"), upper = limits(upper, apply(u, 2, max), "upper"))
  colnames(box) <- names
  wrong <- names[box[1, ] > box[2, ]]
  if (length(wrong)) {
    stop_kernops("input", "{.arg lower} must not be above {.arg upper}: see {.code {wrong}}.", call = call)
  }
  if (all(box[1, ] == box[2, ])) {
    stop_kernops("input", "{.arg lower} and {.arg upper} are one point, not a box.", call = call)
  }
  box
}
