# Fits of tables that are read in chunks: time, peak memory and disk, and what the ordering by cells costs.
#
#   Rscript bench/tables.R 1e6 4e6 2e7        each n in a separate process under `ulimit -v` of 3 GB
#   Rscript bench/tables.R compare 1e6        the log-likelihood beside those of orderings in memory
#
# Simulated rows: a Matern 3/2 field with range 0.02 on the unit square, by a fast Fourier transform on a grid of 4096^2
# nodes that is interpolated at random locations, a covariate, noise with a tenth of the variance of the field. The
# response of as many new cells as rows is predicted with standard errors, in a separate table.

suppressMessages(library(kernops))

# The field at the nodes of a grid, with the spectral density of Matern's covariance, on a torus.
field_on_grid <- function(size, range) {
  w <- 2 * pi * pmin(0:(size - 1), size:1)
  power <- outer(w^2, w^2, function(a, b) (3 / range^2 + a + b)^(-2.5))
  values <- Re(fft(sqrt(power) * fft(matrix(rnorm(size^2), size)), inverse = TRUE))
  values / sd(values)
}

interpolated <- function(grid, x, y) {
  size <- nrow(grid)
  i <- pmin(floor(x * size), size - 1)
  j <- pmin(floor(y * size), size - 1)
  a <- x * size - i
  b <- y * size - j
  at <- function(i, j) grid[cbind(i %% size + 1, j %% size + 1)]
  (1 - a) * (1 - b) * at(i, j) + a * (1 - b) * at(i + 1, j) + (1 - a) * b * at(i, j + 1) + a * b * at(i + 1, j + 1)
}

make_table <- function(n, path, chunk = 1e6) {
  set.seed(1)
  grid <- field_on_grid(if (n < 1e6) 1024 else 4096, 0.02)
  for (first in seq(1, n, by = chunk)) {
    m <- min(chunk, n - first + 1)
    d <- data.frame(x = runif(m), y = runif(m), w = rnorm(m))
    d$z <- signif(1 + 0.5 * d$w + interpolated(grid, d$x, d$y) + sqrt(0.1) * rnorm(m), 7)
    data.table::fwrite(d, path, append = first > 1)
  }
}

# The cells of a square grid in chunks of rows.
map_cells <- function(n, chunk = 1e5) {
  side <- floor(sqrt(n))
  function(number) {
    cell <- seq((number - 1) * chunk, length.out = chunk)
    cell <- cell[cell < side^2]
    if (length(cell)) data.frame(x = (cell %% side + 0.5) / side, y = (cell %/% side + 0.5) / side, w = 0)
  }
}

# Largest resident memory and largest address space of this process, in GB.
peaks <- function() {
  if (!file.exists("/proc/self/status")) return(c(NA, NA))
  lines <- grep("^Vm(HWM|Peak)", readLines("/proc/self/status"), value = TRUE)
  rev(as.numeric(gsub("[^0-9]", "", lines)) / 2^20)
}

disk <- function(path) sum(file.size(list.files(path, full.names = TRUE, recursive = TRUE))) / 2^30

run <- function(n, path) {
  time <- system.time(fit <- gp(z ~ w, path, ~ x + y, memory = "3 GB"))
  cat(sprintf("n = %g: fit %.0f s (%.0f s of the cores), %d likelihoods\n", n, time[["elapsed"]], sum(time[1:2]),
              fit$search$evaluations),
      sprintf("peak %.2f GB (%.2f GB of addresses), disk %.2f GB\n", peaks()[1], peaks()[2],
              disk(fit$blocks$store$path)), sep = "")
  print(fit)
  print(fit$cost)
  out <- tempfile(fileext = ".csv")
  time <- system.time(predict(fit, gp_table(map_cells(n)), interval = "confidence", se.fit = TRUE, filename = out))
  cat(sprintf("%g cells predicted in %.0f s (%.0f s of the cores), peak %.2f GB (%.2f of addresses), file %.2f GB\n",
              floor(sqrt(n))^2, time[["elapsed"]], sum(time[1:2]), peaks()[1], peaks()[2], file.size(out) / 2^30))
}

compare <- function(n) {
  make_table(n, path <- tempfile(fileext = ".csv"))
  d <- data.table::fread(path, data.table = FALSE)
  known <- matern(3/2, 1, 0.02) + nugget(0.1)
  fit <- function(data, ...) gp(z ~ w, data, ~ x + y, known, "vecchia", "none", ...)
  values <- c(cells = fit(path)$loglik, maxmin = fit(d)$loglik, random = fit(d, ordering = "random")$loglik,
              coordinate = fit(d, ordering = "coordinate")$loglik)
  cat(sprintf("n = %g: log-likelihood minus that of maxmin, for each observation:\n", n))
  print((values - values[["maxmin"]]) / n)
}

arguments <- commandArgs(TRUE)
if (identical(arguments[1], "compare")) {
  for (n in as.numeric(arguments[-1])) compare(n)
} else if (identical(arguments[1], "one")) {
  run(as.numeric(arguments[2]), arguments[3])
} else for (n in as.numeric(if (length(arguments)) arguments else "1e6")) {
  make_table(n, path <- tempfile(fileext = ".csv"))
  gc(full = TRUE)
  self <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  system(sprintf("ulimit -v 3145728; exec Rscript %s one %.0f %s", self, n, path))
  unlink(path)
}
