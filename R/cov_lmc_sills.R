# Coregionalisation matrices B = L L' as leaves of a covariance. The formula reads the entries of the lower triangle L,
# column by column, or only the diagonal; users see the entries of B instead.

# The covariance of points i and j, which is the inner product of L' z_i and L' z_j, where z_i is the indicator vector
# of the variable of point i.
coregion_kernel <- kernel("lmc", function(x, y, root, size, diagonal) {
  z <- function(point, from, length) sprintf("Extract(OneHot(%s, %d), %d, %d)", point, size, from, length)
  if (diagonal) return(sprintf("(Square(%s) * %s | %s)", root, z(x, 0, size), z(y, 0, size)))
  lengths <- rev(seq_len(size))
  columns <- Map(function(first, length) {
    part <- function(point) sprintf("(Extract(%s, %d, %d) | %s)", root, first, length, z(point, size - length, length))
    paste(part(x), "*", part(y))
  }, cumsum(lengths) - lengths, lengths)
  paste0("(", paste(columns, collapse = " + "), ")")
}, screens = FALSE)

# `sills`: the matrix B, or NULL. with_variables() adds the names of the variables of the response.
coregion <- function(name, sills, diagonal, fixed) {
  leaf <- new_leaf(coregion_kernel, list(root = NULL))
  leaf[c("name", "diagonal", "fixed")] <- list(name, diagonal, if (fixed) "root" else character())
  leaf$sills <- sills
  leaf
}

is_coregion <- function(leaf) leaf$kind == "leaf" && leaf$label == "lmc"

# The entries of L and B, as a data frame with the row and the column of each entry.
sill_entries <- function(p, diagonal) {
  if (diagonal) return(data.frame(row = seq_len(p), column = seq_len(p)))
  entries <- which(lower.tri(diag(p), TRUE), arr.ind = TRUE)
  data.frame(row = entries[, 1], column = entries[, 2])
}

root_matrix <- function(root, p, diagonal) {
  L <- matrix(0, p, p)
  L[as.matrix(sill_entries(p, diagonal))] <- root
  L
}

triangle_entries <- function(B, diagonal) B[as.matrix(sill_entries(nrow(B), diagonal))]

# The lower triangular L of a matrix B = L L' that may be singular. If the pivot of a column is 0, the column is 0.
semidefinite_root <- function(B) {
  p <- nrow(B)
  L <- matrix(0, p, p)
  for (k in seq_len(p)) {
    rest <- B[k:p, k] - L[k:p, seq_len(k - 1), drop = FALSE] %*% L[k, seq_len(k - 1)]
    if (rest[[1]] > 1e-14 * B[k, k]) L[k:p, k] <- rest / sqrt(rest[[1]])
  }
  L
}

# The matrix B of a leaf; NULL if B is unknown.
sills_of <- function(leaf) {
  root <- leaf$parameters$root
  if (is.null(root) || anyNA(root)) return(leaf$sills)
  names <- leaf$variables
  B <- tcrossprod(root_matrix(root, length(names), leaf$diagonal))
  dimnames(B) <- list(names, names)
  B
}

# Adds the names of the variables to the model.
with_variables <- function(x, variables, call = caller_env()) {
  p <- length(variables)
  effects <- names(Filter(function(leaf) is.null(leaf$structure), added_effects(x)))
  keys <- vapply(leaves_of(x), leaf_key, "")
  x <- change_leaves(x, function(leaf, path) {
    if (path %in% effects) return(effects_of_variables(leaf, variables, keys, call))
    if (!is_coregion(leaf)) return(leaf)
    leaf$sills <- sills_of(leaf) # NULL, or known sills, for example of an earlier fit
    leaf$variables <- variables
    leaf$parameters$root <- rep(NA_real_, nrow(sill_entries(p, leaf$diagonal)))
    if (is.null(leaf$sills)) return(leaf)
    B <- sills_by_name(leaf$sills, variables, leaf$name, call)
    leaf$parameters$root <- triangle_entries(semidefinite_root(B), leaf$diagonal)
    leaf
  })
  x$variables <- variables
  x
}

sills_by_name <- function(B, variables, name, call) {
  if (nrow(B) != length(variables)) {
    stop_kernops("dim", "The sills of {.val {name}} must have a row for each of the {length(variables)} variables
                         {.val {variables}}, not {nrow(B)} row{?s}.", call = call)
  }
  if (setequal(rownames(B), variables)) B[variables, variables] else B
}

# Adds to each leaf the indices of the columns of points that the leaf reads: coordinates in space come first, and the
# columns of at_variables() follow.
with_places <- function(x, d, call) {
  if (is.null(x$variables)) {
    stop_kernops("input", "The variables of {.fn lmc} are the responses of {.fn gp}, such as {.code cbind(a, b) ~ 1}.",
                 call = call)
  }
  change_leaves(x, function(leaf, path) {
    if (is_effect(leaf)) {
      if (!is.null(leaf$belongs)) leaf$belongs$column <- d + 1
    } else if (is_coregion(leaf)) {
      leaf$dims <- d + 1
      leaf$kernel$constants <- list(size = length(leaf$variables), diagonal = leaf$diagonal)
    } else if (leaf$label == "nugget" || is.null(leaf$dims)) {
      leaf$dims <- if (leaf$label == "nugget") d + 2:3 else seq_len(d)
      leaf$placed <- TRUE # print() shows no columns for this leaf
    } else check_leaf_dims(leaf, d, call)
    leaf
  })
}

# The rows of a coregionalisation matrix in the table of parameters. The search optimises the entries of L without
# bounds. The diagonal of L is not restricted to positive values, because L would then be at a bound if B is singular at
# the optimum.
sill_rows <- function(leaf, path) {
  entries <- sill_entries(length(leaf$variables), leaf$diagonal)
  same <- entries$row == entries$column
  of <- leaf$variables
  data.frame(
    name = paste0(leaf$name, ".sill.", of[entries$column], ifelse(same, "", paste0(".", of[entries$row]))),
    label = "lmc",
    kind = ifelse(same, "sill", "cross"), value = leaf$parameters$root, log = FALSE, fixed = "root" %in% leaf$fixed,
    leaf = path, parameter = "root", coordinate = 0L, lower = NA_real_, upper = NA_real_, extent = NA_real_,
    unit = 1, variable = entries$row
  )
}

# The coregionalisation matrices B = L L' of a model. For each matrix, a list of `rows`, the positions of its parameters
# in theta; its `name`; `diagonal`; and the values of L (`root`) and B (`sills`) at theta.
coregions <- function(model, theta = model$parameters$value) {
  if (!is_lmc(model$covariance)) return(list())
  leaves <- Filter(is_coregion, leaves_of(model$covariance))
  unname(Map(function(leaf, path) {
    rows <- leaf_rows(model, path)
    L <- root_matrix(theta[rows], length(leaf$variables), leaf$diagonal)
    list(rows = rows, name = leaf$name, diagonal = leaf$diagonal, root = L, sills = tcrossprod(L))
  }, leaves, names(leaves)))
}

# The mean of the sills, the diagonal of B = L L': the sum of the squares of the entries of L divided by the number of
# variables.
mean_sill <- function(leaf, p) if (is_coregion(leaf)) sum(p$root^2) / length(leaf$variables)

# The coregionalisation matrices of the nugget and the microscale term, if their sills are estimated.
open_whites <- function(model) {
  open <- Filter(function(block) !all(model$parameters$fixed[block$rows]), coregions(model))
  intersect(c("nugget", "microscale"), vapply(open, `[[`, "", "name"))
}

# theta with the columns of L multiplied by -1 where their diagonal is negative.
with_signs <- function(model, theta) {
  for (block in coregions(model, theta)) {
    signs <- ifelse(diag(block$root) < 0, -1, 1)
    theta[block$rows] <- triangle_entries(block$root * rep(signs, each = length(signs)), block$diagonal)
  }
  theta
}

# Parameters between the parameters a and b. The matrices B of the result are weighted means of the matrices B of a and
# b, with weights 1 - t and t. The roots L are not averaged, because different roots of the same matrix may be far
# apart.
mixed_sills <- function(model, theta, a, b, t) {
  Map(function(from, to) {
    mean <- (1 - t) * from$sills + t * to$sills
    theta[from$rows] <<- triangle_entries(semidefinite_root(mean), from$diagonal)
  }, coregions(model, a), coregions(model, b))
  theta
}

# The parameters theta for users, with entries of B instead of L.
reported <- function(model, theta) {
  theta <- in_data_units(model, theta)
  for (block in coregions(model, theta)) theta[block$rows] <- triangle_entries(block$sills, block$diagonal)
  theta
}

# The derivatives of reported(): dB_ij / dL_kl = [i = k] L_jl + [j = k] L_il, where [ ] is 1 for equal numbers, else 0.
report_slope <- function(model, theta) {
  slope <- diag(length(theta))
  for (block in coregions(model, theta)) {
    entries <- sill_entries(nrow(block$root), block$diagonal)
    each <- function(b, l) {
      (entries$row[[b]] == entries$row[[l]]) * block$root[entries$column[[b]], entries$column[[l]]] +
        (entries$column[[b]] == entries$row[[l]]) * block$root[entries$row[[b]], entries$column[[l]]]
    }
    some <- seq_len(nrow(entries))
    slope[block$rows, block$rows] <- outer(some, some, Vectorize(each))
  }
  slope
}

# Returns the second derivatives of the objective f with respect to L that the average information does not contain.
# Where B = L L' is singular, as at many optima, the average information has no curvature in some directions. Let G = df
# / dB, which follows from df / dL = 2 G L column by column. The missing second derivatives are 2 G for each column of
# L. The function returns only the part of these second derivatives with positive curvature.
root_curvature <- function(model, theta, gradient) {
  added <- matrix(0, length(theta), length(theta))
  for (block in coregions(model, theta)) {
    p <- nrow(block$root)
    entries <- sill_entries(p, block$diagonal)
    slope <- matrix(0, p, p)
    slope[as.matrix(entries)] <- gradient[block$rows] / 2
    G <- sill_gradient(block$root, slope)
    for (k in seq_len(p)) {
      of <- block$rows[entries$column == k]
      rows <- entries$row[entries$column == k]
      added[of, of] <- 2 * upward(G[rows, rows, drop = FALSE])
    }
  }
  added
}

# Columns of L that are 0 are stationary: the derivatives with respect to such a column vanish even away from an
# optimum. The derivatives with respect to B show whether the objective decreases if B grows in a direction. If the
# objective decreases, the function returns a step that sets the column to the direction of steepest descent, with
# length 1, 0.3 or 0.1 in the units of the search.
grown_sills <- function(search) {
  point <- search$point
  for (block in Filter(function(block) all(block$rows %in% search$free), coregions(search$model))) {
    places <- match(block$rows, search$free)
    at_root <- function(L) replace(point$s, places, triangle_entries(L, block$diagonal))
    root <- root_matrix(point$s[places], nrow(block$root), block$diagonal)
    zero <- which(colSums(root^2) < 1e-5)
    small <- abs(diag(root)) < 3e-3
    beside <- if (length(zero)) visit(search, at_root(root + diag(3e-3 * small, nrow(root))))
    if (is.null(beside)) next
    beside_root <- root_matrix(beside$s[places], nrow(root), block$diagonal)
    G <- sill_gradient(beside_root, root_matrix(beside$gradient[places] / 2, nrow(root), block$diagonal))
    for (k in zero) {
      rows <- if (block$diagonal) k else k:nrow(root)
      bends <- eigen(G[rows, rows, drop = FALSE], symmetric = TRUE)
      steepest <- bends$vectors[, length(rows)]
      # if the steepest decrease is below this limit, a step would hardly gain more than the smallest relevant gain
      if (min(bends$values) > -10 * search$least_gain) next
      for (length in c(1, 0.3, 0.1)) {
        s <- at_root(replace(root, cbind(rows, k), length * steepest))
        if (isTRUE(visit(search, s)$state$value < point$state$value - search$least_gain)) return(s)
      }
    }
  }
}

# The symmetric matrix G such that the lower triangle of G L is `slope`; G is 0 where L has no pivot.
sill_gradient <- function(L, slope) {
  p <- nrow(L)
  G <- matrix(0, p, p)
  for (k in rev(seq_len(p))) {
    later <- seq_len(p) > k
    for (i in p:k) {
      rest <- slope[i, k] - sum(G[i, later] * L[later, k])
      G[i, k] <- G[k, i] <- if (L[k, k] == 0) 0 else rest / L[k, k]
    }
  }
  G
}

upward <- function(G) {
  decomposition <- eigen(G, symmetric = TRUE)
  decomposition$vectors %*% (pmax(decomposition$values, 0) * t(decomposition$vectors))
}

# The covariance matrix of the noise of the variables at one location.
nugget_sills <- function(object) {
  nuggets <- Filter(function(block) block$name == "nugget", coregions(object$model, object$theta))
  p <- length(response_names(object))
  if (length(nuggets)) nuggets[[1]]$sills else matrix(0, p, p)
}

# The standard deviations and correlations of the residuals of the variables. The correlation of two variables uses the
# locations where both variables were observed.
variable_moments <- function(model, u, y) {
  p <- length(model$covariance$variables)
  variable <- u[, model$d + 1] + 1
  place <- u[, model$d + 2]
  sd <- vapply(seq_len(p), function(k) sqrt(mean(y[variable == k]^2)), 0)
  wide <- matrix(NA_real_, length(unique(place)), p)
  wide[cbind(match(place, unique(place)), variable)] <- y
  products <- vapply(seq_len(p), function(k) colMeans(wide * wide[, k], na.rm = TRUE), numeric(p))
  squares <- vapply(seq_len(p), function(k) colMeans(wide^2 + 0 * wide[, k], na.rm = TRUE), numeric(p))
  correlation <- products / sqrt(squares * t(squares))
  correlation[!is.finite(correlation)] <- 0
  list(sd = sd, correlation = correlation)
}

# Starting values of the estimated matrices B: shares of the covariances of the residuals. `point`, a point of the unit
# cube, determines the shares and the correlations.
start_sills <- function(model, value, open, point) {
  blocks <- Filter(function(block) any(open[block$rows]), coregions(model))
  if (!length(blocks)) return(value)
  share <- vapply(blocks, function(block) 0.05^point[[block$rows[[1]]]], 0)
  share <- share / sum(share)
  for (k in seq_along(blocks)) {
    block <- blocks[[k]]
    p <- nrow(block$root)
    correlated <- if (block$diagonal) 0 else 0.95 * point[[block$rows[[2]]]]
    R <- correlated * model$moments$correlation
    diag(R) <- 1
    root <- tryCatch(t(chol(R)), error = function(e) diag(p))
    value[block$rows] <- triangle_entries(sqrt(share[[k]]) * model$moments$sd * root, block$diagonal)
  }
  value
}
