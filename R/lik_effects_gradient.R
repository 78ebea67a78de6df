# The derivatives of the likelihood by Vecchia's approximation with effects in addition to the field.

# The derivatives of -2 log-likelihood. Parameters of the field change the rows of U, and thus the inner products of
# whitened columns. Parameters of an effect change only the inner products of the columns of the effect. Let A be the
# matrix of the derivatives of the value with respect to these products, let L L' be the covariance matrix of the
# coefficients of a level, and let H = L^-1 d(L L') L'^-1. The value changes by the sum of tr (I - A_l) H over the
# levels l, where A_l is the diagonal block of A for the coefficients of level l.
effects_gradient <- function(problem, sets, theta, solved) {
  field <- problem$field
  by_gram <- solved$by_gram()
  by_rows <- solved$entries$adjoint(solved$rows, by_gram)
  total <- gradient_of_effects(problem$effects, theta, by_gram, ncol(sets$values))
  rows <- field$rows
  total[rows] <- total[rows] + timed("field", solved$rows$adjoint(by_rows$weights, 2 + by_rows$log_sd))$gradient
  total
}

# The contribution of effects to the derivatives with respect to theta. In the products of columns, the columns of
# effects follow `known` other columns.
gradient_of_effects <- function(effects, theta, by_gram, known) {
  total <- numeric(length(theta))
  for (effect in effects) {
    levels <- max(1, length(effect$levels))
    gap <- gap_of_blocks(by_gram, known + effect$before, effect$size, levels)
    changes <- whitened_slopes(effect, theta)
    total[effect$rows] <- total[effect$rows] + vapply(changes, function(change) sum(gap * change), 0)
  }
  total
}

# The matrices H = L^-1 d(L L') L'^-1, one for each parameter of an effect.
whitened_slopes <- function(effect, theta) {
  root <- effect_root(effect, theta)
  lapply(effect_slopes(effect, theta), function(slope) {
    forwardsolve(root, t(forwardsolve(root, slope)))
  })
}

# The average information (lik_information.R), computed from the columns U dK P y. Finite differences give the
# derivatives of the rows of U.
effects_information <- function(problem, sets, theta, solved, results, profiled) {
  white <- solved$white
  derivatives <- matrix(0, nrow(white), length(theta))
  for (p in problem$field$rows) derivatives[, p] <- change_of_field(problem, sets, theta, solved, p)
  for (effect in problem$effects) {
    derivatives[, effect$rows] <- derivatives[, effect$rows] + change_of_effect(problem, sets, theta, solved, effect)
  }
  across <- solved$entries$crossprod(sparse_multiply(solved$rows, derivatives, transposed = TRUE))
  joint <- solved$coefficients$joint(diag(ncol(sets$values) - 1))
  across <- joint$half(across[-1, , drop = FALSE])
  information <- (crossprod(derivatives) - crossprod(across)) / results$scale
  along <- crossprod(derivatives, white) / results$scale
  if (profiled) information - tcrossprod(along) / results$degrees else information
}

# A change dU of U changes V = (U' U)^-1 by dV = -V (dU' U + U' dU) V. With P y = V^-1 r for the residual r, and with e
# = U r, it follows that U dV P y = -(U'^-1 dU' e + dU r).
change_of_field <- function(problem, sets, theta, solved, p) {
  step <- 1e-4 * if (theta[[p]] == 0) 1 else abs(theta[[p]])
  moved <- rows_beside_effects(problem$operators, problem$field, sets, replace(theta, p, theta[[p]] + step),
                               nrow(solved$rows$weights))
  if (!is.null(moved$bad)) return(numeric(nrow(solved$white)))
  back <- sparse_multiply(moved, solved$white, transposed = TRUE) -
    sparse_multiply(solved$rows, solved$white, transposed = TRUE)
  along <- sparse_multiply(moved, solved$residual) - solved$white
  -(sparse_multiply(solved$rows, back, inverse = TRUE, transposed = TRUE) + along) / step
}

change_of_effect <- function(problem, sets, theta, solved, effect) {
  changes <- change_of_coefficients(effect, theta, -solved$weights, ncol(sets$values))
  sparse_multiply(solved$rows, solved$entries$times(changes))
}

# The products H b with a column for each parameter of an effect; H is defined in effects_gradient(). In b, `known`
# other coefficients precede the coefficients of the effect.
change_of_coefficients <- function(effect, theta, b, known = 0) {
  rows <- known + effect$before + seq_len(effect$size * max(1, length(effect$levels)))
  coefficients <- matrix(b[rows], effect$size)
  vapply(whitened_slopes(effect, theta), function(change) {
    replace(numeric(length(b)), rows, change %*% coefficients)
  }, numeric(length(b)))
}
