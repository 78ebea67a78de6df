# Worked examples of segmented reductions. The expected results were published with the inputs or computed by
# independent code.

seg_examples <- list(
  csr = list(
    starts = c(0, 9, 19, 25, 71, 87, 97),
    values = c(1, 5, 5, 1, 2, 5, 1, 1, 4, 4, 5, 3, 4, 4, 4, 2, 2, 4, 2, 5, 5, 1, 5, 1, 4, 5, 1, 4, 2, 2, 2, 3, 3, 1,
      4, 2, 4, 2, 1, 2, 5, 1, 2, 2, 3, 1, 2, 5, 4, 1, 2, 5, 4, 2, 4, 1, 3, 2, 4, 4, 4, 4, 4, 3, 4, 4, 1,
      5, 1, 1, 3, 2, 3, 1, 4, 1, 1, 4, 4, 4, 3, 5, 5, 3, 2, 1, 5, 5, 4, 5, 4, 2, 2, 3, 5, 5, 1, 4, 1, 5),
    sum = c(25, 34, 21, 129, 48, 36, 10),
    max = c(5, 5, 5, 5, 5, 5, 5),
    min = c(1, 2, 1, 1, 1, 1, 1),
    lengths = c(9, 10, 6, 46, 16, 10, 3),
    starts_with_empties = c(0, 0, 9, 19, 19, 19, 25, 71, 87, 97, 100, 100),
    sum_with_empties = c(0, 25, 34, 0, 0, 21, 129, 48, 36, 10, 0, 0),
    sources = c(50, 0, 90, 3, 20, 60, 97),
    sum_of_sources = c(27, 29, 21, 132, 45, 31, 10)
  ),
  by_key = list(
    keys = c(0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
      2, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6,
      6, 6, 7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8),
    values = c(2, 4, 2, 4, 1, 5, 3, 2, 4, 4, 2, 5, 2, 2, 5, 3, 3, 5, 3, 3, 2, 2, 1, 4, 4, 2, 1, 4, 1, 3, 1, 3, 2, 4,
      2, 5, 1, 2, 1, 5, 4, 4, 1, 5, 4, 1, 5, 2, 3, 4, 1, 2, 4, 2, 5, 4, 3, 4, 5, 3, 3, 4, 2, 1, 1, 2, 3,
      3, 2, 2, 2, 4, 1, 5, 5, 2, 2, 4, 3, 1, 3, 5, 4, 1, 2, 3, 2, 2, 5, 5, 1, 3, 3, 3, 4, 5, 5, 2, 4, 3),
    sum_keys = c(0, 1, 2, 3, 4, 5, 6, 7, 8),
    sum = c(8, 10, 82, 23, 9, 33, 36, 2, 94),
    starts = c(0, 3, 6, 35, 43, 45, 56, 69, 70),
    lengths = c(3, 3, 29, 8, 2, 11, 13, 1, 30),
    max = c(4, 5, 5, 5, 5, 5, 5, 2, 5),
    min = c(2, 1, 1, 1, 4, 1, 1, 2, 1)
  ),
  figure = list(
    values = c(5, 4, 5, 0, 0, 4, 2, 5, 1, 3, 1, 5, 1, 2, 0, 3, 0, 2, 3, 4, 4, 3, 2, 5, 5, 0, 5, 0, 3, 4, 5, 1, 1, 0,
      5, 3, 2, 3, 3, 3, 1, 5, 4, 5, 4, 3, 3, 1, 5, 1, 4, 5, 2, 0, 0, 4, 4, 2, 4, 4, 2, 3, 2, 3, 4, 2, 0,
      3, 2, 3, 5, 0, 4, 0, 2, 4, 2, 5, 4, 0, 3, 2, 5, 4, 2, 0, 5, 3, 5, 1, 0, 0, 0, 3, 2, 5, 5, 5, 2, 4,
      0, 3, 5, 3, 0, 4, 0, 5, 0, 5, 5, 3, 4, 5, 4, 2, 4, 4, 4, 3, 5, 1, 3, 1, 5, 3, 3, 5, 5, 1, 5, 0, 2,
      4, 2, 4, 3, 2, 0, 5, 0, 5, 4, 5, 0, 5, 2, 3, 1, 2, 2, 2, 2, 4, 0, 3, 0, 3, 0, 4, 1, 0, 5),
    offsets = c(0, 2, 3, 8, 14, 22, 39, 44, 49, 51, 68, 82, 86, 96, 103, 117, 119, 130, 149, 151, 163),
    sum = c(9, 5, 11, 13, 19, 47, 18, 16, 5, 44, 36, 11, 24, 24, 44, 8, 35, 52, 4, 24),
    max = c(5, 5, 5, 5, 4, 5, 5, 5, 4, 5, 5, 5, 5, 5, 5, 4, 5, 5, 2, 5),
    min = c(4, 5, 0, 1, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 4, 1, 0, 2, 0),
    walk = 8, # number of values per thread; `partials` and `carry_*` have an element for each thread
    partials = list(c(9, 5, 11), 13, 16, numeric(), 17, 15, c(5, 5), numeric(),
      9, numeric(), c(5, 11), 16, 24, numeric(), c(19, 8), numeric(), 6, numeric(), c(11, 4), numeric(), 6),
    carry_out = c(0, 3, 7, 23, 3, 11, 11, 24, 10, 21, 8, 0, 3, 22, 3, 26, 17, 24, 2, 16, 0),
    carry_in = c(0, 0, 3, 7, 30, 3, 11, 11, 35, 10, 31, 8, 0, 3, 25, 3, 29, 17, 41, 2, 18)
  ),
  scan = list(
    values = c(4, 4, 3, 2, 2, 5, 5, 0, 5, 0, 3, 4, 5, 1, 1, 0, 5, 3, 2, 3, 3, 2, 3, 1),
    begins = c(0, 0, 0, 3, 3, 3, 3, 3, 3, 3, 10, 11, 11, 11, 11, 11, 16, 16, 16, 16, 16, 16, 16, 16),
    steps = list( # step k: for each value, the sum of the last 2^k values of its segment
      c(4, 8, 7, 2, 4, 7, 10, 5, 5, 5, 3, 4, 9, 6, 2, 1, 5, 8, 5, 5, 6, 5, 5, 4),
      c(4, 8, 11, 2, 4, 9, 14, 12, 15, 10, 3, 4, 9, 10, 11, 7, 5, 8, 10, 13, 11, 10, 11, 9),
      c(4, 8, 11, 2, 4, 9, 14, 14, 19, 19, 3, 4, 9, 10, 11, 11, 5, 8, 10, 13, 16, 18, 21, 22)
    ),
    running = c(4, 8, 11, 2, 4, 9, 14, 14, 19, 19, 3, 4, 9, 10, 11, 11, 5, 8, 10, 13, 16, 18, 21, 22)
  ),
  partition = list(
    offsets = c(0, 957, 1008, 2000, 2312)
  )
)

# Plain R code of the operations, for one segment.
oracle_segment <- list(
  sum = sum, prod = prod, mean = mean, var = stats::var, sd = stats::sd, any = \(x) any(x != 0), all = \(x) all(x != 0),
  min = \(x) if (length(x)) min(x) else Inf, max = \(x) if (length(x)) max(x) else -Inf, count = length,
  argmin = \(x) if (length(x)) first_place(x, which.min) else NA, logsumexp = \(x) log(sum(exp(x))),
  argmax = \(x) if (length(x)) first_place(x, which.max) else NA,
  first = \(x) if (length(x)) x[[1]] else NA, last = \(x) if (length(x)) x[[length(x)]] else NA
)
# Reductions of integers, and reductions that return several numbers.
oracle_segment_bits <- list(
  bit_and = \(x) Reduce(bitwAnd, x, -1L), bit_or = \(x) Reduce(bitwOr, x, 0L), bit_xor = \(x) Reduce(bitwXor, x, 0L)
)
oracle_segment_several <- list(range = \(x) c(min = oracle_segment$min(x), max = oracle_segment$max(x)))

# A list of the positions of the values of each segment, for segments with these lengths.
by_lengths <- function(lengths) {
  segments <- seq_along(lengths)
  unname(split(seq_len(sum(lengths)), factor(rep(segments, lengths), segments)))
}
oracle_reduce_segments <- function(x, op, positions, na.rm = FALSE) {
  one <- function(at) {
    values <- x[at]
    if (na.rm && op %in% c("argmin", "argmax")) return(as.numeric(get(sub("arg", "which.", op))(values)[1]))
    as.numeric(oracle_segment[[op]](if (na.rm) values[!is.na(values)] else values))
  }
  unname(vapply(positions, one, 0))
}

# Softmax of each segment. Missing values stay missing; with na.rm, sums and maxima omit missing values.
oracle_softmax_segments <- function(x, positions, na.rm = FALSE) {
  for (at in positions) {
    values <- x[at]
    counts <- if (na.rm) !is.na(values) else rep(TRUE, length(at))
    e <- exp(values - max(values[counts], -Inf))
    x[at] <- e / sum(e[counts])
  }
  x
}

# Weighted reductions, in which the weight of a value is its frequency.
oracle_weighted <- list(
  sum = \(x, w) sum(x * w), mean = \(x, w) sum(x * w) / sum(w), logsumexp = \(x, w) log(sum(w * exp(x))),
  var = \(x, w) if (sum(w) > 1) sum(w * (x - sum(x * w) / sum(w))^2) / (sum(w) - 1) else NA,
  sd = \(x, w) sqrt(oracle_weighted$var(x, w))
)

# Applies any operation of the tables above to each column of a matrix. The result has one row for each segment, or for
# each value if `op` is softmax. For a range, the minima of all columns come first, then the maxima.
oracle_columns <- function(x, op, positions, na.rm = FALSE) {
  x <- as.matrix(x)
  rows <- if (op == "softmax") nrow(x) else length(positions)
  columns <- \(one) vapply(seq_len(ncol(x)), \(k) one(x[, k]), numeric(rows))
  if (op == "softmax") return(columns(\(x) oracle_softmax_segments(x, positions, na.rm)))
  if (op == "range") return(do.call(cbind, lapply(c("min", "max"), \(end) oracle_columns(x, end, positions, na.rm))))
  columns(\(x) oracle_reduce_segments(x, op, positions, na.rm))
}

# The integer64 numbers low + 2^32 high.
integer64 <- function(low, high) {
  halves <- if (.Platform$endian == "little") rbind(low, high) else rbind(high, low)
  structure(readBin(writeBin(as.integer(halves), raw()), "double", length(low)), class = "integer64")
}

with_threads <- \(n, code) withr::with_options(list(kernops.threads = n), code)
with_tile <- \(n, code) withr::with_options(list(kernops.tile = n), code)

# Lengths of segments for which the engine uses different methods of reduction, with empty segments among them.
mixed_lengths <- c(0, 0, 1, 2, 3, 0, 7, 8, 9, 15, 16, 17, 33, 100, 4095, 4096, 4097, 0, 9000, 1, 1, 1, 31, 64, 0)

# Random input for a test of an operation on segments of the given `lengths`: values `x`, their groups `keys`, and
# `gaps`, which is x with missing values.
segment_case <- function(op, lengths, groups, levels = seq_len(groups), missing = 6) {
  n <- sum(lengths)
  x <- rnorm(n)
  if (op %in% c("any", "all")) x <- as.numeric(runif(n) < if (op == "any") 0.2 else 0.8)
  if (grepl("arg", op)) x <- round(2 * x)
  keys <- factor(sample(groups, n, replace = TRUE), levels)
  list(n = n, x = x, keys = keys, gaps = replace(x, sample(n, missing), rep(c(NA, NaN), missing / 2)))
}

# Runs the tests of the named files again, with the GPU as backend.
test_again_on_gpu <- function(files) {
  if (!is.null(cuda_refusal())) return(invisible())
  for (file in files) local({
    withr::local_options(kernops.backend = "cuda")
    test_mistakes <- function(...) NULL # messages are tested only by the run with the default backend
    expect_snapshot <- function(...) NULL
    source(test_path(paste0("test-", file, ".R")), local = TRUE)
  })
}
