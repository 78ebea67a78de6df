# A covariance for points of d coordinates: one formula of x = Vi(d), y = Vj(d) and theta = Pm(P), and the table of
# the parameters in theta.

# A list of
#   formula     its text, without the nugget
#   parameters  a data frame: name, value (NA: to be found), lower, upper, log (the scale it is optimised on), fixed,
#               kind (variance, range, ..., free), leaf (its path), parameter (of the leaf), coordinate, extent (of the
#               data, in units of a range or period)
#   nugget      the row of the nugget's variance, or none
#   scale       the rows of free variances that together multiply the whole covariance, or none
#   d           the number of coordinates
#   width       the number of columns of points in the formula: behind the coordinates are those of at_variables(), or
#               of gp_columns.R
covariance_model <- function(covariance, d, coordinates = paste0("x", seq_len(d)), call = caller_env(),
                             width = d + if (is_lmc(covariance)) extra_coordinates else 0L) {
  if (is_lmc(covariance)) covariance <- with_places(covariance, d, call)
  leaves <- leaves_of(covariance)
  for (leaf in leaves) check_leaf(leaf, width, call)
  parameters <- parameter_table(leaves, c(coordinates, rep("", width - d)))
  nugget <- which(parameters$label == "nugget")
  if (length(nugget) > 1) stop_kernops("input", "A covariance has at most one {.fn nugget}.", call = call)
  model <- list(parameters = parameters, nugget = nugget, scale = scale_rows(covariance, parameters), d = d,
                width = width, intrinsic = any_intrinsic(covariance), covariance = covariance,
                translation_invariant = all_leaves(covariance, function(leaf) leaf$translation_invariant))
  c(list(formula = covariance_text(model)), model)
}

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

# The rows of a leaf in theta, or of one of its parameters.
leaf_rows <- function(model, path, name = NULL) {
  parameters <- model$parameters
  which(parameters$leaf == path & (is.null(name) | parameters$parameter %in% name))
}

# The covariance with the values that were found, in the units of the data.
with_values <- function(model, theta) {
  theta <- in_data_units(model, theta)
  change_leaves(model$covariance, function(leaf, path) {
    for (name in names(leaf$parameters)) leaf$parameters[[name]] <- theta[leaf_rows(model, path, name)]
    leaf
  })
}

# The formula of a model for points of these names. Noise alone, the null model, has a field of variance 0. The nugget
# is the last parameter of theta, and stands outside of the formula.
covariance_text <- function(model, x = "x", y = "y") {
  text <- fold_covariance(model$covariance, function(leaf, path) {
    leaf_text(leaf, c(x = x, y = y), references(model, path, leaf), model$width)
  }, function(operation, parts) {
    parts <- unlist(parts)
    if (operation == "*") parts <- paste0("(", parts, ")")
    if (length(parts)) paste(parts, collapse = paste0(" ", operation, " "))
  })
  text %||% sprintf("(0 * (Elem(theta, 0) + SqDist(%s, %s)))", x, y)
}

# The names of the parameters of a leaf in the formula.
references <- function(model, path, leaf) {
  vapply(stats::setNames(nm = names(leaf$parameters)), function(name) {
    rows <- leaf_rows(model, path, name)
    if (length(rows) == 1) return(code_text("Elem(theta, ", rows - 1, ")"))
    code_text("Extract(theta, ", rows[[1]] - 1, ", ", length(rows), ")")
  }, "")
}

leaf_text <- function(leaf, points, references, d) {
  if (is.null(leaf$formula)) return(NULL)
  dims <- leaf_dims(leaf, d)
  within_group(replace_names(expand_geometry(leaf, dims, d, points), references), leaf, points)
}

# Different groups have independent fields.
within_group <- function(text, leaf, points) {
  if (is.null(leaf$group)) return(text)
  sprintf("(%s) * Equal(Elem(%s, %d), Elem(%s, %d))", text, points[["x"]], leaf$group - 1L, points[["y"]],
          leaf$group - 1L)
}

check_leaf <- function(leaf, d, call) {
  dims <- leaf_dims(leaf, d)
  check_leaf_dims(leaf, dims, d, call)
  if (leaf$own) check_own_formula(leaf, length(dims))
}

check_leaf_dims <- function(leaf, dims, d, call) {
  if (max(dims, 0) > d) {
    stop_kernops("dim", "{.fn {leaf$label}} has {.arg dims} {.val {dims}}, but there are {d} coordinate{?s}.",
                 call = call)
  }
  if (length(dims) > leaf$most_dims) {
    stop_kernops("dim",
                 "{.fn {leaf$label}} is valid for at most {leaf$most_dims} coordinate{?s}, not {length(dims)}.",
                 call = call)
  }
  need <- if (leaf$geometry == "great_circle") 2L else if (leaf$geometry == "anisotropic") {
    length(leaf$parameters$ratio) + 1L
  }
  if (length(need) && length(dims) != need) {
    what <- if (leaf$geometry == "great_circle") "Great-circle distance" else
      if (need == 2) "Anisotropy" else "Anisotropy by three angles"
    stop_kernops("dim", "{what} needs {need} coordinates, not {length(dims)}.", call = call)
  }
  if (!is.null(leaf$time) && (length(dims) < 2 || !leaf$time %in% dims)) {
    stop_kernops("dim", "{.fn {leaf$label}} has {.code time = {leaf$time}}, which must be one of several coordinates.",
                 call = call)
  }
  if (leaf$own) return()  # whatever its parameters are called
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
  spread <- name == "range" && leaf$ard
  if (spread) value <- rep_len(value %||% NA_real_, length(coordinates))
  value <- as.numeric(value %||% NA_real_)
  suffix <- if (spread && length(value) == length(coordinates)) paste0(".", coordinates) else if (length(value) > 1) {
    seq_along(value)
  }
  data.frame(
    name = paste0(prefix, ".", name, suffix), label = leaf$label, kind = if (leaf$own) "free" else name, value = value,
    log = if (leaf$own) name %in% leaf$positive else !name %in% c("angle", "center"), fixed = name %in% leaf$fixed,
    leaf = path, parameter = name, coordinate = if (spread) seq_along(value) else 0L, lower = NA_real_,
    upper = NA_real_, extent = NA_real_, unit = if (name == "angle" && !leaf$own) 180 / pi else 1, variable = 0L
  )
}

# The formula of a leaf in x, y and its own parameters.
expand_geometry <- function(leaf, dims, d, points) {
  point <- lapply(points, choose_coordinates, dims, d)
  if (leaf$own) return(paste0("(", replace_names(leaf$formula, unlist(point)), ")"))
  variogram <- function(from, to) gsub("{q}", scaled_sq_distance(leaf, list(x = from, y = to), dims), leaf$formula,
                                       fixed = TRUE)
  if (leaf$intrinsic) {
    # the covariance of the field that is 0 at the origin: contrasts have the same one
    origin <- function(p) paste0("(0 * ", p, ")")
    return(sprintf("(%s + %s - %s)", variogram(point$x, origin(point$x)), variogram(point$y, origin(point$y)),
                   variogram(point$x, point$y)))
  }
  text <- variogram(point$x, point$y)
  for (name in names(point)) text <- gsub(paste0("{", name, "}"), point[[name]], text, fixed = TRUE)
  text
}

own_variables <- function(leaf, d) {
  c(sprintf("x = Vi(%d)", d), sprintf("y = Vj(%d)", d),
    sprintf("%s = Pm(%d)", names(leaf$parameters), lengths(leaf$parameters)))
}

# The covariances of x and y, row by row.
own_pairs <- function(leaf, d) {
  kernel_operator(code_text("Sum_Reduction(", leaf$formula, ", 1)"), sub("y = Vj", "y = Vi", own_variables(leaf, d)),
                  "auto", "float64", "cpu")
}

# Mistakes are shown in the user's formula, not in what is made of it.
check_own_formula <- function(leaf, d) {
  declared <- own_variables(leaf, d)
  size <- kernel_describe(kernel_compile(code_text("Sum_Reduction(", leaf$formula, ", 1)"), declared))$size
  if (size != 1) {
    stop_kernops("input", call = NULL,
                 "The covariance {.code {leaf$formula}} must be one number for each pair of points, not {size}.")
  }
  pairs <- own_pairs(leaf, d)
  u <- matrix(sin(seq_len(8 * d)), 8)
  v <- matrix(cos(seq_len(8 * d)), 8)
  there <- pairs(c(list(x = u, y = v), leaf$parameters))
  back <- pairs(c(list(x = v, y = u), leaf$parameters))
  if (any(abs(there - back) > 1e-8 * max(abs(there), 0, na.rm = TRUE), na.rm = TRUE)) {
    stop_kernops("input", "The covariance {.code {leaf$formula}} must be symmetric in {.code x} and {.code y}.",
                 call = NULL)
  }
}

scaled_sq_distance <- function(leaf, point, dims) {
  sphere <- function(p) {
    lon <- code_text("(0.017453292519943295 * Elem(", p, ", 0))")
    lat <- code_text("(0.017453292519943295 * Elem(", p, ", 1))")
    sprintf("(6371.0088 * Concat(Cos(%s) * Concat(Cos(%s), Sin(%s)), Sin(%s)))", lat, lon, lon, lat)
  }
  anisotropic <- function() {
    u <- paste0("(", point$x, " - ", point$y, ")")
    if (length(leaf$parameters$ratio) == 1) return(plane_anisotropy(u))
    space_anisotropy(u)
  }
  if (leaf$ard) return(code_text("WeightedSqDist(Inv(Square(range)), ", point$x, ", ", point$y, ")"))
  distance <- switch(leaf$geometry, anisotropic = anisotropic(), space_time = space_time_distance(leaf, point, dims),
                     great_circle = sprintf("SqDist(%s, %s)", sphere(point$x), sphere(point$y)),
                     sprintf("SqDist(%s, %s)", point$x, point$y))
  if (!"range" %in% names(leaf$parameters)) distance else code_text("(", distance, " / Square(range))")
}

# A unit of time is as far as `speed` units of space.
space_time_distance <- function(leaf, point, dims) {
  at <- match(leaf$time, dims)
  space <- lapply(point, choose_coordinates, seq_along(dims)[-at], length(dims))
  sprintf("(SqDist(%s, %s) + Square(speed * (Elem(%s, %d) - Elem(%s, %d))))", space$x, space$y, point$x, at - 1L,
          point$y, at - 1L)
}

plane_anisotropy <- function(u) {
  s <- "Sin(0.017453292519943295 * angle)"
  c <- "Cos(0.017453292519943295 * angle)"
  sprintf("(Square(Elem(%s, 0) * %s + Elem(%s, 1) * %s) + Square((Elem(%s, 0) * %s - Elem(%s, 1) * %s) / ratio))",
          u, s, u, c, u, c, u, s)
}

# Rotations by one angle after another: from north, from the plane, about the longest axis.
space_anisotropy <- function(u) {
  rotate <- function(a, b, k) {
    angle <- sprintf("(0.017453292519943295 * Elem(angle, %d))", k)
    c(sprintf("(%s * Cos(%s) + %s * Sin(%s))", a, angle, b, angle),
      sprintf("(%s * Cos(%s) - %s * Sin(%s))", b, angle, a, angle))
  }
  plane <- rotate(sprintf("Elem(%s, 1)", u), sprintf("Elem(%s, 0)", u), 0)
  along <- rotate(plane[[1]], sprintf("Elem(%s, 2)", u), 1)
  across <- rotate(along[[2]], plane[[2]], 2)
  sprintf("(Square(%s) + Square(%s / Elem(ratio, 0)) + Square(%s / Elem(ratio, 1)))", along[[1]], across[[2]],
          across[[1]])
}

choose_coordinates <- function(name, dims, d) {
  if (identical(as.integer(dims), seq_len(d))) return(name)
  if (length(dims) == 1) return(code_text("Elem(", name, ", ", dims - 1, ")"))
  if (all(diff(dims) == 1)) return(code_text("Extract(", name, ", ", dims[[1]] - 1, ", ", length(dims), ")"))
  Reduce(function(a, b) code_text("Concat(", a, ", ", b, ")"), code_text("Elem(", name, ", ", dims - 1, ")"))
}

# Free variances that multiply the whole covariance when they grow together; the first of a product is enough.
scale_rows <- function(x, parameters) {
  fold_covariance(x, function(leaf, path) with(parameters, row[leaf == path & kind == "variance" & !fixed]),
                  function(operation, parts) {
                    able <- lengths(parts) > 0
                    if (operation == "*") return(if (any(able)) parts[[which(able)[[1]]]])
                    if (all(able)) unlist(parts)
                  })
}
