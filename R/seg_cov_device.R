# Moments and covariances of segments, computed on the GPU.

# The sums that pair_sums() returns, computed on the GPU.
device_pair_sums <- function(x, y, plan, na.rm, w) {
  gap <- "IfElse(IsNaN(%s) - 0.5, %s, %s)"
  own <- x
  x <- device_map(sprintf(gap, "y", "y", "x"), x = own, y = y)
  y <- device_map(sprintf(gap, "x", "x", "y"), x = own, y = y)
  reduce <- \(v, op = "sum") device_reduce(v, plan, op, na.rm, w)
  mean_x <- reduce(x, "mean")
  mean_y <- reduce(y, "mean")
  centred <- \(v, mean) device_map("v - m", v = v, m = device_expand(mean, v, plan))
  dx <- centred(x, mean_x)
  dy <- centred(y, mean_y)
  product <- \(a, b) reduce(device_map("a * b", a = a, b = b))
  one <- device_map(sprintf(gap, "d", "d", "1"), d = dx)
  sums <- list(xy = product(dx, dy), xx = product(dx, dx), yy = product(dy, dy), n = reduce(one), mean_x = mean_x,
               mean_y = mean_y)
  lapply(sums, \(v) c(as.matrix(v)))
}

# Standardised moments: the mean of a power of the deviations from the mean of each segment, divided by a power of the
# variance.
device_moments <- function(x, plan, order, na.rm, w) {
  mean_of <- \(v) device_reduce(v, plan, "mean", na.rm, w)
  deviation <- device_map("x - m", x = x, m = device_expand(mean_of(x), x, plan))
  power <- \(k) mean_of(device_map(sprintf("Pow(d, %d)", k), d = deviation))
  device_map(if (order == 3) "m / (v * Sqrt(v))" else "m / (v * v)", m = power(order), v = power(2))
}
