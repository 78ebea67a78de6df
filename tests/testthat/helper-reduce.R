# The definition of every reduction in plain R. v holds the values to reduce (terms x entries), and w their weights.
by_entry <- \(f) \(v, w, K) apply(v, 2, f)
first_place <- \(x, best) if (anyNA(x)) which(is.na(x))[1] else if (length(x)) best(x) else NA
first_K <- \(v, K) apply(v, 2, \(x) order(x)[seq_len(K)])
neighbours <- \(v, places) as.vector(t(sapply(seq_len(ncol(v)), \(k) v[, k][places[, k]])))
as_places <- \(v, K) matrix(first_K(v, K), K, ncol(v))

oracle_reductions <- list(
  Sum              = \(v, w, K) colSums(v),
  LogSumExp        = \(v, w, K) log_sum_exp(v, if (is.null(w)) 1 + 0 * v else w),
  SumSoftMaxWeight = \(v, w, K) colSums(exp(drop(v) - max(v)) * w) / sum(exp(v - max(v))),
  Max_SumShiftExp  = \(v, w, K) c(max(v, -Inf), sum(exp(drop(v) - max(v, -Inf)))),
  Max_SumShiftExpWeight = \(v, w, K) c(max(v, -Inf), colSums(exp(drop(v) - max(v, -Inf)) * w)),
  Min              = by_entry(\(x) min(x, Inf)),
  Max              = by_entry(\(x) max(x, -Inf)),
  ArgMin           = by_entry(\(x) first_place(x, which.min)),
  ArgMax           = by_entry(\(x) first_place(x, which.max)),
  Min_ArgMin       = \(v, w, K) c(oracle_reductions$Min(v), oracle_reductions$ArgMin(v)),
  Max_ArgMax       = \(v, w, K) c(oracle_reductions$Max(v), oracle_reductions$ArgMax(v)),
  KMin             = \(v, w, K) padded(neighbours(v, as_places(v, K)), v, K),
  ArgKMin          = \(v, w, K) as.vector(t(as_places(v, K))),
  KMin_ArgKMin     = \(v, w, K) c(oracle_reductions$KMin(v, w, K), oracle_reductions$ArgKMin(v, w, K)),
  KMax             = \(v, w, K) -oracle_reductions$KMin(-v, w, K),
  ArgKMax          = \(v, w, K) oracle_reductions$ArgKMin(-v, w, K),
  KMax_ArgKMax     = \(v, w, K) c(oracle_reductions$KMax(v, w, K), oracle_reductions$ArgKMax(v, w, K)),
  Prod             = by_entry(prod),
  Mean             = by_entry(mean),
  Var              = by_entry(stats::var),
  Any              = by_entry(\(x) as.numeric(any(x != 0))),
  All              = by_entry(\(x) as.numeric(all(x != 0))),
  Count            = by_entry(length)
)

log_sum_exp <- function(v, w) {
  shift <- max(v, -Inf)
  if (is.finite(shift)) shift + log(colSums(exp(drop(v) - shift) * w)) else rep(shift, ncol(w))
}

# If K exceeds the number of terms, the results beyond the last term are Inf; a NaN of the data is kept.
padded <- \(values, v, K) replace(values, rep(seq_len(K) > nrow(v), each = ncol(v)), Inf)

# Replaces the positions that a reduction returns, which count the reduced terms, by the indices of these terms.
name_terms <- function(value, reduction, terms) {
  places <- if (startsWith(reduction, "Arg")) seq_along(value) else
    if (grepl("_Arg", reduction)) seq_along(value) > length(value) / 2 else 0
  replace(value, places, terms[value[places]])
}

# One row of results for each i (axis 1) or j (axis 0). f(x, y, p) is the value of one pair, w(x, y, p) its weight, and
# there[i, j] is TRUE if the pair (i, j) is reduced.
oracle_reduce <- function(f, reduction, x, y, p = NULL, axis = 1, K = NULL, w = NULL,
                          there = matrix(TRUE, nrow(x), nrow(y))) {
  pair <- \(g, row, term) if (axis == 1) g(x[row, ], y[term, ], p) else g(x[term, ], y[row, ], p)
  width <- \(g) length(g(x[1, ], y[1, ], p))
  along <- \(g, row, terms) vapply(terms, \(term) as.numeric(pair(g, row, term)), numeric(width(g)))
  values <- \(g, row, terms) matrix(along(g, row, terms), ncol = width(g), byrow = TRUE)
  reduce <- function(row) {
    terms <- which(if (axis == 1) there[row, ] else there[, row])
    weights <- if (!is.null(w)) values(w, row, terms)
    name_terms(oracle_reductions[[reduction]](values(f, row, terms), weights, K), reduction, terms)
  }
  do.call(rbind, lapply(seq_len(if (axis == 1) nrow(x) else nrow(y)), reduce))
}
