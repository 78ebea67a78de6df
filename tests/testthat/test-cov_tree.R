# The tree of a covariance, whose leaves are covariance functions: each leaf has a path from the root, which identifies
# the parameters and the formula of the leaf.

test_that("leaves have paths from the root, in the order in which they are written", {
  x <- exponential(range = 1) * (matern(range = 2) + constant()) + nugget()
  leaves <- kernops:::leaves_of(x)
  expect_identical(names(leaves), c("1.1.1", "1.1.2.1", "1.1.2.2", "1.2"))
  expect_identical(unname(vapply(leaves, `[[`, "", "label")), c("exponential", "matern", "constant", "nugget"))
  expect_identical(kernops:::leaf_at(x, "1.1.2.1")$parameters$range, 2)
  expect_identical(names(kernops:::leaves_of(wave())), "1")
})

test_that("rows of the parameter table are found by the path of a leaf and the name of a parameter", {
  model <- kernops:::covariance_model(exponential(ard = TRUE) + covariance("s * Exp(-WeightedSqDist(w, x, y))",
                                                                           list(w = c(1, 2), s = 3)) + nugget(), 2)
  rows <- function(path, name) model$parameters$name[kernops:::leaf_rows(model, path, name)]
  expect_identical(rows("1.1.1", "range"), c("exponential.range.x1", "exponential.range.x2"))
  expect_identical(rows("1.1.2", "w"), c("covariance.w1", "covariance.w2"))
  expect_identical(rows("1.1.2", "s"), "covariance.s")
  expect_identical(rows("1.2", NULL), "nugget.variance")
  expect_identical(rows("1.2", "range"), character())
})

test_that("values are assigned to the leaves from which they were read", {
  x <- matern(3/2, dims = 1) * exponential(ard = TRUE) + power_law(power = 1) + microscale()
  model <- kernops:::covariance_model(x, 3)
  theta <- seq_len(nrow(model$parameters)) / 10
  again <- kernops:::covariance_model(kernops:::with_values(model, theta), 3)
  expect_identical(again$parameters$value, theta)
  expect_identical(again$formula, model$formula)
})

test_that("a formula can be written with other names for the points", {
  model <- kernops:::covariance_model(exponential(dims = 1:2) * periodic(dims = 3) + linear(), 3)
  expect_identical(kernops:::covariance_text(model, "a", "b"),
                   gsub("\\by\\b", "b", gsub("\\bx\\b", "a", model$formula)))
})

test_that("a fold visits each leaf of the tree once, and combines results at sums and products from the leaves up", {
  x <- (exponential() + matern()) * wave() + nugget()
  text <- kernops:::fold_covariance(x, function(leaf, path) leaf$label,
                                    function(operation, parts) sprintf("(%s %s %s)", parts[[1]], operation, parts[[2]]))
  expect_identical(text, "(((exponential + matern) * wave) + nugget)")
})

test_that("equal calls create equal covariances, with any geometry", {
  make <- list(function() spherical(1, 2, angle = 30, ratio = 0.5), function() exponential(time = 3),
               function() matern(NA, distance = "great_circle"), function() periodic(ard = TRUE) + wave(range = 1:2))
  for (f in make) expect_identical(f(), f())
})

test_mistakes("kernops_input_error", alist(
  `time of a periodic covariance` = periodic(time = 2),
  `speed of a periodic covariance` = periodic(speed = 2),
  `too many arguments` = exponential(1, 2, TRUE)
))
