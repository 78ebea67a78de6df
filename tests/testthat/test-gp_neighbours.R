# Orderings and ordered nearest neighbours; the oracle is a search through all pairs in plain R.

squares_to <- function(u, point) {
  total <- 0
  for (k in seq_len(ncol(u))) total <- total + (u[, k] - point[[k]])^2
  total
}

# For row i of the queries, the m nearest of the first last[i] rows of u; ties are in the order of rows.
search_all <- function(queries, u, m, last) {
  one <- function(i) {
    seen <- order(squares_to(u[seq_len(last[[i]]), , drop = FALSE], queries[i, ]))
    c(seen, rep(0L, m))[seq_len(m)]
  }
  matrix(vapply(seq_len(nrow(queries)), one, integer(m)), m)
}
earlier <- \(u, m) search_all(u, u, m, seq_len(nrow(u)) - 1L)

farthest_first <- function(u, order) {
  left <- squares_to(u, u[order, ])
  while (max(left) > 0) {
    order <- c(order, which.max(left))
    left <- pmin(left, squares_to(u, u[order[length(order)], ]))
  }
  c(order, setdiff(seq_len(nrow(u)), order))
}

clouds <- list(
  uniform = \(n, d) uniform(n, d),
  clustered = \(n, d) matrix(rnorm(n * d)^5, n),
  gridded = \(n, d) matrix(sample(0:3, n * d, TRUE) + 0, n),
  duplicated = \(n, d) uniform(n, d)[sample(n, n, TRUE), , drop = FALSE],
  line = \(n, d) matrix(uniform(n), n, d),
  `one place` = \(n, d) matrix(1, n, d)
)
for_each_cloud <- function(body, dims = 1:6, sizes = c(1, 2, 9, 150)) {
  for (kind in names(clouds)) for (d in dims) for (n in sizes) {
    withr::with_seed(n + d, body(clouds[[kind]](n, d), paste(kind, n, "x", d)))
  }
}

test_that("neighbours among earlier points agree with a search through all pairs", {
  for_each_cloud(\(u, info) for (m in c(1, 6, 30)) expect_identical(ordered_neighbours(u, m), earlier(u, m), info))
})

test_that("neighbours of other points agree with a search through all pairs", {
  for_each_cloud(function(u, info) {
    queries <- rbind(uniform(5, ncol(u)), u[1, ], u[1, ] + 100)
    for (m in c(1, 6, 30)) {
      expect_identical(nearest_points(queries, u, m), search_all(queries, u, m, rep(nrow(u), 7)), info)
    }
  }, dims = c(1, 2, 5))
  expect_identical(nearest_points(uniform(3, 2), matrix(0, 0, 2), 2), matrix(0L, 2, 3))
  expect_identical(dim(nearest_points(matrix(0, 0, 2), uniform(3, 2), 2)), c(2L, 0L))
})

test_that("a stored tree, also with selected points, gives the neighbours of a single search", {
  withr::local_seed(1)
  u <- uniform(700, 3)
  held <- search_tree(u)
  for (size in c(1, 1e3, 1e250)) {
    queries <- uniform(20, 3) * size
    expect_identical(nearest_points(queries, held, 7), nearest_points(queries, u, 7))
  }
  some <- c(1L, 700L, 5L, 333L)
  expect_identical(ordered_neighbours(u, 9, of = some), ordered_neighbours(u, 9)[, some])
  expect_identical(dim(ordered_neighbours(u, 9, of = integer())), c(9L, 0L))
  tree <- kernops:::search_tree(u)
  expect_identical(ordered_neighbours(tree, 9, of = some), ordered_neighbours(u, 9, of = some))
  expect_identical(ordered_neighbours(tree, 9), ordered_neighbours(u, 9))
  expect_error(ordered_neighbours(u, 9, of = 701L), class = "kernops_input_error")
})

test_that("in the max-min ordering, each point is farther from the earlier points than all later points", {
  for_each_cloud(function(u, info) {
    order <- vecchia_order(u)
    to_mean <- squares_to(u, colMeans(u))
    expect_lte(to_mean[order[1]], min(to_mean) * (1 + 1e-12) + 1e-30, label = info)
    expect_identical(order, farthest_first(u, order[1]), info)
  })
  expect_identical(vecchia_order(as.matrix(expand.grid(0:4, 0:4)) + 0)[1:6], c(13L, 1L, 5L, 21L, 25L, 3L))
})

test_that("duplicated points are last in the max-min ordering", {
  withr::local_seed(1)
  u <- uniform(100, 2)[c(1:100, 7, 3, 7), ]
  expect_setequal(vecchia_order(u)[101:103], c(101, 102, 103))
})

test_that("the given, coordinate and random orderings agree with their definitions", {
  withr::local_seed(1)
  u <- matrix(sample(0:3, 60, TRUE) + 0, 20)
  expect_identical(vecchia_order(u, "given"), 1:20)
  expect_identical(vecchia_order(u, "coordinate"), order(u[, 1], u[, 2], u[, 3]))
  before <- .Random.seed
  random <- vecchia_order(u, "random", 5)
  expect_identical(.Random.seed, before)
  expect_identical(sort(random), 1:20)
  expect_identical(vecchia_order(u, "random", 5), random)
  expect_false(identical(vecchia_order(u, "random", 6), random))
})

test_that("the number of threads has no effect", {
  withr::local_seed(1)
  u <- matrix(rnorm(9000)^3, 3000)
  expect_identical(ordered_neighbours(u, 12, 3L), ordered_neighbours(u, 12, 1L))
  expect_identical(nearest_points(u, u, 12, 3L), nearest_points(u, u, 12, 1L))
  expect_identical(with_kernops(vecchia_order(u), threads = 3), with_kernops(vecchia_order(u), threads = 1))
})

# Max-min orderings choose points in regions of about 16,000 points.
test_that("choosing points in several regions in parallel gives the order of a single thread", {
  withr::local_seed(2)
  clouds <- list(matrix(runif(8e4), 4e4), matrix(sample(0:150, 8e4, TRUE) + 0, 4e4), matrix(rnorm(4e4)^3))
  for (u in clouds) {
    order <- with_kernops(vecchia_order(u), threads = 4)
    expect_identical(order, with_kernops(vecchia_order(u), threads = 1))
    expect_identical(sort(order), seq_len(nrow(u)))
    first <- order[1:200]
    squares <- squares_to(u, u[first[1], ])
    for (k in 2:200) {
      expect_identical(first[k], which.max(squares))
      squares <- pmin(squares, squares_to(u, u[first[k], ]))
    }
  }
})

# All threads together divide an upper node of a tree, in pieces of about 16,000 points. The median of a large node is
# found from counts of its values.
test_that("trees of many points give the nearest points of all pairs, with any number of threads", {
  withr::local_seed(3)
  n <- 4e4
  clouds <- list(
    uniform = matrix(runif(2 * n), n), gridded = matrix(sample(0:20, 3 * n, TRUE) + 0, n),
    clustered = matrix(rnorm(2 * n)^9, n), far = rbind(matrix(runif(2 * n - 2), n - 1), 1e120),
    line = matrix(rep(runif(n), 2), n), duplicated = matrix(runif(600), 300)[sample(300, n, TRUE), ]
  )
  rows <- c(1, 2, 5000, n)
  for (kind in names(clouds)) {
    u <- clouds[[kind]]
    expected <- search_all(u[rows, ], u, 5, rep(n, 4))
    for (threads in c(1, 3)) {
      expect_identical(nearest_points(u[rows, ], search_tree(u, threads), 5), expected, paste(kind, threads))
    }
  }
})

test_that("points with coordinates of size 1e-200 or 1e200 can be ordered", {
  withr::local_seed(1)
  for (size in c(1e-200, 1e200)) {
    graph <- gp_neighbours(size * uniform(50, 2), 5)
    expect_identical(sort(graph$order), 1:50)
  }
})

test_that("the rows of a neighbour graph are positions in the ordering", {
  withr::local_seed(1)
  u <- uniform(80, 2)
  for (ordering in c("maxmin", "given")) {
    graph <- gp_neighbours(u, 7, ordering)
    expect_s3_class(graph, "gp_neighbours")
    expect_identical(graph$order, vecchia_order(u, ordering))
    expected <- earlier(u[graph$order, ], 7)
    expect_identical(graph$neighbours, replace(expected, expected == 0, NA))
  }
  expect_identical(gp_neighbours(as.data.frame(u), 7), gp_neighbours(u, 7))
  expect_identical(gp_neighbours(u[, 1], 7), gp_neighbours(u[, 1, drop = FALSE], 7))
})

test_that("a point has at most as many neighbours as there are earlier points", {
  withr::local_seed(1)
  u <- uniform(6, 2)
  expect_identical(gp_neighbours(u, 1e9), gp_neighbours(u, 5))
  expect_identical(dim(gp_neighbours(u, 30)$neighbours), c(5L, 6L))
  expect_identical(gp_neighbours(u[1, , drop = FALSE])[1:2], list(order = 1L, neighbours = matrix(0L, 0, 1)))
})

# ---- the distance that a covariance implies for neighbours ----

seen_by <- function(covariance, u) {
  model <- kernops:::covariance_model(covariance, ncol(u))
  neighbour_coordinates(model, model$parameters$value, u)
}

test_that("for a single stationary covariance, the implied distance is the distance in scaled coordinates", {
  withr::local_seed(1)
  u <- uniform(40, 2)
  degrees <- cbind(runif(40, -180, 180), runif(40, -90, 90))
  cases <- list(
    matern(3/2, 2, 0.4), exponential(1, c(0.2, 3)), squared_exponential(1, 0.3, angle = 30, ratio = 0.2),
    rational_quadratic(1, 0.4, 2), matern(5/2, 1, 0.5, dims = 2), periodic(1, 0.7, 1.3),
    squared_exponential(1, 0.5) * squared_exponential(3, c(0.2, 0.9)),
    squared_exponential(1, 0.7, dims = 1) * periodic(1, 0.8, 0.6, dims = 2), matern(1/2, 1, 0.4) + nugget(3)
  )
  for (covariance in cases) {
    values <- covariance_values(covariance, u, u)
    distance <- as.matrix(dist(seen_by(covariance, u)))
    expect_lt(max(diff(values[order(distance)])), 1e-10)
  }
  great <- exponential(1, 2000, distance = "great_circle")
  expect_close(exp(-as.matrix(dist(seen_by(great, degrees)))), covariance_values(great, degrees, degrees))
})

test_that("the squared distance of a sum is the mean of the squared distances of its terms, weighted by variances", {
  withr::local_seed(1)
  u <- uniform(30, 2)
  squares <- \(covariance) unname(as.matrix(dist(seen_by(covariance, u))^2))
  a <- matern(3/2, 3, 0.4)
  b <- exponential(1, 0.2, angle = 20, ratio = 0.3)
  expect_close(squares(a + b), 0.75 * squares(a) + 0.25 * squares(b))
  expect_close(squares(a + periodic(1, 0.5, 0.8)), 0.75 * squares(a) + 0.25 * squares(periodic(1, 0.5, 0.8)))
  expect_close(squares(a * b), squares(a) + squares(b))
  expect_close(squares(a + nugget(5)), squares(a))
  expect_close(squares(a + constant(1)), 0.75 * squares(a))
  expect_identical(ncol(seen_by(matern(3/2, 1, 0.4, dims = 1), u)), 1L)
})

test_that("coordinates are scaled to unit variance if no term has a range", {
  withr::local_seed(1)
  u <- uniform(30, 2) %*% diag(c(1, 100))
  for (covariance in list(linear(1), nugget(1), constant(1) + nugget(1))) {
    expect_equal(apply(seen_by(covariance, u), 2, sd), rep(1, 2), tolerance = 0.05)
  }
})

test_that("the ranges of a user-defined formula are found along each coordinate", {
  withr::local_seed(1)
  u <- uniform(100, 2) %*% diag(c(1, 50))
  own <- covariance("s * Exp(-Norm2((x - y) / Concat(a, b)))", list(s = 2, a = 0.1, b = 10))
  spread <- apply(seen_by(own, u) / (u %*% diag(1 / c(0.1, 10))), 2, sd)
  ratio <- seen_by(own, u) / u
  expect_equal(ratio[, 1] / ratio[, 2], rep(100, 100), tolerance = 1)
  flat <- covariance("s * Exp(-Abs(Elem(x, 0) - Elem(y, 0)) / a)", list(s = 2, a = 0.1))
  expect_lt(diff(range(seen_by(flat, u)[, 2])), 3)
})

test_that("a fit and its covariance give the same neighbour graph", {
  withr::local_seed(1)
  d <- smooth_case(60)
  covariance <- matern(3/2, 1, c(0.3, 1)) + nugget(0.1)
  fit <- gp(z ~ 1, d, ~ a + b, covariance, estimate = "none")
  u <- as.matrix(d[c("a", "b")])
  expect_identical(gp_neighbours(u, 5, covariance = fit), gp_neighbours(u, 5, covariance = covariance))
  scaled <- gp_neighbours(u %*% diag(1 / c(0.3, 1)), 5)
  expect_identical(gp_neighbours(u, 5, covariance = covariance)$order, scaled$order)
})

test_that("a graph prints as a summary", {
  expect_snapshot(gp_neighbours(1:100, 4))
})

points <- matrix(c(1:9, 3), 5)
line_fit <- \() gp(y ~ 1, data.frame(x = 1:4, y = c(1, 3, 2, 5)), ~ x, exponential(1, 1), estimate = "none")
test_mistakes("kernops_input_error", alist(
  `no number of neighbours` = gp_neighbours(points, 0),
  `fractional number of neighbours` = gp_neighbours(points, 2.5),
  `missing number of neighbours` = gp_neighbours(points, NA),
  `missing coordinate` = gp_neighbours(rbind(points, c(1, NA))),
  `infinite coordinates` = gp_neighbours(rbind(points, c(1, Inf), c(-Inf, 1))),
  `no points` = gp_neighbours(points[0, ]),
  `no coordinates` = gp_neighbours(points[, 0]),
  `words` = gp_neighbours("here"),
  `words in a data frame` = gp_neighbours(data.frame(a = 1:2, b = c("x", "y"))),
  `formula` = gp_neighbours(~ x + y),
  `nothing` = gp_neighbours(NULL),
  `unknown ordering` = gp_neighbours(points, 2, "hilbert"),
  `seed in words` = gp_neighbours(points, 2, "random", seed = "a"),
  `covariance in words` = gp_neighbours(points, 2, covariance = "matern"),
  `covariance without a range` = gp_neighbours(points, 2, covariance = matern(3/2)),
  `latitudes above 90` = gp_neighbours(100 * points, 2, covariance = exponential(1, 5, distance = "great_circle"))
))
test_mistakes("kernops_dim_error", alist(
  `covariance of other coordinates` = gp_neighbours(points, 2, covariance = matern(3/2, 1, 1:3)),
  `fit of other coordinates` = gp_neighbours(points, 2, covariance = line_fit())
))

test_that("a neighbour matrix that exceeds the memory raises a memory error", {
  expect_error(gp_neighbours(seq_len(3e6), 2e9), class = "kernops_memory_error")
})

test_that("neighbours of ordered points agree with those of reordered rows", {
  withr::local_seed(1)
  for (u in list(uniform(300, 2), clouds$gridded(300, 3), clouds$duplicated(90, 1))) {
    order <- sample(nrow(u))
    tree <- search_tree(u)
    expected <- earlier(u[order, , drop = FALSE], 11)
    expect_identical(ordered_neighbours(tree, 11, order = order), expected)
    expect_identical(ordered_neighbours(tree, 11, of = c(5L, 1L, 90L), order = order), expected[, c(5, 1, 90)])
    expect_identical(vecchia_order(u, tree = tree), vecchia_order(u))
  }
  for (order in list(1:3, c(1:299, 299L), c(1:299, 301L), c(1:299, NA))) {
    expect_error(ordered_neighbours(uniform(300, 2), 2, order = order), class = "kernops_input_error")
  }
})

test_that("points without coordinates are all at the same location", {
  none <- matrix(0, 5, 0)
  expect_identical(kernops:::nearest_points(none[1:2, ], none, 3L), matrix(1:3, 3, 2))
  expect_identical(kernops:::ordered_neighbours(none, 2L)[, 3:5], matrix(1:2, 2, 3))
  grouped <- data.frame(y = c(1, 2, 4, 3, 5, 7) + 0.5, g = rep(c("p", "q"), 3))
  fit <- suppressWarnings(gp(y ~ (1 | g), grouped, covariance = nugget()))
  expect_identical(fit$model$d, 0L)
  certificate <- certify(fit, sites = 4)
  expect_identical(certificate$verdict, "exact")
  expect_true(all(certificate$predictions$fit %in% predict(fit, grouped)))
  expect_length(predict(fit, grouped, nmax = 2), 6)
})

test_that("neighbours of new points that follow base points agree with a search among all points", {
  withr::local_seed(1)
  for (kind in names(clouds)) for (d in 1:3) for (sizes in list(c(200, 70), c(3, 40), c(50, 1))) {
    base <- clouds[[kind]](sizes[[1]], d)
    new <- clouds[[kind]](sizes[[2]], d)
    order <- sample(nrow(new))
    both <- rbind(base, new[order, , drop = FALSE])
    for (m in c(1, 20)) {
      expected <- earlier(both, m)[, nrow(base) + seq_along(order), drop = FALSE]
      expect_identical(following_neighbours(base, new, order, m), expected, paste(kind, d, m))
      some <- rev(seq_along(order))[1]
      expect_identical(following_neighbours(base, new, order, m, some), expected[, some, drop = FALSE])
    }
  }
  far <- following_neighbours(uniform(9, 2), 1e250 * uniform(5, 2), 1:5, 3)
  expect_identical(far[, 1], 1:3)
})

test_that("trees are reused only within with_trees()", {
  withr::local_seed(1)
  u <- uniform(50, 2)
  other <- u + 1
  with_trees({
    tree <- search_tree(u)
    expect_false(identical(search_tree(other), tree))
    expect_identical(search_tree(u + 0), tree)
  })
  expect_false(identical(search_tree(u), search_tree(u)))
})
