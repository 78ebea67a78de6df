# Interrupts of long computations, on every backend.

for (backend in c("cpu", "cuda")) test_that(paste("Ctrl-C stops a long computation, and R continues:", backend), {
  skip_if_not(backend %in% backends(), cuda_refusal())
  skip_on_os("windows")
  skip_on_cran()
  skip_if_not_in_library()
  result <- interrupt(bquote({
    y <- matrix(runif(3e7), ncol = 3)
    x <- y[1:1e6, ]
    args <- c("x = Vi(3)", "y = Vj(3)")
    op <- kernops::keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", args, backend = .(backend))
    few <- op(list(x[1:2e4, ], y[1:100, ])) # compiles the kernels
    say_pid()
    start <- proc.time()[["elapsed"]]
    ended <- tryCatch({op(list(x, y)); "finished"}, interrupt = \(e) "interrupted")
    list(ended = ended, seconds = proc.time()[["elapsed"]] - start, few = few,
         afterwards = op(list(x[1:2e4, ], y[1:100, ])))
  }))
  expect_identical(result$ended, "interrupted")
  expect_lt(result$seconds, 1 + 1.5)
  expect_identical(result$afterwards, result$few)
})
