# The sums over pairs of points that gp_variogram() needs.

# A list of directions. A direction is a list of the angle in the plane, the dip above the plane, and the tolerances
# `tol` of the angle and `tol.ver` of the dip, in degrees. If a tolerance is NULL, all angles or all dips are included.
pair_directions <- function(alpha, tol, beta, tol.ver, d, long_lat, call = caller_env()) {
  in_plane <- angles_between(alpha, tol, c("alpha", "tol"), call)
  above <- angles_between(beta, tol.ver, c("beta", "tol.ver"), call)
  if (!is.null(alpha) && (long_lat || d < 2)) {
    stop_kernops("input", "{.arg alpha} needs two coordinates of a plane.", call = call)
  }
  if (!is.null(beta) && (long_lat || d < 3)) {
    stop_kernops("input", "{.arg beta} needs three coordinates of space.", call = call)
  }
  each <- function(flat) lapply(above, function(dip) {
    list(angle = flat$angle, tol = flat$tol, dip = dip$angle, tol.ver = dip$tol)
  })
  unlist(lapply(in_plane, each), recursive = FALSE)
}

angles_between <- function(angles, tol, names, call) {
  if (is.null(angles)) return(list(list(angle = 0)))
  if (!is.numeric(angles) || !length(angles) || !all(is.finite(angles))) {
    stop_kernops("input", "{.arg {names[[1]]}} must be directions in degrees.", call = call)
  }
  tol <- tol %||% (90 / length(angles))
  check_number(tol, names[[2]], least = 0, most = 90, call = call)
  lapply(angles, function(angle) list(angle = angle, tol = tol))
}

unit_direction <- function(angle) c(sin(angle * pi / 180), cos(angle * pi / 180))

# The cosine of a tolerance, minus a small number, so that a pair exactly at the tolerance is included.
tolerance_cosine <- function(tol) cos(tol * pi / 180) - 1e-12

# TRUE for the rows of h along the direction. The rows of h are differences of points; a difference that points
# backwards in the plane is first multiplied by -1.
along_direction <- function(h, direction) {
  kept <- rep(TRUE, nrow(h))
  if (!length(direction$tol) && !length(direction$tol.ver)) return(kept)
  flat <- sqrt(rowSums(h[, 1:2, drop = FALSE]^2))
  along <- as.vector(h[, 1:2, drop = FALSE] %*% unit_direction(direction$angle))
  if (length(direction$tol)) kept <- abs(along) >= tolerance_cosine(direction$tol) * flat
  if (!length(direction$tol.ver)) return(kept)
  up <- unit_direction(direction$dip)
  rise <- if (length(direction$tol)) ifelse(along >= 0, h[, 3], -h[, 3]) * up[[1]] else abs(h[, 3] * up[[1]])
  kept & abs(flat * up[[2]] + rise) >= tolerance_cosine(direction$tol.ver) * sqrt(rowSums(h[, 1:3, drop = FALSE]^2))
}

# The condition of along_direction() as a `factor` in a formula, which is 1 or 0, and `input`, the values of its
# parameters.
direction_formula <- function(direction) {
  flat <- "Extract(x - y, 0, 2)"
  factor <- NULL
  input <- list()
  if (length(direction$tol)) {
    factor <- sprintf("(least * Norm2(%s) <= Abs(%s | way)) * ", flat, flat)
    input <- list(least = tolerance_cosine(direction$tol), way = unit_direction(direction$angle))
  }
  if (!length(direction$tol.ver)) return(list(factor = factor, input = input))
  height <- "Extract(x - y, 2, 1) * Extract(up, 0, 1)"
  rise <- if (length(direction$tol)) sprintf("IfElse(%s | way, %s, -(%s))", flat, height, height) else
    sprintf("Abs(%s)", height)
  steep <- "(steep * Norm2(Extract(x - y, 0, 3)) <= Abs(Norm2(%s) * Extract(up, 1, 1) + %s)) * "
  list(factor = paste0(factor, sprintf(steep, flat, rise)),
       input = c(input, list(steep = tolerance_cosine(direction$tol.ver), up = unit_direction(direction$dip))))
}

# Computes the variogram in classes of distance. The class of a pair is the number of limits that its distance exceeds.
# Returns a row for each class that has pairs: the number of pairs, the mean distance and the semivariance.
variogram_classes <- function(u, values, breaks, direction, estimator, backend) {
  classes <- length(breaks) - 1
  d <- ncol(u)
  crossed <- colnames(values)[[1]] != colnames(values)[[2]]
  term <- if (estimator == "cressie") "Sqrt(Abs(a - b))" else
    if (crossed) "0.5 * (a - b) * (c - e)" else "0.5 * Square(a - b)"
  near <- direction_formula(direction)
  input <- c(list(limits = breaks, x = u, y = u, a = values[, 1], b = values[, 1]),
             if (crossed) list(c = values[, 2], e = values[, 2]),
             near$input)
  op <- keops_kernel(
    code_text("Sum_Reduction(TensorProd(OneHot(Sum(LessThan(limits, Norm2(x - y))), ", classes + 2, "), ", near$factor,
           "Concat(1, Concat(Norm2(x - y), ", term, "))), 1)"),
    c(sprintf("limits = Pm(%d)", classes + 1), sprintf(c("x = Vi(%d)", "y = Vj(%d)"), d), "a = Vi(1)", "b = Vj(1)",
      if (crossed) c("c = Vi(1)", "e = Vj(1)"), sprintf("%s = Pm(%d)", names(near$input), lengths(near$input))),
    precision = "float64", backend = backend
  )
  all <- colSums(op(input))
  sums <- matrix(all, 3)[, 1 + seq_len(classes), drop = FALSE]
  # the sums count each pair of points twice, and contain the pair of each point with itself once; these pairs are
  # subtracted from the class that contains the distance 0, if there is such a class
  zero_class <- if (breaks[[1]] < 0) sum(0 > breaks) else 0
  if (zero_class >= 1 && zero_class <= classes) sums[1, zero_class] <- sums[1, zero_class] - nrow(u)
  mean <- sums[3, ] / sums[1, ]
  np <- sums[1, ] / 2
  gamma <- if (estimator == "cressie") mean^4 / (2 * (0.457 + 0.494 / np)) else mean
  all <- data.frame(np = np, dist = sums[2, ] / sums[1, ], gamma = gamma, dir.hor = direction$angle,
                    dir.ver = direction$dip, id = "", lower = breaks[-length(breaks)], upper = breaks[-1])
  all[all$np > 0, ]
}

# All pairs of points up to the cutoff, computed for one point at a time.
variogram_cloud <- function(u, values, cutoff, direction, rows) {
  parts <- lapply(seq_len(nrow(u))[-1], function(i) {
    before <- seq_len(i - 1)
    h <- u[before, , drop = FALSE] - rep(u[i, ], each = i - 1)
    dist <- sqrt(rowSums(h^2))
    near <- dist <= cutoff & along_direction(h, direction)
    gaps <- values[before, , drop = FALSE] - rep(values[i, ], each = i - 1)
    data.frame(dist = dist, gamma = gaps[, 1] * gaps[, 2] / 2, left = rep(rows[[i]], i - 1),
               right = rows[before])[near, ]
  })
  all <- do.call(rbind, parts)
  data.frame(all[c("dist", "gamma")], dir.hor = rep(direction$angle, nrow(all)),
             dir.ver = rep(direction$dip, nrow(all)), id = rep("", nrow(all)), all[c("left", "right")],
             row.names = NULL)
}
