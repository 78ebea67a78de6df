# The covariance of a Gaussian process as operators of keops_kernel().

# The sums over j of k(x_i, y_j) b_j, where k is the covariance and b has `columns` columns.
covariance_product <- function(model, columns = 1L, precision = "float64", backend = "cpu") {
  recent_operator(code_text("Sum_Reduction((", model$formula, ") * b, 1)"),
                 c(point_declarations(model), code_text("b = Vj(", columns, ")")), "auto", precision, backend)
}

# The matrix of the covariances k(x_i, y_j).
covariance_matrix <- function(model, precision = "float64", backend = "cpu") {
  covariance_values(model$formula, model, precision, backend)
}

# The derivatives dk(x_i, y_j) / dtheta, an array with a matrix for each parameter.
covariance_derivatives <- function(model, backend = "cpu") {
  covariance_values(code_text("Grad(", model$formula, ", theta, 1)"), model, "float64", backend)
}

# The derivatives dk(x_i, y_j) / dy_j, an array with a matrix for each coordinate.
covariance_slopes <- function(model) {
  covariance_values(code_text("Grad(", model$formula, ", y, 1)"), model, "float64", "cpu")
}

# The covariances k(x_i, y_j) of all pairs, followed by their derivatives with respect to y_j.
covariance_with_slopes <- function(model) {
  covariance_values(code_text("Concat(", model$formula, ", Grad(", model$formula, ", y, 1))"), model, "float64", "cpu")
}

covariance_values <- function(formula, model, precision, backend) {
  recent_operator(code_text("Sum_Reduction(", formula, ", 1)"), point_declarations(model), "auto", precision, backend,
                 stored = TRUE)
}

# The gradient with respect to theta of sum_j (w_i | e_j) k(x_i, y_j), for each i.
covariance_weighted <- function(model, columns) {
  declared <- c(point_declarations(model), code_text(c("w = Vi(", "e = Vj("), columns, ")"))
  recent_operator(code_text("Sum_Reduction(Grad((", model$formula, ") * (w | e), theta, 1), 1)"), declared, "auto",
                 "float64", "auto")
}

# The gradient with respect to theta of sum_ij (w_i | e_j) k(x_i, y_j). One pass computes the derivatives for all
# parameters.
covariance_gradient <- function(model, columns, precision = "float64", backend = "cpu") {
  weighted <- recent_operator(
    code_text("Sum_Reduction((", model$formula, ") * (w | e), 1)"),
    c(point_declarations(model), code_text(c("w = Vi(", "e = Vj("), columns, ")")), "auto", precision, backend
  )
  keops_grad(weighted, "theta")
}

# The sums over j of dk(x_i, y_j) / dtheta b_j, with a column for each pair of a column of b and a parameter.
derivative_products <- function(model, columns = 1L, precision = "float64", backend = "cpu") {
  recent_operator(code_text("Sum_Reduction(TensorProd(b, Grad(", model$formula, ", theta, 1)), 1)"),
                 c(point_declarations(model), code_text("b = Vj(", columns, ")")), "auto", precision, backend)
}

# The variances k(x_i, x_i).
covariance_diagonal <- function(model, precision = "float64", backend = "cpu") {
  if (length(model$functional)) return(function(input) covariance_pairs(model)(c(input, list(y = input$x))))
  recent_operator(code_text("Sum_Reduction(", covariance_text(model, "x", "x"), ", 1)"),
                 point_declarations(model)[1:2], "auto", precision, backend)
}

point_declarations <- function(model) {
  c(sprintf("theta = Pm(%d)", nrow(model$parameters)), sprintf("x = Vi(%d)", model$width),
    sprintf("y = Vj(%d)", model$width))
}

# The number of columns of a block, if the covariance matrix is computed in blocks of columns.
block_width <- 32L

# Calls f(first, last) for consecutive blocks of `width` numbers of 1..n. Each call of f allocates a few matrices of
# `rows` rows and `width` columns. The function collects garbage explicitly, because R's garbage collector would let
# some hundred MB of these matrices accumulate if the session has a matrix of 1 GB.
for_blocks <- function(n, f, width = block_width, rows = n) {
  every <- max(1, floor(2e6 / (width * rows)))
  for (block in seq_len(ceiling(n / width))) {
    f((block - 1) * width + 1, min(n, block * width))
    if (rows > 5000 && block %% every == 0) gc(full = FALSE)
  }
}

# The operators of a covariance for conditioning sets: values, and derivatives with respect to theta. On the CPU, the
# precision is always float64.
set_operators <- function(model, backend = "cpu", precision = "float64") {
  list(values = covariance_matrix(model, precision, backend), derivatives = covariance_derivatives(model, backend))
}

# The method for sums of a covariance over pairs of points (verb_kernel_sum.R).
pair_kernel.kernops_covariance <- function(kernel, d, backend, call = caller_env()) {
  model <- covariance_model(kernel, d, call = call)
  theta <- model$parameters$value
  if (anyNA(theta)) {
    stop_kernops("input", call = call,
                 "The parameters of {.arg kernel} must be given, such as {.code squared_exponential(1, 0.3)}.")
  }
  if (length(model$nugget)) {
    stop_kernops("input", "{.arg kernel} must be without {.fn nugget}: add its product with {.arg b} to the sums.",
                 call = call)
  }
  list(text = model$formula, declared = point_declarations(model)[[1]], input = list(theta), d = d, backend = backend)
}
