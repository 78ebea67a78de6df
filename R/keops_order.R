# Medians and quantiles over an axis of a formula: the engine stores the terms of some rows at a time, the order
# statistics of arrays reduce them (axis_reduce()).

# The parts of `Median_Reduction(f, axis)` and `Quantile_Reduction(f, p, ..., axis)`: the formula `f` of a term, the
# probabilities and the axis; NULL for other formulas.
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

# The operator of such a reduction, as kernel_operator() makes others; `inner` stores the terms.
order_operator <- function(reduction, formula, args, sum_scheme, precision, backend, device) {
  make <- function(stored) {
    kernel_operator(code_text("Sum_Reduction(", reduction$f, ", ", reduction$axis, ")"), args, sum_scheme, precision,
                    backend, device, stored = stored)
  }
  about <- environment(make(FALSE))$about
  inner <- make(TRUE)
  if (about$axis == "Pm") {
    stop_kernops("formula", "{.code {reduction$name}_Reduction} needs points of the axis that it leaves.", call = NULL)
  }
  width <- about$size
  about$size <- width * length(reduction$probs)
  about$stages <- code_text(reduction$name, " over ", if (about$axis == "Vi") "j" else "i", ": ", reduction$f)
  live_kernel <- environment(inner)$live_kernel
  settings <- environment(inner)$settings
  single <- precision == "float32"
  accumulate_double <- FALSE
  names <- about$variables$name
  op <- function(input, inner_dim = "col", ranges = NULL, output = c("host", "gpu")) report_shortage({
    if (missing(input)) {
      return(list(formula = formula, args = args, args_info = about$variables, sum_scheme = sum_scheme))
    }
    input <- match_input(input, names, backend)
    check_whole_input(input, reduction$name, inner_dim, ranges, output)
    split <- about$variables$category == about$axis
    reduced <- by_row_blocks(input, split, other_points(input, about), function(input) {
      terms <- inner(input) # rows x points of the axis x entries
      result <- axis_reduce(terms, 2, "quantile", probs = reduction$probs, backend = backend)
      result <- array(result, c(length(reduction$probs), nrow(terms), width))
      matrix(aperm(result, c(2, 3, 1)), nrow(terms))
    })
    keep_names(reduced, input[split], FALSE)
  })
  structure(op, class = "keops_kernel")
}

# The number of points of the axis that is reduced.
other_points <- function(input, about) {
  others <- !about$variables$category %in% c(about$axis, "Pm")
  max(1, vapply(input[others], NROW, 1))
}

# Reductions whose terms are stored take plain points.
check_whole_input <- function(input, name, inner_dim, ranges, output, call = caller_env()) {
  batches <- any(vapply(input, function(x) length(dim(x)) > 2 && !inherits(x, "kernops_lookup"), NA))
  refused <- c(if (inner_dim_is_row(inner_dim)) "{.code inner_dim = \"row\"}",
               if (!is.null(ranges)) "{.arg ranges}", if (!identical(output, c("host", "gpu")) && output[[1]] == "gpu")
                 "{.code output = \"gpu\"}", if (batches) "batches",
               if (any(vapply(input, is_gpu_matrix, NA))) "a {.cls gpu_matrix}")
  if (!length(refused)) return(invisible())
  stop_kernops("input", paste0("{.code ", name, "} is not available with ", refused[[1]], "."), call = call)
}

# The rows of f(input) for blocks of rows of the variables in `split`.
by_row_blocks <- function(input, split, columns, f, rows = max(vapply(input[split], NROW, 1))) {
  do.call(rbind, for_row_blocks(rows, columns, function(block) {
    f(replace(input, split, lapply(input[split], function(x) as.matrix(x)[block, , drop = FALSE])))
  }))
}

# A list of f(block) for blocks of the numbers of rows, each with about 4e6 terms.
for_row_blocks <- function(rows, columns, f) {
  height <- max(1, floor(4e6 / columns))
  with_bar("Reducing", lapply(seq(1, max(rows, 1), by = height), function(first) {
    say_progress(step = paste("row", first, "of", rows), fraction = (first - 1) / max(rows, 1))
    f(seq_len(min(height, rows - first + 1)) + first - 1)
  }))
}
