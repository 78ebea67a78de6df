# What gp_variogram() sums over pairs of points.

# Directions, each a list of the angle and the tolerance in degrees; one without a tolerance is all of them.
pair_directions <- function(alpha, tol, d, long_lat, call = caller_env()) {
  if (is.null(alpha)) return(list(list(angle = 0)))
  if (!is.numeric(alpha) || !length(alpha) || !all(is.finite(alpha))) {
    stop_kernops("input", "{.arg alpha} must be directions in degrees.", call = call)
  }
  if (long_lat || d < 2) {
    stop_kernops("input", "{.arg alpha} needs two coordinates of a plane.", call = call)
  }
  tol <- tol %||% (90 / length(alpha))
  check_number(tol, "tol", least = 0, most = 90, call = call)
  lapply(alpha, function(angle) list(angle = angle, tol = tol))
}

unit_direction <- function(angle) c(sin(angle * pi / 180), cos(angle * pi / 180))

tolerance_cosine <- function(direction) cos(direction$tol * pi / 180) - 1e-12

# How many of the limits the distance exceeds is the class; for each, the count, the distance and the term of the mean.
variogram_classes <- function(u, values, breaks, direction, estimator, backend) {
  classes <- length(breaks) - 1
  d <- ncol(u)
  crossed <- colnames(values)[[1]] != colnames(values)[[2]]
  term <- if (estimator == "cressie") "Sqrt(Abs(a - b))" else
    if (crossed) "0.5 * (a - b) * (c - e)" else "0.5 * Square(a - b)"
  near <- if (length(direction$tol)) "(least * Norm2(Extract(x - y, 0, 2)) <= Abs(Extract(x - y, 0, 2) | way)) * "
  # a pair exactly at the tolerance is within it
  input <- c(list(limits = breaks, x = u, y = u, a = values[, 1], b = values[, 1]),
             if (crossed) list(c = values[, 2], e = values[, 2]),
             if (length(near)) list(least = tolerance_cosine(direction), way = unit_direction(direction$angle)))
  op <- keops_kernel(
    paste0("Sum_Reduction(TensorProd(OneHot(Sum(LessThan(limits, Norm2(x - y))), ", classes + 2, "), ", near,
           "Concat(1, Concat(Norm2(x - y), ", term, "))), 1)"),
    c(sprintf("limits = Pm(%d)", classes + 1), sprintf(c("x = Vi(%d)", "y = Vj(%d)"), d), "a = Vi(1)", "b = Vj(1)",
      if (crossed) c("c = Vi(1)", "e = Vj(1)"), if (length(near)) c("least = Pm(1)", "way = Pm(2)")),
    precision = "float64", backend = backend
  )
  all <- colSums(op(input))
  sums <- matrix(all, 3)[, 1 + seq_len(classes), drop = FALSE]
  # each pair was counted twice; a point with itself lies in the class that contains 0, if any
  own <- if (breaks[[1]] < 0) sum(0 > breaks) else 0
  if (own >= 1 && own <= classes) sums[1, own] <- sums[1, own] - nrow(u)
  mean <- sums[3, ] / sums[1, ]
  np <- sums[1, ] / 2
  gamma <- if (estimator == "cressie") mean^4 / (2 * (0.457 + 0.494 / np)) else mean
  all <- data.frame(np = np, dist = sums[2, ] / sums[1, ], gamma = gamma, dir.hor = direction$angle, dir.ver = 0,
                    id = "", lower = breaks[-length(breaks)], upper = breaks[-1])
  all[all$np > 0, ]
}

# All pairs up to the cutoff, point after point.
variogram_cloud <- function(u, values, cutoff, direction, rows) {
  parts <- lapply(seq_len(nrow(u))[-1], function(i) {
    before <- seq_len(i - 1)
    h <- u[before, , drop = FALSE] - rep(u[i, ], each = i - 1)
    dist <- sqrt(rowSums(h^2))
    near <- dist <= cutoff
    if (length(direction$tol)) {
      plane <- h[, 1:2, drop = FALSE]
      along <- abs(as.vector(plane %*% unit_direction(direction$angle)))
      near <- near & along >= tolerance_cosine(direction) * sqrt(rowSums(plane^2))
    }
    gaps <- values[before, , drop = FALSE] - rep(values[i, ], each = i - 1)
    data.frame(dist = dist, gamma = gaps[, 1] * gaps[, 2] / 2, left = rep(rows[[i]], i - 1),
               right = rows[before])[near, ]
  })
  all <- do.call(rbind, parts)
  data.frame(all[c("dist", "gamma")], dir.hor = rep(direction$angle, nrow(all)), dir.ver = rep(0, nrow(all)),
             id = rep("", nrow(all)), all[c("left", "right")], row.names = NULL)
}
