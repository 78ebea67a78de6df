# Computes the sums of a kernel from its Fourier series, on the CPU or on a GPU.

# Spreads b from the points y to the grid, multiplies by the coefficients, and interpolates at the points x. A GPU with
# cuFFT does all steps; on the CPU, R computes the Fourier transforms.
series_sums <- function(plan, x, y, b, settings) {
  torus <- plan$torus
  cells <- as.integer(2 * plan$modes)
  window <- spreading_window(plan$precision)
  factor <- grid_factor(plan, cells, window)
  grid <- list(origin = torus$low, scale = cells / torus$period, size = cells, window = window$pieces)
  y <- if (!identical(x, y)) chosen_columns(y, torus$wide)
  x <- chosen_columns(x, torus$wide)
  sums_on_gpu(x, y, b, grid, factor, settings) %||% sums_on_cpu(x, y, b, grid, factor)
}

sums_on_cpu <- function(x, y, b, grid, factor) {
  place <- function(points) place_points(points, grid$origin, grid$scale, grid$size, grid$window, threads())
  to <- place(x)
  from <- if (is.null(y)) to else place(y)
  sums <- lapply(seq_len(ncol(b)), function(column) {
    values <- stats::fft(array(sums_on_grid(from, b[, column], threads()), grid$size))
    sums_at_points(to, Re(stats::fft(factor * values, inverse = TRUE)), threads())
  })
  do.call(cbind, sums)
}

# NULL if the CPU is to compute the sums. The GPU needs only the factors of nonnegative frequencies of the first
# coordinate, because the grid is real.
sums_on_gpu <- function(x, y, b, grid, factor, settings) {
  points <- as.numeric(nrow(x)) + NROW(y %||% x)
  work <- operations_of_window * points * ncol(b) * nrow(grid$window)^ncol(x)
  if (backend_for_sums(work, settings) == "cpu") return(NULL)
  half <- matrix(factor, grid$size[[1]])[seq_len(grid$size[[1]] / 2 + 1), ]
  settings$backend <- "cuda"
  sums_of_series(x, y, b, grid, half, settings)
}

# The number of operations for a point and a cell of its window, with which the backend is chosen.
operations_of_window <- 10

# An array over the frequencies of the grid: the coefficients of the series, divided by the transforms of the windows of
# spreading and of interpolation. Frequencies without a mode are 0.
grid_factor <- function(plan, cells, window) {
  # the highest frequency, whose sign is ambiguous, is omitted
  places <- Map(function(n, of) c(seq_len(n / 2), of - (n / 2 - 1):1 + 1), plan$modes, cells)
  inner <- lapply(plan$modes, \(n) c(seq_len(n / 2), n - (n / 2 - 1):1 + 1))
  transforms <- Map(function(n, of) window$transform(c(seq_len(n / 2) - 1, -((n / 2 - 1):1)) / of)^2, plan$modes, cells)
  factor <- array(0, cells)
  values <- do.call(`[`, c(list(plan$coefficients), inner, drop = FALSE)) / Reduce(outer, transforms)
  do.call(`[<-`, c(list(factor), places, list(value = values)))
}
