# MINRES (Paige and Saunders 1975), for symmetric matrices that may be indefinite. The method computes Lanczos vectors
# v. With each vector, rotations (cosine, sine) update the QR decomposition of the tridiagonal matrix of these vectors.
# `diagonal` and `above` are the numbers that the previous rotation computed for the next column of R. The norm of the
# residual follows by recurrence, without the residual itself. Entries count as 0 if they are below `rounding` times
# `largest`, the largest norm so far of a column of the tridiagonal matrix. The iteration of a column stops if there is
# no new Lanczos vector, or if the matrix is singular in the space of the vectors so far.
minres <- \(rounding) list(
  recorded = character(),
  start = function(space, precondition, b) {
    zeros <- zeros_like(space, b)
    beta <- norms(space, b)
    zero <- numeric(ncol(b))
    list(
      blocks = list(x = space$copy(zeros), v = space$axpby(0, zeros, or_zero(1 / beta), b), v_old = space$copy(zeros),
                    w = space$copy(zeros), w_old = zeros),
      numbers = list(column = seq_len(ncol(b)), beta = zero, cosine = zero - 1, sine = zero, diagonal = zero,
                     above = zero, residual = beta, largest = zero, stuck = logical(ncol(b)))
    )
  },
  step = function(space, product, precondition, state, active) {
    is <- c(state$blocks, state$numbers)
    q <- space$axpby(-is$beta, is$v_old, 1, product(is$v))
    alpha <- space$dots(is$v, q)
    q <- space$axpby(-alpha, is$v, 1, q)
    beta <- norms(space, q)
    # applies the previous rotations to the new column (beta_old, alpha, beta); one more rotation eliminates the
    # subdiagonal entry
    over <- is$cosine * is$diagonal + is$sine * alpha
    corner <- is$sine * is$diagonal - is$cosine * alpha
    rho <- sqrt(corner^2 + beta^2)
    largest <- pmax(is$largest, sqrt(is$beta^2 + alpha^2 + beta^2))
    singular <- rho <= rounding * largest
    cosine <- or_zero(corner / rho)
    sine <- or_zero(beta / rho)
    w <- space$axpby(or_zero(1 / rho), is$v, or_zero(-is$above / rho), is$w_old)
    w <- space$axpby(or_zero(-over / rho), is$w, 1, w)
    list(
      blocks = list(x = space$axpby(ifelse(active & !singular, cosine * is$residual, 0), w, 1, is$x),
                    v = space$axpby(0, is$v, or_zero(1 / beta), q), v_old = is$v, w = w, w_old = is$w),
      numbers = list(column = is$column, beta = beta, cosine = cosine, sine = sine, diagonal = -is$cosine * beta,
                     above = is$sine * beta, residual = ifelse(singular, 1, sine) * is$residual, largest = largest,
                     stuck = singular | beta <= rounding * largest)
    )
  }
)

or_zero <- function(x) ifelse(is.finite(x), x, 0)
