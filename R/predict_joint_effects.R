# Joint predictions of fits with a family, random effects and smooths: the base points are the coefficients of the
# effects and the field at the places. A new value of the process is a sum of coefficients and of a new value of the
# field, without an error. Coefficients of levels without observations are independent new values.

# `sets` of new values of the field (see joint_sets()), with new coefficients before them and the sums behind them.
# `positions` has the position of the field value of each point, or 0; in the result, it has the position of the sum of
# each point. `entries` has the numbers of the coefficients of each sum, and their factors. The first `count`
# coefficients are base points.
beside_coefficients <- function(sets, positions, entries) {
  count <- entries$count
  new <- entries$new
  base <- count + sets$base
  first <- base + new
  near <- sets$neighbours
  near <- near + count * (near > 0L) + new * (near > sets$base)
  field <- ifelse(is.na(positions) | positions == 0L, 0L, first + order(sets$order)[pmax(positions, 1L, na.rm = TRUE)])
  columns <- entries$columns + (base - count) * (entries$columns > count)
  size <- ncol(near)
  n <- length(positions)
  both <- function(coefficients, known, sums) {
    height <- max(nrow(known), nrow(sums))
    padded <- function(x) rbind(x, matrix(0, height - nrow(x), ncol(x)))
    cbind(matrix(coefficients, height, new), padded(known), padded(sums))
  }
  neighbours <- both(0, near, rbind(columns, field))
  storage.mode(neighbours) <- "integer"
  joined <- list(
    weights = both(0, sets$weights, rbind(entries$values, as.numeric(field > 0))), neighbours = neighbours,
    sd = c(rep(1, new), sets$sd, numeric(n)), base = base, order = seq_len(new + size + n), posterior = sets$posterior,
    total = new + sets$total + entries$total,
    # sums have no errors
    positions = c(seq_len(new), new + sets$positions, rep(1L, n))
  )
  list(sets = joint_functions(joined), of = ifelse(is.na(positions), NA, new + size + seq_len(n)))
}

# The sums of coefficients for the rows `points` of all points, or for all.
some_entries <- function(entries, points) {
  if (is.null(points)) return(entries)
  replace(entries, c("columns", "values"), list(entries$columns[, points, drop = FALSE],
                                                 entries$values[, points, drop = FALSE]))
}
