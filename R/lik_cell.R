# A cell is the cache of a fit. A cell holds a weak reference to results that are expensive to recompute, such as a
# factor. saveRDS() and similar functions write only the empty cell; a fit that is read from a file recomputes the
# content on first use.

new_cell <- function() new.env(parent = emptyenv())

# A cell keeps a single weak reference for its lifetime: R keeps the value of a weak reference as long as its key, the
# cell, exists, even if the cell no longer stores the reference. The value is an environment, because R would copy any
# other value. New content replaces the content of this environment.
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

# The content of a cell. If the cell has no content for an identical `key`, the content is computed. Without a cell, the
# content is always computed.
kept_in <- function(cell, compute, key = NULL) {
  if (!is.environment(cell)) return(compute())
  kept <- kept_of(cell)
  if (!is.null(kept$latest) && identical(kept$latest$key, key)) return(kept$latest$content)
  if (!is.null(kept)) kept$latest <- NULL # lets R free the old content before the new content is computed
  content <- compute()
  keep_in(cell, content, key)
  content
}

# The result f(object) for a fit by neighbours. The result is kept in the cell of the fit as long as data, parameters
# and neighbours are unchanged.
kept_for <- function(object, f) {
  about <- list(f, object[c("data", "model", "theta", "beta", "state", "latent", "known")],
                object$vecchia[c("m", "field", "order", "neighbours", "inducing")],
                object$how$control[c("ordering", "seed")], object$how$backend)
  kept_in(object$cell, function() f(object), about)
}
