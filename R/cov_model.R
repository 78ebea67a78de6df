# The model of a covariance for points of d coordinates: one formula of x = Vi(d), y = Vj(d) and theta = Pm(P), and the
# table of the parameters in theta.

# A model is a list of
#   formula     the formula, without the nugget
#   parameters  a data frame with a row for each entry of theta: name, value (NA: to be estimated), lower, upper, log
#               (TRUE if the search uses the logarithm), fixed, kind (variance, range, ..., free), leaf (the path of the
#               leaf), parameter (its name in the leaf), coordinate, extent (of the data, in the
#               unit of a range or period)
#   nugget      the row of the nugget's variance; empty without a nugget
#   scale       the rows of free variances that together multiply the whole covariance; may be empty
#   d           the number of coordinates
#   width       the number of columns of points in the formula: after the coordinates, points have the columns of
#               at_variables() or the columns of data_columns.R, whose number is `beside`
#   rank        the number of columns v of a point, the last ones, whose product v(x)'v(y) is subtracted from the
#               covariance: see residual_model()
covariance_model <- function(covariance, d, coordinates = paste0("x", seq_len(d)), call = caller_env(),
                             beside = 0L, width = d + beside + if (is_lmc(covariance)) extra_coordinates else 0L) {
  if (is_lmc(covariance)) covariance <- with_places(covariance, d, call)
  leaves <- leaves_of(covariance)
  for (leaf in leaves) {
    check_leaf_dims(leaf, width, call)
    if (leaf$kernel$by_formula) check_own_formula(leaf, length(leaf_dims(leaf, width)))
  }
  parameters <- parameter_table(leaves, c(coordinates, rep("", width - d)))
  nugget <- which(parameters$label == "nugget")
  if (length(nugget) > 1) stop_kernops("input", "A covariance has at most one {.fn nugget}.", call = call)
  model <- list(parameters = parameters, nugget = nugget, scale = scale_rows(covariance, parameters), d = d,
                width = width, intrinsic = any_intrinsic(covariance), covariance = covariance,
                translation_invariant = all_leaves(covariance, is_stationary))
  c(list(formula = covariance_text(model)), model)
}

is_stationary <- function(leaf) leaf$kernel$stationary && !leaf$geometry$angular

parameter_table <- function(leaves, coordinates) {
  labels <- vapply(leaves, `[[`, "", "label")
  number <- stats::ave(seq_along(labels), labels, FUN = seq_along)
  prefixes <- paste0(labels, ifelse(number > 1, number, ""))
  rows <- Map(function(leaf, path, prefix) {
    if (is_coregion(leaf)) return(sill_rows(leaf, path))
    names <- coordinates[leaf_dims(leaf, length(coordinates))]
    do.call(rbind, lapply(names(leaf$parameters), parameter_rows, leaf, path, prefix, names))
  }, leaves, names(leaves), prefixes)
  table <- do.call(rbind, unname(rows))
  table$row <- seq_len(nrow(table))
  table
}

# The positions in theta of all parameters of a leaf, or of the parameter `name`.
leaf_rows <- function(model, path, name = NULL) {
  parameters <- model$parameters
  which(parameters$leaf == path & (is.null(name) | parameters$parameter %in% name))
}

# The covariance with the estimated values, in the units of the data.
with_values <- function(model, theta) {
  theta <- in_data_units(model, theta)
  change_leaves(model$covariance, function(leaf, path) {
    for (name in names(leaf$parameters)) leaf$parameters[[name]] <- theta[leaf_rows(model, path, name)]
    leaf
  })
}

# The formula of a model for points with the names x and y. For models without a field (the null model, noise only), the
# formula has variance 0. The nugget is the last parameter of theta, and the formula does not contain it.
covariance_text <- function(model, x = "x", y = "y") {
  if (length(model$functional)) return(functional_text(model, x, y))
  text <- fold_covariance(model$covariance, function(leaf, path) {
    leaf_text(leaf, c(x = x, y = y), references(model, path, leaf), model$width)
  }, function(operation, parts) {
    parts <- unlist(parts)
    if (operation == "*") parts <- paste0("(", parts, ")")
    if (length(parts)) paste(parts, collapse = paste0(" ", operation, " "))
  })
  text <- text %||% sprintf("(0 * (Elem(theta, 0) + SqDist(%s, %s)))", x, y)
  rank <- model$rank
  if (!length(rank)) return(text)
  factors <- code_text("Extract(", c(x, y), ", ", model$width - rank, ", ", rank, ")")
  sprintf("((%s) - (%s | %s))", text, factors[[1]], factors[[2]])
}

# Half the variance of the difference of the field at two points.
semivariance_text <- function(model) {
  variances <- c(covariance_text(model, "x", "x"), covariance_text(model, "y", "y"))
  sprintf("(((%s) + (%s)) / 2 - (%s))", variances[[1]], variances[[2]], model$formula)
}

# The texts by which the formula of the model refers to the parameters of a leaf.
references <- function(model, path, leaf) {
  vapply(stats::setNames(nm = names(leaf$parameters)), function(name) {
    rows <- leaf_rows(model, path, name)
    if (length(rows) == 1) return(code_text("Elem(theta, ", rows - 1, ")"))
    code_text("Extract(theta, ", rows[[1]] - 1, ", ", length(rows), ")")
  }, "")
}

leaf_text <- function(leaf, points, references, d) {
  if (is.null(leaf$kernel$text)) return(NULL)
  dims <- leaf_dims(leaf, d)
  point <- lapply(points, choose_coordinates, dims, d)
  text <- function(x, y) kernel_text(leaf, x, y, references, dims)
  if (!leaf$kernel$intrinsic) return(within_group(text(point$x, point$y), leaf, points))
  # the covariance of the differences between the field and its value at the origin; contrasts of these differences are
  # contrasts of the field
  origin <- sprintf("(0 * %s)", point)
  whole <- sprintf("(%s + %s - %s)", text(point$x, origin[[1]]), text(point$y, origin[[2]]), text(point$x, point$y))
  within_group(whole, leaf, points)
}

# Restricts a formula to points of the same group, because fields of different groups are independent.
within_group <- function(text, leaf, points) {
  text <- within_variable(within_indicator(text, leaf, points), leaf, points)
  if (is.null(leaf$group)) return(text)
  sprintf("(%s) * Equal(Elem(%s, %d), Elem(%s, %d))", text, points[["x"]], leaf$group - 1L, points[["y"]],
          leaf$group - 1L)
}

check_leaf_dims <- function(leaf, d, call) {
  dims <- leaf_dims(leaf, d)
  if (max(dims, 0) > d) {
    stop_kernops("dim", "{.fn {leaf$label}} has {.arg dims} {.val {dims}}, but there are {d} coordinate{?s}.",
                 call = call)
  }
  most <- leaf$kernel$most_dims
  if (length(dims) > most) {
    stop_kernops("dim", "{.fn {leaf$label}} is valid for at most {most} coordinate{?s}, not {length(dims)}.",
                 call = call)
  }
  leaf$geometry$check(leaf, dims, call)
  if (leaf$kernel$by_formula) return()  # in a user's formula, a parameter named `range` need not be a range
  ranges <- length(leaf$parameters$range)
  if (ranges > 1 && ranges != length(dims)) {
    stop_kernops("dim", "{.fn {leaf$label}} has {ranges} ranges for {length(dims)} coordinate{?s}.", call = call)
  }
  centers <- length(leaf$parameters$center)
  if (centers > 1 && centers != length(dims)) {
    stop_kernops("dim", call = call,
                 "{.fn {leaf$label}} has a {.arg center} of {centers} numbers for {length(dims)} coordinate{?s}.")
  }
}

parameter_rows <- function(name, leaf, path, prefix, coordinates) {
  value <- leaf$parameters[[name]]
  by_formula <- leaf$kernel$by_formula
  spread <- name %in% leaf$geometry$spread
  if (spread) value <- rep_len(value %||% NA_real_, length(coordinates))
  value <- as.numeric(value %||% NA_real_)
  suffix <- leaf$suffixes[[name]] %||% if (spread && length(value) == length(coordinates)) {
    paste0(".", coordinates)
  } else if (length(value) > 1) seq_along(value)
  data.frame(
    name = paste0(prefix, ".", name, suffix), label = leaf$label, kind = if (by_formula) "free" else name,
    value = value,
    log = if (by_formula) name %in% leaf$positive else is_log_kind(name),
    fixed = name %in% leaf$fixed,
    leaf = path, parameter = name, coordinate = if (spread) seq_along(value) else 0L, lower = NA_real_,
    upper = NA_real_, extent = NA_real_, unit = if (name == "angle" && !by_formula) 180 / pi else 1, variable = 0L
  )
}

# The rows of free variances that together scale the whole covariance: all variances of a sum, but only the first
# variance of a product.
scale_rows <- function(x, parameters) {
  fold_covariance(x, function(leaf, path) with(parameters, row[leaf == path & kind == "variance" & !fixed]),
                  function(operation, parts) {
                    able <- lengths(parts) > 0
                    if (operation == "*") return(if (any(able)) parts[[which(able)[[1]]]])
                    if (all(able)) unlist(parts)
                  })
}
