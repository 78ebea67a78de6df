# Medians and quantiles over an axis of a formula. The engine computes and stores the terms of some rows at a time, and
# axis_reduce() computes the order statistics of these terms.

# Splits `Median_Reduction(f, axis)` and `Quantile_Reduction(f, p, ..., axis)` into the formula `f` of a term, the
# probabilities and the axis. NULL for other formulas.
order_reduction <- function(formula) {
  found <- regmatches(formula, regexec("^\\s*(Median|Quantile)_Reduction\\s*\\((.*)\\)\\s*$", formula))[[1]]
  if (!length(found)) return(NULL)
  arguments <- trimws(top_arguments(found[[3]]))
  count <- length(arguments)
  if (count < 2 || found[[2]] == "Quantile" && count < 3 || found[[2]] == "Median" && count > 2) {
    stop_kernops("formula", "{.code Median_Reduction(f, axis)} and {.code Quantile_Reduction(f, p, axis)} have an axis,
                             and the latter at least one probability.", call = NULL)
  }
  probs <- if (found[[2]] == "Median") 0.5 else suppressWarnings(as.numeric(arguments[-c(1, count)]))
  if (anyNA(probs) || any(probs < 0 | probs > 1)) {
    stop_kernops("formula", "The probabilities of {.code Quantile_Reduction} must be numbers between 0 and 1.",
                 call = NULL)
  }
  list(name = found[[2]], f = arguments[[1]], probs = probs, axis = arguments[[count]])
}

# The arguments of a call, from the text between its parentheses.
top_arguments <- function(text) {
  letters <- strsplit(text, "")[[1]]
  depth <- cumsum((letters %in% c("(", "[")) - (letters %in% c(")", "]")))
  cuts <- which(letters == "," & depth == 0)
  first <- c(1, cuts + 1)
  substring(text, first, c(cuts - 1, nchar(text)))
}

# The operator of a median or quantile, with the interface of kernel_operator().
# long: an operator and the variables that its gradient shares
order_operator <- function(reduction, formula, args, sum_scheme, precision, backend, device) {
  of_terms <- code_text("Sum_Reduction(", reduction$f, ", ", reduction$axis, ")")
  make <- function(formula, args, stored) {
    kernel_operator(formula, args, sum_scheme, precision, backend, device, stored = stored)
  }
  plain <- make(of_terms, args, FALSE)
  about <- environment(plain)$about
  if (about$axis == "Pm") {
    stop_kernops("formula", "{.code {reduction$name}_Reduction} needs points of the axis that it leaves.", call = NULL)
  }
  width <- about$size
  about$size <- width * length(reduction$probs)
  about$stages <- code_text(reduction$name, " over ", if (about$axis == "Vi") "j" else "i", ": ", reduction$f)
  names <- about$variables$name
  pairs <- which(about$variables$category == "Vij")
  # the operator for a list of pairs (i, j): all variables become points of one axis
  listed <- about$variables
  listed$category <- ifelse(listed$category == "Pm", "Pm", "Vi")
  at_pairs <- function() make(code_text("Sum_Reduction(", reduction$f, ", 1)"), declarations(listed), FALSE)
  inner <- if (length(pairs)) at_pairs() else make(of_terms, args, TRUE)
  terms_of <- if (length(pairs)) listed_terms else function(inner, input, about) inner(input)
  live_kernel <- environment(inner)$live_kernel
  settings <- environment(inner)$settings
  single <- precision != "float64"
  accumulate_double <- FALSE
  grad <- grad_of_order # used by keops_grad()
  op <- function(input, inner_dim = "col", ranges = NULL, output = c("host", "gpu")) report_shortage({
    if (missing(input)) {
      return(list(formula = formula, args = args, args_info = about$variables, sum_scheme = sum_scheme))
    }
    input <- match_input(input, names, backend, pairs)
    columns <- check_order_input(input, about, pairs, reduction$name, inner_dim, ranges, output)
    reduced <- by_row_blocks(input, about, columns, function(input, rows) {
      terms <- terms_of(inner, input, about) # the dimensions of `terms`: rows, points of the axis, entries
      result <- axis_reduce(terms, 2, "quantile", probs = reduction$probs, backend = backend)
      result <- array(result, c(length(reduction$probs), nrow(terms), width))
      matrix(aperm(result, c(2, 3, 1)), nrow(terms))
    })
    keep_names(do.call(rbind, reduced), input[about$variables$category == about$axis], FALSE)
  })
  structure(op, class = "keops_kernel")
}

# The number of rows of the result, and the number of points of the axis that is reduced.
order_rows <- function(input, about) {
  category <- about$variables$category
  of_pairs <- vapply(input[category == "Vij"], function(x) dim(x)[[if (about$axis == "Vi") 1 else 2]], 1L)
  max(of_pairs, vapply(input[category == about$axis], NROW, 1))
}

check_order_input <- function(input, about, pairs, name, inner_dim, ranges, output) {
  check_whole_pairs(input, pairs, name, inner_dim, ranges, output)
  if (length(pairs)) return(rev(check_pair_values(input, about, pairs))[[if (about$axis == "Vi") 1 else 2]])
  others <- !about$variables$category %in% c(about$axis, "Pm")
  max(1, vapply(input[others], NROW, 1))
}

# Stops for input that reductions with stored terms do not support.
check_whole_input <- function(input, name, inner_dim, ranges, output, call = caller_env()) {
  batches <- any(vapply(input, function(x) length(dim(x)) > 2 && !inherits(x, "kernops_lookup"), NA))
  refused <- c(if (inner_dim_is_row(inner_dim)) "{.code inner_dim = \"row\"}",
               if (!is.null(ranges)) "{.arg ranges}", if (!identical(output, c("host", "gpu")) && output[[1]] == "gpu")
                 "{.code output = \"gpu\"}", if (batches) "batches",
               if (any(vapply(input, is_gpu_matrix, NA))) "a {.cls gpu_matrix}")
  if (!length(refused)) return(invisible())
  stop_kernops("input", paste0("{.code ", name, "} is not available with ", refused[[1]], "."), call = call)
}

# The check of check_whole_input() for formulas with pair variables, whose arrays are not batches.
check_whole_pairs <- function(input, pairs, name, inner_dim, ranges, output, call = caller_env()) {
  input[pairs] <- lapply(input[pairs], function(x) if (length(dim(x)) == 3) x[, , 1] else x)
  check_whole_input(input, name, inner_dim, ranges, output, call)
}

# A list of f(input, rows) for blocks of rows of the result.
by_row_blocks <- function(input, about, columns, f) {
  category <- about$variables$category
  split <- which(category == about$axis)
  rows <- order_rows(input, about)
  for_row_blocks(rows, columns, function(block) {
    input[split] <- lapply(input[split], function(x) as.matrix(x)[block, , drop = FALSE])
    input[category == "Vij"] <- lapply(input[category == "Vij"], some_pairs, block, about$axis == "Vi")
    f(input, block)
  })
}

# A list of f(block) for blocks of `rows`, each with about 4e6 terms.
for_row_blocks <- function(rows, columns, f) {
  height <- max(1, floor(4e6 / columns))
  with_bar("Reducing", lapply(seq(1, max(rows, 1), by = height), function(first) {
    say_progress(step = paste("row", first, "of", rows), fraction = (first - 1) / max(rows, 1))
    f(seq_len(min(height, rows - first + 1)) + first - 1)
  }))
}
