# Targets of predictions that are weighted sums of values at new points, such as totals over regions.

# Converts points or blocks to sums of the values at the points, or of the means over the blocks. `weights` has a row
# for each row of new data and a column for each sum. The result has `nodes`, the points of all sums, and `total`, the
# sum of the weights of each sum. A sum with a missing point is NA.
with_sums <- function(points, weights, call = caller_env()) {
  weights <- check_sums(weights, length(points$complete), "sums", call)
  complete <- colSums(weights[!points$complete, , drop = FALSE] != 0) == 0
  w <- weights[points$complete, complete, drop = FALSE]
  of <- points$blocks$of %||% seq_len(nrow(points$u))
  share <- points$blocks$weight %||% rep(1, length(of))
  terms <- which(w[of, , drop = FALSE] != 0, arr.ind = TRUE)
  rows <- terms[, 1]
  sums <- terms[, 2]
  nodes <- nodes_of(points)
  nodes <- c(lapply(nodes[c("u", "x", "centres")], function(x) x[rows, , drop = FALSE]),
             list(offset = nodes$offset[rows]))
  size <- abs(w)
  list(u = crossprod(size, points$u) / colSums(size), x = crossprod(w, points$x), total = colSums(w),
       offset = as.vector(crossprod(w, points$offset)), complete = unname(complete), names = colnames(weights),
       fitted = FALSE, nodes = nodes,
       blocks = list(u = nodes$u, of = sums, weight = share[rows] * w[cbind(of[rows], sums)]))
}

# Checks the argument `name` and converts it to a matrix.
check_sums <- function(weights, n, name, call) {
  if (inherits(weights, "Matrix")) weights <- as.matrix(weights)
  if (!is.numeric(weights) || !all(is.finite(weights))) {
    stop_kernops("input", "{.arg {name}} must be finite numbers: a vector for one sum, or a matrix with a column for
                           each sum.", call = call)
  }
  weights <- as.matrix(weights)
  if (nrow(weights) != n) {
    stop_kernops("dim", "{.arg {name}} must have a value for each of the {n} row{?s} of {.arg newdata} in each sum, not
                         {nrow(weights)}.", call = call)
  }
  if (any(empty <- colSums(weights != 0) == 0)) {
    stop_kernops("input", "Each sum needs a weight other than 0: see {cli::qty(sum(empty))}column{?s} {which(empty)} of
                           {.arg {name}}.", call = call)
  }
  weights
}
