# Starting values of a search for the parameters: points that fill the space of the parameters evenly.

# A matrix with a row of parameters theta for each start, for a model with bounds. Values that the user gave are kept,
# except for angles and parameters of user-defined formulas, which always have a value: angles differ between starts,
# and three of four successive starts vary the parameters of formulas.
starting_values <- function(model, u, y) {
  parameters <- model$parameters
  open <- is.na(parameters$value) | (parameters$kind %in% c("angle", "free") & !parameters$fixed)
  total <- max(mean(y^2), .Machine$double.xmin)
  periods <- if (any(open & parameters$kind == "period")) likely_periods(model, u, y)
  if (!any(open)) return(matrix(parameters$value, 1))
  axes <- length(unique(parameters$leaf[open & parameters$kind == "range"])) + sum(open & parameters$coordinate > 1) +
    sum(open & parameters$kind %in% c("variance", "speed", "free", names(parameter_kinds))) +
    length(unique(parameters$leaf[open & parameters$kind == "sill"]))
  count <- max(8 * axes, 8, 2 * length(periods))
  unit <- even_points(count, sum(open) + 1)
  starts <- lapply(seq_len(count), function(n) start_at(model, u, total, open, unit[n, ], periods, n))
  starts <- do.call(rbind, starts)
  known <- open & !is.na(parameters$value)
  starts[1, known] <- parameters$value[known]
  unique(starts)
}

# The number of dimensions in which starts differ. A coregionalisation matrix counts as one dimension: the share of its
# starting value in the covariances of the residuals.
start_axes <- function(parameters) {
  free <- parameters[!parameters$fixed, ]
  sills <- free$kind %in% c("sill", "cross")
  sum(!sills) + length(unique(free$leaf[sills]))
}

# The first n points of a Kronecker sequence in the unit cube, a row for each point. The increments are negative powers
# of the root of x^(d + 1) = x + 1 (Roberts 2018).
even_points <- function(n, d) {
  root <- stats::uniroot(function(x) x^(d + 1) - x - 1, c(1, 2), tol = 1e-12)$root
  (0.5 + outer(seq_len(n), root^-seq_len(d))) %% 1
}

# The parameters of the start that belongs to the point `unit` of the unit cube. The first coordinate of the point is
# used for all ranges.
start_at <- function(model, u, total, open, unit, periods, n) {
  parameters <- model$parameters
  seen <- list()
  value <- parameters$value
  position <- replace(numeric(length(open)), open, unit[-1])
  between <- function(t, low, high) low * (high / low)^t
  # exchanging two terms of one kind does not change a sum, but may change a covariance with products
  alike <- function(row) {
    sum(parameters$label == row$label & parameters$kind == "range" & parameters$coordinate <= 1) > 1 &&
      !has_products(model$covariance)
  }
  for (k in which(open)) {
    row <- parameters[k, ]
    # two terms of a sum that started with equal ranges would keep equal ranges, so their starts must differ; the range
    # of a periodic term is a shape parameter, not a length
    lengths <- leaf_at(model$covariance, row$leaf)$geometry$lengths
    family <- if (row$kind == "range" && !lengths) "shape_of_wave" else row$kind
    repeated <- sum(unlist(seen[family]) != row$leaf)
    if (!is_white(row$label)) seen[[family]] <- unique(c(seen[[family]], row$leaf))
    value[[k]] <- switch(
      family,
      variance = if (is_white(row$label)) total * between(position[[k]], 0.01, 0.9) else
        0.9 / (1 + repeated) * typical_variance(model, row, u, total),
      range = row$extent * 0.3^repeated * between(unit[[1]], shortest_share(model, row, u), 0.6) *
        (if (row$coordinate > 1) between(position[[k]], 1 / 3, 3) else
          if (repeated && !alike(row)) between(position[[k]], 1, 20) else 1),
      shape_of_wave = 0.3^repeated * between(position[[k]], 0.5, 2), period = periods[[(n - 1) %% length(periods) + 1]],
      speed = typical_speed(model, row, u) * between(position[[k]], 0.1, 10), sill = , cross = NA,
      free = free_start(row, position[[k]], n), start_of_kind(family, position[[k]])
    )
  }
  value <- start_sills(model, value, open, position)
  if (n %% 4 == 3) value <- rescaled_start(model, value, total)
  pmin(pmax(value, parameters$lower), parameters$upper)
}

# The value of a parameter of a user-defined formula in start n: the typical value `middle`, or a value near it. If the
# parameter may be negative, some starts have a value near 0.
free_start <- function(row, position, n) {
  if (n %% 4 == 0) return(row$middle)
  moved_free(row, if (row$log || n %% 2 == 1) row$middle else 0, (4 * position - 2) * abs(2 * position - 1))
}

# Multiplies a parameter that is a factor of the whole covariance, if there is one, so that the variance of the
# covariance at a start is similar to the variance of the response.
rescaled_start <- function(model, value, total) {
  factors <- which(model$parameters$multiplies %in% TRUE)
  if (!length(factors)) return(value)
  first <- factors[[1]]
  replace(value, first, value[[first]] * scale_factor(model, value, total))
}

# Changes a parameter of a user-defined formula by a number of its units. For parameters on the log scale, a unit is a
# factor between 2 and 6.
moved_free <- function(row, value, units) {
  from_search(row, to_search(row, value) + units * if (row$log) min(max(row$unit, log(2)), log(6)) else 1)
}

has_products <- function(x) {
  fold_covariance(x, function(...) FALSE, function(operation, parts) operation == "*" || any(unlist(parts)))
}

# The shortest range of a start, as a fraction of the extent of the data: the spacing of points that fill their bounding
# box evenly.
shortest_share <- function(model, row, u) {
  d <- if (row$coordinate > 0) 1 else length(leaf_dims(leaf_at(model$covariance, row$leaf), model$d))
  min(0.05, max(0.005, nrow(u)^(-1 / d)))
}

# Starting values for the periods of all periodic terms: the two highest peaks of the periodogram in each octave, for
# periods from twice the spacing of the points to the extent of the points. Peaks of the likelihood are half a cycle
# wide, and slow variation has higher peaks than fast variation, so each octave is searched separately.
likely_periods <- function(model, u, y) {
  leaves <- Filter(function(leaf) "period" %in% names(leaf$parameters), leaves_of(model$covariance))
  dims <- unique(unlist(lapply(leaves, leaf_dims, model$d)))
  unlist(lapply(dims, function(k) c(c(2, 1, 2 / 3) * diff(range(u[, k])), periodogram_peaks(u[, k], y))))
}

periodogram_peaks <- function(u, y, max_points = 2e4) {
  extent <- diff(range(u))
  spacing <- stats::median(diff(sort(unique(u))))
  frequency <- seq(1, min(extent / spacing / 2, max_points / 8), by = 1 / 8) / extent
  if (length(frequency) < 3) return(NULL)
  wave <- recent_operator("Sum_Reduction(Concat(Cos(w * u), Sin(w * u)) * y, 1)",
                          c("w = Vi(1)", "u = Vj(1)", "y = Vj(1)"), "auto", "float64", "cpu")
  power <- rowSums(wave(list(w = 2 * pi * frequency, u = u - mean(u), y = y))^2)
  inner <- seq_along(power)[-c(1, length(power))]
  peaks <- inner[power[inner] > power[inner - 1] & power[inner] >= power[inner + 1]]
  octave <- floor(log2(frequency[peaks] * extent))
  highest <- unlist(lapply(split(peaks, octave), function(of) utils::head(of[order(-power[of])], 2)))
  1 / frequency[unname(highest)]
}

# An informative subset of rows. Half of the rows are drawn at random, so that the order of the rows has no effect. The
# other half are the nearest neighbours of these random rows, which identify the nugget and short ranges.
subset_rows <- function(u, size, seed, block = NULL) {
  n <- nrow(u)
  if (n <= size) return(seq_len(n))
  if (any(block != block[1])) {
    rows <- rows_of_blocks(block, size, seed)
    return(rows[subset_rows(u[rows, , drop = FALSE], size, seed)])
  }
  order <- with_seed(seed, sample.int(n, min(n, 2 * size))) # spare rows, because random rows may be neighbours
  some <- order[seq_len(size %/% 2)]
  width <- column_extents(u)
  scaled <- moved_columns(u, divisor = ifelse(width > 0, width, 1))
  nearest <- recent_operator("ArgKMin_Reduction(SqDist(x, y), 2, 1)", sprintf(c("x = Vi(%d)", "y = Vj(%d)"), ncol(u)),
                             "auto", "float64", "auto")
  neighbours <- t(nearest(list(x = scaled[some, , drop = FALSE], y = scaled)))
  sort(utils::head(unique(c(some, neighbours, order)), size))
}

# The rows of randomly drawn whole blocks, with at least `size` rows in total.
rows_of_blocks <- function(block, size, seed) {
  blocks <- with_seed(seed, sample(unique(block)))
  enough <- match(TRUE, cumsum(tabulate(match(block, blocks))) >= size)
  which(block %in% blocks[seq_len(enough)])
}
