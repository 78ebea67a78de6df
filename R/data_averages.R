# Observations of averages: several rows of the data are the nodes of one observation, which is a weighted sum of the
# field and its trend at the nodes. See data_layout.R for layouts, and lik_averages.R for the covariances of such
# observations.
#
# Layout "means": the trend and the offset of an observation are weighted sums over its nodes, and its coordinates are
# the centre of its nodes.
#   nodes     the points `u` and columns `z` of the nodes, in the order of the observations; for each node, `of`, the
#             number of its observation, and its `weight`
#   formulas  the user's formulas

# The argument `averages` of gp(): a formula such as ~ block or weight ~ block.
check_averages <- function(averages, derivatives, family, covariance, transform, method, group, call) {
  if (is.null(averages)) return(invisible())
  if (!inherits(averages, "formula") || !length(all.vars(averages[[length(averages)]]))) {
    stop_kernops("input", "{.arg averages} must be a formula such as {.code ~ block}, or {.code weight ~ block}.",
                 call = call)
  }
  refuse_with_functionals("averages", family, covariance, transform, method, call)
  refused <- c(if (!is.null(derivatives)) "{.arg derivatives}", if (!is.null(group)) "a {.arg group}",
               if ("microscale" %in% leaf_labels(covariance)) "{.fn microscale}, the variation at points")
  if (!length(refused)) return(invisible())
  stop_kernops("input", paste0("{.arg averages} are not available with ", refused[[1]], "."), call = call)
}

# Raises an error for fits of averages or derivatives in functions that require values at points. `what` completes the
# message.
refuse_functionals <- function(derivatives, averages, what, call) {
  name <- if (!is.null(derivatives)) "derivatives" else if (!is.null(averages)) "averages"
  if (is.null(name)) return(invisible())
  stop_kernops("input", paste0("{.arg ", name, "} are not available for ", what, "."), call = call)
}

check_averaged_model <- function(layout, model, call) {
  if (!is_averages(layout)) return(invisible())
  if (model$d && !has_effects(model)) return(invisible())
  what <- if (model$d) "effects and smooths" else "a model without coordinates"
  stop_kernops("input", "{.arg averages} are not available with {what}.", call = call)
}

is_averages <- function(layout) inherits(layout, "layout_means")

# TRUE if an observation may be a functional of the field other than its value at a point.
is_functional <- function(model, layout) length(model$functional) > 0 || is_averages(layout)

# Converts the parts of gp_data(), with a row for each node, to parts with a row for each observation.
with_averages <- function(parts, averages, source, call) {
  label <- deparse1(averages[[length(averages)]])
  value <- function(expression) within_data(rlang::new_quosure(expression, environment(averages)), source$data, call)
  of <- numbers_of_averages(value(averages[[length(averages)]]), label, parts, call)
  weight <- if (length(averages) == 3) node_weights(value(averages[[2]]), deparse1(averages[[2]]), parts, call) else
    1 / tabulate(of)[of]
  by_node <- order(of)
  first <- by_node[!duplicated(of[by_node])]
  check_equal_in_averages(parts, of, first, label, call)
  sums <- function(x) unname(rowsum(weight * x, of))
  means <- function(x) if (ncol(x)) rowsum(x, of) / tabulate(of) else x[first, , drop = FALSE]
  in_order <- function(x) x[by_node, , drop = FALSE]
  nodes <- list(u = in_order(parts$u), z = if (length(parts$z)) in_order(parts$z), of = of[by_node],
                weight = weight[by_node])
  parts$layout <- new_layout("means", nodes = nodes, formulas = list(averages))
  parts$x <- `colnames<-`(sums(parts$x), colnames(parts$x))
  parts$offset <- as.vector(sums(cbind(parts$offset)))
  for (name in c("u", "z")) if (is.matrix(parts[[name]])) parts[[name]] <- unname_rows(means(parts[[name]]))
  for (name in c("y", "noise", "weights", "rows")) parts[[name]] <- parts[[name]][first]
  parts$frame <- structure(parts$frame[first, , drop = FALSE], terms = parts$terms)
  parts["na.action"] <- list(NULL)
  parts
}

# The index of the observation to which each row belongs. A row with a missing label is a separate observation of the
# field at its point.
numbers_of_averages <- function(block, label, parts, call) {
  if (length(block) != parts$total) {
    stop_kernops("dim", "{.code {label}} must have a value for each of the {parts$total} row{?s}.", call = call)
  }
  everywhere <- as.character(block)
  torn <- intersect(everywhere[-parts$rows], everywhere[parts$rows])
  if (length(torn <- torn[!is.na(torn)])) {
    stop_kernops("input", c("Some nodes of {.code {label}} {.val {torn}} have missing values.",
                            i = "Complete these rows, or omit all nodes of an observation."), call = call)
  }
  block <- everywhere[parts$rows]
  keys <- ifelse(is.na(block), paste("point", seq_along(block)), paste("block", block))
  match(keys, unique(keys))
}

node_weights <- function(weight, label, parts, call) {
  if (is.numeric(weight) && length(weight) == parts$total && all(is.finite(weight[parts$rows]))) {
    return(weight[parts$rows])
  }
  stop_kernops("input", "The weights {.code {label}} of nodes must be finite numbers, one for each of the {parts$total}
                         row{?s}.", call = call)
}

check_equal_in_averages <- function(parts, of, first, label, call) {
  what <- c(y = "the response", weights = "{.arg weights}", noise = "{.code known$noise}")
  for (name in names(what)) {
    bad <- which(parts[[name]] != parts[[name]][first][of])
    if (!length(bad)) next
    stop_kernops("input", c(paste0("All nodes of an observation must have the same value of ", what[[name]],
                                   ": see row {parts$rows[[bad[[1]]]]}."),
                            i = "Nodes are the rows with equal {.code {label}}."), call = call)
  }
}

observation_nodes.layout_means <- function(layout, center, which = NULL) {
  nodes <- layout$nodes
  kept <- if (is.null(which)) seq_along(nodes$of) else base::which(which[nodes$of])
  of <- match(nodes$of[kept], unique(nodes$of[kept]))
  rows <- function(x) x[kept, , drop = FALSE]
  list(u = unname(cbind(centred(rows(nodes$u), center), if (!is.null(nodes$z)) rows(nodes$z))), of = of,
       weight = nodes$weight[kept], n = max(of))
}

mean_columns.layout_means <- function(layout, n) unname(rowsum(layout$nodes$weight, layout$nodes$of))

keep_observations.layout_means <- function(layout, rows) {
  nodes <- layout$nodes
  kept <- which(rows[nodes$of])
  layout$nodes <- list(u = nodes$u[kept, , drop = FALSE], z = if (!is.null(nodes$z)) nodes$z[kept, , drop = FALSE],
                       of = match(nodes$of[kept], which(rows)), weight = nodes$weight[kept])
  layout
}
