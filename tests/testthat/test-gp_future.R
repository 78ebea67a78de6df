# Cross-validation and searches from several starts give the same results under any future::plan().

# Calls body() under each plan: a plan with two processes of this machine, and a cluster plan with two processes.
under_plans <- function(body) {
  skip_if_not_installed("future")
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

test_that("searches from the starts of a subset run in other processes", {
  more <- withr::with_seed(2, smooth_case(120))
  small <- gp_control(subset = 60, starts = 3)
  fit <- gp(z ~ 1, more, ~ a + b, control = small)
  under_plans(function(plan) expect_equal(gp(z ~ 1, more, ~ a + b, control = small)$theta, fit$theta, tolerance = 1e-4,
                                           info = plan))
})

test_that("sums over conditioning sets are distributed over other processes, which keep their sets", {
  many <- withr::with_seed(3, smooth_case(3000))
  fitted <- \(...) gp(z ~ w, many, ~ a + b, matern(3/2) + nugget(), "vecchia", ...)
  expect_same <- \(plan) {
    for (estimate in c("ML", "REML")) {
      again <- fitted(estimate = estimate)
      expect_equal(again$theta, fits[[estimate]]$theta, tolerance = 1e-6, info = plan)
      expect_equal(again$loglik, fits[[estimate]]$loglik, tolerance = 1e-10, info = plan)
      expect_equal(vcov(again), vcov(fits[[estimate]]), tolerance = 1e-6, info = plan)
    }
  }
  fits <- list(ML = fitted(), REML = fitted(estimate = "REML"))
  model <- fits$ML$model
  how <- list(method = "vecchia", reml = FALSE, control = gp_control())
  sequential <- kernops:::vecchia_likelihood(fits$ML$data, model, how)$evaluate(fits$ML$theta, search = TRUE)
  near <- data.frame(a = (1:20) / 1000, z = sin(1:20))
  singular <- \() conditionMessage(expect_error(gp(z ~ 1, near, ~ a, squared_exponential(1, 1), "vecchia", "none"),
                                                class = "kernops_singular_error"))
  alone <- singular()
  rule <- kernops:::worth_sharing
  withr::defer(utils::assignInNamespace("worth_sharing", rule, "kernops"))
  utils::assignInNamespace("worth_sharing", function(n, m) TRUE, "kernops")
  under_plans(function(plan) {
    there <- kernops:::vecchia_likelihood(fits$ML$data, model, how)
    for (theta in list(1.1 * fits$ML$theta, fits$ML$theta)) state <- there$evaluate(theta, search = TRUE)
    expect_equal(state$value, sequential$value, tolerance = 1e-12, info = plan)
    expect_equal(state$gradient(), sequential$gradient(), tolerance = 1e-8, info = plan)
    expect_equal(state$information(), sequential$information(), tolerance = 1e-10, info = plan)
    expect_same(plan)
    expect_identical(singular(), alone, info = plan)
  })
})

test_that("predictions from near observations are distributed over other processes", {
  many <- withr::with_seed(4, smooth_case(800))
  new <- withr::with_seed(5, smooth_case(501))
  fits <- lapply(c("vecchia", "exact"), function(method) {
    gp(z ~ w, many, ~ a + b, matern(3/2, 1, 0.4) + nugget(0.1), method, "none")
  })
  predicted <- \(fit, ...) predict(fit, new, interval = "prediction", se = "local", ...)
  sequential <- lapply(fits, predicted, se.fit = TRUE)
  rule <- kernops:::worth_sharing
  withr::defer(utils::assignInNamespace("worth_sharing", rule, "kernops"))
  utils::assignInNamespace("worth_sharing", function(n, m) TRUE, "kernops")
  under_plans(function(plan) {
    for (k in 1:2) expect_equal(predicted(fits[[k]], se.fit = TRUE), sequential[[k]], tolerance = 1e-12, info = plan)
    expect_equal(unname(predict(fits[[1]], new)), sequential[[1]]$fit, tolerance = 1e-12, info = plan)
    expect_length(predict(fits[[1]], new[0, ]), 0)
  })
  few <- list(data = list(y = 1:1e6), vecchia = list(local = 100), how = list(backend = "auto"))
  expect_false(kernops:::worth_predicting_elsewhere(few, 9000)) # the transfer takes longer than the predictions
  expect_true(kernops:::worth_predicting_elsewhere(few, 1e4))
  few$how$backend <- "cuda"
  expect_false(kernops:::worth_predicting_elsewhere(few, 1e4))
})

test_that("sums are computed in this process if they are short, or if the other processes have no more cores", {
  expect_false(kernops:::worth_sharing(1e7, 30)) # there are no other processes
  under_plans(function(plan) {
    expect_false(kernops:::worth_sharing(1e4, 30), info = plan)
    cores <- min(2, parallel::detectCores())
    expect_equal(kernops:::cores_elsewhere(), cores, info = plan)
    expect_identical(with_kernops(kernops:::worth_sharing(1e7, 30), threads = 1), cores > 1, info = plan)
    expect_false(with_kernops(kernops:::worth_sharing(1e7, 30), threads = 2), info = plan)
  })
})

test_that("if a process dies, kernops raises an error, and R stays usable", {
  skip_if_not_installed("future")
  skip_if_not_installed("future.apply")
  skip_on_cran()
  skip_on_os("windows")
  withr::local_envvar(R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep), KERNOPS_THREADS = "1")
  before <- future::plan("sequential")
  withr::defer(future::plan(before))
  fit <- gp(z ~ w, case, ~ a + b, matern(3/2, 1, 0.4) + nugget(0.1), estimate = "none")
  sequential <- gp_cv(fit, folds = 4)
  expect_dead <- function(code) {
    error <- expect_error(suppressWarnings(code), class = "kernops_worker_error")
    expect_s3_class(error, "kernops_error")
    expect_s3_class(error$parent, "FutureError")
    expect_match(conditionMessage(error), "killed")
  }
  kill <- \(k) if (k == 2) tools::pskill(Sys.getpid(), tools::SIGKILL)
  # the process dies during its computation
  future::plan("multisession", workers = 2)
  expect_dead(kernops:::lapply_future(1:3, kill))
  expect_dead(gp_cv(fit, folds = 4)) # the plan still contains the dead process
  future::plan("sequential")
  future::plan("multisession", workers = 2)
  expect_equal(gp_cv(fit, folds = 4), sequential)
  # processes die between two calls
  pids <- unlist(kernops:::lapply_future(1:2, \(k) Sys.getpid()))
  tools::pskill(pids, tools::SIGKILL)
  Sys.sleep(0.5)
  expect_dead(gp(z ~ w, case, ~ a + b))
  expect_equal(with_kernops(threads = 1, predict(fit, case[1:3, ])), predict(fit, case[1:3, ]))
  future::plan("sequential")
  # processes that share memory with this process
  skip_if_not(future::supportsMulticore())
  future::plan("multicore", workers = 2)
  expect_dead(kernops:::future_each(1:2, kill))
  expect_equal(gp_cv(fit, folds = 4), sequential)
})
