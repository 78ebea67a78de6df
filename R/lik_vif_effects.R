# Random effects and smooths in addition to a VIF approximation (lik_vif.R): the columns E = B L of effects, with few
# entries in each row, extend the low-rank columns V', and all coefficients have the prior N(0, I). Without effects, a
# result of vif_factor() has no `entries`.

vif_entries <- function(problem, sets, theta) {
  if (length(problem$effects)) effect_entries(problem$effects, theta, problem$u[sets$order, , drop = FALSE])
}

# Checks the number of coefficients, because the matrix S, which has a row for each coefficient, is dense.
check_coefficients <- function(effects, call = NULL) {
  count <- count_coefficients(effects)
  if (count <= most_coefficients) return(invisible())
  stop_kernops("input", c("Random effects and smooths have at most {most_coefficients} coefficients with
                           {.code method = \"vif\"}, not {count}.",
                          i = "{.code method = \"vecchia\"} has no such limit."), call = call)
}

# The inner products of the whitened columns; columns of effects come last.
vif_gram <- function(vif) {
  gram <- vif$rows$outer(vif$white)
  entries <- vif$entries
  if (is.null(entries)) return(gram)
  across <- entries$crossprod(sparse_multiply(vif$rows, t(vif$white), transposed = TRUE))
  rbind(cbind(gram, t(across)), cbind(across, entries$gram(vif$rows)))
}

# Let A be the derivatives of a function with respect to the products of vif_gram(), with the block A_DE for products of
# dense columns and effects and the block A_EE for products of effects. Let z be a row of U [y X V'] and e the row of U
# E for the same observation. The terms 2 z' A_DE e and e' A_EE e contribute to the derivatives with respect to z,
# `slopes`, and with respect to the weights and the logarithms of the standard deviations of the rows of U.
slopes_beside_vif <- function(vif, by_gram) {
  entries <- vif$entries
  if (is.null(entries)) return(list(slopes = 0, weights = 0, log_sd = 0))
  u <- vif$rows
  dense <- seq_len(nrow(vif$white))
  across <- t(entries$times(by_gram[-dense, dense, drop = FALSE]))
  white <- u$whiten(across)
  within <- entries$adjoint(u, by_gram[-dense, -dense, drop = FALSE])
  list(slopes = 2 * white, log_sd = within$log_sd - 2 * u$dots(vif$white, white),
       weights = within$weights - 2 * u$products(vif$white, across) / rep(u$sd, each = nrow(u$weights)))
}

# The products B d(L L') B' x, one column for each parameter in theta.
changes_of_effects <- function(effects, theta, entries, x) {
  changes <- matrix(0, length(x), length(theta))
  if (!length(effects)) return(changes)
  b <- as.vector(entries$crossprod(x))
  for (effect in effects) changes[, effect$rows] <- entries$times(change_of_coefficients(effect, theta, b))
  changes
}

# Products with the matrix W of the whitened columns of the low-rank part and of the effects. low_products() returns W'
# x, and low_values() returns W b for coefficients b.
low_products <- function(vif, x) {
  rbind(whitened_factors(vif) %*% x, if (!is.null(vif$entries)) {
    vif$entries$crossprod(sparse_multiply(vif$rows, x, transposed = TRUE))
  })
}

low_values <- function(vif, b) {
  of_factors <- seq_len(nrow(vif$factors))
  values <- crossprod(whitened_factors(vif), b[of_factors, , drop = FALSE])
  if (is.null(vif$entries)) return(values)
  values + sparse_multiply(vif$rows, vif$entries$times(b[-of_factors, , drop = FALSE]))
}
