# The variograms and cross-variograms of a fit with several variables: a panel for each pair of variables, in the order
# of the lower triangle row by row.

panels_of_pairs <- function(x, settings, call) {
  if (length(settings)) {
    stop_kernops("input", c("The variograms of a fit of several variables are those of all pairs.",
                            i = "{.fn gp_variogram} takes other arguments."), call = call)
  }
  variograms <- variograms_of_each(x)
  names <- response_names(x)
  pairs <- do.call(c, lapply(seq_along(names), function(i) lapply(seq_len(i), function(j) names[unique(c(j, i))])))
  lapply(pairs, function(pair) {
    pair <- paste(pair, collapse = ".")
    of <- function(table) table[table$id == pair, ]
    variogram_panel(pair, distance_label(x), of(variograms$empirical), of(variograms$model),
                    max(variograms$empirical$upper))
  })
}

# A list of two tables with the columns id, dist, gamma: the variograms of the residuals, and the variograms of the
# model along each coordinate.
variograms_of_each <- function(x) {
  whole <- x$parts$whole
  globe <- on_globe(x$model)
  place <- function(u) if (globe) on_sphere(u) else unname(u)
  residual <- x$data$y - if (ncol(x$data$x)) as.vector(x$data$x %*% x$beta) else 0
  values <- replace(whole$y, !is.na(whole$y), residual)
  empirical <- empirical_variograms(place(whole$u), values)
  model <- lapply(seq_len(x$model$d), function(k) model_variograms(x, k, place, max(empirical$upper)))
  list(empirical = empirical, model = do.call(rbind, model))
}

# The variogram of each variable, and the cross-variogram of each pair of variables with common points.
empirical_variograms <- function(u, values) {
  names <- colnames(values)
  breaks <- variogram_breaks(u, 15, NULL)
  tables <- lapply(seq_along(names), function(j) lapply(seq_len(j), function(i) {
    both <- !is.na(values[, i]) & !is.na(values[, j])
    if (sum(both) < 2) return(NULL)
    variables <- data.frame(z = I(values[both, unique(c(i, j)), drop = FALSE]))
    variogram <- gp_variogram(z ~ 0, variables, breaks, coords = u[both, , drop = FALSE])
    variogram <- as.data.frame(unclass(variogram))[as.integer(variogram$id) == nlevels(variogram$id), ]
    variogram$id <- paste(names[unique(c(i, j))], collapse = ".")
    variogram
  }))
  do.call(rbind, unlist(tables, recursive = FALSE))
}

# The cross-variogram is half the mean product of the differences of two variables. This value equals the mean
# cross-covariance at distance 0, minus the mean cross-covariance at the given distance, plus the nugget.
model_variograms <- function(x, k, place, max_dist) {
  names <- response_names(x)
  p <- length(names)
  origin <- x$data$u[rep(1, 200), seq_len(x$model$d), drop = FALSE]
  shifted <- origin
  shifted[, k] <- shifted[, k] + diff(range(x$data$u[, k])) * seq(1e-6, 1, length.out = 200)
  dist <- sqrt(rowSums((place(shifted) - place(origin))^2))
  shifted <- shifted[dist <= max_dist, , drop = FALSE]
  dist <- dist[dist <= max_dist]
  field <- if (has_effects(x$model)) field_part(x$model) else c(x$model, list(rows = seq_along(x$theta)))
  values <- covariance_matrix(field)
  covariances <- function(from, i, to, j) {
    values(list(theta = x$theta[field$rows], x = at_variables(from, rep(i, nrow(from))),
                y = at_variables(to, rep(j, nrow(to)))))
  }
  nugget <- nugget_sills(x)
  pairs <- which(lower.tri(diag(p), TRUE), arr.ind = TRUE)
  tables <- lapply(seq_len(nrow(pairs)), function(row) {
    i <- pairs[row, 2]
    j <- pairs[row, 1]
    first <- origin[1, , drop = FALSE]
    gamma <- as.vector(covariances(first, i, first, j)) - as.vector(covariances(shifted, i, first, j)) + nugget[i, j]
    data.frame(id = if (i == j) names[[i]] else paste(names[[i]], names[[j]], sep = "."), dist, gamma,
               along = colnames(x$parts$u)[[k]], number = k)
  })
  do.call(rbind, tables)
}
