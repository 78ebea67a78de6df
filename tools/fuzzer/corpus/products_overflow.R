# nrow * ncol * ncol beyond 2^31 became NA, and the iterative method stopped with R's error.
a <- matrix(1, 2200, 1000)
identical(kernops:::block_inner(a, a, list(threads = 2L))[c(1, 1e6)], c(2200, 2200))
