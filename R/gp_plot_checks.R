# Panels of the empirical variogram and the variogram of the model.

# Splits the arguments of plot() into arguments of gp_variogram() and all other arguments.
split_settings <- function(arguments, drawn, call = caller_env()) {
  of_pairs <- names(arguments) %in% c("estimator", "cutoff", "width", "alpha", "tol", "cloud")
  settings <- arguments[of_pairs]
  if (length(settings) && !drawn) {
    stop_kernops("input", "{.arg {names(settings)}} {?is/are} for {.code which = \"variogram\"}.", call = call)
  }
  if (length(other <- intersect(names(settings), c("alpha", "tol", "cloud")))) {
    stop_kernops("input", c("The variogram of a fit has no {.arg {other}}.",
                            i = "{.code plot(gp_variogram(), fit)} draws one of any kind, and the model over it."),
                 call = call)
  }
  list(settings = settings, graphics = arguments[!of_pairs])
}

# Stops if no panel uses one of the `arguments`. Arguments of the frame apply to all panels; colours apply to maps only.
check_drawn <- function(arguments, method, maps = FALSE, call = caller_env()) {
  known <- c(arguments_of_frame, if (maps) c("col", "breaks", "zlim", "useRaster"))
  unknown <- arguments[!(names(arguments) %||% character(length(arguments))) %in% known]
  if (length(unknown) == 0) return(invisible())
  stop_further_arguments("{.fn plot}", unknown, setdiff(c(names(formals(method)), known), c("x", "...")), call)
}

variogram_panels <- function(x, settings, call) {
  if (is_lmc(x$model$covariance)) return(panels_of_pairs(x, settings, call))
  parts <- variogram_of(x, settings)
  list(variogram_panel("Variogram", parts$xlab, parts$empirical, parts$model))
}

variogram_panel <- function(title, xlab, empirical, model, reach = max(empirical$upper)) {
  model <- distinct_curves(model)
  new_panel("curves", title, xlab, "semivariance", points = data.frame(x = empirical$dist, y = empirical$gamma),
            curves = data.frame(x = model$dist, fit = model$gamma, along = model$along), legend = "along",
            zero = TRUE, reach = reach)
}

# Returns only the longest curve if all curves are equal, otherwise all curves.
distinct_curves <- function(model) {
  curves <- split(model, model$along)
  longest <- curves[[which.max(vapply(curves, function(curve) max(curve$dist), 0))]]
  same <- vapply(curves, function(curve) {
    expected <- stats::approx(longest$dist, longest$gamma, curve$dist, rule = 2)$y
    isTRUE(all.equal(expected, curve$gamma, tolerance = 1e-2))
  }, NA)
  if (all(same)) longest else model
}

# The empirical variogram of the detrended response, and the variogram of the model including the nugget. If the
# variogram of the model differs between coordinates, there is a curve along each coordinate.
variogram_of <- function(x, settings = list()) {
  if (!is.null(x$family)) {
    stop_kernops("input", c("The variogram of a response does not show the covariance of a fit with a {.arg family}.",
                            i = "{.code which = \"covariance\"} draws the latter."))
  }
  x$data <- observed_data(x)
  residual <- x$data$y - if (ncol(x$data$x)) as.vector(x$data$x %*% x$beta) else 0
  globe <- on_globe(x$model)
  place <- function(u) if (globe) on_sphere(u) else u[, seq_len(x$model$d), drop = FALSE]
  # all pairs of more than 3000 points would take more than a second
  some <- spaced_rows(length(residual), 3000)
  u <- x$data$u[some, , drop = FALSE]
  # separates groups, so that the distance of two points in different groups is beyond all classes
  apart <- apart_by_group(place(u), x$model, u, function() place(u))
  settings <- utils::modifyList(list(cutoff = largest_extent(place(u)) / 3), settings)
  empirical <- do.call(gp_variogram, c(list(apart, residual[some]), settings))
  curves <- covariance_curves(x)
  product <- covariance_product(x$model)
  origin <- x$data$u[1, , drop = FALSE]
  model <- lapply(curves$shown, function(k) {
    shifted <- origin[rep(1, 200), , drop = FALSE]
    shifted[, k] <- shifted[, k] + curves$reach[[k]] * seq(1e-6, 1, length.out = 200)
    covariance <- as.vector(product(list(theta = x$theta, x = shifted, y = origin, b = 1)))
    field <- as.vector(product(list(theta = x$theta, x = origin, y = origin, b = 1)))
    dist <- sqrt(rowSums((place(shifted) - place(origin[rep(1, 200), , drop = FALSE]))^2))
    data.frame(dist, gamma = field + nugget_of(x) - covariance, along = colnames(x$parts$u)[[k]])
  })
  model <- do.call(rbind, model)
  list(empirical = empirical, model = model[model$dist <= max(empirical$upper), ],
       xlab = distance_label(x))
}
