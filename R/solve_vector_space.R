# Operations of iterative solvers on blocks of vectors, n x p matrices on the host or on a GPU, which have dim(),
# as.matrix() and x[, j, drop = FALSE]. Each operation runs on the device of its blocks (src/block.cpp); a space
# determines the device of new blocks. "x is used up" means that an operation may overwrite x, so only the owner of a
# block may pass it there.
#   copy(x)              a separate block of doubles, from data on the host or a GPU
#   new(n, p)            a block to be filled by put()
#   put(x, j, y)         x with its columns j replaced by y; x is used up
#   axpby(a, x, b, y)    a x + b y, with one number or one for each column; y is used up
#   add_rows(d, x, y)    y + d x, with one number or one for each row (an n x 1 block); y is used up
#   scale_rows(d, x)     d x, for d as in add_rows()
#   dots(x, y)           the scalar products of the columns of x and y
#   inner(x, y)          t(x) y, a small matrix on the host
#   combine(x, C)        x C for a small matrix C on the host; if C has few rows, only the first columns of x are used
#   whiten(x, core, more)  x R^-1, for R' R = core, a block of the space, with `more` added to its diagonal; both are
#                        used up
#   orthogonal(x, passes)  Q and R with (Q; R^-1) R = (x; I) and orthogonal columns of (Q; R^-1), where the error of
#                        orthogonality is the rounding error after two passes, and the rounding error times the largest
#                        eigenvalue of I + x x' after one pass; x is used up
#   worth_leaving(..)    whether blocks of `width` columns should be replaced by narrower blocks if only `active`
#                        columns continue. Each width needs a separate kernel, whose compilation takes half a second for
#                        the GPU and no time for the CPU
vector_space <- function(device = -1L) {
  list(
    device = device, output = if (device < 0) "host" else "gpu",
    copy = function(x) block_copy(numbers_of(x), device),
    new = function(n, p) block_new(n, p, device),
    put = block_put,
    axpby = block_axpby,
    add_rows = block_add_rows,
    scale_rows = function(d, x) block_add_rows(d, x, block_axpby(0, x, 0, block_copy(x, device))),
    dots = block_dots,
    inner = function(x, y) block_inner(x, y, run_settings()),
    combine = function(x, C) block_combine(x, C, run_settings()),
    whiten = function(x, core, more) block_whiten(x, core, more, run_settings()),
    orthogonal = function(x, passes) block_orthogonal(x, passes, run_settings()),
    worth_leaving = function(active, width, n) if (device < 0) active < width else 2 * active <= width && n >= 1e5,
    finite = block_finite,
    factorises = \() !nzchar(block_problem(device))
  )
}

numbers_of <- function(x) if (is_gpu_matrix(x)) x else `storage.mode<-`(unname(as.matrix(x)), "double")

# TRUE if no entry is infinite or NaN; the norm is computed from scaled entries, whose squares do not overflow.
block_finite <- function(x) {
  smaller <- \() block_axpby(0, x, 2^-600, block_copy(x, block_device(x)))
  all(is.finite(block_dots(x, x))) || all(is.finite(block_dots(y <- smaller(), y)))
}

zeros_like <- function(space, x) space$axpby(0, x, 0, space$copy(x))

norms <- function(space, x) sqrt(space$dots(x, x))

# A copy of x as a float64 gpu_matrix that shares no memory with x.
gpu_doubles <- function(x, device) block_copy(numbers_of(x), device)
