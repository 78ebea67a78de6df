# The operations on blocks of vectors, tested by the same code for the host and the GPU.

test_that("each operation on blocks of vectors agrees with R", {
  withr::local_seed(1)
  for_each_space(\(backend) for (n in c(1, 7, 3000)) {
    space <- vector_space(if (backend == "cpu") -1L else 0L)
    x <- uniform(n, 5)
    y <- uniform(n, 5)
    narrow <- uniform(n, 2)
    small <- uniform(5, 9)
    d <- uniform(n)
    there <- space$copy
    close <- \(block, expected) expect_close(as.matrix(block), expected, info = paste(backend, n))
    close(there(x), x)
    close(space$axpby(2, there(x), -1, there(y)), 2 * x - y)
    close(space$axpby(1:5, there(x), 0, there(y)), x %*% diag(1:5))
    close(space$add_rows(3, there(x), there(y)), y + 3 * x)
    close(space$add_rows(there(d), there(x), there(y)), y + as.vector(d) * x)
    close(space$put(there(x), c(4, 2), there(narrow)), replace(x, cbind(rep(1:n, 2), rep(c(4, 2), each = n)), narrow))
    close(space$combine(there(x), small), x %*% small)
    close(space$combine(there(x), small[1:3, , drop = FALSE]), x[, 1:3, drop = FALSE] %*% small[1:3, ])
    close(space$inner(there(x), there(narrow)), t(x) %*% narrow)
    close(matrix(space$dots(there(x), there(y))), colSums(x * y))
    close(there(x)[, c(3, 1), drop = FALSE], x[, c(3, 1), drop = FALSE])
    filled <- space$put(space$put(space$new(n, 2), 2, there(d)), 1, there(2 * d))
    close(filled, cbind(2 * d, d))
    expect_true(space$finite(there(x)))
    expect_false(space$finite(there(replace(x, n, NaN))))
  })
})

test_that("products with more multiplications than the largest integer are right", {
  a <- matrix(1, 2200, 1000)
  expect_identical(kernops:::block_inner(a, a, list(threads = 2L))[c(1, 1e6)], c(2200, 2200))
})

test_that("blocks with other dimensions are refused", {
  expect_error(block_put(diag(3), 1L, diag(2)), class = "kernops_dim_error")
  skip_without_gpu()
  there <- gpu_matrix
  expect_error(block_put(there(diag(3)), 1L, there(diag(2))), class = "kernops_dim_error")
  expect_error(block_inner(there(diag(3)), there(diag(2)), list()), class = "kernops_dim_error")
  expect_error(block_combine(there(diag(3)), diag(4), list()), class = "kernops_dim_error")
  expect_error(block_add_rows(there(1), there(diag(3)), there(diag(3))), class = "kernops_dim_error")
})
