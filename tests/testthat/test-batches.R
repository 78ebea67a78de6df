# Arrays of three dimensions: a computation for each batch, against a loop over the batches.

args <- c("s = Pm(2)", "x = Vi(2)", "y = Vj(2)", "b = Vj(1)")
gaussian <- \(axis = 1) sprintf("Sum_Reduction(Exp(-WeightedSqDist(s, x, y)) * b, %d)", axis)
batches <- function(n, size, count) array(between(-1, 1)(n * size * count), c(n, size, count))

nth <- \(x, b) if (length(dim(x)) == 3) array(x[, , min(b, dim(x)[3])], dim(x)[1:2]) else x
loop <- function(op, input, count, ...) {
  each <- lapply(seq_len(count), \(b) op(lapply(input, nth, b), ...))
  array(unlist(each), c(dim(each[[1]]), count))
}
flip <- \(x) if (is.null(dim(x))) x else aperm(x, c(2, 1, 3)[seq_along(dim(x))])

mixed <- function(count) {
  list(
    all = list(s = batches(1, 2, count), x = batches(7, 2, count), y = batches(9, 2, count), b = batches(9, 1, count)),
    some = list(s = c(0.5, 1), x = batches(7, 2, 1), y = batches(9, 2, count), b = uniform(9)),
    parameters = list(s = batches(1, 2, count), x = uniform(7, 2), y = uniform(9, 2), b = batches(9, 1, 1))
  )
}

test_that("each batch is computed separately; matrices and single batches are recycled over all batches", {
  withr::local_seed(1)
  for (input in mixed(4)) for (axis in 0:1) {
    for_each_backend(function(kernel, precision) {
      op <- kernel(gaussian(axis), args)
      value <- op(input)
      expect_identical(dim(value), c(if (axis == 1) 7L else 9L, 1L, 4L))
      expect_equal(value, loop(op, input, 4), tolerance = 1e-15)
    })
  }
})

test_that("points of batches may be in columns", {
  withr::local_seed(2)
  op <- keops_kernel("Sum_Reduction(Exp(-WeightedSqDist(s, x, y)) * x * b, 1)", args)
  for (input in mixed(3)) expect_identical(op(lapply(input, flip), inner_dim = "row"), flip(op(input)))
})

test_that("a single batch has the result of a matrix, and the result of zero batches has zero batches", {
  withr::local_seed(20)
  op <- keops_kernel(gaussian(), args)
  input <- list(c(0.5, 1), batches(7, 2, 1), uniform(9, 2), uniform(9))
  expect_identical(op(input), array(op(replace(input, 2, list(nth(input[[2]], 1)))), c(7, 1, 1)))
  expect_identical(dim(op(replace(input, 2, list(batches(7, 2, 0))))), c(7L, 1L, 0L))
})

test_that("positions in results are integers, and names are kept", {
  withr::local_seed(3)
  x <- batches(3, 2, 2)
  dimnames(x) <- list(letters[1:3], NULL, NULL)
  op <- keops_kernel("ArgKMin_Reduction(SqDist(x, y), 4, 1)", c("x = Vi(2)", "y = Vj(2)"))
  input <- list(x, batches(3, 2, 2))
  nearest <- op(input)
  expect_type(nearest, "integer")
  expect_identical(dimnames(nearest), list(letters[1:3], NULL, NULL))
  expect_identical(unname(nearest), loop(op, input, 2))
  expect_true(all(is.na(nearest[, 4, ])))
})

test_that("a gradient has the shape of its variable, and is a sum over batches if all batches share the variable", {
  withr::local_seed(4)
  count <- 3
  for (input in mixed(count)) for (axis in 0:1) for (var in c("s", "x", "y", "b")) {
    input$eta <- batches(if (axis == 1) 7 else 9, 1, count)
    for_each_backend(function(kernel, precision) {
      gradient <- keops_grad(kernel(gaussian(axis), args), var)
      value <- gradient(input)
      shape <- dim(input[[var]])
      each <- loop(gradient, input, count)
      expected <- if (length(shape) == 3 && shape[3] == count) each else apply(each, 1:2, sum)
      expect_equal(value, array(expected, if (length(shape)) shape else c(1, length(input[[var]]))),
                   tolerance = gradient_tolerance[[precision]])
    })
  }
})

test_that("second derivatives sum over the batches that share a variable", {
  withr::local_seed(5)
  op <- keops_kernel(gaussian(), args)
  input <- list(c(0.5, 1), uniform(4, 2), batches(5, 2, 3), uniform(5), batches(4, 1, 3), uniform(4, 2))
  first <- keops_grad(op, "x")
  expected <- central_difference(\(x) sum(input[[6]] * first(replace(input[1:5], 2, list(x)))), input[[2]])
  expect_close(keops_grad(first, "x")(input), expected, tolerance = 1e-6)
})

test_that("ranges apply to all batches", {
  withr::local_seed(6)
  ranges <- from_matrix(rbind(c(1, 3), c(5, 7)), rbind(c(1, 4), c(5, 9)), matrix(c(TRUE, FALSE, TRUE, TRUE), 2))
  for_each_backend(function(kernel, precision) {
    op <- kernel(gaussian(), args)
    for (input in mixed(3)) {
      expect_equal(op(input, ranges = ranges), loop(op, input, 3, ranges = ranges), tolerance = 1e-15)
    }
  })
})

test_that("large and small batches are right on any number of threads", {
  withr::local_seed(7)
  op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", c("x = Vi(2)", "y = Vj(2)"), backend = "cpu")
  for (size in list(c(20, 200), c(2000, 3))) {
    input <- list(batches(size[1], 2, size[2]), batches(size[1], 2, size[2]))
    on_threads <- \(n) withr::with_options(list(kernops.threads = n), op(input))
    for (n in c(2, 5)) expect_identical(on_threads(n), on_threads(1))
  }
})

# Points with several batch dimensions; each variable lacks some of the dimensions.
several <- list(
  s = array(between(-1, 1)(2 * 3), c(1, 2, 1, 3)), x = array(between(-1, 1)(7 * 2 * 2), c(7, 2, 2)),
  y = array(between(-1, 1)(9 * 2 * 6), c(9, 2, 2, 3)), b = uniform(9)
)
at <- function(x, k, l) {
  if (length(dim(x)) < 3) return(x)
  size <- c(dim(x), 1)
  array(array(x, size[1:4])[, , min(k, size[[3]]), min(l, size[[4]])], size[1:2])
}
loops <- function(op, input) {
  each <- lapply(1:3, \(l) lapply(1:2, \(k) op(lapply(input, at, k, l))))
  array(unlist(each), c(dim(each[[1]][[1]]), 2, 3))
}

test_that("several dimensions of batches are recycled separately", {
  for (axis in 0:1) {
    for_each_backend(function(kernel, precision) {
      op <- kernel(gaussian(axis), args)
      value <- op(several)
      expect_identical(dim(value), c(if (axis == 1) 7L else 9L, 1L, 2L, 3L))
      expect_equal(value, loops(op, several), tolerance = 1e-15)
      ranges <- from_matrix(rbind(c(1, 3), c(5, 7)), rbind(c(1, 4), c(5, 9)), matrix(c(TRUE, FALSE, TRUE, TRUE), 2))
      expect_equal(op(several, ranges = ranges), loops(\(x) op(x, ranges = ranges), several), tolerance = 1e-15)
    })
  }
  op <- keops_kernel(gaussian(), args)
  across <- \(x) if (length(dim(x)) < 2) x else aperm(x, c(2, 1, seq_along(dim(x))[-(1:2)]))
  expect_identical(op(lapply(several, across), inner_dim = "row"), across(op(several)))
  named <- several
  rownames(named$x) <- letters[1:7]
  expect_identical(rownames(op(named)), letters[1:7])
  expect_identical(dim(op(replace(several, "s", list(array(0, c(1, 2, 1, 1)))))), c(7L, 1L, 2L, 3L))
  empty <- replace(several[c("s", "x", "b")], "y", list(array(0, c(9, 2, 2, 0))))
  expect_identical(dim(op(replace(empty, "s", list(c(1, 2))))), c(7L, 1L, 2L, 0L))
  nearest <- keops_kernel("ArgKMin_Reduction(SqDist(x, y), 2, 1)", args[2:3])
  expect_identical(nearest(several[c("x", "y")]), `storage.mode<-`(loops(nearest, several[c("x", "y")]), "integer"))
})

test_that("a gradient is the sum over all batches that used the variable", {
  withr::local_seed(11)
  input <- c(several, list(eta = array(between(-1, 1)(7 * 6), c(7, 1, 2, 3))))
  # for each variable, the dimensions that its gradient keeps; the gradient is summed over the other dimensions
  over <- list(s = c(1, 2, 4), x = 1:3, y = 1:4, b = 1:2)
  for (var in names(over)) {
    gradient <- keops_grad(keops_kernel(gaussian(), args), var)
    value <- gradient(input)
    expect_identical(dim(value), dim(several[[var]]))
    expect_equal(as.vector(value), as.vector(apply(loops(gradient, input), over[[var]], sum)), info = var)
  }
})

op <- keops_kernel(gaussian(), args)
good <- mixed(4)$all
test_mistakes("kernops_dim_error", alist(
  `batches that do not repeat` = op(replace(several, "s", list(array(0, c(1, 2, 3, 3))))),
  `a system of batches` = kernel_solve(op, "b", good),
  `unequal numbers of batches` = op(replace(good, "b", list(batches(9, 1, 3)))),
  `a batch of points of wrong size` = op(replace(good, "x", list(batches(7, 3, 4)))),
  `unequal numbers of points in batches` = op(replace(good, "b", list(batches(8, 1, 4)))),
  `a parameter of wrong size in batches` = op(replace(good, "s", list(batches(1, 3, 4))))
))
