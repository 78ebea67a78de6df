# The Cholesky factor of the covariance matrix on a GPU, by cuSOLVER, with the interface of host_factor() (gp_exact.R).
# The matrix is filled on the GPU and stays there; only vectors are copied.
gpu_factor <- function(data, model, device, call = caller_env()) {
  n <- length(data$y)
  x <- gpu_matrix(data$u, "float64", device)
  values <- covariance_matrix(model, backend = "cuda")
  slopes <- covariance_weighted(model, slopes_width)
  k <- or_too_large(gpu_new(n, whole_blocks(n), device), n, call)
  there <- function(b) gpu_matrix(b, "float64", device)
  list(
    matrix = k,
    refill = function(theta) {
      gpu_covariance(live(values), theta, x, x, TRUE, k)
      bad <- or_too_large(gpu_factorise(k, there(noise_variance(data, model, theta))), n, call)
      if (bad == 0 && !all(is.finite(gpu_factor_columns(k)$diagonal))) 1L else bad
    },
    diagonal = function() gpu_factor_columns(k)$diagonal,
    solve = function(b, transposed = FALSE) factor_solve(k, b, transposed),
    slope = function(theta, left, right) {
      or_too_large(gpu_factor_invert(k), n, call)
      or_too_large(gpu_weighted_slopes(live(slopes), theta, x, k, there(left), there(right)), n, call)
    },
    inverse_diagonal = function() gpu_factor_columns(k)$squares,
    inverse_times = function(b) as.matrix(gpu_factor_times(k, TRUE, gpu_factor_times(k, FALSE, there(b)))),
    rounding = 3 # its exponentials are polynomials
  )
}

# What host_explained() has, of a factor on the GPU: nothing but the results leaves it.
gpu_explained <- function(object, factor) {
  there <- function(b) gpu_beside(b, factor)
  values <- covariance_matrix(object$model, backend = "cuda")
  x <- there(object$data$u)
  weights <- object$state$z %*% object$state$root
  if (ncol(weights)) weights <- there(weights)
  function(u) {
    points <- seq_len(nrow(u))
    k <- gpu_new(nrow(x), whole_blocks(nrow(u)), gpu_describe(factor)$device)
    gpu_covariance(live(values), unname(object$theta), x, there(u), FALSE, k)
    trend <- if (ncol(weights)) gpu_inner(k, weights)[points, , drop = FALSE]
    k <- gpu_factor_solve(factor, FALSE, k)
    list(variance = gpu_dots(k, k)[points], trend = trend)
  }
}

live <- function(op) environment(op)$live_kernel()

# Columns are rounded up to whole blocks of this size, the number of columns that are weighted at a time.
gpu_width <- 32L
slopes_width <- 128L

whole_blocks <- function(columns) as.integer(ceiling(columns / gpu_width) * gpu_width)

gpu_beside <- function(x, other) gpu_matrix(x, "float64", gpu_describe(other)$device)

# The gradient wrt theta of sum_j (w_i | e_j) k(x_i, y_j), for each i.
covariance_weighted <- function(model, columns) {
  declared <- c(point_declarations(model), paste0(c("w = Vi(", "e = Vj("), columns, ")"))
  kernel_operator(paste0("Sum_Reduction(Grad((", model$formula, ") * (w | e), theta, 1), 1)"), declared, "auto",
                  "float64", "cuda")
}

# The GPU that factorises n x n matrices; NULL: the CPU does. From so many rows on that pays off.
exact_device <- function(n, backend, call = caller_env()) {
  if (backend == "cpu" || (backend == "auto" && n < 1000)) return(NULL)
  device <- check_device(NULL)[[1]]
  if (backend == "auto" && nzchar(cuda_problem(device))) return(NULL)
  if (!nzchar(problem <- gpu_solver_problem())) return(device)
  if (backend == "auto") return(NULL)
  stop_kernops("cuda", c("The exact method cannot be used on the GPU: {problem}.",
                         i = "{.code method = \"iterative\"} does not need cuSOLVER; {.code backend = \"cpu\"} always
                              works."),
               call = call)
}

or_too_large <- function(code, n, call) {
  tryCatch(code, kernops_memory_error = function(e) {
    gib <- round(8 * n^2 / 2^30, 1)
    stop_kernops("memory", c("The covariance matrix of {n} observations, {gib} GiB, is too large for the GPU.",
                             x = "{conditionMessage(e)}", i = "{.code method = \"iterative\"} does not store it."),
                 call = call)
  })
}

# The factor of a fit. A factor on a GPU is lost at the end of the session: it is computed again.
factor_of <- function(object) {
  if (!is_gpu_matrix(object$factor) || !is_null_pointer(object$factor)) return(object$factor)
  factor <- covariance_factor(object$data, object$model, usable_backend(object$how$backend))
  factor$refill(object$theta)
  factor$matrix
}

# The backend of a fit, which may have been made on a machine with a GPU.
usable_backend <- function(backend) {
  if (backend != "cuda" || !nzchar(problem <- cuda_problem(check_device(NULL)[[1]]))) return(backend)
  cli::cli_inform(c(i = "This fit was made on a GPU, which cannot be used here ({problem}): the CPU is used instead."),
                  class = "kernops_no_gpu")
  "cpu"
}
