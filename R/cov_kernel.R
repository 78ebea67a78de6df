# A base kernel: a formula of the distance of two points. A geometry measures that distance (cov_geometry.R); kernel,
# geometry and parameters make a leaf of a covariance (cov_leaf.R).

# `text` writes the formula. Its arguments are the texts that the formula is built from: `q`, the squared distance over
# the squared range; `t`, the same in time (cov_geometry_time_apart.R); `x` and `y`, the points; `d`, the number of
# coordinates without time; parameters and constants by their names; `parameters`, all of them.
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
    by_formula = FALSE, # a formula of the user
    derivatives = NULL, # how the field is differentiated (cov_derivatives.R), and the parts of a product, `apart`
    process = NULL,     # of an effect of time (cov_time_effects.R), as `slopes`
    words = NULL,       # text in the printed covariance
    mean_square = function(leaf, u) 1 # mean variance of the field at points u if its parameter variance is 1
  )
  c(list(label = label, text = text), utils::modifyList(properties, list(...)))
}

with_constants <- function(kernel, ...) replace(kernel, "constants", list(list(...)))

# The overlap of two balls in `balls` dimensions as a function of the distance divided by the range, at most 1.
ball_kernel <- function(label, balls, correlation) {
  kernel(label, ball_text, frequencies = ball_frequencies, most_dims = balls,
         constants = list(balls = balls, correlation = correlation))
}

ball_text <- function(variance, q, correlation) {
  sprintf("%s * (%s)", variance, sprintf(correlation, sprintf("Min2(Sqrt(%s), 1)", q)))
}

# The formula of a leaf in points and parameters with these names.
kernel_text <- function(leaf, x, y, references, dims) {
  kernel <- leaf$kernel
  time <- leaf$geometry$time
  values <- c(list(x = x, y = y, parameters = references, time = time, d = length(dims) - length(time)),
              kernel$constants, references)
  # the sills of structures of lmc() include the variance
  if (!"variance" %in% names(references)) values[["variance"]] <- "1"
  words <- names(formals(kernel$text))
  if ("q" %in% words) values[["q"]] <- leaf$geometry$sq_distance(x, y, values, dims)
  if ("t" %in% words) values[["t"]] <- leaf$geometry$sq_time(x, y, values, dims)
  do.call(kernel$text, values[words])
}
