# Nearest points on a GPU agree with the CPU, for which test-gp_neighbours.R has a search through all pairs as oracle.

clouds <- list(
  uniform = \(n, d) matrix(runif(n * d), n),
  clustered = \(n, d) matrix(rnorm(n * d)^5, n),
  gridded = \(n, d) matrix(sample(0:3, n * d, TRUE) + 0, n),
  line = \(n, d) matrix(runif(n), n, d)
)
for_each_cloud <- function(body, sizes, dims = c(1:3, 5)) {
  skip_without_gpu()
  for (kind in names(clouds)) for (d in dims) for (n in sizes) {
    withr::with_seed(n + d, body(clouds[[kind]](n, d), paste(kind, n, "x", d)))
  }
}
earlier <- \(..., backend) kernops:::ordered_neighbours(..., backend = backend)
nearest <- \(..., backend) kernops:::nearest_points(..., backend = backend)

test_that("neighbours among earlier points agree with the CPU, with an ordering and by row", {
  for_each_cloud(function(u, info) {
    order <- sample(nrow(u))
    for (m in c(1, 33)) {
      expect_identical(earlier(u, m, backend = "cuda"), earlier(u, m, backend = "cpu"), info)
      expected <- earlier(u[order, , drop = FALSE], m, backend = "cpu")
      expect_identical(earlier(u, m, order = order, backend = "cuda"), expected, info)
    }
  }, sizes = c(1, 2, 40))
})

# A tree of 1,100 points has six levels of nodes with at most 32 points, so that a search needs more than one step to
# visit the nodes.
test_that("neighbours of a part of many points agree with the CPU", {
  for_each_cloud(function(u, info) {
    some <- c(1L, 2L, 40L, nrow(u) - 0:2)
    for (m in c(5, 70)) {
      expect_identical(earlier(u, m, of = some, backend = "cuda"), earlier(u, m, of = some, backend = "cpu"), info)
    }
  }, sizes = c(300, 1100, 40000))
})

test_that("neighbours of other points agree with the CPU", {
  for_each_cloud(function(u, info) {
    queries <- rbind(u[1:2, , drop = FALSE], u[1, ] + 100, NaN)
    tree <- kernops:::search_tree(u)
    for (m in c(1, 70)) {
      expect_identical(nearest(queries, tree, m, backend = "cuda"), nearest(queries, tree, m, backend = "cpu"), info)
    }
  }, sizes = c(2, 1100))
})

test_that("neighbours on a GPU agree with the CPU if all points are neighbours, and for empty input", {
  skip_without_gpu()
  withr::local_seed(1)
  u <- matrix(runif(90), 45)
  for (m in c(44, 1500)) {
    expect_identical(earlier(u, m, of = 43:45, backend = "cuda"), earlier(u, m, of = 43:45, backend = "cpu"))
  }
  expect_identical(dim(earlier(u, 9, of = integer(), backend = "cuda")), c(9L, 0L))
  expect_identical(nearest(u, matrix(0, 0, 2), 2, backend = "cuda"), matrix(0L, 2, 45))
})
