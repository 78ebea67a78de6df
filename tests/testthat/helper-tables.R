# Fits of tables, which gp() reads in chunks. gp() divides the locations of a table into cells, so that only the
# observations of one cell and of a margin around it must be in memory.

# Replaces functions and constants of the package for the duration of a test.
replaced_locally <- function(..., frame = parent.frame()) {
  force(frame) # evaluates the frame of the caller before the loop
  values <- list(...)
  for (name in names(values)) local_constant(name, values[[name]], frame)
}

small_cells <- function(rows = 300, heads = 40, frame = parent.frame()) {
  replaced_locally(cell_rows = rows, cell_heads = heads, frame = frame)
}

# Observations of a smooth function with noise and covariates; locations are denser on one side.
table_data <- function(n, seed = 1) {
  withr::local_seed(seed)
  d <- data.frame(x = runif(n)^2, y = runif(n), w = rnorm(n), kind = sample(c("a", "b", "c"), n, TRUE),
                  noise = runif(n, 0.01, 0.1), weight = sample(1:3, n, TRUE))
  d$z <- 2 + 0.5 * d$w + (d$kind == "b") + sin(8 * d$x) * cos(6 * d$y) + rnorm(n, sd = 0.3)
  d
}

known_covariance <- function() matern(3/2, 0.5, 0.3) + nugget(0.09)

fit_of_table <- function(d, formula = z ~ w, covariance = known_covariance(), estimate = "none", neighbours = 10, ...) {
  gp(formula, gp_table(d), ~ x + y, covariance, estimate = estimate, neighbours = neighbours, ...)
}

# The rows of the table in the ordering of the fit.
order_of_table <- function(fit) {
  blocks <- fit$blocks
  rest <- do.call(rbind, lapply(which(blocks$rows > 0), rest_of_cell, blocks))
  rest <- rest[order(-rest[, "level"], rest[, "row"]), , drop = FALSE]
  unname(c(blocks$heads[, "row"], rest[, "row"]))
}

# A fit in memory whose ordering of the observations is `order`.
fit_in_memory <- function(d, order, formula = z ~ w, covariance = known_covariance(), estimate = "none",
                          neighbours = 10, ...) {
  gp(formula, d[order, ], ~ x + y, covariance, "vecchia", estimate, neighbours = neighbours, ordering = "given", ...)
}

# A fit in memory with the parameters, coefficients and numbers of neighbours of a fit of a table.
like_in_memory <- function(fit, d, formula = z ~ w, ...) {
  same <- gp(formula, d, ~ x + y, fit$covariance, "vecchia", "none", neighbours = 10, ...)
  same$vecchia$local <- fit$vecchia$local
  same$beta <- fit$beta
  same$state$root <- fit$state$root
  same
}
