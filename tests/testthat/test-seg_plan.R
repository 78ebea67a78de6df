test_that("a plan can be used for any values", {
  plan <- seg_plan(offsets = c(0, 2, 2, 5))
  expect_identical(seg_reduce(c(1, 2, 3, 4, 5), plan = plan), c(3, 0, 12))
  expect_identical(seg_reduce(5:1, plan = plan, op = "max"), c(5, -Inf, 3))
  expect_identical(seg_reduce(1:5, plan = seg_plan(g = c(2, 1, 2, 1, 2))), c(`1` = 6L, `2` = 9L))
})

test_that("a plan prints its kind and sizes", {
  expect_snapshot({
    seg_plan(lengths = c(0, 1, 5, 0, 100))
    seg_plan(g = c("b", "a", "b"))
    seg_plan(g = c("a", "a", "b"))
    seg_plan(lengths = c(2, 3), sources = c(5, 0), n = 10)
    seg_plan(lengths = integer())
  })
})

test_that("a plan can be saved", {
  for (plan in list(seg_plan(g = c("b", "a", "b", NA)), seg_plan(offsets = c(0, 1), n = 4),
                    seg_plan(lengths = c(1, 3)))) {
    file <- withr::local_tempfile()
    saveRDS(plan, file)
    expect_identical(seg_reduce(c(1, 2, 3, 4), plan = readRDS(file)), seg_reduce(c(1, 2, 3, 4), plan = plan))
  }
})

test_that("a plan accepts the result of collapse::GRP()", {
  skip_if_not_installed("collapse")
  x <- mtcars$mpg
  expect_equal(seg_reduce(x, g = collapse::GRP(mtcars$cyl)), tapply(x, mtcars$cyl, sum), ignore_attr = TRUE)
  both <- collapse::GRP(mtcars, c("cyl", "am"))
  expect_equal(seg_reduce(x, g = both, op = "mean"), collapse::fmean(x, both))
})

test_that("groups of collapse::GRP() are used unchanged, with their names", {
  skip_if_not_installed("collapse")
  x <- c(1, 2, 4, 8)
  for (g in list(collapse::GRP(c("b", "a", NA, "b")), collapse::GRP(c("b", "a", NA, "b"), sort = FALSE),
                 collapse::GRP(c("b", "a", NA, "b"), return.groups = FALSE),
                 collapse::GRP(list(c(1, 1, 2, 2), c("u", NA, "u", "u"))))) {
    expect_identical(seg_reduce(x, g = g), stats::setNames(as.numeric(collapse::fsum(x, g)), collapse::GRPnames(g)))
  }
})

test_that("groups in order of first appearance omit unused levels, but not the level NA", {
  g <- addNA(factor(c("b", NA, "a", "b"), levels = c("z", "a", "b")))
  expect_identical(seg_reduce(c(1, 2, 4, 8), g = g, sort = FALSE), stats::setNames(c(9, 2, 4), c("b", NA, "a")))
  g <- factor(c("b", NA, "a", "b"), levels = c("z", "a", "b"))
  expect_identical(seg_reduce(c(1, 2, 4, 8), g = g, sort = FALSE), c(b = 9, a = 4))
})

test_that("groups may be integer64, and an array of one dimension", {
  x <- c(1, 2, 4, 8)
  expect_identical(seg_reduce(x, g = array(c(2, 1, 2, 1))), c(`1` = 10, `2` = 5))
  expect_identical(seg_reduce(x, g = as.table(c(2, 1, 2, 1)), sort = FALSE), c(`2` = 5, `1` = 10))
  skip_if_not_installed("bit64")
  g <- bit64::as.integer64(c("-1", "-9000000000000000002", NA, "-1"))
  expect_identical(seg_reduce(x, g = g), c(`-9000000000000000002` = 2, `-1` = 9))
  expect_identical(seg_reduce(x, g = g, sort = FALSE), c(`-1` = 9, `-9000000000000000002` = 2))
})

test_that("offsets may be integer64", {
  offsets <- c(0, 2, 3)
  skip_if(.Platform$endian != "little")
  expect_identical(seg_reduce(c(1, 2, 4), offsets = integer64(c(0, 2, 3), c(0, 0, 0))),
                   seg_reduce(c(1, 2, 4), offsets = offsets))
})

test_that("lengths may be a table of counts, but offsets, lengths and sources that are not numeric are refused", {
  expect_identical(unname(seg_reduce(1:4, lengths = table(c("p", "q", "p", "q")))), c(3L, 7L))
  for (odd in list(as.difftime(c(0, 4), units = "secs"), as.Date(c(0, 4), origin = "1970-01-01"), factor(c(0, 4)),
                   as.POSIXct(c(0, 4), origin = "1970-01-01"), c(FALSE, TRUE), c("0", "4"), list(0, 4))) {
    # a factor, or strings, in the position of offsets are groups
    second <- alist(seg_reduce(1:4, odd), seg_plan(offsets = odd), seg_softmax(1:4, odd), seg_grad("sum")(1:4, 1, odd),
                    spmv(list(offsets = odd, columns = 0:3), 1:4))
    for (call in c(if (!is.factor(odd) && !is.character(odd)) second,
                   alist(seg_reduce(1:4, lengths = odd), seg_reduce(1:4, lengths = c(1, 1), sources = odd),
                         spmv(list(offsets = c(0, 2), columns = odd), 1:4)))) {
      expect_error(eval(call), "must be (non-negative )?whole numbers", class = "kernops_input_error",
                   label = deparse1(call))
    }
  }
})

test_that("single numbers of class integer64 are refused, because their bits are not those of a double", {
  one <- integer64(1, 0)
  for (call in alist(seg_plan(lengths = 3, n = one), seg_reduce(1:3, lengths = 3, empty = one), seg_op("a + b", one),
                     seg_op("a + b", values = one), axis_reduce(1:3, one), axis_plan(one, 1), axis_plan(3, one),
                     softmax(1:3, alpha = one), spmv(list(offsets = 0:1, columns = one), 1:2), grid_cluster(1:3, one),
                     from_matrix(structure(rep(unclass(one), 2), dim = 1:2, class = "integer64"), cbind(1, 1),
                                  matrix(TRUE)),
                     seg_softmax(one, lengths = 1), seg_reduce(1, lengths = 1, w = one), argKmin(Vi(1:3), one, "j"))) {
    expect_error(eval(call), class = "kernops_error", label = deparse1(call))
  }
})

test_mistakes("kernops_error", alist(
  `offsets that are differences of times` = seg_reduce(1:4, as.difftime(c(0, 4), units = "secs")),
  `lengths that are groups` = seg_plan(lengths = factor(c(1, 3))),
  `n of bit64` = seg_plan(lengths = 3, n = integer64(3, 0)),
  `n is not a number` = seg_plan(lengths = 3, n = "3"),
  `n is not the sum` = seg_plan(lengths = 3, n = 4),
  `sources without n` = seg_plan(lengths = 3, sources = 0)
))
