# A covariance for points of d coordinates: one formula of x = Vi(d), y = Vj(d) and theta = Pm(P), and the table of
# the parameters in theta.

# A list of
#   formula     its text, without the nugget
#   parameters  a data frame: name, value (NA: to be found), lower, upper, log (the scale it is optimised on), fixed,
#               kind (variance, range, ..., free), leaf, coordinate, extent (of the data, in units of a range or period)
#   nugget      the row of the nugget's variance, or none
#   scale       the rows of free variances that together multiply the whole covariance, or none
#   d           the number of coordinates
#   width       the number of columns of points in the formula: behind the coordinates are those of at_variables(), or
#               of gp_columns.R
covariance_model <- function(covariance, d, coordinates = paste0("x", seq_len(d)), call = caller_env(),
                             width = d + if (is_lmc(covariance)) extra_coordinates else 0L) {
  collected <- new.env(parent = emptyenv())
  collected$rows <- list()
  collected$labels <- list()
  if (is_lmc(covariance)) covariance <- with_places(covariance, d, call)
  text <- model_text(covariance, width, c(coordinates, rep("", width - d)), collected, call)
  # noise alone, the null model, has a field of variance 0
  if (is.null(text)) text <- "(0 * (Elem(theta, 0) + SqDist(x, y)))"
  parameters <- do.call(rbind, collected$rows)
  nugget <- which(parameters$label == "nugget")
  if (length(nugget) > 1) stop_kernops("input", "A covariance has at most one {.fn nugget}.", call = call)
  parameters$row <- seq_len(nrow(parameters))
  # theta holds what the formula reads; the nugget comes last and stands outside
  list(formula = text, parameters = parameters, nugget = nugget, scale = scale_rows(covariance, parameters), d = d,
       width = width,
       translation_invariant = all_leaves(covariance, function(leaf) leaf$translation_invariant),
       intrinsic = any_intrinsic(covariance),
       covariance = covariance)
}

all_leaves <- function(x, test) if (x$kind == "leaf") test(x) else all(vapply(x$parts, all_leaves, NA, test))

model_text <- function(x, d, coordinates, collected, call) {
  if (x$kind == "leaf") return(leaf_text(x, d, coordinates, collected, call))
  parts <- unlist(lapply(x$parts, model_text, d, coordinates, collected, call))
  if (length(parts) == 0) return(NULL)
  if (x$kind == "*") parts <- paste0("(", parts, ")")
  paste(parts, collapse = paste0(" ", x$kind, " "))
}

leaf_text <- function(leaf, d, coordinates, collected, call) {
  dims <- leaf_dims(leaf, d)
  check_leaf_dims(leaf, dims, d, call)
  number <- length(collected$labels) + 1L
  repeated <- sum(unlist(collected$labels) == leaf$label) + 1L
  collected$labels[[number]] <- leaf$label
  prefix <- paste0(leaf$label, if (repeated > 1) repeated)
  at <- sum(vapply(collected$rows, nrow, 0L))
  rows <- lapply(names(leaf$parameters), parameter_rows, leaf, prefix, coordinates[dims], number)
  sizes <- vapply(rows, nrow, 0L)
  collected$rows <- c(collected$rows, rows)
  if (is.null(leaf$formula)) return(NULL)
  refer <- function(first, size) if (size == 1) code_text("Elem(theta, ", first, ")") else {
    code_text("Extract(theta, ", first, ", ", size, ")")
  }
  places <- mapply(refer, at + cumsum(sizes) - sizes, sizes)
  names(places) <- names(leaf$parameters)
  text <- within_group(expand_geometry(leaf, dims, d), leaf)
  replace_names(text, places)
}

# Different groups have independent fields.
within_group <- function(text, leaf) {
  if (is.null(leaf$group)) return(text)
  sprintf("(%1$s) * Equal(Elem(x, %2$d), Elem(y, %2$d))", text, leaf$group - 1L)
}

# All names at once, so that nothing is replaced twice.
replace_names <- function(text, values) {
  found <- gregexpr("(?<![A-Za-z0-9_.])[A-Za-z][A-Za-z0-9_.]*", text, perl = TRUE)
  words <- regmatches(text, found)[[1]]
  known <- words %in% names(values)
  words[known] <- values[words[known]]
  regmatches(text, found) <- list(words)
  text
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

parameter_rows <- function(name, leaf, prefix, coordinates, number) {
  if (is_coregion(leaf)) return(sill_rows(leaf, number))
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
    leaf = number, coordinate = if (spread) seq_along(value) else 0L, lower = NA_real_, upper = NA_real_,
    extent = NA_real_, unit = if (name == "angle" && !leaf$own) 180 / pi else 1, variable = 0L
  )
}

# The formula of a leaf in x, y and its own parameters.
expand_geometry <- function(leaf, dims, d) {
  point <- lapply(c(x = "x", y = "y"), choose_coordinates, dims, d)
  if (leaf$own) {
    check_own_formula(leaf, length(dims))
    return(paste0("(", replace_names(leaf$formula, unlist(point)), ")"))
  }
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
  number <- 0L
  visit <- function(x) {
    if (x$kind == "leaf") {
      number <<- number + 1L
      return(with(parameters, row[leaf == number & kind == "variance" & !fixed]))
    }
    parts <- lapply(x$parts, visit)
    able <- lengths(parts) > 0
    if (x$kind == "*") return(if (any(able)) parts[[which(able)[[1]]]])
    if (all(able)) unlist(parts)
  }
  visit(x)
}
