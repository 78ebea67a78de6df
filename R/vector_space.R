# What iterative solvers do to blocks of vectors, n x p matrices, on the host and on the GPU. Both have dim(),
# as.matrix() and x[, j, drop = FALSE]. A block that is used up may be written into, so only its owner hands it over.
#   copy(x)              a block of doubles of its own, of what may have been anywhere
#   new(n, p)            a block to be filled by put()
#   put(x, j, y)         x with y for its columns j; x is used up
#   axpby(a, x, b, y)    a x + b y, with one number or one for each column; y is used up
#   add_rows(d, x, y)    y + d x, with one number or one for each row (an n x 1 block); y is used up
#   dots(x, y)           the scalar products of their columns
#   inner(x, y)          t(x) y, a small matrix of the host
#   combine(x, C)        x C for a small matrix of the host, of the first columns of x if it has fewer rows
#   whiten(x, core, more)  x R^-1, for R' R = core, a block of the space, with `more` added to its diagonal; both are
#                        used up
#   orthogonal(x, passes)  Q and R with (Q; R^-1) R = (x; I) and orthogonal columns of (Q; R^-1), which one pass gives
#                        to rounding times the largest eigenvalue of I + x x', two to rounding; x is used up
#   worth_leaving(..)    whether n x `width` blocks are made narrower when `active` columns go on. Each width is a
#                        kernel of its own: compiled in no time for the CPU, for the GPU in half a second
host_space <- function() {
  times <- function(a, x) if (length(a) == 1) a * x else x * rep(a, each = nrow(x))
  list(
    output = "host",
    copy = function(x) `storage.mode<-`(unname(as.matrix(x)), "double"),
    new = function(n, p) matrix(0, n, p),
    put = host_put,
    axpby = function(a, x, b, y) times(a, x) + times(b, y),
    add_rows = function(d, x, y) y + as.vector(d) * x,
    dots = function(x, y) colSums(x * y),
    inner = function(x, y) host_product(x, TRUE, y),
    combine = function(x, C) host_product(x, FALSE, C),
    whiten = function(x, core, more) host_product(x, FALSE, inverse_of_chol(chol(core + diag(more, nrow(core))))),
    orthogonal = function(x, passes) orthogonal(host_space(), x, passes),
    worth_leaving = function(active, width, n) active < width,
    finite = function(x) all(is.finite(x))
  )
}

gpu_space <- function(device) {
  list(
    output = "gpu",
    copy = function(x) gpu_doubles(x, device),
    new = function(n, p) gpu_new(n, p, device),
    put = gpu_put,
    axpby = gpu_axpby,
    add_rows = function(d, x, y) if (is_gpu_matrix(d)) gpu_add_rows(d, x, y) else gpu_axpby(d, x, 1, y),
    dots = gpu_dots,
    inner = gpu_inner,
    combine = gpu_combine,
    whiten = function(x, core, more) {
      if (!has_solver()) return(gpu_combine(x, inverse_of_chol(chol(as.matrix(core) + diag(more, nrow(core))))))
      if (gpu_factorise(core, gpu_doubles(rep(more, nrow(core)), device)) == 0) return(gpu_whiten(x, core))
      stop_kernops("input", "The columns of the preconditioner are linearly dependent.")
    },
    orthogonal = function(x, passes) {
      if (has_solver()) list(R = gpu_orthogonal(x, passes), Q = x) else orthogonal(gpu_space(device), x, passes)
    },
    worth_leaving = function(active, width, n) 2 * active <= width && n >= 1e5,
    finite = function(x) {
      smaller <- \() gpu_axpby(0, x, 2^-600, gpu_copy(x, device)) # whose squares are no Inf
      all(is.finite(gpu_dots(x, x))) || all(is.finite(gpu_dots(y <- smaller(), y)))
    }
  )
}

# By our own threads, as many an R comes with a BLAS that is slow.
host_product <- function(a, transposed, b) {
  work <- as.numeric(length(a)) * ncol(b)
  dense_product(a, transposed, b, isa(), if (work > 1e6) threads() else 1L)
}

has_solver <- function() !nzchar(gpu_solver_problem())

zeros_like <- function(space, x) space$axpby(0, x, 0, space$copy(x))

norms <- function(space, x) sqrt(space$dots(x, x))

# A float64 gpu_matrix that shares nothing with x.
gpu_doubles <- function(x, device) {
  there <- is_gpu_matrix(x) && gpu_describe(x)$precision == "float64"
  if (there) gpu_copy(x, device) else gpu_matrix(x, "float64", device)
}
