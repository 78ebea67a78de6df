# Pair variables have a value for each pair (i, j) and are declared as "A = Vij(1)". Their data are an M x N matrix, an
# M x N x size array, or entries of a table, lookup_terms(). Each row of the result is computed as a batch. The batch
# has one point on the axis of the result; the values of a pair variable for this row are the points of the other axis.
# Gradients are computed in the same way. The gradient of a variable that all rows share is the sum over the batches;
# the gradient of a pair variable has a row of values for each batch.

pair_declaration <- "^(.*=\\s*)Vij(\\s*\\(.*)$"

is_pair_variable <- function(args) grepl(pair_declaration, args)

# The operator of a formula with pair variables, with the interface of kernel_operator(). In the kernel `inner`, pair
# variables are points j, and the result has a row for each i (or with i and j exchanged).
pairs_operator <- function(formula, args, sum_scheme, precision, backend, device, accumulator) {
  pairs <- which(is_pair_variable(args))
  if (grepl("\\bIndex[IJ]?\\b", formula)) refuse_in_pairs("positions of points", args[pairs])
  declared <- function(axis) replace(args, pairs, sub(pair_declaration, paste0("\\1", axis, "\\2"), args[pairs]))
  make <- function(axis) {
    kernel_operator(formula, declared(axis), sum_scheme, precision, backend, device, accumulator)
  }
  inner <- make("Vj")
  rows <- "Vi"
  if (environment(inner)$about$axis == "Vj") {
    inner <- make("Vi")
    rows <- "Vj"
  }
  variables <- environment(inner)$about$variables
  if (length(environment(inner)$about$stages) > 1) {
    refuse_in_pairs("several reductions, except as {.fn keops_grad} of an operator", variables$name[pairs])
  }
  roles <- ifelse(variables$category == rows, "rows", "shared")
  roles[pairs] <- "pairs"
  new_pairs_operator(inner, formula, args, rows, roles, if (environment(inner)$about$axis == "Pm") "shared" else "rows")
}

# `roles`: the role of each variable: "rows", "pairs", or "shared" for variables that all rows share. `to`: the role of
# the result.
# long: the parts of an operator are variables of one environment
new_pairs_operator <- function(inner, formula, args, rows, roles, to) {
  from <- environment(inner)
  about <- from$about
  about$variables$category[roles == "pairs"] <- "Vij"
  about$axis <- switch(to, rows = rows, pairs = "Vij", about$axis)
  pairs <- which(roles == "pairs")
  names <- about$variables$name
  grad <- grad_of_pairs # used by keops_grad()
  live_kernel <- from$live_kernel
  settings <- from$settings
  single <- from$single
  accumulate_double <- from$accumulate_double
  accumulator <- from$accumulator
  sum_scheme <- from$sum_scheme
  precision <- from$precision
  backend <- from$backend
  device <- from$device
  op <- function(input, inner_dim = "col", ranges = NULL, output = c("host", "gpu")) report_shortage({
    if (missing(input)) {
      return(list(formula = formula, args = args, args_info = about$variables, sum_scheme = sum_scheme))
    }
    input <- match_input(input, names, backend, pairs)
    check_whole_pairs(input, pairs, "Vij", inner_dim, ranges, output)
    size <- check_pair_values(input, about, pairs)
    if (rows == "Vj") size <- rev(size)
    results <- for_row_blocks(size[[1]], size[[2]], function(block) {
      pairs_result(inner(rows_as_batches(input, roles, rows, block)), to, block)
    })
    keep_names(joined_rows(results, to, rows), if (to == "rows") input[roles == "rows"], FALSE)
  })
  structure(op, class = "keops_kernel")
}

# The gradient of an operator with pair variables. The incoming gradient has the same role as the result of the
# operator.
grad_of_pairs <- function(from, var) {
  inner <- keops_grad(from$inner, var)
  variables <- environment(inner)$about$variables
  eta <- variables[nrow(variables), ]
  if (from$to != "shared") eta$category <- from$about$axis
  formula <- code_text("Grad(", from$formula, ", ", var, ", ", eta$name, ")")
  new_pairs_operator(inner, formula, c(from$args, declarations(eta)), from$rows, c(from$roles, from$to),
                     from$roles[[match(var, from$names)]])
}

# The input of the operator `inner` for the rows `block`, with a batch for each row.
rows_as_batches <- function(input, roles, rows, block) {
  input[roles == "rows"] <- lapply(input[roles == "rows"], function(x) {
    x <- as.matrix(x)[block, , drop = FALSE]
    array(t(x), c(1, ncol(x), length(block)))
  })
  input[roles == "pairs"] <- lapply(input[roles == "pairs"], pair_batches, block, rows)
  input
}

# Converts the batches of some rows to a result. Gradients of shared variables are already sums over batches.
pairs_result <- function(result, to, block) {
  if (to == "rows") return(t(matrix(result, ncol = length(block))))
  if (to == "shared" && length(dim(result)) == 3) array(rowSums(result, dims = 2), dim(result)[1:2]) else result
}

joined_rows <- function(results, to, rows) {
  if (to == "rows") return(do.call(rbind, results))
  if (to == "shared") return(Reduce(`+`, results))
  size <- dim(results[[1]])[1:2]
  all <- unlist(results)
  all <- array(all, c(size, length(all) / prod(size))) # points x entries x rows
  all <- aperm(all, if (rows == "Vi") c(3, 1, 2) else c(1, 3, 2))
  if (size[[2]] == 1) array(all, dim(all)[1:2]) else all
}

# The values of a pair variable for some rows of the result: points x size x rows.
pair_batches <- function(x, block, rows) {
  x <- some_pairs(x, block, rows == "Vi")
  if (inherits(x, "kernops_lookup")) x <- x$table[x$i, x$j, drop = FALSE]
  if (length(dim(x)) == 2) dim(x) <- c(dim(x), 1)
  aperm(x, if (rows == "Vi") c(2, 3, 1) else c(1, 3, 2))
}

refuse_in_pairs <- function(what, pairs) {
  stop_kernops("formula", paste0("A formula with variables of pairs, {.code {pairs}}, must not have ", what, "."),
               call = NULL)
}

# The numbers of points i and j; stops if variables have different numbers of points.
check_pair_values <- function(input, about, pairs, call = caller_env()) {
  names <- about$variables$name
  size <- dim(input[[pairs[[1]]]])[1:2]
  for (k in pairs) {
    x <- input[[k]]
    width <- if (length(dim(x)) == 3) dim(x)[[3]] else 1
    fits <- length(dim(x)) %in% 2:3 && identical(dim(x)[1:2], size) && width == about$variables$size[[k]]
    if (fits && (is.numeric(x) || inherits(x, "kernops_lookup"))) next
    stop_kernops("dim", "{.code {names[[k]]}} must be a matrix with a row for each i and a column for each j, or an
                         array with {about$variables$size[[k]]} such matrices.", call = call)
  }
  for (k in setdiff(seq_along(input), pairs)) {
    wanted <- size[match(about$variables$category[[k]], c("Vi", "Vj"))]
    if (is.na(wanted) || NROW(input[[k]]) == wanted) next
    stop_kernops("dim", "{.code {names[[k]]}} has {NROW(input[[k]])} point{?s}, but {.code {names[[pairs[[1]]]]}} has
                         {size[[1]]} rows and {size[[2]]} columns.", call = call)
  }
  size
}
