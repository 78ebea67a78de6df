# Means over blocks and polygons, as weighted means over points.

# New points of a fit as centres of rectangles: the nodes of a Gauss rule with four of them along each coordinate.
with_blocks <- function(points, block, areas, d, call = caller_env()) {
  if (!is.null(areas)) {
    size <- lengths(areas$weight)
    kept <- which(points$complete)
    of <- rep(seq_along(kept), size[kept])
    beside <- points$u[of, -seq_len(d), drop = FALSE]
    u <- do.call(rbind, c(list(matrix(0, 0, d)), areas$u[kept]))
    points$blocks <- list(u = cbind(u, beside), of = of, weight = as.numeric(unlist(areas$weight[kept])))
    return(points)
  }
  if (!is.numeric(block) || length(block) != d || !all(is.finite(block)) || any(block < 0)) {
    stop_kernops("input", "{.arg block} must be the size of a block: {d} number{?s} of at least 0, one for each
                           coordinate.", call = call)
  }
  rule <- block_rule(block, call)
  of <- rep(seq_len(nrow(points$u)), each = length(rule$weight))
  shift <- rule$at[rep(seq_along(rule$weight), nrow(points$u)), , drop = FALSE]
  u <- points$u[of, , drop = FALSE]
  u[, seq_len(d)] <- u[, seq_len(d)] + shift
  points$blocks <- list(u = u, of = of, weight = rep(rule$weight, nrow(points$u)))
  points
}

# The nodes around the centre, and their weights.
block_rule <- function(size, call = caller_env()) {
  if (sum(size > 0) > 3) stop_kernops("input", "{.arg block} can have at most 3 sizes above 0.", call = call)
  far <- 2 / 7 * sqrt(6 / 5)
  at <- c(-sqrt(3 / 7 + far), -sqrt(3 / 7 - far), sqrt(3 / 7 - far), sqrt(3 / 7 + far)) / 2
  weight <- (18 + c(-1, 1, 1, -1) * sqrt(30)) / 72
  along <- lapply(size, function(s) if (s > 0) s * at else 0)
  weights <- lapply(size, function(s) if (s > 0) weight else 1)
  list(at = unname(as.matrix(expand.grid(along))), weight = Reduce(function(a, b) as.vector(outer(a, b)), weights))
}
