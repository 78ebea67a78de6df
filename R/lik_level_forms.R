# log det S of a matrix S for which only products with vectors are available, for R/lik_latent_levels.R: S is the Schur
# complement of the coefficients of effects in the posterior precision of a family.
#
# With a diagonal D, A = D^-1/2 S D^-1/2 and A = I + X,
#   log det S = log det D + tr log A,  tr log A = sum_q q' log(A) q + E z' log(A) z.
# Orthonormal columns q approximate the eigenvectors with the largest eigenvalues of X^2, such as a shift of all levels,
# and random signs z are projected on the orthogonal complement of the columns q (Ubaru, Chen and Saad 2017). To first
# order, the error of z' log(A) z is the error of z' X z. A control variate reduces this error: z' X_0 z, where X_0
# approximates X at the reference, that is, at the parameters where D, q and z are chosen. The expected value of z' X_0
# z, tr X_0 - sum_q q' X_0 q, is known. Products with X_0 use the incomplete factor of the field, and the diagonal of
# X_0 is computed from sparse columns. The reference is kept while parameters change, so that the estimate is a smooth
# function of the parameters, with the derivatives of the forms (lik_log_forms.R) as its derivatives. The error grows
# with the distance of the parameters from the reference. Therefore a search is repeated with a new reference at the
# parameters where the search ended.

# `level_basis` is the number of columns q, and `most_level_signs` is the maximum number of columns z.
level_basis <- 16
most_level_signs <- 256

# An environment that likelihoods with the same coefficients share. The environment has the `seed`; the number `count`
# of random signs, which grows until the standard error of the log-likelihood is at most the argument `error`; the
# `reference`; and the standard errors of log det S at the reference (`least`) and of the latest estimate (`error`).
# Without `determinant`, log det S is not computed.
level_probes <- function(seed = 1, count = 16, error = 0.04, determinant = TRUE) {
  list2env(list(seed = seed, count = count, wanted = error, determinant = determinant))
}

# Estimates log det S. `schur` is a list of the `size` of S; of product(x, loose), which returns S x; and of `rough`, an
# approximation of S by the incomplete factor. `rough` has two functions: diagonal() returns the diagonal, and forms(x)
# returns x' S x for columns x. The result has the `logdet` and its `error`, with the `directions` v and their `signs`:
# a change dS changes log det S by the sum of signs * v' dS v. The result is NULL if S is not positive definite.
logdet_of_levels <- function(schur, probes) {
  fresh <- is.null(probes$reference)
  first <- probes$reference %||% level_reference(schur, probes)
  forms <- if (!is.null(first)) forms_of_levels(schur, first)
  if (is.null(forms)) return(NULL)
  if (fresh) {
    probes$reference <- first
    count <- length(forms$estimates)
    lacking <- ceiling(count * (error_of_mean(forms$estimates) / 2 / probes$wanted)^2) - count
    lacking <- min(lacking, most_level_signs - count)
    if (count > 0 && lacking > 0) {
      more <- more_signs(schur, probes, lacking)
      forms <- join_forms(forms, forms_of_levels(schur, replace(more, "basis", list(first$basis[, 0, drop = FALSE]))))
      probes$reference[c("signs", "forms")] <- list(cbind(first$signs, more$signs), c(first$forms, more$forms))
    }
  }
  probes$error <- error_of_mean(forms$estimates)
  if (fresh) probes$least <- probes$error
  weights <- ifelse(forms$random, 1 / length(forms$estimates), 1)
  list(logdet = sum(log(first$scale)) + forms$exact + if (length(forms$estimates)) mean(forms$estimates) else 0,
       error = probes$error, signs = forms$signs,
       directions = forms$directions * rep(sqrt(weights), each = schur$size) / sqrt(first$scale))
}

# A reference at S: the `scale` D, the `basis` of columns q, the `signs` z, the `forms` z' X_0 z, and their expected
# value, the `trace`. If the basis spans the whole space, there are no signs. The result is NULL if S is not positive
# definite.
level_reference <- function(schur, probes) {
  scale <- schur$rough$diagonal()
  if (!all(scale > 0)) return(NULL)
  with_seed(probes$seed, {
    basis <- level_basis_of(schur, scale)
    signs <- projected_signs(schur$size, if (ncol(basis) < schur$size) probes$count else 0, basis)
  })
  rough <- function(x) schur$rough$forms(x / sqrt(scale)) - colSums(x^2)
  random <- ncol(signs) > 0
  list(scale = scale, basis = basis, signs = signs, forms = if (random) rough(signs) else numeric(),
       trace = if (random) -sum(rough(basis)) else 0)
}

# The reference in which `count` new random signs, with their forms, replace the previous signs.
more_signs <- function(schur, probes, count) {
  reference <- probes$reference
  reference$signs <- with_seed(probes$seed + 1, projected_signs(schur$size, count, reference$basis))
  reference$forms <- schur$rough$forms(reference$signs / sqrt(reference$scale)) - colSums(reference$signs^2)
  reference
}

level_basis_of <- function(schur, scale) {
  rank <- min(level_basis, schur$size)
  if (rank == schur$size) return(diag(schur$size))
  product <- scaled_product(schur, scale)
  dominant_basis(list(size = schur$size, product = function(x) product(x, 1e6)), rank)
}

# Returns a function of x that computes A x for A = D^-1/2 S D^-1/2, where D is `scale`.
scaled_product <- function(schur, scale) {
  root <- sqrt(scale)
  function(x, loose = 1) schur$product(x / root, loose) / root
}

# The sum `exact` of the forms q' log(A) q; the `estimates` of the remaining part of tr log A, one for each column z of
# random signs; and the directions of all these forms. `random` marks the directions that belong to random signs.
forms_of_levels <- function(schur, reference) {
  columns <- cbind(reference$basis, reference$signs)
  forms <- lanczos_forms(scaled_product(schur, reference$scale), columns, matrix_logarithm, 1e-6)
  if (is.null(forms)) return(NULL)
  rank <- ncol(reference$basis)
  random <- seq_along(forms$value) > rank
  list(exact = sum(forms$value[!random]), estimates = forms$value[random] - reference$forms + reference$trace,
       signs = forms$signs, directions = forms$directions, random = forms$of > rank)
}

join_forms <- function(x, y) {
  list(exact = x$exact + y$exact, estimates = c(x$estimates, y$estimates), signs = c(x$signs, y$signs),
       directions = cbind(x$directions, y$directions), random = c(x$random, y$random))
}

# TRUE if the error of the latest estimate is large, and a reference at the parameters of this estimate would reduce it.
reference_moved <- function(probes, enough = 2 * allowed_monte_carlo) {
  isTRUE(probes$error > max(enough, 1.2 * probes$least))
}
