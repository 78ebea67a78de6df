# A base kernel: a formula of the distance of two points. A geometry defines this distance (cov_geometry.R). A kernel, a
# geometry and parameters together are a leaf of a covariance (cov_leaf.R).

# `text` is a function that returns the formula. Its arguments are the texts of parts of the formula: `q`, the squared
# distance divided by the squared range; `t`, the squared distance in time divided by the squared range
# (cov_geometry_time_apart.R); `x` and `y`, the points; `d`, the number of coordinates without time; single parameters
# and constants, by their names; `parameters`, all parameters.
kernel <- function(label, text, ...) {
  properties <- list(
    constants = list(), # numbers that the formula or the frequencies read, such as a given smoothness
    frequencies = NULL, # function(n, d, about): draws from the spectral density at range 1 (cov_frequencies.R)
    geometry = NULL,    # the only geometry that the kernel supports
    most_dims = Inf,    # number of coordinates up to which the kernel is positive definite
    screens = TRUE,     # the correlation decreases with the distance
    smooth = FALSE,     # the field is twice differentiable or more
    intrinsic = FALSE,  # the formula is a variogram
    stationary = TRUE,  # the covariance depends only on the difference of the points
    by_formula = FALSE, # the kernel is a user-defined formula
    derivatives = NULL, # how the field is differentiated; `apart`: parts of a product (cov_derivatives.R)
    process = NULL,     # covariance of an effect of time; also `slopes` (cov_time_effects.R)
    words = NULL,       # text in the printed covariance
    mean_square = function(leaf, u) 1 # the mean variance at points u if the parameter variance is 1
  )
  c(list(label = label, text = text), utils::modifyList(properties, list(...)))
}

with_constants <- function(kernel, ...) replace(kernel, "constants", list(list(...)))

# A kernel whose correlation is proportional to the volume of the overlap of two balls in `balls` dimensions.
# `correlation` is a formula of the distance of their centres, divided by the range and limited to 1.
ball_kernel <- function(label, balls, correlation) {
  kernel(label, ball_text, frequencies = ball_frequencies, most_dims = balls,
         constants = list(balls = balls, correlation = correlation))
}

ball_text <- function(variance, q, correlation) {
  sprintf("%s * (%s)", variance, sprintf(correlation, sprintf("Min2(Sqrt(%s), 1)", q)))
}

# The formula of a leaf, for points and parameters with the given names.
kernel_text <- function(leaf, x, y, references, dims) {
  kernel <- leaf$kernel
  time <- leaf$geometry$time
  values <- c(list(x = x, y = y, parameters = references, time = time, d = length(dims) - length(time)),
              kernel$constants, references)
  # for structures of lmc(), the sills include the variance, so the variance in the formula is 1
  if (!"variance" %in% names(references)) values[["variance"]] <- "1"
  words <- names(formals(kernel$text))
  if ("q" %in% words) values[["q"]] <- leaf$geometry$sq_distance(x, y, values, dims)
  if ("t" %in% words) values[["t"]] <- leaf$geometry$sq_time(x, y, values, dims)
  do.call(kernel$text, values[words])
}
