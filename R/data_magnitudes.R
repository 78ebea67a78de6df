# Numbers near the limits of double precision: the functions stop for magnitudes that cannot be used, and centre numbers
# before digits are lost.

# Computing variances squares the response, and computing second derivatives squares variances. For a response beyond
# the following limits, the squares would overflow, or underflow to zero without a warning.
magnitude_limits <- c(1e-60, 1e60)

# Stops if the largest entry of the response, or of another column among the parts of gp_data(), is out of range. Noise
# variances have the unit of squared responses, so the square roots of the noise variances must be in range; weights are
# compared with the limits directly.
check_magnitudes <- function(parts, call) {
  columns <- list(
    `the response` = parts$y, `the offset` = parts$offset, `the weights` = t(column_ranges(parts$weights)),
    `the noise` = sqrt(column_ranges(parts$noise)), `the trend` = parts$x, `covariates of the covariance` = parts$z
  )
  for (name in names(columns)) check_magnitude(columns[[name]], name, call)
}

check_magnitude <- function(values, name, call) {
  if (!is.numeric(values) || !length(values)) return(invisible())
  ranges <- column_ranges(values)
  size <- pmax(-ranges[1, ], ranges[2, ])
  bad <- which(size > 0 & (size < magnitude_limits[[1]] | size > magnitude_limits[[2]]))
  if (!length(bad)) return(invisible())
  largest <- signif(size[[bad[[1]]]], 3)
  stop_kernops("input", c("The magnitudes of {name} must be between 1e-60 and 1e60.",
                          x = "The largest {if (name == 'the coordinates') 'distance from their mean' else 'magnitude'}
                               is {largest}{if (length(colnames(values))) ', in '}{colnames(values)[bad[[1]]]}.",
                          i = "Use another unit."), call = call)
}

# Coordinates beyond these magnitudes are divided by a power of two, the `unit` attribute of their centre. This division
# changes no digit. Within a fit, lengths among the parameters are in this unit. Coordinates are not scaled if a
# parameter depends on the coordinates in a way other than as a length.
with_unit <- function(center, u, model, call) {
  ranges <- column_ranges(u)
  size <- pmax(abs(ranges[1, ] - center), abs(ranges[2, ] - center))
  if (all(size == 0 | (size >= magnitude_limits[[1]] & size <= magnitude_limits[[2]]))) return(center)
  scalable <- model$translation_invariant && !length(model$functional) && !is_lmc(model$covariance) &&
    !length(model$prior) &&
    all_leaves(model$covariance, function(leaf) leaf$label != "power_law" && !length(leaf$sees))
  if (scalable) attr(center, "unit") <- 2^round(log2(max(size)))
  check_magnitude(centred(u, center), "the coordinates", call)
  center
}

unit_of <- function(center) attr(center, "unit") %||% 1

# Converts the user's lengths to the unit of the centre; model$unit converts parameters back.
in_unit <- function(model, center) {
  if (unit_of(center) == 1) return(model)
  lengths <- with(model$parameters, kind == "period" | kind == "range" & vapply(leaf, function(n) {
    leaf_at(model$covariance, n)$geometry$lengths
  }, NA))
  model$unit <- ifelse(lengths, unit_of(center), 1)
  model$parameters$value <- model$parameters$value / model$unit
  model
}

# Parameters in the units of the data.
in_data_units <- function(model, theta) if (is.null(model$unit)) theta else theta * model$unit

# Converts sizes of blocks to the unit of the coordinates of a fit.
in_blocks_unit <- function(block, object) if (is.numeric(block)) block / unit_of(object$center) else block

# Stops if new points, in the unit of the coordinates of the fit, are beyond the limits.
check_far_points <- function(u, call) {
  if (max(abs(u), 0) <= magnitude_limits[[2]]) return(invisible())
  stop_kernops("input", c("New points must be nearer than 1e60 units to those of the fit.",
                          i = "Their coordinates must be in the unit of the fit."), call = call)
}

# Subtracts a large constant from the response if the trend has a constant, because the constant, such as 1e12, would
# hide a variation of size 1. Returns a list of y and of `beta`, the coefficients of this constant in the trend.
without_level <- function(data) {
  y <- data$y
  level <- y[[1]]
  unchanged <- list(y = y, beta = 0)
  if (!ncol(data$x)) return(unchanged)
  spread <- if (is.null(data$constant)) column_ranges(y) - level else y - level * data$constant
  if (abs(level) <= 1e8 * max(abs(spread))) return(unchanged)
  ones <- data$constant %||% rep(1, length(y))
  trend <- qr(unname(data$x))
  if (trend$rank < ncol(data$x) || sum(qr.resid(trend, ones)^2) > 1e-24 * length(y)) return(unchanged)
  beta <- qr.coef(trend, ones)
  beta[abs(beta) * column_sizes(data$x) < 1e-12] <- 0 # rounding errors, which `level` would magnify
  list(y = y - level * ones, beta = level * beta)
}

# TRUE if the residuals of the trend are not larger than the rounding error of the response.
is_rounding <- function(residual, y) sqrt(mean(residual^2)) <= 16 * .Machine$double.eps * max(column_sizes(y))

# The difference between the largest and the smallest of some numbers; 1 if the numbers are equal.
extent_of <- function(v) {
  extent <- diff(range(v))
  if (extent > 0) extent else 1
}
