# Sums of a stationary kernel to a tolerance, from a Fourier series of the kernel on a torus, by non-uniform fast
# Fourier transforms.
#
# Three errors are each about `precision` relative to the largest value of the kernel: the error of the truncated
# series, the error of the window that spreads points to the grid, and the error of neglecting small values of the
# kernel. The error of the sums is measured. As long as this error exceeds the tolerance, the sums are computed again
# with a smaller `precision`.

sums_to_tolerance <- function(kernel, x, y, b, tol, call = caller_env()) {
  rows <- spaced_rows(nrow(x), 1000)
  exact <- NULL
  space <- difference_space(x, y)
  backend <- backend_for_sums(as.numeric(nrow(x)) * nrow(y), settings_of_sums(kernel))
  kernel$seconds <- as.list(seconds_of_sums[[backend]])
  error <- Inf
  for (precision in tol / c(3, 30, 1000, 1e5)) {
    way <- if (precision < 1e-13 || !any(space$wide)) NULL else fastest_series(kernel, space, x, y, precision)
    if (is.null(way)) {
      if (kernel$seconds$pairs * nrow(x) * nrow(y) > most_exact_seconds && any(space$wide)) break
      return(with_attributes(exact_sums(kernel, x, y, b), 0, rep(0, ncol(x))))
    }
    sums <- series_sums(way, x, y, b, settings_of_sums(kernel))
    if (!is.null(way$near)) sums <- sums + near_sums(kernel, way$near, x, y, b)
    exact <- exact %||% exact_sums(kernel, x[rows, , drop = FALSE], y, b)
    size <- max(abs(exact))
    error <- max(abs(sums[rows, ] - exact)) / if (size > 0) size else 1
    if (error <= tol) return(with_attributes(sums, error, way$modes))
  }
  stop_kernops("tolerance", c("The sums do not reach a tolerance of {tol}.",
    x = if (is.finite(error)) "The smallest error is {signif(error, 2)}, relative to the largest sum.",
    i = "Without {.arg tol} the sums are exact."), call = call)
}

with_attributes <- function(sums, error, modes) {
  attr(sums, "error") <- error
  attr(sums, "modes") <- modes
  sums
}

settings_of_sums <- function(kernel) run_settings(backend = kernel$backend, devices = first_device())

# The box that contains all points: its smallest coordinates `low` and its extents `span`. A coordinate that is constant
# has no modes of the series.
difference_space <- function(x, y) {
  ranges <- column_ranges(x)
  if (!identical(x, y)) ranges <- rbind(ranges, column_ranges(y))
  low <- apply(ranges, 2, min)
  span <- apply(ranges, 2, max) - low
  list(low = low, span = span, wide = span > 0)
}

# The fastest Fourier series for a kernel. If the kernel is smooth, this is the series of the whole kernel with as few
# modes as necessary. If that series has too many modes or takes too long, the result is the series of the smooth part
# of the kernel, or NULL if sums over all pairs are faster.
fastest_series <- function(kernel, space, x, y, precision) {
  torus <- kernel_torus(kernel, space, precision)
  most_seconds <- kernel$seconds$pairs * nrow(x) * nrow(y)
  way <- smooth_series(kernel, torus, precision, most_seconds) %||%
    series_with_near(kernel, torus, x, y, precision, most_seconds)
  if (is.null(way) || way$seconds > most_seconds) NULL else way
}

# The series of a smooth kernel, whose coefficients fall faster than any power of their index; NULL for other kernels.
smooth_series <- function(kernel, torus, precision, most_seconds) {
  tail <- Inf
  for (fineness in 2^seq(0.5, 12, by = 0.5)) {
    modes <- torus_modes(torus, fineness)
    cells <- prod(2 * modes)
    if (cells > most_grid_cells || kernel$seconds$cells * cells > most_seconds) return(NULL)
    way <- fourier_series(kernel, torus, modes, precision)
    if (way$tail <= precision) return(way)
    if (fineness >= 4 && all(modes >= torus$least) && way$tail > tail / 4) return(NULL) # the tail falls too slowly
    tail <- way$tail
  }
}

# If no series is faster or precise enough, all pairs are summed, unless the sum would take longer than this number of
# seconds.
most_exact_seconds <- 200
# The maximum number of cells of the grid, which is an array of complex numbers that R's fft() copies.
most_grid_cells <- 2^25
# The approximate time in seconds for a pair of points in a sum over all pairs, for a pair of near points, and for a
# cell of the grid, on one core or on a GPU. The choice of the method depends on these times.
seconds_of_sums <- list(cpu = c(pairs = 2e-9, near = 3e-8, cells = 6e-7),
                        cuda = c(pairs = 2e-12, near = 1e-11, cells = 1e-7))

# The periods of the torus. If the difference of two points is shifted by a period, the kernel at the shifted difference
# must be negligible, or the shifted difference must be larger than all differences of points. In the second case, the
# kernel is multiplied by a function that falls smoothly to 0 from the span to twice the span, where there are no
# differences of points. `unit` is a length over which the kernel changes noticeably.
kernel_torus <- function(kernel, space, precision) {
  wide <- which(space$wide)
  span <- space$span[wide]
  box <- sample_box(length(wide)) # rows of numbers in [-1, 1]
  differences <- matrix(0, nrow(box), length(space$span))
  differences[, wide] <- sweep(box, 2, span, "*")
  values <- abs(kernel_values(kernel, differences))
  top <- max(values, abs(kernel_values(kernel, 0 * differences[1, , drop = FALSE])))
  extent <- function(level) {
    vapply(wide, \(k) max(abs(differences[values > level * top, k]), 0), 0)
  }
  reach <- 1.05 * pmax(extent(precision), 1e-3 * span)
  open <- reach >= span # TRUE if the kernel is nowhere negligible
  list(wide = wide, low = space$low[wide], span = span, open = open, top = top,
       period = ifelse(open, 4 * span, span + reach), unit = pmax(extent(0.5), 1e-4 * span),
       least = ifelse(open, 4 * near_radius(precision), 16)) # smooth_step() has near_radius() cells
}

# Points of the box [-1, 1]^d in all directions and at all scales: a sequence of low discrepancy, multiplied by powers
# of 1/2, and points on the axes.
sample_box <- function(d) {
  n <- 4096
  sequence <- outer(seq_len(n), sqrt(c(2, 3, 5))[seq_len(d)]) %% 1 * 2 - 1
  inner <- sequence * 2^-(seq_len(n) %% 12)
  axis <- c(seq(-1, 1, length.out = 401), 2^-(1:24))
  axes <- lapply(seq_len(d), \(k) replace(matrix(0, length(axis), d), cbind(seq_along(axis), k), axis))
  do.call(rbind, c(list(inner), axes))
}

# The number of modes along each coordinate, which is even: about `fineness` modes for each `unit` of the period.
torus_modes <- function(torus, fineness) {
  2 * stats::nextn(as.integer(pmin(pmax(ceiling(fineness * torus$period / torus$unit), torus$least) / 2, 2^20)))
}

# The coefficients of the Fourier series of the kernel, from its values on a grid with as many points as modes; and
# `tail`, the sum of the coefficients of the highest modes relative to the largest value of the kernel.
fourier_series <- function(kernel, torus, modes, precision) {
  number <- lapply(modes, \(n) seq_len(n) - 1 - ifelse(seq_len(n) > n / 2, n, 0))
  axes <- Map(\(k, n, period) k / n * period, number, modes, torus$period)
  differences <- matrix(0, prod(modes), kernel$d)
  differences[, torus$wide] <- as.matrix(expand.grid(axes, KEEP.OUT.ATTRS = FALSE))
  values <- kernel_values(kernel, differences)
  fall <- Map(\(r, open, span) if (open) smooth_step(abs(r) / span - 1, precision) else rep(1, length(r)), axes,
              torus$open, torus$span)
  values <- array(values, modes) * Reduce(outer, fall)
  coefficients <- stats::fft(values) / prod(modes)
  outer_modes <- Reduce(`|`, Map(\(k, n, axis) slice.index(values, axis) %in% which(abs(k) > 0.4 * n), number, modes,
                                 seq_along(modes)))
  list(torus = torus, modes = modes, coefficients = coefficients, precision = precision,
       tail = sum(abs(coefficients[outer_modes])) / torus$top, seconds = kernel$seconds$cells * prod(2 * modes))
}

# A smooth step: a scaled normal distribution function, which decreases from 1 at t = 0 to 0 at t = 1 up to `precision`.
smooth_step <- function(t, precision) stats::pnorm((1 - 2 * t) * stats::qnorm(precision, lower.tail = FALSE))
