# The bases of smooths, constructed by mgcv and converted to a mixed model: unpenalised coefficients belong to the
# trend, penalised coefficients are random.

# The variables of a smooth in the form that mgcv requires, computed from a matrix of numbers. In this matrix, a column
# for a factor has the indices of levels. The factor of random smooths gets a single level, so that all levels have the
# same basis.
smooth_data <- function(column, values) {
  data <- stats::setNames(as.data.frame(values), column$names)
  for (name in names(column$factors)) {
    levels <- column$factors[[name]]
    data[[name]] <- factor(levels[data[[name]]], levels)
  }
  if (!is.null(column$by_level)) data[[column$spec$by]] <- NULL
  if (!is.null(column$among)) data[[column$among]] <- factor(rep("all", nrow(data)))
  data
}

# For a smooth of one level of a factor `by`: 1 for values of this level, otherwise 0.
within_level <- function(column, values) {
  by <- column$spec$by
  if (is.null(column$by_level)) 1 else as.numeric(column$factors[[by]][values[, column$names == by]] == column$by_level)
}

# Computes the basis of the observations. The penalty of the coefficients b is the sum of b' S_k b / v_k. Coefficients
# without a penalty belong to the trend; penalised coefficients are rotated and scaled (diagonal_penalties()).
with_basis <- function(column, values, call) {
  level <- column$by_level
  if (!any(within_level(column, values) > 0)) {
    stop_kernops("input", "There are no observations of the level {.val {level}} of {.code {column$spec$by}}.",
                 call = call)
  }
  column$basis <- made <- made_smooth(column, smooth_data(column, values), call)
  column$sample <- sample_of_values(column, values)
  column <- c(column, if (length(made$S) == 1) one_penalty(made) else diagonal_penalties(made, column$label, call))
  column$width <- ncol(column$random)
  colnames(column$trend) <- sprintf("%s.%d", column$title, seq_len(ncol(column$trend)))
  column
}

# Values of the variables for plots of a smooth: some observations, the observations with the smallest and the largest
# value of each variable and, for two variables, the corners of their convex hull.
sample_of_values <- function(column, values, max_size = 200) {
  values <- unname(values[within_level(column, values) > 0 & stats::complete.cases(values), , drop = FALSE])
  colnames(values) <- column$names
  numeric <- values[, setdiff(column$names, c(names(column$factors), column$spec$by)), drop = FALSE]
  rows <- c(some_positions(nrow(values), max_size), apply(numeric, 2, which.min), apply(numeric, 2, which.max),
            if (ncol(numeric) == 2) grDevices::chull(numeric))
  values[sort(unique(unlist(rows))), , drop = FALSE]
}

# The smooth that mgcv constructs, centred so that its sum over the observations is 0. The setting `modCon = 2` also
# centres smooths by t2(). The smooths of the levels of a factor `by` share one basis.
made_smooth <- function(column, data, call) {
  spec <- column$spec
  if (!is.null(column$by_level)) spec$by <- "NA"
  spec <- with_plate_functions(spec, nrow(data))
  made <- recalled("basis", list(spec, data, column$select), function() {
    made <- mgcv::smoothCon(spec, data, absorb.cons = TRUE, modCon = 2, null.space.penalty = column$select)[[1]]
    made$X <- NULL # removes the model matrix, which has a row for each observation
    made$S <- Filter(function(S) any(S != 0), made$S)
    made
  }) |> tryCatch(error = function(e) stop_smooth(column$label, e, call))
  if (length(made$S)) return(made)
  stop_kernops("input", c("The smooth {.code {column$label}} must have a penalty.",
                          i = "Functions without a penalty are terms of the trend, such as {.code poly(x, 3)}."),
               call = call)
}

# Scales the random coefficients of a smooth with one penalty such that the penalty is their sum of squares.
one_penalty <- function(smooth) {
  penalty <- eigen(smooth$S[[1]], symmetric = TRUE)
  random <- seq_len(smooth$rank)
  list(random = unit_penalty_vectors(penalty, random),
       trend = penalty$vectors[, -random, drop = FALSE])
}

# The eigenvectors of a penalty b' S b with the indices `numbers`, scaled such that the penalty of each eigenvector is
# 1.
unit_penalty_vectors <- function(penalty, numbers) {
  penalty$vectors[, numbers, drop = FALSE] / rep(sqrt(penalty$values[numbers]), each = nrow(penalty$vectors))
}

# The basis at values of the variables: `values` has the random functions as its columns, and `trend` has the functions
# that belong to the trend. Rows with a missing variable are NA.
smooth_functions <- function(column, values) {
  known <- stats::complete.cases(values)
  basis <- matrix(NA_real_, nrow(values), nrow(column$random))
  if (any(known)) {
    values <- values[known, , drop = FALSE]
    data <- smooth_data(column, values)
    functions <- recalled("functions", list(column$basis, data), function() mgcv::PredictMat(column$basis, data))
    basis[known, ] <- functions * within_level(column, values)
  }
  list(values = basis %*% column$random, trend = basis %*% column$trend)
}

# Removes unpenalised functions of smooths that are linear combinations of the trend x and of unpenalised functions of
# earlier smooths: for example, s(x) and te(x, z) both contain the straight line in x.
without_repeated_trend <- function(settled, x) {
  if (!ncol(settled$trend)) return(settled)
  fit <- stats::.lm.fit(cbind(x, settled$trend), numeric(nrow(x)))
  repeated <- fit$pivot[-seq_len(fit$rank)] - ncol(x)
  kept <- setdiff(seq_len(ncol(settled$trend)), repeated)
  smooths <- which(vapply(settled$columns, is_smooth_column, NA))
  widths <- vapply(settled$columns[smooths], function(column) ncol(column$trend), 0L)
  of <- rep(smooths, widths)
  number <- sequence(widths)
  for (k in smooths) {
    settled$columns[[k]]$trend <- settled$columns[[k]]$trend[, number[kept[of[kept] == k]], drop = FALSE]
  }
  settled$trend <- settled$trend[, kept, drop = FALSE]
  settled
}
