# Arguments of gp() that fits of tables do not support, and the memory that these fits need.

# Stops at the first argument of gp() that is not supported for a table; the message names an alternative. `chosen` are
# quosures of arguments.
check_table_settings <- function(chosen, family, how, call) {
  given <- c(subset = !rlang::quo_is_null(chosen$subset), group = !rlang::quo_is_null(chosen$group),
             family = !is.null(family), precision = how$precision != "float64")
  if (!any(given)) return(invisible())
  name <- names(which(given))[[1]]
  instead <- c(
    subset = "A query may select its rows.", group = "A query for each group gives separate fits.",
    family = "A family needs the field at all observations at once, 7 kB for each: a data frame of the rows, or of a
              sample of them, can be fitted.",
    precision = "Tables are fitted in float64."
  )
  stop_kernops("input", c("{.arg {name}} is not available for a table that is read in chunks.", i = instead[[name]]),
               call = call)
}

check_table_model <- function(formula, covariance, coords, how, call) {
  if (!inherits(coords, "formula")) {
    stop_kernops("input", "{.arg coords} of a table must be a formula such as {.code ~ x + y}, or names of columns.",
                 call = call)
  }
  if (!how$method %in% c("auto", "vecchia")) {
    stop_kernops("input", "A table is fitted by {.code method = \"vecchia\"}, not {.val {how$method}}.", call = call)
  }
  if (identical(how$control$neighbours, "auto")) {
    stop_kernops("input", "{.code neighbours = \"auto\"} is not available for a table: give their number.", call = call)
  }
  if (how$control$ordering != "maxmin") {
    stop_kernops("input", "The {.arg ordering} of a table is {.val maxmin} within cells, not
                           {.val {how$control$ordering}}.", call = call)
  }
  effects <- length(split_effects(formula[[3]])$effects) > 0 || has_effects(list(covariance = covariance))
  refuse <- function(what, instead) {
    stop_kernops("input", c("{what} are not available for a table that is read in chunks.", i = instead), call = call)
  }
  if (is_lmc(covariance)) {
    refuse("Models of several variables", "Each variable can be fitted separately, or all of them in a data frame.")
  }
  if (effects) {
    refuse("Random effects and smooths", "The trend takes factors, {.code splines::ns()} and {.fn poly}; a data frame of
                                          the rows takes effects.")
  }
}

check_block_model <- function(model, call) {
  if (!model$intrinsic) return(invisible())
  stop_kernops("input", "Intrinsic models, such as {.fn power_law}, are not available for a table.", call = call)
}

# The number of rows of a chunk. A chunk, together with the columns computed from it, takes a twentieth of the memory.
chunk_rows <- function(memory, columns) {
  if (is.null(memory)) return(2e5)
  min(1e6, max(1e4, floor(memory_bytes(memory) / 20 / (8 * 8 * (columns + 4)))))
}

# The number of bytes, from text such as "8 GB" or a number.
memory_bytes <- function(memory) {
  if (is.numeric(memory)) return(memory)
  parts <- regmatches(memory, regexec("^\\s*([0-9.]+)\\s*([KMGT])i?B?\\s*$", memory, ignore.case = TRUE))[[1]]
  as.numeric(parts[[2]]) * 1024^match(toupper(parts[[3]]), c("K", "M", "G", "T"))
}

check_memory_bound <- function(memory, call = caller_env()) {
  if (is.null(memory)) return(invisible())
  good <- is.numeric(memory) && length(memory) == 1 && is.finite(memory) && memory > 0 ||
    is_string(memory) && grepl("^\\s*[0-9]+([.][0-9]*)?\\s*[KMGT]i?B?\\s*$", memory, ignore.case = TRUE)
  if (good) return(invisible())
  stop_kernops("input", "{.arg memory} must be a size such as {.val 8 GB}, or a number of bytes.", call = call)
}

# Stops if a fit of n rows needs more memory than the limit.
check_table_memory <- function(memory, n, pilot, call) {
  if (is.null(memory)) return(invisible())
  needed <- needed_memory(n, pilot)
  if (needed <= memory_bytes(memory)) return(invisible())
  size <- size_text(needed)
  stop_kernops("memory", c("A fit of {n} rows needs about {size} of memory, more than {.arg memory} allows.",
                           i = "Cells have {cell_rows} rows: their size does not depend on {.arg memory}."),
               call = call)
}

# The number of bytes that a fit of n rows needs if one process runs all tasks.
needed_memory <- function(n, pilot) {
  parts <- memory_of_fit(n, pilot)
  bytes_of_r + parts$heads + parts$task
}
