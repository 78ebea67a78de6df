# Kernel systems, and their solutions in plain R.

gaussian <- function(p = 1, ..., declared = sprintf("b = Vj(%d)", p)) {
  args <- c("s = Pm(1)", "x = Vi(2)", "y = Vj(2)", declared)
  keops_kernel("Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 1)", args, ...)
}
problem <- function(n, p = 1) {
  x <- uniform(n, 2)
  b <- uniform(n, p)
  list(input = list(s = 8, x = x, y = x, b = b), K = unname(exp(-8 * as.matrix(dist(x))^2)), b = b)
}
shifted <- \(case, lambda) case$K + diag(rep_len(lambda, nrow(case$K)))
dense <- \(case, lambda) solve(shifted(case, lambda), case$b)
residuals_of <- function(case, solution, lambda) {
  unname(sqrt(colSums((case$b - shifted(case, lambda) %*% solution)^2) / colSums(case$b^2)))
}
system_of <- \(case, lambda, ...) kernel_system(gaussian(...), "b", case$input, lambda)

# Calls body(backend) for the host and, if there is a GPU, for the GPU.
for_each_space <- function(body) for (backend in backends()) body(backend)

# The inverse of the preconditioner, column by column.
inverse_of <- function(precond, system) {
  as.matrix(preconditioning(precond, system$space)(system$space$copy(diag(system$n))))
}

# The log-determinant, computed from a solve whose right-hand sides are random probes only.
system_logdet <- function(system, precond = NULL, count = 16, seed = 1, tol = 1e-6) {
  probes <- probe_vectors(system, precond, count, seed)
  fit <- solve_system(system, probes$probes, precond, tol)
  c(lanczos_logdet(system, fit, probes, precond), list(fit = fit, probes = probes))
}
