# Random formulas for every operation of oracle_ops.

# A random formula that uses the operation `name`, as list(formula, args, input, value). value(input) computes the
# formula in plain R, with one row for each pair of an i in `some_i` and any j; the oracle is fast because `some_i` has
# few values. In odd trials the first argument is a sum of a variable Vi and a variable Vj. Names of variables begin
# with `prefix`.
random_case <- function(name, M, N, trial, some_i = seq_len(M), prefix = "") {
  op <- oracle_ops[[name]]
  m <- sample(7, 1)
  n <- sample(4, 1)
  integers <- as.list(op$integers(m, n))
  sizes <- op$sizes(m, n)
  homes <- sample(list("i", "j", "p", c("i", "j")), length(sizes), replace = TRUE)
  if (length(homes) && trial %% 2) homes[[1]] <- c("i", "j")
  letter <- paste0(prefix, letters[seq_along(sizes)], recycle0 = TRUE)
  rows <- c(i = M, j = N, p = 1)
  full <- \(domain, home) if (length(home) == 1) \(n) domain(n) + domain(n) else domain
  draw <- \(domain, size, home) lapply(rows[home], \(n) matrix(full(domain, home)(n * size), n))
  names <- Map(paste0, letter, homes)
  input <- stats::setNames(unlist(Map(draw, op$domains, sizes, homes), recursive = FALSE), unlist(names))

  pairs <- expand.grid(i = some_i, j = seq_len(N), p = 1)
  at_pairs <- \(x, home) x[pairs[[home]], , drop = FALSE]
  value <- function(input) {
    arguments <- Map(\(names, homes) Reduce(`+`, Map(at_pairs, input[names], homes)), names, homes)
    op$rows(nrow(pairs), unname(arguments), integers)
  }
  categories <- c(i = "Vi", j = "Vj", p = "Pm")[unlist(homes)]
  list(formula = sprintf("%s(%s)", name, toString(c(vapply(names, paste, "", collapse = " + "), integers))),
       args = sprintf("%s = %s(%d)", unlist(names), categories, rep(sizes, lengths(homes))),
       input = input, value = value)
}

# An operator that sums u_i w_j value_ij over j, where value_ij is the value of the formula of the case.
as_operator <- \(case, kernel) kernel(sprintf("Sum_Reduction(u * w * %s, 1)", case$formula),
                                      c("u = Vi(1)", "w = Vj(1)", case$args))
