# The operations of iterative solvers on blocks of vectors. A block is an n x p matrix on the host or on a GPU that
# supports dim(), as.matrix() and x[, j, drop = FALSE]. A space is a list of these operations, and determines the device
# of new blocks. Each operation runs on the device of its blocks (src/block.cpp). "x is used up" means that an operation
# may overwrite x, so the caller must not use x afterwards.
#   copy(x)              a separate block of doubles, from data on the host or a GPU
#   new(n, p)            a block to be filled by put()
#   put(x, j, y)         x with its columns j replaced by y; x is used up
#   axpby(a, x, b, y)    a x + b y, where a and b are one number or have a number for each column; y is used up
#   add_rows(d, x, y)    y + d x, where d is one number, or an n x 1 block with a number for each row; y is used up
#   scale_rows(d, x)     d x, for d as in add_rows()
#   dots(x, y)           the scalar products of the columns of x and y
#   inner(x, y)          t(x) y, a small matrix on the host
#   combine(x, C)        x C for a small matrix C on the host; if C has few rows, only the first columns of x are used
#   whiten(x, core, more)  x R^-1 with R' R = core + more I, where `core` is a block; x and `core` are used up
#   orthogonal(x, passes)  Q and R with (Q; R^-1) R = (x; I), where (Q; R^-1) has orthonormal columns. After one pass,
#                        the error of orthogonality is the rounding error times the largest eigenvalue of I + x x';
#                        after two passes, the error is the rounding error alone. x is used up
#   worth_leaving(active, width, n)  TRUE if narrower blocks should replace blocks of `width` columns when only `active`
#                        columns continue to iterate. Each width needs a separate kernel, whose compilation takes half a
#                        second for the GPU and no time for the CPU
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

# TRUE if no entry of a block is infinite or NaN. The sum of squares is not finite if an entry is not finite; if squares
# of large entries overflow, the entries are scaled first.
block_finite <- function(x) {
  smaller <- \() block_axpby(0, x, 2^-600, block_copy(x, block_device(x)))
  all(is.finite(block_dots(x, x))) || all(is.finite(block_dots(y <- smaller(), y)))
}

zeros_like <- function(space, x) space$axpby(0, x, 0, space$copy(x))

norms <- function(space, x) sqrt(space$dots(x, x))

# A copy of x as a float64 gpu_matrix that shares no memory with x.
gpu_doubles <- function(x, device) block_copy(numbers_of(x), device)
