# Sorted segments, permutations, ranks and largest values, against base R.

sizes <- c(0, 1, 2, 3, 0, 24, 25, 100, 511, 512, 5000, 40000)
count <- sum(sizes)
segment <- rep(seq_along(sizes), sizes)

test_that("sort, order and rank of segments agree with base R, in any order of rows", {
  withr::local_seed(1)
  mixed <- sample(count)
  for (x in list(rnorm(count), sample(-9:9, count, TRUE), round(rnorm(count), 1), sample(c(TRUE, FALSE), count, TRUE),
                 rep(c(0, -0), length.out = count), sample(c(-Inf, 1, Inf, 1e-300), count, TRUE))) {
    y <- x[mixed]
    part <- segment[mixed]
    for (decreasing in c(FALSE, TRUE)) {
      sorted <- \(v) sort(v, decreasing = decreasing, method = "radix")
      expect_equal(as.numeric(seg_sort(y, g = part, decreasing = decreasing)), ave(as.numeric(y), part, FUN = sorted))
      expect_equal(as.numeric(seg_sort(x, lengths = sizes, decreasing = decreasing)),
                   ave(as.numeric(x), segment, FUN = sorted))
      expect_identical(seg_order(y, g = part, decreasing = decreasing),
                       order(part, y, decreasing = c(FALSE, decreasing), method = "radix"))
    }
    for (ties in c("average", "first", "last", "min", "max")) {
      expected <- ave(as.numeric(y), part, FUN = \(v) rank(v, ties.method = ties))
      expect_equal(as.numeric(seg_rank(y, g = part, ties = ties)), expected)
    }
  }
})

test_that("the GPU sorts short and long segments in any order of rows, with results on the GPU or on the host", {
  skip_without_gpu()
  withr::local_seed(3)
  sizes <- c(0, 1, 2, 24, 500, 0, 1548, 2048, 2049, 4095, 4096, 4097, 9000, 1, 17000)
  n <- sum(sizes)
  part <- rep(seq_along(sizes), sizes)
  mixed <- sample(n)
  base <- function(x, part, decreasing, na.last) {
    ave(x, part, FUN = \(v) sort(v, decreasing = decreasing, na.last = na.last, method = "radix"))
  }
  x <- cbind(rnorm(n), sample(c(-9:9, Inf, -Inf, NaN, 1e-300), n, replace = TRUE))
  for (precision in c("float32", "float64")) for (decreasing in c(FALSE, TRUE)) for (by_group in c(FALSE, TRUE)) {
    there <- gpu_matrix(if (by_group) x[mixed, ] else x, precision)
    same <- as.matrix(there)
    by <- if (by_group) list(g = part[mixed]) else list(lengths = sizes)
    na.last <- by_group != decreasing
    sorted <- \(...) do.call(seg_sort, c(list(there, decreasing = decreasing, na.last = na.last, ...), by))
    expected <- apply(same, 2, base, if (by_group) part[mixed] else part, decreasing, na.last)
    expect_identical(sorted(), expected)
    expect_identical(as.matrix(sorted(output = "gpu")), expected)
  }
  gaps <- c(2, NA, 1, NaN, NA, 3)
  for (na.last in c(TRUE, FALSE)) {
    expect_identical(seg_sort(gaps, lengths = c(5, 1), na.last = na.last, backend = "cuda"),
                     seg_sort(gaps, lengths = c(5, 1), na.last = na.last, backend = "cpu"))
  }
  expect_identical(seg_sort(c(4, 2, 1), g = c("a", NA, "a"), backend = "cuda"), c(1, NA, 4))
  expect_identical(seg_sort(3:1, backend = "cuda"), 1:3)
  expect_identical(seg_sort(gpu_matrix(c(2, 1)), offsets = 1), cbind(c(NA, 1)))
  with_tile(8, expect_identical(seg_sort(gpu_matrix(9000:1)), cbind(as.numeric(1:9000)))) # computed by the CPU
})

test_that("missing values come last, come first, or have no rank", {
  x <- c(2, NA, 1, NaN, NA, 3)
  expect_identical(seg_sort(x, lengths = c(5, 1)), c(1, 2, NA, NA, NaN, 3))
  expect_identical(seg_sort(x, lengths = c(5, 1), na.last = FALSE), c(NA, NA, NaN, 1, 2, 3))
  expect_identical(seg_order(x), order(x))
  expect_identical(seg_order(x, na.last = FALSE), order(x, na.last = FALSE))
  expect_identical(seg_order(x, decreasing = TRUE), order(x, decreasing = TRUE))
  expect_identical(seg_rank(x), rank(x, na.last = "keep"))
  expect_identical(seg_rank(x, na.last = TRUE), rank(x, na.last = TRUE))
  expect_identical(seg_rank(x, na.last = FALSE), rank(x, na.last = FALSE))
  expect_identical(seg_rank(c(2, 5, 2), decreasing = TRUE), rank(-c(2, 5, 2)))
  expect_identical(seg_sort(c(3L, NA, 1L)), c(1L, 3L, NA))
  expect_identical(seg_sort(c(NA, TRUE, FALSE)), c(FALSE, TRUE, NA))
  expect_identical(seg_rank(c(4, 2), g = c("a", NA)), c(1, NA))
  expect_identical(seg_sort(c(4, 2, 1), g = c("a", NA, "a")), c(1, NA, 4))
  expect_identical(seg_order(c(4, 2, 1), g = c("a", NA, "a")), c(3L, 1L))
})

test_that("the largest and smallest values are returned with their positions and rows", {
  withr::local_seed(2)
  x <- sample(20, 200, TRUE)
  part <- sample(c("a", "b", "c"), 200, TRUE)
  top <- seg_top(x, 4, g = part)
  for (name in c("a", "b", "c")) {
    rows <- which(part == name)
    best <- order(-x[rows])[1:4]
    expect_identical(unname(top$positions[name, ]), best)
    expect_identical(unname(top$rows[name, ]), rows[best])
    expect_identical(unname(top$values[name, ]), x[rows][best])
  }
  least <- seg_top(x, 2, g = part, decreasing = FALSE)
  expect_identical(least$values["b", ], sort(x[part == "b"])[1:2])
  short <- seg_top(c(1, NA, 3), 2, lengths = c(2, 0, 1))
  expect_identical(short, list(values = rbind(c(1, NA), NA, c(3, NA)), positions = rbind(c(1L, NA), NA, c(1L, NA)),
                               rows = rbind(c(1L, NA), NA, c(3L, NA))))
  m <- cbind(u = c(1, 5, 2), v = c(7, 6, 8))
  expect_identical(seg_top(m, 2, lengths = 3)$rows, array(c(2L, 3L, 3L, 1L), c(1, 2, 2), list(NULL, c("u", "v"), NULL)))
})

test_that("matrices, plans and empty vectors are sorted", {
  m <- cbind(u = c(3, 1, 2), v = c(7, 9, 8))
  expect_identical(seg_sort(m), cbind(u = c(1, 2, 3), v = c(7, 8, 9)))
  expect_identical(seg_order(m), cbind(u = c(2L, 3L, 1L), v = c(1L, 3L, 2L)))
  expect_identical(seg_rank(m, ties = "min"), cbind(u = c(3L, 1L, 2L), v = c(1L, 3L, 2L)))
  plan <- seg_plan(g = c(1, 2, 1))
  expect_identical(seg_sort(c(3, 2, 1), plan = plan), c(1, 2, 3))
  expect_identical(seg_sort(numeric()), numeric())
  expect_identical(seg_order(integer(), g = integer()), integer())
  expect_identical(seg_rank(matrix(0, 0, 2)), matrix(0, 0, 2))
  expect_identical(dim(seg_top(numeric(), 3, lengths = c(0, 0))$values), c(2L, 3L))
  many <- sample(1e5)
  expect_identical(seg_sort(rev(many), g = rep(1:1e5, 1)), rev(many))
})

test_that("random ranks agree with rank() and may be repeated", {
  x <- c(2, 1, 2, NA, 1, 2, 2, 3)
  random <- \(...) withr::with_seed(4, seg_rank(x, ..., ties = "random"))
  expected <- withr::with_seed(4, rank(x, na.last = "keep", ties.method = "random"))
  expect_identical(random(), expected)
  g <- c("a", "b", "a", "a", "b", "b", "a", "a")
  for (decreasing in c(FALSE, TRUE)) {
    ranks <- random(g = g, decreasing = decreasing)
    for (rows in split(seq_along(g), g)) {
      there <- rows[!is.na(x[rows])]
      expect_setequal(ranks[there], seq_along(there))
      expect_false(is.unsorted((if (decreasing) rev else identity)(x[there][order(ranks[there])])))
    }
  }
  draws <- replicate(200, seg_rank(c(1, 1, 1), ties = "random"))
  expect_setequal(draws[1, ], 1:3)
})

test_that("invalid input is an error", {
  expect_snapshot(error = TRUE, {
    seg_sort(1i)
    seg_sort(1:3, decreasing = NA)
    seg_sort(1:3, na.last = NA)
    seg_order(1:3, na.last = "keep")
    seg_rank(1:3, ties = "middle")
    seg_top(1:3, 0)
    seg_top(1:3, 2, lengths = 2)
    seg_sort(1:3, plan = seg_plan(lengths = 2, sources = 0, n = 3))
    seg_top(1:3, 2^31 - 1, lengths = c(rep(0, 1e4), 3))
  })
})
