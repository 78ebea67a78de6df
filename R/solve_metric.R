# The scale of each coordinate for a kernel that is known only through values(x, y), its values for pairs of rows. The
# scale is 1 / step^2, where the step along the coordinate reduces the correlation to 0.6, on average over some points.
# If the correlation is above 0.6 for all steps, the step is the extent of the data. A constant coordinate has the scale
# 0.
correlation_scales <- function(values, u, count = 9, enough = 0.6) {
  sites <- u[unique(round(seq(1, nrow(u), length.out = count))), , drop = FALSE]
  variance <- values(sites, sites)
  share <- 2^-(20:0)
  reach <- vapply(seq_len(ncol(u)), function(k) {
    steps <- share * diff(range(u[, k]))
    correlation <- vapply(steps, function(step) {
      moved <- sites
      moved[, k] <- moved[, k] + step
      mean(values(sites, moved) / sqrt(variance * values(moved, moved)))
    }, 0)
    steps[c(which(correlation < enough), length(steps))[[1]]]
  }, 0)
  list(variance = mean(variance), scale = ifelse(reach > 0, 1 / reach^2, 0))
}
