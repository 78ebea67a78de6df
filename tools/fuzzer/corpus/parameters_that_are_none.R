# confint() compared formulas and functions with the names of parameters.
d <- data.frame(u = 1:9, v = c(2, 7, 1, 8, 2, 8, 1, 8, 2))
fit <- gp(v ~ 1, d, ~ u, exponential(1, 1) + nugget(1), "exact", "none")
all(vapply(list(~ q, sum, list(1), new.env(), quote(z)), \(parm) refuses(confint(fit, parm)), NA))
