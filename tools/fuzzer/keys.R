# Groups and runs of keys of every type. A column of keys represents integer codes 1, 2, 3, ... of the distinct values,
# or NA. The oracle computes the results by these codes in base R.

text <- sort(c("a", "b", "\u00e4", "\u00df", "", " ", "1", "NA"))

# Each kind: distinct values in ascending order, and functions that write equal values in another way.
kinds <- list(
  integers = list(values = c(-7L, 0L, 1L, 2147483647L), ways = list(identity, as.numeric)),
  sparse = list(values = as.integer(10^(0:9)), ways = list(identity, as.numeric)),
  doubles = list(values = c(-Inf, -2^53, -1, 0, 5e-324, 1, 1 + 2^-52, 2^53, Inf), ways = list(identity)),
  dates = list(values = as.Date("2024-02-28") + 0:3, ways = list(identity, \(x) `storage.mode<-`(x, "integer"))),
  times = list(values = origin + c(0.1, 0.3, 3600, 7200),
               ways = list(identity, \(x) in_zone(x, "Asia/Tokyo"), as.POSIXlt)),
  durations = list(values = as.difftime(c(-5, 60, 90, 120.5), units = "mins"),
                   ways = list(identity, \(x) `units<-`(x, "hours"))),
  complex = list(values = complex(real = c(-1, 0, 0, 1), imaginary = c(2, 0, 1, -1)), ways = list(identity)),
  strings = list(values = text, ways = list(identity, latin1, \(x) factor(x, text), \(x) factor(latin1(x), text))),
  factors = list(values = factor(c("lo", "mid", "hi"), c("lo", "mid", "hi")),
                 ways = list(identity, \(x) factor(x, levels(x), ordered = TRUE))),
  truths = list(values = c(FALSE, TRUE), ways = list(identity, as.integer)),
  bytes = list(values = as.raw(c(0, 1, 128, 255)), ways = list(identity, as.integer))
)
if (requireNamespace("bit64", quietly = TRUE)) {
  large <- bit64::as.integer64(c("-9007199254740993", "1", "9007199254740992", "9007199254740993"))
  kinds$integer64 <- list(values = large, ways = list(identity))
}

# Makes a column of n keys: returns the codes of the distinct values, and the keys.
column_of_keys <- function(n) {
  kind <- pick(names(kinds))
  values <- kinds[[kind]]$values
  code <- sample(length(values), n, TRUE)
  if (kind != "bytes" && stats::runif(1) < 0.5) code[stats::runif(n) < 0.2] <- NA
  if (stats::runif(1) < 0.5) code <- sort(code, na.last = TRUE)
  key <- pick(kinds[[kind]]$ways)(values[code])
  list(kind = kind, code = code, key = key, levels = if (is.factor(key)) seq_along(values))
}

# Missing keys belong to no group; all levels of a factor are groups.
group_of <- function(column) {
  factor(column$code, if (is.null(column$levels)) sort(unique(column$code)) else column$levels)
}

statistics <- list(sum = sum, mean = mean, max = \(v) if (length(v)) max(v) else -Inf, count = length,
                   median = \(v) if (length(v)) stats::median(v) else NA, n_distinct = \(v) length(unique(v)))
by_value <- list(
  scan = list(\(x, g) seg_scan(x, g = g), cumsum),
  rank = list(\(x, g) seg_rank(x, g = g), rank),
  center = list(\(x, g) seg_transform(x, "center", g = g), \(v) v - mean(v)),
  lag = list(\(x, g) seg_transform(x, "lag", g = g), \(v) c(NA, v[-length(v)])),
  roll = list(\(x, g) seg_roll(x, 2, g = g), \(v) c(NA, v[-1] + v[-length(v)])),
  softmax = list(\(x, g) seg_softmax(x, g = g), \(v) exp(v) / sum(exp(v)))
)
along_groups <- function(x, group, f) {
  result <- rep(NA_real_, length(x))
  for (rows in split(seq_along(x), group)) if (length(rows)) result[rows] <- f(x[rows])
  result
}

one_group <- function() {
  n <- sample(c(0, 1, 2, 7, 40, 300), 1)
  x <- round(stats::rnorm(n), 1)
  column <- column_of_keys(n)
  group <- group_of(column)
  label <- sprintf("%d values by %s as %s", n, column$kind, class(column$key)[[1]])
  op <- pick(names(statistics))
  compare(paste(op, "of", label), \() seg_reduce(x, g = column$key, op = op),
          \() vapply(split(x, group), \(v) as.numeric(statistics[[op]](v)), 0))
  transform <- pick(names(by_value))
  compare(paste(transform, "of", label), \() by_value[[transform]][[1]](x, column$key),
          \() along_groups(x, group, by_value[[transform]][[2]]))
}

one_pair <- function() {
  n <- sample(c(1, 7, 60), 1)
  x <- round(stats::rnorm(n), 1)
  columns <- list(column_of_keys(n), column_of_keys(n))
  code <- \(column) ifelse(is.na(column$code), NA, column$code)
  joint <- code(columns[[1]]) * 100 + code(columns[[2]])
  keys <- lapply(columns, `[[`, "key")
  label <- paste(vapply(columns, `[[`, "", "kind"), collapse = " and ")
  compare(paste("sum by", label), \() seg_reduce(x, g = keys),
          \() vapply(split(x, joint), sum, 0))
}

one_run <- function() {
  n <- sample(c(1, 7, 60), 1)
  x <- round(stats::rnorm(n), 1)
  column <- column_of_keys(n)
  code <- ifelse(is.na(column$code), 0, column$code)
  run <- cumsum(c(1, diff(code) != 0))
  compare(sprintf("runs of %s as %s", column$kind, class(column$key)[[1]]),
          \() reduce_by_key(column$key, x)$values, \() vapply(split(x, run), sum, 0))
}

run_part <- function() {
  while (there_is_time()) switch(sample(4, 1), one_group(), one_group(), one_pair(), one_run())
}
