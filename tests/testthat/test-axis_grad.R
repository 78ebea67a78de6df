# Gradients of axis reductions against finite differences of plain R.

slices <- function(x, dims) {
  kept <- setdiff(seq_along(dim(x)), dims)
  matrix(aperm(x, c(dims, kept)), prod(dim(x)[dims]))
}
functions <- list(sum = sum, prod = prod, min = min, max = max, mean = mean, var = var,
                  logsumexp = \(x) log(sum(exp(x))))

for (op in names(functions)) test_that(paste("the gradient agrees with finite differences, for any dimensions:", op), {
  withr::local_seed(1)
  x <- array(sample(24) / 10, 2:4, list(letters[1:2], NULL, LETTERS[1:4]))
  for (dims in list(1, 2, 3, 1:2, c(3, 1), 2:3, 1:3)) {
    eta <- rnorm(24 / prod(dim(x)[dims]))
    loss <- \(x) sum(eta * apply(slices(array(x, 2:4), sort(dims)), 2, functions[[op]]))
    gradient <- axis_grad(op)(x, eta, dims)
    expect_equal(as.vector(gradient), as.vector(central_difference(loss, as.vector(x))), tolerance = 1e-7,
                 info = toString(dims))
    expect_identical(dimnames(gradient), dimnames(x))
  }
})

test_that("the gradient of a softmax whose values sum to alpha agrees with differences", {
  withr::local_seed(2)
  x <- array(rnorm(24), 2:4)
  eta <- array(rnorm(24), 2:4)
  weigh <- \(x) exp(x) / sum(exp(x))
  for (dims in list(1, 2, c(1, 3), 1:3)) {
    loss <- \(x) 2 * sum(slices(eta, dims) * apply(slices(array(x, 2:4), dims), 2, weigh))
    expect_equal(as.vector(axis_grad("softmax")(x, eta, dims, alpha = 2)),
                 as.vector(central_difference(loss, as.vector(x))), tolerance = 1e-7, info = toString(dims))
  }
})

test_that("vectors and empty arrays have gradients", {
  expect_identical(axis_grad("sum")(c(a = 1, b = 5), 3), c(a = 3, b = 3))
  expect_identical(axis_grad("max")(array(0, c(0, 3)), rep(1, 3), 1), array(0, c(0, 3)))
  expect_identical(axis_grad("sum")(matrix(1:4, 2), array(1:2, c(1, 2)), 1), matrix(c(1, 1, 2, 2), 2))
})

test_mistakes("kernops_error", alist(
  `no gradient` = axis_grad("argmax"),
  `eta of another shape` = axis_grad("sum")(matrix(0, 2, 3), 1:2, 1),
  `eta the other way round` = axis_grad("sum")(array(0, 2:4), matrix(0, 4, 2), 2),
  `eta of a sum of all` = axis_grad("sum")(matrix(0, 2, 3), 1:2),
  `a dimension that is not there` = axis_grad("sum")(matrix(0, 2, 3), 1, 3)
))
