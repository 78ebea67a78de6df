# The memory of a fit of a table and of its predictions. All processes together use at most the memory of
# gp_control(memory = ). This limit determines how many workers compute at a time and how much data each worker keeps,
# but does not change results.

# The largest number of workers that fit into the memory, if each worker needs the memory of an R process and `each`
# bytes for a task, and this process needs `main` bytes. If the result is 1, only this process runs tasks; if the result
# is 0, the memory is too small even for this process.
workers_within <- function(memory, each, main = 0) {
  if (is.null(memory)) return(Inf)
  memory <- memory_bytes(memory) - bytes_of_r - main
  count <- floor(memory / (bytes_of_r + each))
  if (count > 1) count else as.numeric(each <= memory)
}

# The bytes of a process of R with its packages.
bytes_of_r <- 3e8

# The bytes for the heads of all cells (table_order.R) with their search tree and neighbours, if a record has `width`
# bytes.
bytes_of_heads <- function(heads, width) heads * (4 * width + 4 * 64)

# The bytes that a fit of n rows needs in addition to R: `heads`, for the heads of all cells (the first points of each
# cell in the ordering); `task`, for some copies of a cell with its halo (the points of other cells near its box); and
# `unit`, for a unit (table_sets.R) with m neighbours that a process keeps.
memory_of_fit <- function(n, pilot, m = 60) {
  width <- 8 * (5 + ncol(pilot$data$u) + ncol(pilot$data$x))
  heads <- if (n <= cell_rows) n else cell_heads * 2^ceiling(log2(n / cell_rows))
  rows <- min(n, cell_rows)
  list(heads = bytes_of_heads(heads, width), task = 12 * rows * (width + 4 * 60), unit = rows * (width + 8 * m))
}

# The measured bytes of host memory of a process that uses a GPU (bench/HISTORY.md).
bytes_of_gpu_process <- 3e8

# The limits by which a fit of n rows stays within `memory`: the number of workers that run its tasks, and the number of
# units that all processes together keep in memory.
limits_of_fit <- function(memory, n, pilot, m, backend) {
  if (is.null(memory)) return(list(workers = Inf, units = Inf))
  parts <- memory_of_fit(n, pilot, m)
  each <- parts$task + if (may_use_gpu(backend)) bytes_of_gpu_process else 0
  workers <- workers_within(memory, each, parts$heads)
  several <- running_workers(workers)
  used <- bytes_of_r + parts$heads + if (several > 1) several * (bytes_of_r + each) else each
  list(workers = max(1, workers), units = max(0, floor((memory_bytes(memory) - used) / parts$unit)))
}

# The number of workers that run tasks if at most `limit` workers may run.
running_workers <- function(limit) if (limit > 1) min(limit, worker_count()) else 1

# The largest number of workers that can each have the field of one of the `cells` in memory, see predictor_of_cell().
# Raises an error if the memory is too small for a single field.
workers_for_fields <- function(object, cells, call = caller_env()) {
  memory <- object$how$control$memory
  if (is.null(memory) || !length(cells) || object$blocks$d > 3) return(Inf)
  blocks <- fit_for_tasks(object)$blocks
  width <- 8 * length(blocks$columns)
  m <- neighbours_of_field(object)
  field <- max(records_near_cells(blocks, cells, m)) * bytes_of_record(m, blocks$d, width)
  main <- bytes_of_heads(sum(blocks$first), width)
  count <- workers_within(memory, field, main)
  if (count > 0) return(count)
  size <- size_text(bytes_of_r + main + field)
  stop_kernops("memory", c("Predictions of a cell of the table need about {size} of memory, more than {.arg memory}
                            allows.",
                           i = "{.code control = list(memory = )} is the bound of a prediction; {.code joint = FALSE}
                                needs less memory."), call = call)
}

workers_for_cells <- function(object, cells, request, call = caller_env()) {
  if (predicts_from_field(object, request)) workers_for_fields(object, cells, call) else Inf
}

# The measured number of bytes that a field needs for each of its records of `width` bytes (bench/HISTORY.md). The terms
# are the pairs of m neighbours, the entries of the factor, whose number increases with the number of dimensions d, the
# weights, the record, and the sums of each thread.
bytes_of_record <- function(m, d, width) {
  2 * m * (m + 1) + 44 * m * (0.8 + 0.7 * d) + 60 * m + 4 * width + 64 * threads()
}

# The approximate number of records that determine the field in each of the `cells`, see records_of_field(). The level
# of a record is assumed to be at most the level of its cell, and half of this level on average.
records_near_cells <- function(blocks, cells, m) {
  reach <- blocks$halo + halo_reach(blocks$level, m, blocks$d) / 2
  vapply(cells, function(k) {
    box <- box_of_cell(blocks, k)
    share <- 1
    for (along in seq_len(dim(blocks$boxes)[[2]])) {
      low <- blocks$boxes[1, along, ]
      high <- blocks$boxes[2, along, ]
      common <- pmin(high, box[2, along] + reach) - pmax(low, box[1, along] - reach)
      share <- share * ifelse(high > low, pmax(common, 0) / (high - low), common >= 0)
    }
    sum((share * blocks$rows)[blocks$rows > 0])
  }, 0)
}
