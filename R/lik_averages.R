# Observations that are weighted sums of the field over nodes have the covariance matrix A K A', where K is the
# covariance matrix of the field at the nodes, and each row of A contains the weights of an observation. The argument
# `nodes` is `data$nodes` of a fit, a list in the form of targets (predict_targets.R) without a trend; it is NULL if
# each observation is a value of the field at a point.

# The weighted sums of rows of x over the nodes of each observation.
by_observation <- function(x, nodes) if (is.null(nodes)) x else gathered(x, nodes)

# The product A' b, with a row for each node: the weight of the node times the row of b for the observation to which the
# node belongs.
at_nodes <- function(b, nodes) {
  if (is.null(nodes)) return(b)
  nodes$weight * as.matrix(b)[nodes$of, , drop = FALSE]
}

# The points at which the field is observed: the nodes of the observations or, without nodes, the points of the
# observations.
seen_points <- function(data) data$nodes$u %||% data$u

# The counterpart of dense_factor() for observations of averages, on the host. The functions of this factor ignore the
# argument `x`, the points, because the nodes replace the points.
averages_factor <- function(n, nodes) {
  k <- dense_factor(n)
  own <- NULL
  input <- function(theta, y) list(theta = unname(theta), x = nodes$u, y = y)
  with_data <- function(values, theta, u) as.matrix(by_observation(as.matrix(values(input(theta, u))), nodes))
  c(k[c("numbers", "diagonal", "solve", "diagonal_of_inverse", "inverse_diagonal", "inverse_times", "rounding")], list(
    hold = identity,
    variance = function() own,
    fill = function(values, theta, x, noise, before = NULL) {
      matrix <- by_observation(t(with_data(values, theta, nodes$u)), nodes)
      own <<- diag(matrix)
      k$factorise(matrix, noise)
    },
    explain = function(values, theta, x, u, b) {
      between <- with_data(values, theta, u)
      list(variance = colSums(k$solve(between)^2), trend = if (ncol(b)) crossprod(between, b))
    },
    slope = function(operators, theta, x, left, right) {
      k$invert()
      weights <- k$inverse_times(diag(n)) - tcrossprod(left, right)
      total <- 0
      for_blocks(length(nodes$of), function(first, last) {
        rows <- first:last
        slopes <- operators$stored(input(theta, nodes$u[rows, , drop = FALSE]))
        of_nodes <- nodes$weight * weights[nodes$of, nodes$of[rows], drop = FALSE] *
          rep(nodes$weight[rows], each = length(nodes$of))
        total <<- total + as.vector(crossprod(matrix(slopes, length(of_nodes)), as.vector(of_nodes)))
      })
      total
    }
  ))
}
