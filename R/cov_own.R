# User-defined formulas, covariance().

# The kernel of a user's formula. Error messages show the formula as the user wrote it, before names are replaced by
# values.
own_kernel <- kernel("covariance", function(formula, x, y, parameters) {
  paste0("(", replace_names(formula, c(x = x, y = y, parameters)), ")")
}, by_formula = TRUE, screens = FALSE, stationary = FALSE, derivatives = "symbolic")

own_variables <- function(leaf, d) {
  c(sprintf("x = Vi(%d)", d), sprintf("y = Vj(%d)", d),
    sprintf("%s = Pm(%d)", names(leaf$parameters), lengths(leaf$parameters)))
}

own_values_formula <- function(leaf) code_text("Sum_Reduction(", leaf$kernel$constants$formula, ", 1)")

# The covariances of the pairs (x_i, y_i) of rows of x and y.
own_pairs <- function(leaf, d) {
  recent_operator(own_values_formula(leaf), sub("y = Vj", "y = Vi", own_variables(leaf, d)), "auto", "float64", "cpu")
}

check_own_formula <- function(leaf, d) {
  formula <- leaf$kernel$constants$formula
  pairs <- own_pairs(leaf, d)
  u <- matrix(sin(seq_len(8 * d)), 8)
  v <- matrix(cos(seq_len(8 * d)), 8)
  there <- pairs(c(list(x = u, y = v), leaf$parameters))
  size <- ncol(there)
  if (size != 1) {
    stop_kernops("input", call = NULL,
                 "The covariance {.code {formula}} must be one number for each pair of points, not {size}.")
  }
  back <- pairs(c(list(x = v, y = u), leaf$parameters))
  if (any(abs(there - back) > 1e-8 * max(abs(there), 0, na.rm = TRUE), na.rm = TRUE)) {
    stop_kernops("input", "The covariance {.code {formula}} must be symmetric in {.code x} and {.code y}.",
                 call = NULL)
  }
}
