# The window function that spreads a point to the grid: exp(beta (sqrt(1 - z^2) - 1)) on `width` cells (Barnett, Magland
# and af Klinteberg 2019), for a grid with twice as many cells as modes.

# A list of `pieces`, a polynomial for each cell in the form that place_points() requires, and `transform`, the Fourier
# transform of the window at frequencies in cycles per cell.
spreading_window <- function(precision) {
  width <- min(16, max(3, ceiling(log10(1 / precision)) + 2))
  value <- \(z) exp(2.3 * width * (sqrt(pmax(1 - z^2, 0)) - 1))
  list(pieces = polynomial_pieces(value, width, degree = width + 3),
       transform = function(frequency) {
         middles <- (seq_len(2000) - 0.5) / 2000 - 0.5
         drop(cos(2 * pi * width * outer(frequency, middles)) %*% value(2 * middles)) * width / 2000
       })
}

# Polynomials that interpolate value() at Chebyshev nodes, with a polynomial for each cell. The variable s of a
# polynomial runs from -1 to 1 in the cell.
polynomial_pieces <- function(value, width, degree) {
  nodes <- cos(pi * (seq_len(degree + 1) - 0.5) / (degree + 1))
  z <- 2 * outer((nodes + 1) / 2, seq_len(width) - 1, `+`) / width - 1
  t(solve(outer(nodes, 0:degree, `^`), value(z)))
}
