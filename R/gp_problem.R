# The numerical data of the estimation problem of a fit, checked before the computation.

# The data for the estimation: the response minus its known mean, the columns of the trend with unknown coefficients,
# centred coordinates, and noise variances.
prepare_problem <- function(parts, model, known, estimate, call) {
  beta <- known$beta
  parts$x <- trend_columns(parts, beta, call)
  if (model$intrinsic) check_intrinsic(parts$x, beta, estimate, parts, model, call)
  problem <- centred_problem(parts, model, beta, estimate, call)
  data <- problem$data
  if (!is.null(beta)) check_magnitude(cbind(data$y), "the response minus its known mean", call)
  check_duplicates(data, problem$model, call)
  if (estimate == "none") return(problem)
  check_white(problem$model, data$u, call)
  warn_about_copies(data, problem$model)
  with_search(problem, parts$y, call)
}

# The columns of the trend, after checks of known coefficients. If the user gave known means and the formula has no
# trend, there is one column for each variable.
trend_columns <- function(parts, beta, call) {
  x <- parts$x
  if (is.null(beta)) return(x)
  means <- mean_columns(parts$layout, length(parts$y))
  if (ncol(x) == 0 && length(beta) == ncol(means)) return(means)
  if (length(beta) == ncol(x)) return(x)
  stop_kernops("dim", "{.code known$beta} must have {ncol(x)} number{?s}, one for each column of the trend.",
               call = call)
}

# The observations with centred coordinates, and the model converted to the unit of these coordinates.
centred_problem <- function(parts, model, beta, estimate, call) {
  center <- if (!model$translation_invariant) rep(0, ncol(parts$u)) else
    if (model$intrinsic) origin_beside(parts$u) else colMeans(parts$u)
  center <- with_unit(center, parts$u, model, call)
  model <- in_unit(model, center)
  data <- observation_data(parts, beta, center)
  data$block <- separate_blocks(model, data$u)
  data$logdet_xx <- check_trend(data, estimate, call)
  check_latitudes(model, parts$u, call)
  list(data = data, model = model, center = center)
}

# The observations as numbers: the response minus its known mean, and the centred coordinates.
observation_data <- function(parts, beta, center) {
  list(
    nodes = observation_nodes(parts$layout, center), y = parts$y - parts$offset - known_mean(parts$x, beta),
    x = if (is.null(beta)) parts$x else parts$x[, 0, drop = FALSE],
    u = observation_sites(parts$layout, centred(parts$u, center), parts), noise = parts$noise,
    weights = parts$weights, rows = parts$rows
  )
}

known_mean <- function(x, beta) if (is.null(beta)) 0 else if (ncol(x)) as.vector(x %*% beta) else beta

# Checks a fit with an intrinsic covariance. Only contrasts have a variance, so the constant of the trend must be
# unknown and the likelihood must be the likelihood of contrasts (REML).
check_intrinsic <- function(x, beta, estimate, parts, model, call) {
  if (estimate == "ML") {
    stop_kernops("input", "An intrinsic model has no {.code estimate = \"ML\"}: use {.val REML}, which is its default.",
                 call = call)
  }
  # the trend needs a constant for each group
  group <- if (is.null(group_of(model))) rep(1, nrow(x)) else parts$z[, group_of(model) - model$d]
  constants <- outer(group, unique(group), `==`) * 1
  if (is.null(beta) && ncol(x) && sum(qr.resid(qr(x), constants)^2) < 1e-12 * nrow(x)) return(invisible())
  stop_kernops("input", c("An intrinsic model needs a trend with an unknown constant, as in {.code y ~ 1}.",
                          i = if (ncol(constants) > 1) "With a {.arg group} there must be one for each group: its factor
                               in the trend."), call = call)
}

# An origin for an intrinsic field, near the points but not equal to a point, because the field is 0 at the origin.
origin_beside <- function(u) {
  width <- column_extents(u)
  column_ranges(u)[1, ] - ifelse(width > 0, width / 2, 1)
}

# Adds the data that a search needs: bounds of parameters, and the detrended response for starting values.
with_search <- function(problem, y, call) {
  data <- problem$data
  seen <- if (!length(problem$model$functional)) data else rows_of_data(data, which(are_values(problem$model, data$u)))
  residual <- orthonormal_trend(seen)$residual
  check_constant_variables(problem$model, seen$u, residual, y, call)
  if (is_rounding(residual, y)) stop_constant(seen$y, call)
  if (is_profiled(problem$model, data)) problem$model <- with_free_scale(problem$model, seen$u, residual)
  if (length(seen$y) < length(data$y)) problem$every_u <- seen$u
  bounded_problem(problem, residual, call, seen$u)
}

stop_constant <- function(y, call) {
  what <- if (all(y == y[[1]])) "constant" else "fitted exactly by the trend"
  stop_kernops("input", c("The response is {what}: its covariance cannot be estimated.",
                          i = "{.code estimate = \"none\"} uses the covariance as given."), call = call)
}

bounded_problem <- function(problem, residual, call, u = problem$data$u) {
  space <- seq_len(problem$model$d)
  if (length(space) && all(column_extents(u)[space] == 0)) {
    stop_kernops("input", "All observations are at the same location: the covariance cannot be estimated.", call = call)
  }
  problem$residual <- residual
  problem$model <- with_bounds(problem$model, u, residual)
  check_extents(problem$model, u, problem$center, call)
  problem
}

check_extents <- function(model, u, center, call) {
  parameters <- model$parameters
  rows <- with(parameters, which(kind == "range" & coordinate > 0 & !fixed))
  constant <- vapply(rows, function(n) {
    k <- leaf_dims(leaf_at(model$covariance, parameters$leaf[[n]]), model$d)[[parameters$coordinate[[n]]]]
    column_extents(u[, k]) <= 4 * .Machine$double.eps * max(abs(u[, k] + center[[k]] / unit_of(center)))
  }, NA)
  flat <- parameters$name[rows[constant]]
  if (!length(flat)) return(invisible())
  stop_kernops("input", c("{.code {flat}} cannot be estimated: the coordinate is constant.",
                          i = "Remove the coordinate, or give the range a value and fix it by {.arg fixed}."),
               call = call)
}

centred <- function(u, center) {
  moved <- moved_columns(u, shift = center, divisor = unit_of(center))
  if (!is.null(colnames(u))) dimnames(moved) <- list(NULL, colnames(u))
  moved
}

check_trend <- function(data, estimate, call) {
  p <- ncol(data$x)
  n <- nrow(data$x)
  if (p == 0) return(0)
  if (p == 1 && n > 1 && any(data$x != 0)) return(log(sum(data$x^2)))
  q <- orthonormal_trend(data)$qr
  if (q$rank < min(n, p)) {
    aliased <- colnames(data$x)[q$pivot[-seq_len(q$rank)]]
    stop_kernops("input", c("The columns of the trend are collinear: {.code {aliased}} {?is a linear
                             combination/are linear combinations} of the others.",
                            i = "Remove {cli::qty(aliased)}{?it/them} from the formula."), call = call)
  }
  if (p > n || (p == n && estimate != "none")) {
    stop_kernops("input",
                 "The trend has {p} coefficient{?s} for {n} observation{?s}: no degrees of freedom are
                  left for the covariance.", call = call)
  }
  2 * sum(log(abs(diag(qr.R(q)))))
}

check_latitudes <- function(model, u, call) {
  in_range <- function(leaf) !leaf$geometry$angular || all(abs(u[, (leaf$dims %||% 1:2)[[2]]]) <= 90)
  if (all_leaves(model$covariance, in_range)) return(invisible())
  stop_kernops("input", "Great-circle distance requires longitude and latitude, in this order, in degrees: latitudes
                         are at most 90.", call = call)
}

# Stops for duplicate locations without noise: the field values at equal locations are equal, so the covariance matrix
# is singular.
check_duplicates <- function(data, model, call) {
  if (length(model$nugget)) return()
  key <- place_keys(model, data$u)
  exact <- data$noise == 0
  if (!is.null(data$nodes)) exact <- exact & tabulate(data$nodes$of) == 1
  again <- which(duplicated(key[exact]))
  if (!length(again)) return()
  second <- which(exact)[again]
  first <- which(exact)[match(key[second], key[exact])]
  # with several variables, a pair of rows may be a duplicate for more than one variable
  pairs <- unique(paste0("(", data$rows[first], ", ", data$rows[second], ")"))
  shown <- toString(c(utils::head(pairs, 5), if (length(pairs) > 5) "..."))
  stop_kernops("input", c("Duplicate locations require a nugget or known noise: rows {shown}.",
                          i = "Add {.fn nugget} to the covariance, or average the duplicates."), call = call)
}

# A key for each point. Two points have the same key if they agree in all coordinates that a part of the covariance
# reads.
place_keys <- function(model, u) {
  # with several variables, the noise of an observation is a term of the formula
  used <- function(leaf) leaf$label != "constant" && !is.null(leaf$kernel$text)
  parts <- Filter(used, leaves_of(model$covariance))
  views <- lapply(parts, function(leaf) {
    seen <- u[, leaf_dims(leaf, ncol(u)), drop = FALSE]
    # rounded to a micrometre, because longitudes 180 and -180 coincide, and at a pole all longitudes coincide
    if (leaf$geometry$angular) seen <- round(on_sphere(seen), 9)
    cbind(seen, u[, leaf$group], functional_part(model, u))
  })
  columns <- if (length(views)) do.call(cbind, unique(views)) else matrix(0, nrow(u), 0)
  first_rows(columns, digits = 15)
}

# Stops for a singular matrix. The message names rows of observations only if the observations are in memory.
stop_singular <- function(problem, state, call) {
  bad <- state$bad %||% 1L
  rows <- problem$data$rows
  row <- if (length(rows)) rows[[bad]]
  others <- problem$data$u[-bad, , drop = FALSE]
  nearest <- if (nrow(others)) rows[-bad][[which.min(colSums((t(others) - problem$data$u[bad, ])^2))]]
  stop_kernops("singular", c(
    paste0("The covariance matrix of the observations is not positive definite",
           if (length(row)) " (detected at row {row})", "."),
    x = if (length(nearest)) "The nearest observation is row {nearest}.",
    i = "Add {.fn nugget}, choose a rougher covariance such as {.code matern(3/2)}, or a shorter range.",
    i = if (state$only_rounded()) "It is positive definite in {.code precision = \"float64\"}."
  ), call = call)
}

# The fit at the parameters of a search result. Its state at these parameters has the form that predictions need.
finish_fit <- function(problem, likelihood, search, call) {
  data <- problem$data
  model <- problem$model
  state <- likelihood$evaluate(search$theta)
  if (is_singular(state)) stop_singular(problem, state, call)
  state$warn()
  estimated <- !is.null(search$value)
  names(state$beta) <- colnames(data$x)
  list(
    theta = stats::setNames(search$theta, model$parameters$name), covariance = with_values(model, search$theta),
    beta = state$beta, loglik = plain_loglik(state, model, search$theta),
    state = state[c("alpha", "z", "root", "logdet", "logdet_error")],
    factor = likelihood$kept_factor(), cell = new_cell(), effects = if (has_effects(model)) new_cell(),
    vecchia = kept_neighbours(likelihood, search, state, model),
    data = data, model = model, center = problem$center,
    df = length(state$beta) + if (estimated) sum(!model$parameters$fixed) else 0
  )
}

# The covariance of a fit in the unit of its points. This unit is a power of two times the unit of the data.
covariance_of_points <- function(object) {
  if (is.null(object$model$unit)) return(object$covariance)
  with_values(replace(object$model, "unit", list(NULL)), object$theta)
}
