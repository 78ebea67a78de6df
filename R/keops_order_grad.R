# Gradients of medians and quantiles over an axis of a formula (keops_order.R).

# The gradient of an operator for medians or quantiles. The terms are differentiated at the pairs (i, j) of the chosen
# elements, and the derivatives are weighted by the incoming gradient. An interpolated quantile has two chosen elements.
# long: an operator and the variables that its methods share
grad_of_order <- function(from, var) {
  refuse_positions(from)
  eta <- setdiff(c("eta", paste0("eta", seq_along(from$names) + 1)), from$names)[[1]]
  about <- from$about
  category <- about$variables$category[[match(var, from$names)]]
  incoming <- data.frame(name = eta, category = about$axis, size = about$size)
  about$variables <- rbind(about$variables, incoming)
  about$size <- about$variables$size[[match(var, from$names)]]
  result_axis <- about$axis
  about$axis <- category
  names <- about$variables$name
  pairs <- from$pairs
  inner <- keops_grad(from$at_pairs(), var)
  live_kernel <- environment(inner)$live_kernel
  settings <- environment(inner)$settings
  formula <- code_text("Grad(", from$formula, ", ", var, ", ", eta, ")")
  args <- c(from$args, declarations(incoming))
  sum_scheme <- from$sum_scheme
  precision <- from$precision
  backend <- from$backend
  device <- from$device
  single <- from$single
  accumulate_double <- FALSE
  grad <- function(...) stop_kernops("input", "Medians and quantiles of formulas have first derivatives only.")
  op <- function(input, inner_dim = "col", ranges = NULL, output = c("host", "gpu")) report_shortage({
    if (missing(input)) {
      return(list(formula = formula, args = args, args_info = about$variables, sum_scheme = sum_scheme))
    }
    input <- stats::setNames(match_input(input, names, backend, pairs), names)
    forward <- from$about
    columns <- check_order_input(input[from$names], forward, pairs, from$reduction$name, inner_dim, ranges, output)
    check_eta_of_order(input[[eta]], forward, input[from$names])
    blocks <- by_row_blocks(input, replace(about, "axis", result_axis), columns, function(part, rows) {
      terms <- from$terms_of(from$inner, part[from$names], forward)
      chosen <- chosen_pairs(terms, as.matrix(part[[eta]]), from$reduction$probs, from$width)
      slopes <- inner(c(unname(at_listed_pairs(part[from$names], forward, chosen$i, chosen$j)), list(chosen$eta)))
      list(slopes = slopes, i = rows[chosen$i], j = chosen$j)
    })
    gradient <- gathered_gradient(blocks, input[[var]], category, result_axis)
    if (category %in% c("Vi", "Vj")) keep_names(gradient, input[var], FALSE) else gradient
  })
  structure(op, class = "keops_kernel")
}

# The pairs that contribute to the results, and the incoming gradient for the entries of each pair. Rows of pairs are
# counted from the first row of `terms`.
chosen_pairs <- function(terms, eta, probs, width) {
  several <- length(probs) > 1
  shape <- c(if (several) length(probs), nrow(terms), if (length(dim(terms)) > 2) width)
  eta <- aperm(array(eta, c(nrow(terms), width, length(probs))), c(3, 1, 2))
  weights <- axis_grad("quantile")(terms, array(eta, shape), dims = 2, probs = probs)
  weights <- array(weights, c(dim(terms)[1:2], width))
  chosen <- which(weights != 0, arr.ind = TRUE)
  by_entry <- matrix(0, nrow(chosen), width)
  by_entry[cbind(seq_len(nrow(chosen)), chosen[, 3])] <- weights[chosen]
  list(i = chosen[, 1], j = chosen[, 2], eta = by_entry)
}

# The derivatives at pairs, summed for each point. For a variable with values of pairs, the derivatives are summed for
# each pair.
gathered_gradient <- function(blocks, value, category, result_axis) {
  slopes <- lapply(blocks, `[[`, "slopes")
  if (category == "Pm") return(Reduce(`+`, slopes))
  slopes <- do.call(rbind, slopes)
  point <- list(unlist(lapply(blocks, `[[`, "i")), unlist(lapply(blocks, `[[`, "j")))
  names(point) <- if (result_axis == "Vi") c("Vi", "Vj") else c("Vj", "Vi")
  count <- if (category == "Vij") prod(dim(value)[1:2]) else NROW(value)
  total <- rowsum(slopes, if (category == "Vij") point$Vi + dim(value)[[1]] * (point$Vj - 1) else point[[category]])
  gradient <- matrix(0, count, ncol(slopes))
  gradient[as.numeric(rownames(total)), ] <- total
  if (category == "Vij") array(gradient, c(dim(value)[1:2], if (ncol(slopes) > 1) ncol(slopes))) else gradient
}

refuse_positions <- function(from) {
  if (!grepl("\\bIndex[IJ]?\\b", from$reduction$f)) return(invisible())
  stop_kernops("formula", "The gradient of a median or quantile must not contain positions of points.", call = NULL)
}

check_eta_of_order <- function(eta, about, input, call = caller_env()) {
  rows <- order_rows(input, about)
  if (is.numeric(eta) && NROW(eta) == rows && NCOL(eta) == about$size) return(invisible())
  stop_kernops("dim", "The incoming gradient must have {rows} row{?s} and {about$size} column{?s}.", call = call)
}
