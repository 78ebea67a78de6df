# Environment variables select the tests that run. If KERNOPS_TEST_PART is k/n, the process runs the tests with the
# numbers k, k + n, k + 2 n, ... If KERNOPS_TEST_DEADLINE is a number of seconds since 1970, the process skips each test
# that would begin later.
if (nzchar(Sys.getenv("KERNOPS_TEST_PART")) || nzchar(Sys.getenv("KERNOPS_TEST_DEADLINE"))) {
  # This definition masks test_that() of testthat. If the calling function has an argument `env`, this argument is
  # evaluated before the test.
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
