# Reductions of data frames: the plan of the segments is created once, and each column is reduced separately.

# Applies operations to the columns of a data frame. `segments` is a list of the arguments that define the segments, and
# run(x, op, plan) computes the result of a column x. With `by_value`, the result has a row for each row of the data
# frame; without `by_value`, a row for each segment.
compute_columns <- function(x, op, segments, run, by_value = FALSE, call = caller_env()) {
  keys <- frame_keys(x, segments, call)
  segments <- grouped_by(segments, keys$columns)
  tasks <- column_tasks(op, setdiff(names(x), keys$from), call)
  plan <- frame_plan(segments, nrow(x), by_value, call)
  results <- lapply(tasks, function(task) {
    result <- in_column(run(x[[task$column]], task$op, plan), task$column, call)
    split_outputs(result, x[[task$column]], task$name)
  })
  results <- do.call(c, results)
  groups <- if (by_value) unclass(x)[keys$from] else group_columns(keys$columns, plan, segments$sort)
  columns <- c(groups, results)
  names(columns) <- make.unique(names(columns), "_")
  rows <- if (by_value) attr(x, "row.names") else .set_row_names(segment_count(plan))
  frame_like(columns, rows, x)
}

grouped_by <- function(segments, columns) {
  if (is.null(columns)) return(segments)
  segments$g <- if (length(columns) > 1) columns else columns[[1]]
  segments["offsets"] <- list(NULL)
  segments
}

frame_plan <- function(segments, n, whole, call) {
  if (whole) return(disjoint_plan(segments$offsets, segments$lengths, segments$g, segments$plan, n, call))
  make_plan(segments$offsets, segments$lengths, segments$g, segments$plan, segments$sources, n, segments$sort, "`x`",
            call = call)
}

# The keys that define the groups: columns of x that a formula or dplyr::group_by() selects, or vectors that are not in
# x.
frame_keys <- function(x, segments, call) {
  g <- segments$g
  if (is.null(g) && is_keys(segments$offsets)) g <- segments$offsets
  none <- all(vapply(segments[c("offsets", "lengths", "plan")], is.null, NA))
  if (is.null(g) && none && inherits(x, "grouped_df")) {
    from <- setdiff(names(attr(x, "groups")), ".rows")
  } else if (inherits(g, "formula")) {
    from <- check_formula_columns(g, x, call)
  } else {
    columns <- if (is.null(g) || inherits(g, "GRP")) NULL else named_keys(g)
    return(list(columns = columns, from = character()))
  }
  list(columns = unclass(x)[from], from = from)
}

named_keys <- function(g) {
  if (!is.list(g)) return(list(group = g))
  names <- names(g) %||% character(length(g))
  stats::setNames(as.list(g), replace(names, !nzchar(names), "group"))
}

check_formula_columns <- function(formula, x, call) {
  names <- all.vars(formula)
  if (length(formula) == 2 && length(names) && all(names %in% names(x))) return(names)
  unknown <- setdiff(names, names(x))
  stop_kernops("input", c("A formula {.arg g} must be one-sided, with columns of {.arg x}, as in {.code ~ a + b}.",
                          x = if (length(unknown)) "{.arg x} has no column {.val {unknown}}."), call = call)
}

# The key of each segment, as columns of the result. These columns have the classes of the columns of keys.
group_columns <- function(columns, plan, sort) {
  if (is.null(columns)) return(if (!is.null(plan$names)) list(group = plan$names))
  alone <- length(columns) == 1 && is.factor(columns[[1]]) && sort
  rows <- if (!alone) run_plan(as.numeric(seq_len(segments(plan)$about$values)), plan, "first")
  key <- \(of) with_class_of(if (alone) seq_len(nlevels(of)) else unclass(of)[rows], of)
  lapply(columns, key)
}

# A list with the column, the operation and the name of each result. If `op` is a list named by columns, each of these
# columns has its operations; otherwise all operations are applied to all columns.
column_tasks <- function(op, columns, call) {
  by_column <- is.list(op) && !inherits(op, "seg_op") && !is.null(names(op))
  if (!by_column) op <- stats::setNames(rep(list(op), length(columns)), columns)
  unknown <- setdiff(names(op), columns)
  if (length(unknown)) {
    stop_kernops("input", c("The names of a list {.arg op} must be columns of {.arg x} other than the groups.",
                            x = "Unknown: {.val {unknown}}."), call = call)
  }
  tasks <- do.call(c, unname(Map(tasks_of_column, names(op), op)))
  if (length(tasks)) return(tasks)
  stop_kernops("input", "{.arg x} must have a column besides the groups, and {.arg op} an operation.", call = call)
}

tasks_of_column <- function(column, op) {
  ops <- if (inherits(op, "seg_op")) list(seg_op = op) else as.list(op)
  labels <- names(ops) %||% character(length(ops))
  plain <- vapply(ops, \(op) if (is.character(op)) op else "seg_op", "")
  labels <- ifelse(nzchar(labels), labels, plain)
  names <- if (length(ops) == 1 && is.null(names(op))) column else paste(column, labels, sep = "_")
  Map(\(op, name) list(column = column, op = op, name = name), unname(ops), names)
}

# Evaluates the result of a column, and adds the name of the column to the messages of errors.
in_column <- function(result, column, call) {
  tryCatch(result, kernops_error = function(e) {
    e$message <- paste0("Column `", column, "`: ", e$message)
    e$call <- without_data(rlang::frame_call(call))
    rlang::cnd_signal(e)
  })
}

# If the operation has several results for each segment, such as quantiles, splits them into columns.
split_outputs <- function(result, x, name) {
  outputs <- if (is.null(dim(x))) dimnames(result)[[2]]
  if (is.null(outputs)) return(stats::setNames(list(without_segment_names(result)), name))
  columns <- lapply(seq_along(outputs), \(k) with_class_of(as.vector(unclass(result)[, k]), result))
  stats::setNames(columns, paste(name, outputs, sep = "_"))
}

without_segment_names <- function(x) {
  if (is.null(dim(x))) return(`attributes<-`(x, attributes(x)[setdiff(names(attributes(x)), "names")]))
  if (is.matrix(x)) rownames(x) <- NULL
  x
}

# Makes a data frame of the same class as x: a tibble, a data.table or a plain data frame.
frame_like <- function(columns, rows, x) {
  kinds <- list(tbl_df = c("tbl_df", "tbl", "data.frame"), data.table = c("data.table", "data.frame"))
  class <- Find(\(kind) inherits(x, kind[[1]]), kinds) %||% "data.frame"
  structure(columns, row.names = rows, class = class)
}

refuse_softmax <- function(op, call = caller_env()) {
  if (!"softmax" %in% unlist(op)) return(invisible())
  stop_kernops("input", c("{.val softmax} has a result for each value, not for each segment of a data frame.",
                          i = "{.fn seg_softmax} computes a column."), call = call)
}
