# Many draws or folds were allocated without a test that they fit into memory.
d <- data.frame(u = 1:9, v = c(2, 7, 1, 8, 2, 8, 1, 8, 2))
fit <- gp(v ~ 1, d, ~ u, exponential(1, 1) + nugget(1), "exact", "none")
refuses(simulate(fit, 1e12)) && refuses(gp_cv(fit, 1e9))
