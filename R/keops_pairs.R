# Variables with a value for each pair (i, j), declared as "A = Vij(1)": an M x N matrix, an M x N x size array, or
# entries of a table, lookup_terms(). A row of the result is a batch: its points of the axis of the result are one point
# of this batch, and its values of a pair variable are points of the other axis.

pair_declaration <- "^(.*=\\s*)Vij(\\s*\\(.*)$"

is_pair_variable <- function(args) grepl(pair_declaration, args)

# The operator of a formula with pair variables, as kernel_operator() makes others. `of_rows`: the kernel whose result
# has a row for each i, with pair variables as points j.
# long: an operator has the parts of others in its environment
pairs_operator <- function(formula, args, sum_scheme, precision, backend, device, accumulator, var) {
  pairs <- which(is_pair_variable(args))
  if (grepl("\\bIndex[IJ]?\\b", formula)) refuse_in_pairs("positions of points", args[pairs])
  declared <- function(axis) replace(args, pairs, sub(pair_declaration, paste0("\\1", axis, "\\2"), args[pairs]))
  make <- function(axis) {
    kernel_operator(formula, declared(axis), sum_scheme, precision, backend, device, accumulator)
  }
  inner <- make("Vj")
  other <- "Vj"
  if (environment(inner)$about$axis == "Vj") {
    inner <- make("Vi")
    other <- "Vi"
  }
  rows <- c(Vj = "Vi", Vi = "Vj")[[other]]
  about <- environment(inner)$about
  about$variables$category[pairs] <- "Vij"
  names <- about$variables$name
  check_pair_formula(about, var, names[pairs])
  live_kernel <- environment(inner)$live_kernel
  settings <- environment(inner)$settings
  single <- precision == "float32"
  accumulate_double <- accumulator == "float64"
  op <- function(input, inner_dim = "col", ranges = NULL, output = c("host", "gpu")) report_shortage({
    if (missing(input)) {
      return(list(formula = formula, args = args, args_info = about$variables, sum_scheme = sum_scheme))
    }
    input <- match_input(input, names, backend, pairs)
    plain <- input
    plain[pairs] <- lapply(input[pairs], function(x) if (length(dim(x)) == 3) x[, , 1] else x)
    check_whole_input(plain, "Vij", inner_dim, ranges, output)
    size <- check_pair_values(input, about, pairs)
    split <- about$variables$category == rows
    if (rows == "Vj") size <- rev(size)
    blocks <- for_row_blocks(size[[1]], size[[2]], function(block) {
      batch <- input
      batch[split] <- lapply(input[split], function(x) {
        x <- as.matrix(x)[block, , drop = FALSE]
        array(t(x), c(1, ncol(x), length(block)))
      })
      batch[pairs] <- lapply(input[pairs], pair_batches, block, rows)
      result <- inner(batch)
      if (about$axis == "Pm") return(rowSums(matrix(result, ncol = dim(result)[[3]])))
      t(matrix(result, ncol = length(block)))
    })
    if (about$axis == "Pm") return(Reduce(`+`, blocks))
    keep_names(do.call(rbind, blocks), input[split], FALSE)
  })
  structure(op, class = "keops_kernel")
}

# The values of a pair variable for some rows of the result: points x size x rows.
pair_batches <- function(x, block, rows) {
  if (inherits(x, "kernops_lookup")) {
    x <- if (rows == "Vi") x$table[x$i[block], x$j, drop = FALSE] else x$table[x$i, x$j[block], drop = FALSE]
    block <- seq_along(block)
  }
  if (length(dim(x)) == 2) dim(x) <- c(dim(x), 1)
  if (rows == "Vi") aperm(x[block, , , drop = FALSE], c(2, 3, 1)) else aperm(x[, block, , drop = FALSE], c(1, 3, 2))
}

check_pair_formula <- function(about, var, pairs) {
  if (!is.null(var) && var %in% pairs) {
    stop_kernops("input", "Gradients with respect to {.code {var}}, a variable of pairs, are not available.",
                 call = NULL)
  }
  if (length(about$stages) < 2) return(invisible())
  refuse_in_pairs("several reductions, as most gradients of other reductions than sums have", pairs)
}

refuse_in_pairs <- function(what, pairs) {
  stop_kernops("formula", "A formula with variables of pairs, {.code {pairs}}, must not have {what}.", call = NULL)
}

# The numbers of points i and j, which all variables must have.
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
