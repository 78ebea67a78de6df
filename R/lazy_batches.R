# Batches: the dimensions of arrays after the second dimension. Missing batch dimensions, and batch dimensions of size
# 1, are recycled.

batch_shape <- function(x) if (length(dim(x)) > 2) dim(x)[-(1:2)]

# The common batch dimensions of all arrays; NULL without batch dimensions.
common_batches <- function(shapes, names, call = caller_env()) {
  dims <- max(0L, lengths(shapes))
  if (dims == 0) return(NULL)
  sizes <- vapply(shapes, padded_batches, integer(dims), dims)
  sizes <- matrix(sizes, dims)
  common <- apply(sizes, 1, function(size) c(size[size != 1], 1L)[[1]])
  unfit <- which(sizes != 1 & sizes != common, arr.ind = TRUE)
  if (nrow(unfit) == 0) return(common)
  mismatch <- unfit[1, ]
  first <- which(sizes[mismatch[[1]], ] != 1)[1]
  stop_kernops("dim", call = call, c(
    "All variables must have the same number of batches, or one.",
    x = "In dimension {mismatch[[1]] + 2}, {.code {names[[first]]}} has {common[[mismatch[[1]]]]},
         {.code {names[[mismatch[[2]]]]}} has {sizes[mismatch[[1]], mismatch[[2]]]}."
  ))
}

padded_batches <- function(shape, dims) as.integer(c(shape, rep(1L, dims - length(shape))))

# For each batch of an array with batch dimensions `shape`, the index of the corresponding batch of x.
batch_numbers <- function(x, shape) {
  sizes <- padded_batches(batch_shape(x), length(shape))
  indices <- Map(function(size, all) if (size == 1) rep(1L, all) else seq_len(size), sizes, shape)
  as.vector(do.call(`[`, c(list(array(seq_len(prod(sizes)), sizes)), unname(indices), drop = FALSE)))
}

chosen_batches <- function(x, numbers) {
  each <- prod(dim(x)[1:2])
  array(array(x, c(each, length(x) / max(each, 1)))[, numbers], c(dim(x)[1:2], length(numbers)))
}

# The array x with its batches in one dimension: all batches of `shape`, or a single batch that all computations use.
flat_batches <- function(x, shape) {
  if (length(dim(x)) < 3) return(x)
  chosen_batches(x, if (all(batch_shape(x) == 1)) 1L else batch_numbers(x, shape))
}

# The matrix of x for the k-th batch of `shape`.
nth_batch <- function(x, shape, k) {
  if (length(dim(x)) < 3) return(x)
  array(chosen_batches(x, batch_numbers(x, shape)[[k]]), dim(x)[1:2])
}

# Sums a gradient to the shape of its variable: for each batch of the variable, the sum over all batches of the result
# that use this batch.
share_gradient <- function(result, shape) {
  all <- batch_shape(result)
  if (is.null(all) || identical(all, shape[-(1:2)])) return(result)
  apart <- padded_batches(shape[-(1:2)], length(all)) != 1
  order <- c(1, 2, 2 + which(apart), 2 + which(!apart))
  each <- c(dim(result)[1:2], all[apart])
  total <- rowSums(array(aperm(result, order), c(each, prod(all[!apart]))), dims = length(each))
  array(total, c(dim(result)[1:2], shape[-(1:2)]))
}

transposed <- function(x) {
  if (length(dim(x)) < 3) t(x) else aperm(x, c(2, 1, seq_along(dim(x))[-(1:2)]))
}

# The array x, restricted to the `chosen` columns of each batch.
some_columns <- function(x, chosen) {
  flat <- array(x, c(dim(x)[1:2], prod(batch_shape(x))))
  made <- array(flat[, chosen, , drop = FALSE], c(nrow(x), length(chosen), batch_shape(x)))
  if (!is.null(rownames(x))) dimnames(made) <- c(list(rownames(x)), rep(list(NULL), length(dim(made)) - 1))
  made
}
