# Environment variables select the tests that run. With KERNOPS_TEST_PART=k/n, a process runs the k-th, (k + n)-th, ...
# of the tests; with KERNOPS_TEST_DEADLINE, in seconds since 1970, it skips tests that would begin later.
if (nzchar(Sys.getenv("KERNOPS_TEST_PART")) || nzchar(Sys.getenv("KERNOPS_TEST_DEADLINE"))) {
  # masks test_that() of testthat; the expression of `env` must not be evaluated here
  test_that <- local({
    part <- as.integer(strsplit(Sys.getenv("KERNOPS_TEST_PART", "1/1"), "/", fixed = TRUE)[[1]])
    deadline <- as.numeric(Sys.getenv("KERNOPS_TEST_DEADLINE", "Inf"))
    count <- 0L
    function(desc, code) {
      caller <- parent.frame()
      if (exists("env", caller, inherits = FALSE)) force(caller$env)
      count <<- count + 1L
      if ((count - part[[1]]) %% part[[2]] != 0) return(invisible())
      code <- substitute(code)
      if (as.numeric(Sys.time()) > deadline) code <- quote({testthat::skip("the time is over")})
      eval(as.call(list(testthat::test_that, desc, code)), caller)
    }
  })
}
