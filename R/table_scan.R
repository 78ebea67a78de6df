# The first pass over a table: counts the rows, and draws a sample of rows, which determines the model of a fit. The
# chunks are saved in the work directory, so that the table is read once (table_chunks.R).

sample_size <- 65536

# A list of `n`, the number of rows, and `sample`, a data frame with at most `max_rows` rows. The sample contains the
# first row of each level of the factors in the trend, and random rows. The sample does not depend on the size of
# chunks. With a `store`, the chunks are saved, and the list has `first`, the number of the first row of each file.
scan_table <- function(source, columns, formula, size, seed, store = NULL, max_rows = sample_size,
                       call = caller_env()) {
  sampler <- new_sampler(seed, max_rows)
  is_new <- level_register(call)
  first <- NULL
  sample <- NULL
  if (!is.null(store) && reads_elsewhere(source, formula)) {
    first <- read_elsewhere(source, columns, formula, size, store, function(about) {
      sampler$offer(about$n, is_new(about$levels))
    })
    sample <- saved_rows(sampler$rows(), first, store)
  } else {
    saving <- if (!is.null(store)) chunk_writer(store)
    at <- numeric()
    keep <- function(rows) {
      kept <- at %in% rows
      at <<- at[kept]
      sample <<- sample[kept, , drop = FALSE]
    }
    scan_source(source, columns, if (is.null(store)) size else min(size, file_rows), function(chunk) {
      refuse_integer64(chunk, call)
      before <- sampler$total()
      some <- sampler$offer(nrow(chunk), is_new(levels_of_chunk(formula, chunk, call)))
      at <<- c(at, before + some)
      sample <<- rbind(sample, chunk[some, , drop = FALSE])
      if (length(at) > length(sampler$candidates())) keep(sampler$candidates())
      if (!is.null(saving)) saving$add(chunk)
      say_progress(step = paste("read", sampler$total(), "rows"))
    }, call)
    if (!is.null(saving)) first <- saving$finish()
    keep(sampler$rows())
  }
  if (sampler$total() == 0) stop_kernops("input", "The table has no rows.", call = call)
  rownames(sample) <- NULL
  list(n = sampler$total(), sample = sample, first = first)
}

# Selects at most `max_rows` random rows of a table whose number of rows is unknown. A list of
#   offer(count, new)   considers the next `count` rows; the rows `new` are selected before all other rows. Returns the
#                       indices, among the `count` rows, of the rows that may be selected
#   candidates(), rows()  the row numbers of all rows that may still be selected, and of the selected rows
#   total()             the number of rows that were offered so far
new_sampler <- function(seed, max_rows) {
  draw <- uniform_stream(seed)
  n <- 0
  key <- row <- numeric()
  shorten <- function() {
    some <- sort(order(key)[seq_len(max_rows)])
    key <<- key[some]
    row <<- row[some]
  }
  offer <- function(count, new) {
    drawn <- draw(count)
    drawn[new] <- -1
    limit <- if (length(key) < max_rows) Inf else sort(key, partial = max_rows)[[max_rows]]
    some <- which(drawn < limit)
    key <<- c(key, drawn[some])
    row <<- c(row, n + some)
    n <<- n + count
    if (length(key) > 2 * max_rows) shorten()
    some
  }
  rows <- function() {
    if (length(key) > max_rows) shorten()
    row
  }
  list(offer = offer, candidates = function() row, rows = rows, total = function() n)
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

# The levels of each factor of the trend in a chunk, in the order in which they occur, and the rows in which they occur
# for the first time.
levels_of_chunk <- function(formula, chunk, call) {
  trend <- stats::delete.response(stats::terms(formula, data = chunk))
  frame <- tryCatch(stats::model.frame(trend, chunk, na.action = stats::na.pass), error = function(e) {
    stop_kernops("input", "The trend cannot be evaluated: {conditionMessage(e)}.", call = call)
  })
  lapply(Filter(Negate(is.numeric), as.list(frame)), function(column) {
    labels <- as.character(column)
    levels <- unique(labels[!is.na(labels)])
    list(levels = levels, rows = match(levels, labels))
  })
}

# Returns a function of a result of levels_of_chunk(), which must be called for the chunks in their order. The function
# returns the rows of the chunk in which a level occurs for the first time in the table.
level_register <- function(call, max_levels = 1e4) {
  seen <- list()
  function(chunk) {
    rows <- integer()
    for (name in names(chunk)) {
      new <- !chunk[[name]]$levels %in% seen[[name]]
      seen[[name]] <<- c(seen[[name]], chunk[[name]]$levels[new])
      rows <- c(rows, chunk[[name]]$rows[new])
      if (length(seen[[name]]) > max_levels) {
        stop_kernops("input", "{.code {name}} of the trend has more than {max_levels} levels.", call = call)
      }
    }
    unique(rows)
  }
}
