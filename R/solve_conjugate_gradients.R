# Preconditioned conjugate gradients, for positive definite matrices. `rz` is r' P^-1 r for the residual r and the
# preconditioner P. The recorded steps and ratios determine the entries of the tridiagonal matrix of the Lanczos method
# (solve_lanczos.R).
conjugate_gradients <- list(
  recorded = c("step", "ratio"),
  start = function(space, precondition, b) {
    z <- precondition(b)
    zero <- numeric(ncol(b))
    list(
      blocks = list(x = zeros_like(space, b), r = b, p = space$copy(z)),
      numbers = list(column = seq_len(ncol(b)), rz = space$dots(b, z), residual = zero, step = zero, ratio = zero)
    )
  },
  step = function(space, product, precondition, state, active) {
    x <- state$blocks$x
    r <- state$blocks$r
    p <- state$blocks$p
    rz <- state$numbers$rz
    q <- product(p)
    curvature <- space$dots(p, q)
    if (anyNA(curvature[active])) stop_not_finite()
    if (any(bad <- active & !(curvature > 0 & rz > 0))) stop_indefinite(state$numbers$column[bad])
    step <- ifelse(active, rz / curvature, 0)
    x <- space$axpby(step, p, 1, x)
    r <- space$axpby(-step, q, 1, r)
    z <- precondition(r)
    rz_new <- ifelse(active, space$dots(r, z), rz)
    rr <- if (identical(z, r)) rz_new else space$dots(r, r)
    ratio <- ifelse(active, rz_new / rz, 0)
    list(
      blocks = list(x = x, r = r, p = space$axpby(1, z, ratio, p)),
      numbers = list(column = state$numbers$column, rz = rz_new, residual = sqrt(rr), step = step, ratio = ratio)
    )
  }
)

stop_indefinite <- function(columns, call = caller_env()) {
  stop_kernops("input", call = call, c(
    "The matrix is not positive definite (detected in column{?s} {as.character(columns)} of the right-hand side).",
    i = "Both axes must have the same points.",
    i = "A larger {.arg lambda}, such as 1e-6 times the diagonal, makes a matrix of nearly equal rows definite.",
    i = "{.code method = \"minres\"} solves systems with negative eigenvalues."
  ))
}
