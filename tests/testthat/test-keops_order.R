# Medians and quantiles of the terms of a formula, against apply() on the matrix of terms.

p <- withr::with_seed(1, list(x = matrix(rnorm(24), 12, dimnames = list(letters[1:12], NULL)), y = matrix(rnorm(14), 7),
                              w = runif(7)))
terms <- with(p, outer(1:12, 1:7, Vectorize(\(i, j) w[[j]] * exp(-sum((x[i, ] - y[j, ])^2)))))
args <- c("x = Vi(2)", "y = Vj(2)", "w = Vj(1)")
f <- "w * Exp(-SqDist(x, y))"

test_that("medians and quantiles over j and i agree with those of the matrix of terms", {
  op <- keops_kernel(paste0("Median_Reduction(", f, ", 1)"), args)
  expect_equal(op(p), cbind(apply(terms, 1, median)), tolerance = 1e-12, ignore_attr = TRUE)
  expect_identical(rownames(op(p)), letters[1:12])
  op <- keops_kernel(paste0("Quantile_Reduction(", f, ", 0.1, 0.75, 0)"), args)
  expect_equal(op(p), t(apply(terms, 2, quantile, c(0.1, 0.75))), tolerance = 1e-12, ignore_attr = TRUE)
  op <- keops_kernel("Median_Reduction(x - y, j)", args[1:2])
  expect_equal(op(p[1:2]), t(vapply(1:12, \(i) apply(p$x[i, ] - t(p$y), 1, median), numeric(2))), tolerance = 1e-12,
               ignore_attr = TRUE)
  expect_output(print(op), "Median over j")
  expect_named(op(), c("formula", "args", "args_info", "sum_scheme"))
})

test_that("rows are computed in blocks, and symbolic matrices have medians and quantiles", {
  x <- withr::with_seed(2, matrix(rnorm(3000), 3000))
  y <- withr::with_seed(3, matrix(rnorm(3001), 3001))
  op <- keops_kernel("Median_Reduction(Abs(x - y), 1)", c("x = Vi(1)", "y = Vj(1)"), backend = "cpu")
  rows <- c(1, 1333, 1334, 3000)
  expect_equal(op(list(x, y))[rows], apply(abs(outer(x[rows, 1], y[, 1], `-`)), 1, median), tolerance = 1e-12)
  D <- sqdist(Vi(p$x), Vj(p$y))
  all <- as.matrix(dist(rbind(p$x, p$y)))[1:12, 13:19]^2
  expect_equal(lazy_reduce(D, "Median", "j"), cbind(apply(all, 1, median)), tolerance = 1e-12, ignore_attr = TRUE)
  expect_equal(lazy_reduce(D, "Quantile", "i", probs = 0.3), cbind(apply(all, 2, quantile, 0.3)), tolerance = 1e-12,
               ignore_attr = TRUE)
  expect_equal(median(D, "i"), cbind(apply(all, 2, median)), tolerance = 1e-12, ignore_attr = TRUE)
  expect_equal(median(D, axis = 1), median(D, "j"))
  expect_equal(quantile(D, c(0.1, 0.9), "j"), t(apply(all, 1, quantile, c(0.1, 0.9))), tolerance = 1e-12,
               ignore_attr = TRUE)
  expect_equal(quantile(D, index = "j"), t(apply(all, 1, quantile)), tolerance = 1e-12, ignore_attr = TRUE)
  for (mistake in alist(median(D), median(D, na.rm = TRUE), quantile(D, "j"), quantile(D, 0.5))) {
    expect_error(eval(mistake), class = "kernops_input_error")
  }
})

test_that("medians and quantiles on a GPU agree with the CPU", {
  skip_without_gpu()
  op <- keops_kernel(paste0("Median_Reduction(", f, ", 1)"), args, backend = "cuda")
  expect_equal(op(p), cbind(apply(terms, 1, median)), tolerance = 1e-10, ignore_attr = TRUE)
})

# The derivative of sum(e * quantile(terms, probs)) in each term of a row. A quantile depends on one term, or on two.
weights_of <- function(terms, probs, e) {
  place <- 1 + (length(terms) - 1) * probs
  order <- order(terms)
  weights <- numeric(length(terms))
  for (k in seq_along(probs)) {
    two <- order[c(floor(place[[k]]), ceiling(place[[k]]))]
    part <- place[[k]] - floor(place[[k]])
    weights[two[[1]]] <- weights[two[[1]]] + e[[k]] * (1 - part)
    weights[two[[2]]] <- weights[two[[2]]] + e[[k]] * part
  }
  weights
}

test_that("gradients agree with those of the selected terms", {
  for (backend in backends()) {
    e <- withr::with_seed(4, matrix(rnorm(24), 12))
    op <- keops_kernel(paste0("Quantile_Reduction(", f, ", 0.5, 0.9, 1)"), args, backend = backend)
    weights <- t(vapply(1:12, \(i) weights_of(terms[i, ], c(0.5, 0.9), e[i, ]), numeric(7)))
    by_w <- colSums(weights * t(t(terms) / p$w))
    expect_equal(keops_grad(op, "w")(c(p, list(eta = e))), cbind(by_w), tolerance = 1e-10, ignore_attr = TRUE)
    slopes <- -2 * weights * terms
    by_x <- rowSums(slopes) * p$x - slopes %*% p$y
    expect_equal(keops_grad(op, "x")(c(p, list(eta = e))), by_x, tolerance = 1e-10)
    by_y <- colSums(slopes) * p$y - t(slopes) %*% p$x
    expect_equal(keops_grad(op, "y")(c(p, list(eta = e))), by_y, tolerance = 1e-10, ignore_attr = TRUE)
    scaled <- keops_kernel(paste0("Median_Reduction(s * ", f, ", 0)"), c(args, "s = Pm(1)"), backend = backend)
    by_s <- keops_grad(scaled, "s")(c(p, list(s = 2, eta = 1:7)))
    expect_equal(by_s, matrix(sum(1:7 * apply(terms, 2, median))), tolerance = 1e-10)
  }
  op <- keops_kernel("Quantile_Reduction(x - y, 0.2, 0.6, 1)", args[1:2])
  e <- withr::with_seed(4, matrix(rnorm(48), 12))
  gradient <- keops_grad(op, "x")(c(p[1:2], list(eta = e)))
  expect_equal(gradient, e[, 1:2] + e[, 3:4], tolerance = 1e-12, ignore_attr = TRUE)
  expect_identical(rownames(gradient), letters[1:12])
  expect_identical(keops_grad(op, "x")(unname(c(p[1:2], list(e)))), gradient)
  expect_output(print(keops_grad(op, "x")), "eta = Vi(4)", fixed = TRUE)
})

median_of <- keops_kernel("Median_Reduction(SqDist(x, y), 1)", args[1:2])
test_mistakes("kernops_error", alist(
  axis = keops_kernel("Median_Reduction(SqDist(x, y))", args[1:2]),
  probability = keops_kernel("Quantile_Reduction(SqDist(x, y), 2, 1)", args[1:2]),
  second = keops_grad(keops_grad(median_of, "x"), "y"),
  position = keops_grad(keops_kernel("Median_Reduction(x - IndexJ(), 1)", "x = Vi(1)"), "x"),
  eta = keops_grad(median_of, "x")(list(p$x, p$y, 1:3)),
  ranges = median_of(p[1:2], ranges = list(1)),
  batches = median_of(list(array(1, c(3, 2, 2)), p$y)),
  inner = median_of(p[1:2], inner_dim = "row"),
  inside = keops_kernel("Sum_Reduction(x - Median_Reduction(y, 1), 1)", args[1:2])
))
