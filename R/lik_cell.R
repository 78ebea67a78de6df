# Cells of fits keep results that are costly to recompute, such as a factor, by weak references. saveRDS() and similar
# functions write only the empty cell; a fit that is read again recomputes the content on first use.

new_cell <- function() new.env(parent = emptyenv())

# Stores a value by a weak reference. R copies the value of a weak reference, unless it is an environment.
keep_in <- function(cell, content, key = NULL) {
  cell$reference <- rlang::new_weakref(cell, list2env(list(content = content, key = key), parent = emptyenv()))
  cell
}

# The content of a cell, computed unless the cell holds it for an identical `key`. A fit without a cell recomputes it.
kept_in <- function(cell, compute, key = NULL) {
  if (!is.environment(cell)) return(compute())
  kept <- if (!is.null(cell$reference)) rlang::wref_value(cell$reference)
  if (!is.null(kept) && identical(kept$key, key)) return(kept$content)
  kept <- cell$reference <- NULL # frees the content for another key before new content is computed
  content <- compute()
  keep_in(cell, content, key)
  content
}

# f(object) of a fit by neighbours, kept in its cell while data, parameters and neighbours stay the same.
kept_for <- function(object, f) {
  about <- list(f, object[c("data", "model", "theta", "beta", "state", "latent", "known")],
                object$vecchia[c("m", "field", "order", "neighbours", "inducing")],
                object$how$control[c("ordering", "seed")], object$how$backend)
  kept_in(object$cell, function() f(object), about)
}
