# The bases of smooths, made by mgcv, in the coordinates of a mixed model: unpenalised coefficients belong to the trend,
# the others are random.

# The variables of a smooth in the form that mgcv takes, from numbers, which are numbers of levels for factors. The
# factor of random smooths has one level, so that the basis is that of each level.
smooth_data <- function(column, values) {
  data <- stats::setNames(as.data.frame(values), column$names)
  for (name in names(column$factors)) {
    levels <- column$factors[[name]]
    data[[name]] <- factor(levels[data[[name]]], levels)
  }
  if (!is.null(column$among)) data[[column$among]] <- factor(rep("all", nrow(data)))
  data
}

# The basis of the observations. Its coefficients b have the penalties b' S_k b, whose sum has the weights 1 / v_k: the
# coefficients that no penalty reaches belong to the trend, the others are rotated and scaled (diagonal_penalties()).
with_basis <- function(column, values, call) {
  made <- made_smooth(column, smooth_data(column, values), call)
  made$X <- NULL # as long as the data
  column$basis <- made
  column <- c(column, if (length(made$S) == 1) one_penalty(made) else diagonal_penalties(made, column$label, call))
  column$width <- ncol(column$random)
  colnames(column$trend) <- sprintf("%s.%d", column$title, seq_len(ncol(column$trend)))
  column
}

# The smooth of mgcv, which adds up to 0 over the observations. `modCon = 2`: that of t2(), too.
made_smooth <- function(column, data, call) {
  made <- tryCatch({
    mgcv::smoothCon(column$spec, data, absorb.cons = TRUE, modCon = 2, null.space.penalty = column$select)
  }, error = function(e) stop_smooth(column$label, e, call))
  level <- column$by_level
  if (length(level) && !level %in% data[[column$spec$by]]) {
    stop_kernops("input", "There are no observations of the level {.val {level}} of {.code {column$spec$by}}.",
                 call = call)
  }
  made <- if (is.null(level)) made[[1]] else Filter(function(one) one$by.level == level, made)[[1]]
  made$S <- Filter(function(S) any(S != 0), made$S)
  if (length(made$S)) return(made)
  stop_kernops("input", c("The smooth {.code {column$label}} must have a penalty.",
                          i = "Functions without a penalty are terms of the trend, such as {.code poly(x, 3)}."),
               call = call)
}

# With one penalty, the random coefficients have the penalty of their sum of squares.
one_penalty <- function(made) {
  penalty <- eigen(made$S[[1]], symmetric = TRUE)
  random <- seq_len(made$rank)
  list(random = penalty$vectors[, random, drop = FALSE] / rep(sqrt(penalty$values[random]), each = ncol(made$S[[1]])),
       trend = penalty$vectors[, -random, drop = FALSE])
}

# The basis at values of the variables, NA where one of them is: `values` of the random functions, and the `trend`.
smooth_functions <- function(column, values) {
  known <- stats::complete.cases(values)
  basis <- matrix(NA_real_, nrow(values), nrow(column$random))
  if (any(known)) basis[known, ] <- mgcv::PredictMat(column$basis, smooth_data(column, values[known, , drop = FALSE]))
  list(values = basis %*% column$random, trend = basis %*% column$trend)
}

# Settled columns without the unpenalised functions of smooths that are linear combinations of the trend x and of those
# of earlier smooths: s(x) has the straight line that te(x, z) has, too.
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
