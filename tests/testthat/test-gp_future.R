# Cross-validation and searches from several starts give the same wherever future::plan() runs them.

# body() under each plan: two processes of this machine, and two that are reached as hosts of a cluster.
under_plans <- function(body) {
  skip_if_not_installed("future.apply")
  skip_on_cran()
  withr::local_envvar(R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep), KERNOPS_THREADS = "1")
  before <- future::plan("sequential")
  withr::defer(future::plan(before))
  future::plan("multisession", workers = 2)
  body("multisession")
  hosts <- future::makeClusterPSOCK(c("localhost", "localhost"))
  withr::defer(parallel::stopCluster(hosts))
  future::plan("cluster", workers = hosts)
  body("cluster")
}
case <- local({
  withr::local_seed(1)
  smooth_case(50)
})

test_that("folds and starts run in other processes", {
  fit <- gp(z ~ w, case, ~ a + b)
  folds <- gp_cv(fit, folds = 4, refit = TRUE)
  iterative <- gp(z ~ 1, case, ~ a + b, fit$covariance, method = "iterative", estimate = "none")
  parts <- gp_cv(iterative, folds = 2)
  under_plans(function(plan) {
    expect_equal(future::nbrOfWorkers(), 2)
    here <- Sys.getpid()
    expect_false(any(unlist(kernops:::lapply_future(1:2, function(k) Sys.getpid())) == here))
    expect_equal(gp_cv(fit, folds = 4, refit = TRUE), folds, tolerance = 1e-5, info = plan)
    expect_equal(gp_cv(iterative, folds = 2), parts, info = plan)
    again <- gp(z ~ w, case, ~ a + b)
    expect_equal(again$theta, fit$theta, tolerance = 1e-5, info = plan)
    expect_identical(again$search$starts, fit$search$starts)
  })
})

test_that("starts of a subset are searched in other processes", {
  more <- withr::with_seed(2, smooth_case(120))
  small <- gp_control(subset = 60, starts = 3)
  fit <- gp(z ~ 1, more, ~ a + b, control = small)
  under_plans(function(plan) expect_equal(gp(z ~ 1, more, ~ a + b, control = small)$theta, fit$theta, tolerance = 1e-4,
                                           info = plan))
})
