# Cells of fits keep results that are costly to recompute, such as a factor, by weak references. saveRDS() and similar
# functions write only the empty cell; a fit that is read again recomputes the content on first use.

new_cell <- function() new.env(parent = emptyenv())

# A cell has one weak reference, since R keeps the value of each as long as its key, the cell, even of those that the
# cell has dropped. R copies the value unless it is an environment, whose content a new one replaces.
keep_in <- function(cell, content, key = NULL) {
  kept <- kept_of(cell)
  if (is.null(kept)) {
    kept <- new.env(parent = emptyenv())
    cell$reference <- rlang::new_weakref(cell, kept)
  }
  kept$latest <- list(content = content, key = key)
  cell
}

kept_of <- function(cell) if (!is.null(cell$reference)) rlang::wref_value(cell$reference)

# The content of a cell, computed unless the cell holds it for an identical `key`. A fit without a cell recomputes it.
kept_in <- function(cell, compute, key = NULL) {
  if (!is.environment(cell)) return(compute())
  kept <- kept_of(cell)
  if (!is.null(kept$latest) && identical(kept$latest$key, key)) return(kept$latest$content)
  if (!is.null(kept)) kept$latest <- NULL # R can free the content for another key before its successor is computed
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
