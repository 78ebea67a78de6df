# Seeds beyond the range of integers were passed to set.seed().
d <- data.frame(u = 1:9, v = c(2, 7, 1, 8, 2, 8, 1, 8, 2))
fit <- gp(v ~ 1, d, ~ u, exponential(1, 1) + nugget(1), "exact", "none")
refuses(gp_control(seed = 1e10)) && refuses(simulate(fit, 1, 1e10)) &&
  refuses(gp_neighbours(cbind(1:9), 2, seed = -1e10))
