# Predictions of fits with random effects and smooths by Vecchia's approximation of the field.

effects_conditioning <- function(object, how) {
  fitted <- fitted_effects(object)
  inner <- replace(fitted$inner, c("vecchia", "how"), object[c("vecchia", "how")])
  split <- function(u) {
    entries <- effect_entries(fitted$effects, object$theta, u)
    known <- inner$random
    new <- entries$columns > known
    list(u = points_of_field(inner$model, u), columns = dense_entries(entries, seq_len(known)),
         new = if (any(new)) {
           row_sparse(pmax(entries$columns - known, 1L), entries$values * new, entries$size - known)
         })
  }
  random_trend_conditioning(object, inner, how, split, function() effects_inverse(object, inner),
                            determined = function(leaf) determined_coefficients(fitted, leaf))
}

# The `effects` of a fit, and the `inner` fit of the field and the noise, with effects in its trend.
fitted_effects <- function(object) {
  about <- list(object[c("data", "model", "theta", "beta", "known")], object$vecchia$m,
                object$how$control[c("ordering", "seed")], object$how$backend)
  kept_in(object$effects, function() effects_of_fit(object), about)
}

effects_of_fit <- function(object) {
  how <- replace(object$how, "backend", list(usable_backend(object$how$backend)))
  problem <- effects_problem(object$data, object$model, how)
  theta <- unname(object$theta)
  m <- min(object$vecchia$m, length(object$data$y) - 1L)
  sets <- effects_sets(problem, theta[problem$field$rows], if (is_noise_alone(problem$field)) 0L else m, how)
  rows <- rows_beside_effects(problem$operators, problem$field, sets, theta)
  if (!is.null(rows$bad)) stop_singular(object, singular_state(sets$order[[rows$bad]]), NULL)
  # the response of the estimated trend's coefficients
  sets$values[, 1] <- process_of_data(object)[sets$order]
  entries <- entries_beside_trend(problem, sets, theta)
  gram <- entries$gram(rows)
  c(problem["effects"], list(inner = inner_fit(object, problem, gram)))
}

inner_fit <- function(object, problem, gram) {
  p <- ncol(object$data$x)
  count <- nrow(gram) - 1 - p
  gram <- gram + diag(rep(0:1, c(1 + p, count)), nrow(gram))
  low_root <- chol(gram[-seq_len(1 + p), -seq_len(1 + p), drop = FALSE])
  mean <- backsolve(low_root, backsolve(low_root, gram[-seq_len(1 + p), 1], transpose = TRUE))
  root <- chol(gram[-1, -1, drop = FALSE])
  if (p) root[, seq_len(p)] <- root[, seq_len(p), drop = FALSE] %*% problem$trend$r
  data <- problem$data
  columns <- dense_entries(effect_entries(problem$effects, object$theta, problem$u), seq_len(count))
  data$x <- cbind(data$x, columns)
  inner <- replace(object, c("data", "model", "theta", "beta"), list(
    data, problem$field, object$theta[problem$field$rows], c(object$beta, mean)
  ))
  inner$state$root <- root
  inner$known["beta"] <- list(NULL)
  inner$effects <- NULL
  inner$cell <- new_cell()
  inner$random <- count
  inner
}

# As smooth_edf() takes them: variances of the coefficients with the prior variance 1.
determined_coefficients <- function(fitted, leaf) {
  variances <- diag(chol2inv(fitted$inner$state$root))
  effect <- Find(function(effect) identical(effect$leaf$label, leaf$label), fitted$effects)
  rows <- length(variances) - fitted$inner$random + effect$before + seq_len(effect$size)
  sum(1 - variances[rows])
}

# The inverse of new_conditioning(), by Woodbury's identity.
effects_inverse <- function(object, inner) {
  sets <- observation_sets(inner, object$vecchia$local)
  p <- ncol(object$data$x)
  back <- order(sets$order)
  white <- sparse_multiply(sets, cbind(process_of_data(object), inner$data$x)[sets$order, , drop = FALSE])
  known <- white[, seq_len(1 + p), drop = FALSE]
  random <- white[, -seq_len(1 + p), drop = FALSE]
  root <- chol(crossprod(random) + diag(ncol(random)))
  half <- t(backsolve(root, t(random), transpose = TRUE))
  left <- sparse_multiply(sets, known - half %*% crossprod(half, known), transposed = TRUE)
  squares <- list(weights = -sets$weights^2, sd = sets$sd^2, neighbours = sets$neighbours)
  diagonal <- sparse_multiply(squares, rep(1, nrow(white)), transposed = TRUE) -
    rowSums(sparse_multiply(sets, half, transposed = TRUE)^2)
  z <- left[, -1, drop = FALSE]
  if (p) z <- t(backsolve(object$state$root, t(z), transpose = TRUE))
  list(alpha = left[back, 1], z = z[back, , drop = FALSE], diagonal = diagonal[back])
}
