# A summary of the points on which a symbolic matrix depends. Each tensor stores this list, so that an operation need
# not visit all variables of its arguments:
#   i, j     the number of points along an axis; NA without points, or without data
#   batches  the dimensions of batches, or NULL
#   axes     the axes that have points
#   wide     whether some points have several entries
#   vector   if all points come from one vector without dimensions, the length of this vector; otherwise NULL

points_of_variable <- function(variable, entries, vector) {
  axis <- variable$axis
  if (is_of_pairs(variable)) {
    size <- dim(variable$data)
    return(list(i = size[[1]], j = size[[2]], batches = NULL, axes = c("i", "j"), wide = entries > 1, vector = NULL))
  }
  has_points <- axis != "p"
  count <- if (has_points && !is.null(variable$data)) nrow(variable$data) else NA_real_
  list(i = if (axis == "i") count else NA_real_, j = if (axis == "j") count else NA_real_,
       batches = batch_shape(variable$data), axes = if (has_points) axis, wide = has_points && entries > 1,
       vector = vector)
}

# The points of all tensors. `variables` are the variables of all tensors, which an error names.
joint_points <- function(tensors, variables, call) {
  all <- lapply(tensors, function(x) x@points)
  list(i = joint_count(all, "i", variables, call), j = joint_count(all, "j", variables, call),
       batches = joint_batches(lapply(all, `[[`, "batches"), variables, call),
       axes = unique(unlist(lapply(all, `[[`, "axes"))), wide = any(vapply(all, `[[`, NA, "wide")),
       vector = joint_vector(all))
}

joint_count <- function(all, axis, variables, call) {
  counts <- unique(vapply(all, `[[`, 1, axis))
  counts <- counts[!is.na(counts)]
  if (length(counts) > 1) common_points(variables, axis, call) # raises the error
  if (length(counts)) counts else NA_real_
}

joint_batches <- function(shapes, variables, call) {
  shapes <- unique(Filter(Negate(is.null), shapes))
  if (length(shapes) > 1) batches_of(variables, call) else if (length(shapes)) shapes[[1]]
}

joint_vector <- function(all) {
  all <- Filter(function(points) length(points$axes), all)
  vectors <- lapply(all, `[[`, "vector")
  one_axis <- length(unique(lapply(all, `[[`, "axes"))) == 1
  if (one_axis && !any(vapply(vectors, is.null, NA))) vectors[[1]]
}

swap_points <- function(points) {
  axes <- c(i = "j", j = "i")[points$axes]
  utils::modifyList(points, list(i = points$j, j = points$i, axes = unname(axes)))
}

# ---- A row without its dimension, such as x[1, ] or colMeans(x), is read as a column of points of one entry.

# Operations that do not recycle a single entry.
without_recycling <- c("Concat", "TensorProd", "TensorDot", "Kron", "MatVecMult", "VecMatMult", "GradMatrix",
                       "Laplacian", "Divergence", "SoftDTW_SqDist", "BSpline")
# Some operations combine vectors with an operand that has a single number for each point: a factor, or a condition that
# selects vectors. This list has the positions of such operands.
factors <- list(`*` = 1:2, `/` = 2, Mult = 1:2, Divide = 2, Scal = 1, ComplexRealScal = 1, ComplexScal = 1, IfElse = 1,
                WeightedSqNorm = 1, WeightedSqDist = 1, SymSqNorm = 1, Grad = 3, Diff = 3)

name_of_operation <- function(formula) sub("[(].*", "", sub("^[(]%s (\\S+) %s[)]$", "\\1", formula))

# Stops if the single entry of a vector would be recycled for all entries of other points, because the vector may be a
# row that lost its dimensions. A vector is accepted if two conditions hold. First, the length of the vector differs
# from the number of entries of the other points. Second, the vector has a number for each of these points, or is an
# operand that `factors` lists for the operation.
check_vectors <- function(op, tensors, call) {
  vectors <- which(vapply(tensors, function(x) !is.null(x@points$vector) && entries(x) == 1, NA))
  if (length(vectors) == 0 || op %in% without_recycling) return(invisible())
  wide <- Filter(function(x) x@points$wide && entries(x) > 1, tensors)
  if (length(wide) == 0) return(invisible())
  widths <- vapply(wide, entries, 1L)
  axes <- unlist(lapply(wide, function(x) x@points$axes))
  for (n in vectors) {
    points <- tensors[[n]]@points
    for_each_point <- n %in% factors[[op]] || points$axes %in% axes
    if (points$vector %in% widths || !for_each_point) stop_vector(points, max(widths), call)
  }
}

stop_vector <- function(points, width, call) {
  constructor <- c(i = "Vi", j = "Vj")[[points$axes]]
  length <- points$vector
  stop_kernops("dim", call = call, c(
    "A vector of {length} numbers is {length} points of one entry, but other points have {width} entries.",
    i = paste0("For a single point, keep the row: {.code ", constructor, "(x[1, , drop = FALSE])}, or {.code ",
               constructor, "(rbind(v))} of a vector v."),
    i = paste0("For a number for each point, give a column: {.code ", constructor, "(cbind(v))}.")
  ))
}
