# The likelihood of a table, computed cell by cell; a cell is a box of locations, and the halo of a cell has the
# observations around the cell that may be neighbours of its points. Oracles: dense matrices in plain R for all
# neighbours, searches through all points, and fits in memory with the same ordering.

# -2 log-likelihood by generalised least squares.
dense_value <- function(d, x, noise, weights, reml) {
  h <- sqrt(3) * as.matrix(dist(d[c("x", "y")])) / 0.3
  k <- 0.5 * (1 + h) * exp(-h) + diag(noise + 0.09 / weights, nrow(d))
  inverse <- solve(k)
  a <- t(x) %*% inverse %*% x
  beta <- solve(a, t(x) %*% inverse %*% d$z)
  e <- d$z - x %*% beta
  p <- if (reml) ncol(x) else 0
  value <- (nrow(x) - p) * log(2 * pi) + as.numeric(determinant(k)$modulus) + sum(e * (inverse %*% e))
  if (reml) value <- value + as.numeric(determinant(a)$modulus - determinant(crossprod(x))$modulus)
  list(value = value, beta = beta, vcov = solve(a))
}

known_with_fixed <- function() {
  matern(3/2, 0.5, 0.3, fixed = c("variance", "range")) + nugget(0.09, fixed = "variance")
}

test_that("with all points as neighbours, the likelihood agrees with dense matrices", {
  small_cells(rows = 20, heads = 5)
  d <- table_data(90)
  x <- model.matrix(~ w + kind, d)
  # the halo of each cell contains all points
  replaced_locally(halo_reach = function(level, m, d) 100,
                   heads_near_cell = function(blocks, k) heads_of_blocks(blocks))
  for (reml in c(FALSE, TRUE)) {
    dense <- dense_value(d, x, 0, 1, reml)
    fit <- gp(z ~ w + kind, gp_table(d), ~ x + y, known_covariance(), estimate = "none", neighbours = 89)
    if (reml) fit <- gp(z ~ w + kind, gp_table(d), ~ x + y, known_with_fixed(), estimate = "REML", neighbours = 89)
    expect_gt(length(fit$blocks$units), 3)
    expect_equal(fit$loglik, -dense$value / 2, tolerance = 1e-10)
    expect_equal(unname(fit$beta), as.vector(dense$beta), tolerance = 1e-10)
    expect_equal(unname(vcov(fit)), unname(dense$vcov), tolerance = 1e-9)
  }
})

test_that("weights, known noise and a known mean agree with dense matrices", {
  d <- table_data(40)
  fit <- gp(z ~ w, gp_table(d), ~ x + y, known_covariance(), estimate = "none", neighbours = 60, weights = weight,
            known = list(noise = ~ noise))
  dense <- dense_value(d, model.matrix(~ w, d), d$noise, d$weight, FALSE)
  expect_equal(fit$loglik, -dense$value / 2, tolerance = 1e-10)
  mean <- gp(z ~ 0, gp_table(d), ~ x + y, known_covariance(), estimate = "none", neighbours = 60,
             known = list(beta = 2))
  same <- gp(z ~ 0, d, ~ x + y, known_covariance(), "exact", "none", known = list(beta = 2))
  expect_equal(mean$loglik, same$loglik, tolerance = 1e-10)
})

test_that("the ordering contains each row once, and neighbours are the nearest of the earlier points", {
  small_cells()
  d <- table_data(2000)
  fit <- fit_of_table(d, neighbours = 6)
  order <- order_of_table(fit)
  expect_identical(sort(order), as.numeric(1:2000))
  rank <- order(order)
  u <- as.matrix(d[c("x", "y")])
  for (k in seq_along(fit$blocks$units)) {
    unit <- read_object(unit_path(fit$blocks, k))
    rows <- unit$records[, "row"]
    sets <- unit$neighbours
    own <- rows[length(rows) - ncol(sets) + seq_len(ncol(sets))]
    for (i in round(seq(1, ncol(sets), length.out = 15))) {
      before <- order[seq_len(rank[[own[[i]]]] - 1)]
      squares <- colSums((t(u[before, , drop = FALSE]) - u[own[[i]], ])^2)
      nearest <- before[order(squares)][seq_len(min(6, length(before)))]
      expect_identical(unname(rows[sets[sets[, i] > 0, i]]), nearest)
    }
  }
})

test_that("the level of a point is its distance from earlier points of the cell", {
  small_cells()
  fit <- fit_of_table(table_data(1000))
  records <- read_rows(in_store(fit$blocks$store, "cell-", 2), fit$blocks$columns)
  near <- fit$blocks$near_of(coordinates_of_records(records))
  distance <- as.matrix(dist(near))
  expect_identical(records[[1, "level"]], Inf)
  for (i in 2:nrow(near)) expect_equal(records[[i, "level"]], min(distance[i, seq_len(i - 1)]))
})

test_that("a fit by cells agrees with a fit in memory with the same ordering", {
  small_cells()
  d <- table_data(1500)
  for (reml in c("none", "REML")) {
    covariance <- if (reml == "none") known_covariance() else known_with_fixed()
    fit <- fit_of_table(d, z ~ w + kind, covariance, estimate = reml, weights = weight, known = list(noise = ~ noise))
    expect_gt(length(fit$blocks$units), 4)
    same <- fit_in_memory(d, order_of_table(fit), z ~ w + kind, covariance, reml, weights = weight,
                          known = list(noise = ~ noise))
    expect_equal(fit$loglik, same$loglik, tolerance = 1e-12)
    expect_equal(fit$beta, same$beta, tolerance = 1e-10)
    expect_equal(vcov(fit), vcov(same), tolerance = 1e-10)
  }
})

test_that("gradient and information agree with those of a fit in memory, and the gradient with finite differences", {
  small_cells()
  d <- table_data(1200)
  fit <- fit_of_table(d)
  same <- fit_in_memory(d, order_of_table(fit))
  theta <- fit$theta * c(1.2, 0.8, 1.1)
  likelihood <- block_likelihood(fit$blocks, fit$model, fit$how)
  state <- likelihood$evaluate(theta, search = TRUE)
  in_memory <- likelihood_for(same$data, same$model, same$how)$evaluate(theta, search = TRUE)
  expect_equal(state$value, in_memory$value, tolerance = 1e-12)
  expect_equal(state$gradient(), in_memory$gradient(), tolerance = 1e-9)
  expect_equal(state$information(), in_memory$information(), tolerance = 1e-9)
  slope <- vapply(1:3, function(k) {
    step <- replace(numeric(3), k, 1e-5 * theta[[k]])
    (likelihood$evaluate(theta + step)$value - likelihood$evaluate(theta - step)$value) / (2 * step[[k]])
  }, 0)
  expect_equal(state$gradient(), slope, tolerance = 1e-5)
})

test_that("results do not depend on the size of chunks, the memory limit or the number of rows that are read at once", {
  small_cells()
  d <- table_data(1500)
  by_chunks <- function(size) {
    read <- function(chunk) {
      rows <- (chunk - 1) * size + seq_len(size)
      rows <- rows[rows <= 1500]
      if (length(rows)) d[rows, ]
    }
    gp(z ~ w, read, ~ x + y, known_covariance(), estimate = "none", neighbours = 10)
  }
  one <- by_chunks(1500)
  some <- by_chunks(77)
  expect_identical(some$blocks$heads, one$blocks$heads)
  expect_equal(some$loglik, one$loglik, tolerance = 1e-13)
  expect_equal(fit_of_table(d, memory = "8 GB")$loglik, one$loglik, tolerance = 1e-13)
})

# The expected log-likelihood of an approximation is minus half the log-determinant, up to a constant. Hence the
# expected loss does not depend on the observations.
test_that("the loss due to the ordering by cells is at most a tenth of the loss due to a random ordering", {
  small_cells(rows = 500, heads = 60)
  d <- table_data(4000)
  cells <- fit_of_table(d, neighbours = 20)
  expect_gte(length(cells$blocks$rows), 8)
  logdet <- function(ordering) {
    gp(z ~ w, d, ~ x + y, known_covariance(), "vecchia", "none", neighbours = 20, ordering = ordering)$state$logdet
  }
  best <- logdet("maxmin")
  expect_lt(cells$state$logdet - best, 0.1 * (logdet("random") - best))
})
