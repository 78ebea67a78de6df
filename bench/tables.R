# Fits of tables that are read in chunks: time, peak memory and disk, and the cost of ordering by cells.
#
#   Rscript bench/tables.R 1e6 4e6 2e7        each n in a separate process under `ulimit -v` of 3 GB, from a CSV file
#   Rscript bench/tables.R compare 1e6        the log-likelihood compared with orderings in memory
#   Rscript bench/tables.R --rows=1e7 --backend=cuda --workers=8 --memory=16GB --cells=0
#   Rscript bench/tables.R --rows=1e7 --backend=cuda --gpus=2 --workers=8 --memory=16GB --cells=0
#   Rscript bench/tables.R --rows=1e8 --backend=cuda --workers=12 --memory=16GB --cells=0
#
# The last three commands generate the rows of each chunk from a seed, because writing a CSV file of this size would
# take longer than the fit. Workers generate the chunks that they read; the largest time that a process spends on this
# is printed. `workers` is the number of processes per GPU; with 1 worker and one GPU, only the main process works. With
# `gpus` above 1, the fit by one GPU runs first, with the same number of workers per GPU; then the speed per card is
# printed. --cells=0 omits predictions. After each fit, the elapsed seconds of its parts are printed: reading, sorting
# into cells, ordering of cells, neighbours (only the time after the search for parameters by typical observations,
# which runs at the same time), likelihoods of the table (the part "field"), and the rest.
#
# Simulated rows have a Matern 3/2 field with range 0.02 on the unit square, a covariate, and noise with a tenth of the
# variance of the field. The field is computed by a fast Fourier transform on a grid of 4096^2 nodes and interpolated at
# random locations. A separate table has new cells, as many as rows or `cells`, for which the response is predicted with
# standard errors.

suppressMessages(library(kernops))

# The field at the nodes of a grid on a torus, with the spectral density of the Matern covariance.
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

rows_of <- function(grid, m) {
  d <- data.frame(x = runif(m), y = runif(m), w = rnorm(m))
  d$z <- signif(1 + 0.5 * d$w + interpolated(grid, d$x, d$y) + sqrt(0.1) * rnorm(m), 7)
  d
}

field_for <- function(n) field_on_grid(if (n < 1e6) 1024 else 4096, 0.02)

make_table <- function(n, path, chunk = 1e6) {
  set.seed(1)
  grid <- field_for(n)
  for (first in seq(1, n, by = chunk)) {
    data.table::fwrite(rows_of(grid, min(chunk, n - first + 1)), path, append = first > 1)
  }
}

# A table with rows like those of make_table(). Each process generates the rows when it reads them, from a file with a
# field on a coarser grid. Each process keeps two objects in an environment of kernops: the field, and the seconds that
# the process has spent on generating rows. These objects are not in the global environment, because package future
# empties the global environment.
generated_table <- function(n, chunk = 5e5) {
  set.seed(1)
  saveRDS(field_on_grid(if (n < 1e6) 1024 else 2048, 0.02), path <- tempfile(fileext = ".rds"), compress = FALSE)
  read <- function(number) {
    m <- min(chunk, n - (number - 1) * chunk)
    if (m <= 0) return(NULL)
    began <- proc.time()[["elapsed"]]
    kept <- get("the", asNamespace("kernops"))
    # a process may have kept the field of another table
    if (!identical(kept$bench_grid$path, path)) kept$bench_grid <- list(path = path, values = readRDS(path))
    set.seed(number)
    rows <- rows_of(kept$bench_grid$values, m)
    kept$bench_seconds <- sum(kept$bench_seconds, proc.time()[["elapsed"]] - began)
    rows
  }
  # the environment of `read` has the functions that `read` calls, so that other processes receive these functions, too
  needed <- list(n = n, chunk = chunk, path = path, rows_of = rows_of, interpolated = interpolated)
  environment(read) <- home <- list2env(needed, parent = globalenv())
  for (name in names(needed)) if (is.function(home[[name]])) environment(home[[name]]) <- home
  gp_table(read, parallel = TRUE)
}

seconds_of_rows <- function() sum(get("the", asNamespace("kernops"))$bench_seconds)

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

# Starts worker processes for the tasks of a fit, `each` processes per GPU. A process uses only its GPU.
workers_for <- function(gpus, each) {
  cluster <- parallel::makePSOCKcluster(gpus * each)
  parallel::clusterApply(cluster, rep(seq_len(gpus) - 1, each), function(gpu) Sys.setenv(CUDA_VISIBLE_DEVICES = gpu))
  parallel::clusterCall(cluster, function(paths) .libPaths(paths), .libPaths())
  future::plan(future::cluster, workers = cluster)
  cluster
}

memory_of <- function(cluster) {
  workers <- if (!is.null(cluster)) unlist(parallel::clusterCall(cluster, function(peaks) peaks()[[1]], peaks))
  list(main = peaks()[[1]], workers = sum(workers), all = peaks()[[1]] + sum(workers))
}

# Fits generated rows and predicts, in this process and its workers; returns the seconds of the fit.
measure <- function(rows, cells, backend, memory, gpus, workers) {
  cluster <- if (gpus * workers > 1) workers_for(gpus, workers)
  on.exit(if (!is.null(cluster)) parallel::stopCluster(cluster))
  stopifnot(kernops:::worker_count() == gpus * workers) # if kernops did not count the workers, they would be idle
  table <- generated_table(rows)
  making <- function() {
    each <- c(seconds_of_rows(), if (!is.null(cluster)) unlist(parallel::clusterCall(cluster, seconds_of_rows)))
    max(each)
  }
  before <- making()
  time <- system.time(fit <- gp(z ~ w, table, ~ x + y, memory = memory, backend = backend, progress = "steps"))
  made <- max(0, making() - before)
  tell <- function(what, time) {
    used <- memory_of(cluster)
    cat(sprintf("%s: %.1f s; peak of the host %.2f GB: %.2f GB and %.2f GB of the workers; disk %.2f GB\n", what,
                time[["elapsed"]], used$all, used$main, used$workers, disk(fit$blocks$store$path)))
  }
  cat(sprintf("\n%g rows, %s, %d GPU(s), %d worker(s) for each\n", rows, backend, gpus, workers))
  tell(sprintf("fit with %d likelihoods, of which %.1f s make rows", fit$search$evaluations, made), time)
  print(fit)
  print(fit$cost)
  cat(sprintf("parts: %s\n", paste(sprintf("%s %.1f s", rownames(fit$cost), fit$cost$seconds), collapse = "; ")))
  if (cells > 0) {
    out <- tempfile(fileext = ".csv")
    new <- gp_table(map_cells(cells))
    took <- system.time(predict(fit, new, what = c("fit", "se.fit"), interval = "confidence", filename = out))
    tell(sprintf("%g cells predicted with standard errors", floor(sqrt(cells))^2), took)
  }
  time[["elapsed"]] - made
}

# Measures one GPU, then several GPUs, each in a separate process, so that the peak memory of the process is the peak of
# the fit.
measure_apart <- function(settings) {
  self <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  seconds <- vapply(unique(c(1, settings$gpus)), function(gpus) {
    result <- tempfile(fileext = ".rds")
    settings$gpus <- gpus
    words <- sprintf("--%s=%s", names(settings), vapply(settings, format, "", scientific = FALSE))
    system2(file.path(R.home("bin"), "Rscript"), c(shQuote(self), shQuote(words), paste0("--result=", result)))
    readRDS(result)
  }, 0)
  cat(sprintf("\n%d GPUs: %.1f s beside %.1f s of one, without making rows: speed for each card %.2f\n", settings$gpus,
              seconds[[2]], seconds[[1]], seconds[[1]] / seconds[[2]] / settings$gpus))
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

# The settings given as --name=value, with defaults.
settings_of <- function(arguments) {
  given <- strsplit(sub("^--", "", arguments), "=", fixed = TRUE)
  given <- stats::setNames(lapply(given, `[[`, 2), vapply(given, `[[`, "", 1))
  known <- list(rows = 1e6, cells = NULL, backend = "cpu", memory = "16GB", gpus = 1, workers = 1, result = NULL)
  stopifnot(names(given) %in% c(names(known), "cells", "result"))
  settings <- utils::modifyList(known, given)
  settings$cells <- settings$cells %||% settings$rows
  for (name in c("rows", "cells", "gpus", "workers")) settings[[name]] <- as.numeric(settings[[name]])
  settings
}
`%||%` <- function(a, b) if (is.null(a)) b else a

arguments <- commandArgs(TRUE)
if (any(startsWith(arguments, "--"))) {
  settings <- settings_of(arguments)
  result <- settings$result
  settings$result <- NULL
  if (is.null(result) && settings$gpus > 1) measure_apart(settings) else {
    seconds <- do.call(measure, settings)
    if (!is.null(result)) saveRDS(seconds, result)
  }
} else if (identical(arguments[1], "compare")) {
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
