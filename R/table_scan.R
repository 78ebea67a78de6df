# The first pass over a table: counts the rows, and draws a sample of rows, which determines the model of a fit.

sample_size <- 65536

# A list of `n`, the number of rows, and `sample`, a data frame with at most `max_rows` rows. The sample contains the
# first row of each level of the factors in the trend, and random rows. The sample does not depend on the size of
# chunks.
scan_table <- function(source, columns, formula, size, seed, max_rows = sample_size, call = caller_env()) {
  draw <- uniform_stream(seed)
  has_new_level <- level_finder(formula, call)
  n <- 0
  key <- numeric()
  sample <- NULL
  keep <- function(rows) {
    key <<- key[rows]
    sample <<- sample[rows, , drop = FALSE]
  }
  scan_source(source, columns, size, function(chunk) {
    refuse_integer64(chunk, call)
    drawn <- draw(nrow(chunk))
    drawn[has_new_level(chunk)] <- -1 # rows with a new level are sampled before all other rows
    limit <- if (length(key) < max_rows) Inf else sort(key, partial = max_rows)[[max_rows]]
    some <- which(drawn < limit)
    sample <<- rbind(sample, chunk[some, , drop = FALSE])
    key <<- c(key, drawn[some])
    if (length(key) > 2 * max_rows) keep(sort(order(key)[seq_len(max_rows)]))
    n <<- n + nrow(chunk)
    say_progress(step = paste("read", n, "rows"))
  }, call)
  if (n == 0) stop_kernops("input", "The table has no rows.", call = call)
  if (length(key) > max_rows) keep(sort(order(key)[seq_len(max_rows)]))
  rownames(sample) <- NULL
  list(n = n, sample = sample)
}

# Returns a function f(n): the next n uniform numbers of a separate stream of random numbers, see with_derived_seed().
uniform_stream <- function(seed) {
  state <- with_derived_seed(seed, globalenv()$.Random.seed)
  function(n) {
    numbers <- NULL
    with_seed(seed, {
      assign(".Random.seed", state, envir = globalenv())
      numbers <- stats::runif(n)
      state <<- globalenv()$.Random.seed
    })
    numbers
  }
}

# Returns a function f(chunk): the rows in which a level of a factor in the trend occurs for the first time.
level_finder <- function(formula, call, max_levels = 1e4) {
  seen <- list()
  function(chunk) {
    trend <- stats::delete.response(stats::terms(formula, data = chunk))
    frame <- tryCatch(stats::model.frame(trend, chunk, na.action = stats::na.pass), error = function(e) {
      stop_kernops("input", "The trend cannot be evaluated: {conditionMessage(e)}.", call = call)
    })
    rows <- integer()
    for (name in names(frame)[vapply(frame, function(x) !is.numeric(x), NA)]) {
      labels <- as.character(frame[[name]])
      new <- setdiff(labels[!is.na(labels)], seen[[name]])
      seen[[name]] <<- c(seen[[name]], new)
      rows <- c(rows, match(new, labels))
      if (length(seen[[name]]) > max_levels) {
        stop_kernops("input", "{.code {name}} of the trend has more than {max_levels} levels.", call = call)
      }
    }
    unique(rows)
  }
}
