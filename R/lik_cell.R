# Cells of fits hold weak references to results that are expensive to recompute, such as a factor. saveRDS() and similar
# functions write only the empty cell; a fit that is read again recomputes the content on first use.

new_cell <- function() new.env(parent = emptyenv())

# A cell has a single weak reference, since R keeps the value of a weak reference as long as its key, the cell, exists,
# even if the cell no longer has this reference. The value is an environment, because R would copy any other value; new
# content replaces the content of this environment.
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

# The content of a cell, which is computed unless the cell has it for an identical `key`. A fit without a cell always
# recomputes the content.
kept_in <- function(cell, compute, key = NULL) {
  if (!is.environment(cell)) return(compute())
  kept <- kept_of(cell)
  if (!is.null(kept$latest) && identical(kept$latest$key, key)) return(kept$latest$content)
  if (!is.null(kept)) kept$latest <- NULL # lets R free the old content before the new content is computed
  content <- compute()
  keep_in(cell, content, key)
  content
}

# The result f(object) for a fit by neighbours, which is kept in the cell of the fit as long as data, parameters and
# neighbours are unchanged.
kept_for <- function(object, f) {
  about <- list(f, object[c("data", "model", "theta", "beta", "state", "latent", "known")],
                object$vecchia[c("m", "field", "order", "neighbours", "inducing")],
                object$how$control[c("ordering", "seed")], object$how$backend)
  kept_in(object$cell, function() f(object), about)
}
