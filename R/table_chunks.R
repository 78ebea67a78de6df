# The chunks of a table in files of the work directory. The first pass over the table saves the chunks (table_scan.R);
# workers then convert the chunks to records and sort the records by cell, without access to the source of the table.

# Chunks are collected in one file until the file has at least this number of rows.
file_rows <- 2.5e5

# A list of add(chunk), which saves the chunk, together with the following chunks if these are small, and of finish(),
# which returns the number of the first row of each file.
chunk_writer <- function(store) {
  waiting <- list()
  first <- numeric()
  next_row <- 1
  flush <- function() {
    if (!length(waiting)) return(invisible())
    first <<- c(first, next_row)
    write_object(in_store(store, "chunks-", length(first)), waiting)
    next_row <<- next_row + sum(vapply(waiting, nrow, 0L))
    waiting <<- list()
  }
  add <- function(chunk) {
    waiting <<- c(waiting, list(chunk))
    if (sum(vapply(waiting, nrow, 0L)) >= file_rows) flush()
  }
  finish <- function() {
    flush()
    first
  }
  list(add = add, finish = finish)
}

# TRUE if worker processes read the chunks of a source.
reads_elsewhere <- function(source, formula) {
  !is.null(source$read) && is_portable(formula, environment(formula), source$columns)
}

# Saves all chunks of a source, each in a separate file; `source$read` is called by workers. Calls visit() with the
# number of rows and the levels of each chunk, in the order of the chunks; returns the number of the first row of each
# file.
read_elsewhere <- function(source, columns, formula, size, store, visit) {
  environment(formula) <- asNamespace("stats")
  each <- worker_count()
  counts <- numeric()
  repeat {
    saved <- over_units(length(counts) + seq_len(each), save_chunk, source$read, columns, formula,
                        min(size, file_rows), list(path = store$path))
    saved <- saved[cumsum(vapply(saved, is.null, NA)) == 0] # drops results after the last chunk
    for (about in saved) {
      visit(about)
      counts <- c(counts, about$n)
    }
    say_progress(step = paste("read", sum(counts), "rows"))
    if (length(saved) < each) break
  }
  1 + cumsum(c(0, counts))[seq_along(counts)]
}

# Saves chunk `number`; returns NULL after the last chunk.
save_chunk <- function(number, read, columns, formula, size, store) {
  chunk <- read(number)
  if (is.null(chunk)) return(NULL)
  check_chunk(chunk, columns, number, call = NULL)
  chunk <- as.data.frame(chunk)[columns]
  refuse_integer64(chunk, NULL)
  parts <- list()
  visit_rows(chunk, size, function(part) parts <<- c(parts, list(part)))
  write_object(in_store(store, "chunks-", number), parts)
  list(n = nrow(chunk), levels = levels_of_chunk(formula, chunk, NULL))
}

# The rows of the table with these increasing numbers, from the saved chunks.
saved_rows <- function(rows, first, store) {
  files <- split(rows, findInterval(rows, first))
  units <- Map(function(rows, k) list(file = k, rows = rows - first[[k]] + 1), files, as.integer(names(files)))
  do.call(rbind, unname(over_units(unname(units), rows_of_file, list(path = store$path))))
}

rows_of_file <- function(unit, store) {
  do.call(rbind, read_object(in_store(store, "chunks-", unit$file)))[unit$rows, , drop = FALSE]
}

# TRUE if an expression has the same value in every process: its variables are columns, and its functions are those of R
# or are named with their package.
is_portable <- function(e, env, columns) {
  if (is.name(e)) {
    name <- as.character(e)
    return(name %in% c(columns, ".", "") || belongs_to_r(name, env))
  }
  if (is.call(e)) {
    if (identical(e[[1]], quote(`::`))) return(TRUE)
    return(all(vapply(as.list(e), is_portable, NA, env, columns)))
  }
  is.null(e) || is.atomic(e)
}

belongs_to_r <- function(name, env) {
  homes <- list(baseenv(), asNamespace("stats"))
  any(vapply(homes, function(home) {
    exists(name, envir = home, inherits = FALSE) && identical(get(name, envir = home), get0(name, envir = env))
  }, NA))
}

# TRUE if the records of a fit are portable, that is, if records_of_chunk() has the same result in every process.
has_portable_records <- function(pilot, columns) {
  given <- pilot$quosures[c("weights", "noise")]
  given <- Filter(Negate(is.null), given)
  is_portable(pilot$formula, environment(pilot$formula), columns) &&
    is_portable(pilot$parts$coords, environment(pilot$parts$coords), columns) &&
    all(vapply(given, function(x) is_portable(rlang::quo_get_expr(x), rlang::quo_get_env(x), columns), NA))
}

# The parts of a pilot fit from which another process computes portable records, without the sample and without
# environments of the user.
pilot_for_tasks <- function(pilot) {
  home <- asNamespace("stats")
  pilot <- pilot[intersect(c("parts", "model", "center", "known", "quosures", "formula"), names(pilot))]
  pilot$parts <- without_rows(pilot$parts)
  environment(pilot$formula) <- home
  environment(pilot$parts$terms) <- home
  if (inherits(pilot$parts$coords, "formula")) environment(pilot$parts$coords) <- home
  attr(pilot$parts$frame, "terms") <- pilot$parts$terms
  for (name in c("weights", "noise")) {
    x <- pilot$quosures[[name]]
    if (!is.null(x)) pilot$quosures[[name]] <- rlang::quo_set_env(x, home)
  }
  pilot
}

# The parts of a fit without its observations; a row of the model frame is kept for its classes.
without_rows <- function(parts) {
  for (name in c("x", "u", "z")) parts[[name]] <- parts[[name]][0, , drop = FALSE]
  parts$frame <- parts$frame[1, , drop = FALSE]
  parts[c("y", "offset", "noise", "weights", "rows")] <- list(numeric())
  parts[c("response", "jacobian")] <- NULL
  parts
}

# Converts the chunks of file `k` to records and writes the records, sorted by cell, to a file. Returns the number of
# records of each cell, their boxes, and the triangular factor of [X, y] and sums for each chunk, so that results do not
# depend on the division of chunks into files.
sort_file <- function(k, first, pilot, partition, near_of, store, call = NULL) {
  chunks <- read_object(in_store(store, "chunks-", k))
  begin <- first[[k]] + cumsum(c(0, vapply(chunks, nrow, 0L)))[seq_along(chunks)]
  parts <- Map(function(chunk, begin) records_of_chunk(pilot, chunk, begin, call), chunks, begin)
  records <- do.call(rbind, parts)
  parts <- Filter(nrow, parts)
  count <- cell_count(partition)
  if (!nrow(records)) return(list(rows = integer(count)))
  near <- near_of(coordinates_of_records(records))
  of <- cells_of(partition, near)
  write_rows(in_store(store, "rows-", k), records[order(of), , drop = FALSE])
  say_progress(step = paste("sorted", begin[[length(begin)]] + nrow(chunks[[length(chunks)]]) - 1, "rows"))
  list(rows = tabulate(of, count), boxes = boxes_of_cells(near, of, count), noise = max(records[, "noise"]),
       roots = lapply(parts, function(part) qr_root(trend_of_records(part))),
       of_response = lapply(parts, sums_of_response, pilot$quosures$transform))
}

# Returns the result of sort_file(), or NULL if the records have an error. In this case, the main process repeats the
# conversion and reports the error.
sort_file_or_null <- function(...) tryCatch(sort_file(...), kernops_input_error = function(e) NULL)
