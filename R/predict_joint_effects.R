# Joint predictions of fits with a family and with random effects or smooths. The base points (predict_base.R) are the
# coefficients of the effects, followed by the field at the places, which are distinct locations. A new value of the
# process is the sum of some coefficients and a new value of the field, without an error. Coefficients of levels without
# observations are additional independent values.

# Extends `sets`, the conditioning sets of new values of the field (see joint_sets()). New coefficients are added before
# the values of the field, and the sums of coefficients and field are added at the end. `positions` has the position of
# the value of the field for each point, or 0 if the field has no variance at the point. `entries` has the indices and
# the factors of the coefficients in each sum; the first `count` coefficients are base points. In the result, `of` has
# the position of each point's sum.
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
    # the sums of coefficients and field have no error: their standard deviation is 0, so that any row of the random
    # numbers, here row 1, may be used
    positions = c(seq_len(new), new + sets$positions, rep(1L, n))
  )
  list(sets = joint_functions(joined), of = ifelse(is.na(positions), NA, new + size + seq_len(n)))
}

# The entries of the sums at the points with the indices `points`, or at all points if `points` is NULL.
some_entries <- function(entries, points) {
  if (is.null(points)) return(entries)
  replace(entries, c("columns", "values"), list(entries$columns[, points, drop = FALSE],
                                                 entries$values[, points, drop = FALSE]))
}
