# A covariance is a tree: leaves, joined by + and *. Each leaf has a path from the root, such as "1.2" for the second
# part of the covariance "1". The table of parameters and all results for leaves identify leaves by their paths.

# Folds a covariance from the leaves to the root: leaf(leaf, path) returns the result for a leaf, and join(operation,
# parts) combines the results of parts.
fold_covariance <- function(x, leaf, join, path = "1") {
  if (x$kind == "leaf") return(leaf(x, path))
  join(x$kind, Map(fold_covariance, x$parts, list(leaf), list(join), part_paths(x, path)))
}

part_paths <- function(x, path) paste(path, seq_along(x$parts), sep = ".")

# The leaves of a covariance, named by their paths.
leaves_of <- function(x, path = "1") {
  fold_covariance(x, function(leaf, path) stats::setNames(list(leaf), path), function(operation, parts) {
    do.call(c, unname(parts))
  }, path)
}

# The terms of a sum: for each term, the leaves of its product, named by their paths.
added_terms <- function(x, path = "1") {
  if (x$kind == "+") do.call(c, unname(Map(added_terms, x$parts, part_paths(x, path)))) else list(leaves_of(x, path))
}

# The sum without the terms for whose leaves `drop` is TRUE; NULL if no term remains.
without_terms <- function(x, drop) {
  if (x$kind != "+") return(if (!drop(leaves_of(x))) x)
  parts <- Filter(length, lapply(x$parts, without_terms, drop))
  if (length(parts) > 1) replace(x, "parts", list(parts)) else if (length(parts)) parts[[1]]
}

# The terms that are single leaves and not products, named by their paths.
added_leaves <- function(x) do.call(c, Filter(function(leaves) length(leaves) == 1, added_terms(x)))

leaf_at <- function(x, path) leaves_of(x)[[path]]

all_leaves <- function(x, test) all(vapply(leaves_of(x), test, NA))

# The covariance in which change(leaf, path) replaces each leaf.
change_leaves <- function(x, change, path = "1") {
  if (x$kind == "leaf") return(change(x, path))
  x$parts <- Map(change_leaves, x$parts, list(change), part_paths(x, path))
  x
}

is_covariance <- function(x) inherits(x, "kernops_covariance")

#' @export
Ops.kernops_covariance <- function(e1, e2) {
  operation <- .Generic
  if (missing(e2) || !operation %in% c("+", "*")) {
    stop_kernops("input", "Covariances can be combined by {.code +} and {.code *}, not by {.code {operation}}.")
  }
  if (is_lmc(e1) || is_lmc(e2)) {
    sum <- if (operation == "+") lmc_with_effects(e1, e2)
    if (!is.null(sum)) return(sum)
    stop_kernops("input", c("{.fn lmc} cannot be combined with other covariances: give them as its arguments, as in
                             {.code lmc(matern(), nugget())}.",
                            i = "Only effects can be added: {.code lmc(matern(), nugget()) + random_effect(~ 1 | g)}."))
  }
  join(operation, as_covariance(e1), as_covariance(e2))
}

as_covariance <- function(x) {
  if (is_covariance(x)) return(x)
  if (is.numeric(x) && length(x) == 1) return(constant(x, fixed = "variance"))
  stop_kernops("input", "A covariance can be combined with another covariance or with a number only.", call = NULL)
}

join <- function(operation, a, b) {
  if (operation == "*") {
    white <- Filter(is_white, c(leaf_labels(a), leaf_labels(b)))
    if (length(white)) {
      stop_kernops("input", "{.fn {white[[1]]}} can be added to a covariance, but not multiplied by one.", call = NULL)
    }
    if (any_intrinsic(a) || any_intrinsic(b)) check_intrinsic_product(a, b)
    if (has_own_scale(a) && has_own_scale(b)) b <- hold_scale(b)
  }
  join_parts(operation, a, b)
}

join_parts <- function(operation, a, b) {
  structure(list(kind = operation, parts = list(a, b)), class = "kernops_covariance")
}

any_intrinsic <- function(x) !all_leaves(x, function(leaf) !leaf$kernel$intrinsic)

check_intrinsic_product <- function(a, b) {
  if (all(leaf_labels(a) == "constant") || all(leaf_labels(b) == "constant")) return(invisible())
  stop_kernops("input", "An intrinsic model can be multiplied by a number, but not by another covariance.",
               call = NULL)
}

leaf_labels <- function(x) unlist(lapply(unname(leaves_of(x)), `[[`, "label"))

has_free_variance <- function(leaf, path) {
  !leaf$kernel$by_formula && "variance" %in% setdiff(names(leaf$parameters), leaf$fixed)
}

# TRUE if a free variance multiplies the whole covariance; a factor that is multiplied by such a covariance needs no
# variance.
has_own_scale <- function(x) {
  fold_covariance(x, has_free_variance, function(operation, parts) {
    (if (operation == "*") any else all)(unlist(parts))
  })
}

# A covariance whose scale is fixed at 1 or at the user's value. The ratios of the terms of a sum stay free.
hold_scale <- function(x) {
  if (x$kind == "leaf") {
    x$parameters$variance <- x$parameters$variance %||% 1
    x$fixed <- union(x$fixed, "variance")
  } else {
    n <- which(vapply(x$parts, has_own_scale, NA))[[1]]
    x$parts[[n]] <- hold_scale(x$parts[[n]])
  }
  x
}

#' @export
format.kernops_covariance <- function(x, ...) {
  if (x$kind == "leaf") return(format_leaf(x))
  parts <- vapply(x$parts, format, "")
  if (x$kind == "*") {
    sums <- vapply(x$parts, function(part) part$kind == "+", NA)
    parts[sums] <- paste0("(", parts[sums], ")")
  }
  paste(parts, collapse = paste0(" ", x$kind, " "))
}

#' @export
print.kernops_covariance <- function(x, ...) {
  cli::cat_line("<covariance> ", format(x))
  invisible(x)
}
