# Coordinates in which the distance of two points tells how small their correlation is, for a kernel of which only the
# values are known.

# u A' with A' A = M; where M is diagonal, ties of a grid remain.
linear_view <- function(M, u) {
  if (all(M[row(M) != col(M)] == 0)) {
    used <- which(diag(M) > 0)
    return(u[, used, drop = FALSE] * rep(sqrt(diag(M)[used]), each = nrow(u)))
  }
  decomposed <- eigen(M, symmetric = TRUE)
  used <- decomposed$values > 1e-14 * decomposed$values[[1]]
  u %*% (decomposed$vectors[, used, drop = FALSE] * rep(sqrt(decomposed$values[used]), each = ncol(u)))
}

# The ranges of a covariance that is known by its values(x, y), row by row: the steps along each coordinate after which
# the correlation is 0.6, on average over some points; as long as the data where it stays above.
pairs_metric <- function(values, u, few = 9, enough = 0.6) {
  here <- u[unique(round(seq(1, nrow(u), length.out = few))), , drop = FALSE]
  variance <- values(here, here)
  share <- 2^-(20:0)
  reach <- vapply(seq_len(ncol(u)), function(k) {
    steps <- share * diff(range(u[, k]))
    correlation <- vapply(steps, function(step) {
      there <- here
      there[, k] <- there[, k] + step
      mean(values(here, there) / sqrt(variance * values(there, there)))
    }, 0)
    steps[c(which(correlation < enough), length(steps))[[1]]]
  }, 0)
  list(variance = mean(variance), matrix = diag(ifelse(reach > 0, 1 / reach^2, 0), ncol(u)), views = list())
}
