# Functions of conditions.R check the arguments of many functions: every invalid argument raises a classed error.

test_that("messages describe an object without a printable value by its kind", {
  for (unfit in list(mean, new.env(), quote(a), y ~ x, Vi(1:3), list(), character(), NULL)) {
    expect_error(seg_reduce(1:3, lengths = 3, na.rm = unfit), "`na.rm` must be TRUE or FALSE, not",
                 class = "kernops_input_error")
    expect_error(axis_reduce(diag(3), 1, output = unfit), "`output` must be one of", class = "kernops_input_error")
    expect_error(softmax(1:3, 1, alpha = unfit), "`alpha` must be", class = "kernops_input_error")
    expect_error(matern(nu = unfit), "`nu` must be", class = "kernops_input_error")
    expect_error(with_kernops(1, device = unfit, threads = 1:2), class = "kernops_input_error")
  }
  expect_error(seg_reduce(1:3, lengths = 3, empty = mean), "`empty` must be one number", class = "kernops_input_error")
  expect_error(nugget(fixed = ~ variance), "`fixed` must be among", class = "kernops_input_error")
  for (unfit in list(mean, quote(a), NULL)) {
    expect_error(grid_cluster(unfit, 1), class = "kernops_input_error")
    expect_error(gp_variogram(unfit, 1:3), class = "kernops_dim_error")
  }
  expect_error(linear(dims = NaN), "`dims` must contain", class = "kernops_input_error")
})

test_that("the vector of all choices selects the first choice, and any other vector is an error", {
  fit <- gp(dist ~ 1, cars, ~ speed, exponential(1, 1) + nugget(1), estimate = "none")
  expect_identical(coef(fit, c("trend", "covariance", "both", "transform")), coef(fit))
  expect_error(coef(fit, c("covariance", "trend")), "`type` must be one of .*\"covariance\" and \"trend\"",
               class = "kernops_input_error")
  expect_error(update(fit, estimate = c("REML", "none")), "`estimate`", class = "kernops_input_error")
})

# The result of `code` in another R process, whose address space is limited to 1.2 GB.
in_little_memory <- function(code) {
  skip_if(nzchar(Sys.getenv("ASAN_OPTIONS")), "AddressSanitizer needs more address space than the limit leaves")
  skip_if_not_in_library()
  skip_on_os(c("windows", "mac")) # `ulimit -v` has no effect on these systems
  files <- file.path(withr::local_tempdir(), c("script", "result"))
  script <- bquote({
    .libPaths(.(.libPaths()))
    library(kernops)
    saveRDS(.(code), .(files[2]))
  })
  writeLines(deparse(script), files[1])
  rscript <- shQuote(file.path(R.home("bin"), "Rscript"))
  # the driver of a GPU would reserve more address space than this limit
  settings <- "ulimit -v 1200000; KERNOPS_BACKEND=cpu OPENBLAS_NUM_THREADS=1 R_TESTS="
  system(paste(settings, rscript, "--vanilla", files[1], "> /dev/null 2>&1"))
  readRDS(files[2])
}

test_that("lack of memory in the engine has a separate error class", {
  skip_if(nzchar(Sys.getenv("ASAN_OPTIONS")), "AddressSanitizer ends R where memory is short")
  expect_error(seg_from_groups(1L, 1L, 1e15, NULL, 1e15), "not enough memory", class = "kernops_memory_error")
  expect_error(seg_from_groups(1L, 1L, 1e19, NULL, 1e19), "not enough memory", class = "kernops_memory_error")
})

test_that("a size beyond the range of a C++ container is not reported as lack of memory", {
  many <- rep(1L, 1e5)
  for (threads in c(-1L, -5L, -1000L)) {
    error <- expect_error(seg_from_groups(many, 1L, 1, NULL, 1, threads = threads), class = "kernops_input_error")
    expect_match(conditionMessage(error), "vector")
    expect_no_match(conditionMessage(error), "memory")
  }
})

test_that("a call that exceeds R's memory raises a kernops_memory_error and retains no data", {
  outcome <- in_little_memory(quote({
    ns <- asNamespace("kernops")
    many <- 5e8
    rows <- matrix(seq_len(1.5e6) + 0L)
    wide <- keops_kernel("Sum_Reduction(SumT(x, 1000000) * y, 1)", c("x = Vi(1)", "y = Vj(1)"))
    narrow <- keops_kernel("Sum_Reduction(x * y, 1)", c("x = Vi(1)", "y = Vj(1)"))
    most <- keops_kernel("ArgKMin_Reduction(x * y, 60, 1)", c("x = Vi(1)", "y = Vj(1)"))
    plan <- function(n = many) ns$seg_from_lengths(n, NULL, -1)$pointer
    column <- matrix(0, 20000, 1)
    calls <- list(
      result = function() wide(list(x = rows, y = matrix(1))),
      input = function() narrow(list(x = rows, y = seq_len(many))),
      positions = function() most(list(x = rows, y = matrix(1))),
      values = function() seg_reduce(seq_len(many), lengths = many),
      softmax = function() {
        ns$seg_run(plan(7e7), seq_len(7e7), ns$segment_operation("softmax"), FALSE, NULL,
                   ns$segment_settings("cpu", FALSE))
      },
      rows = function() ns$seg_values(plan()),
      number = function() ns$seg_number_keys(seq_len(many), FALSE),
      groups = function() ns$seg_from_groups(seq_len(many), 1L, 1, NULL, 1),
      product = function() ns$block_combine(column, t(column), list()),
      block = function() ns$block_new(20000L, 20000L, -1L),
      sparse = function() {
        ns$spmv_run(ns$spmv_entries(plan(), 1L), as.numeric(seq_len(many)), 1, ns$segment_operation("sum"), "a * b",
                    TRUE, ns$segment_settings("cpu", FALSE))
      }
    )
    megabytes <- function() gc()[2, 2]
    lapply(calls, function(call) {
      before <- megabytes()
      error <- lapply(1:2, function(n) tryCatch(call(), error = class))
      list(class = unique(lapply(error, `[[`, 1)), kept = megabytes() - before)
    })
  }))
  for (name in names(outcome)) {
    expect_identical(outcome[[name]]$class, list("kernops_memory_error"), label = name)
    expect_lt(outcome[[name]]$kept, 5, label = name)
  }
})

test_that("messages shorten long values and objects that are not text, in less than a second", {
  invalid <- `Encoding<-`(c("x\xff", "\xc3"), "UTF-8")
  x <- matrix(1, 3)
  op <- keops_kernel("Sum_Reduction(x * y, 1)", c("x = Vi(1)", "y = Vj(1)"))
  compiled <- \(formula, args = c("x = Vi(1)", "y = Vj(1)"), ...) keops_kernel(formula, args, ...)
  of_text <- alist(
    compiled(text), compiled(sprintf("Sum_Reduction(%s * x, 1)", text)),
    compiled(sprintf("Sum_Reduction(%s(x), 1)", text)), compiled(paste0(text, "_Reduction(x, 1)")),
    compiled("Sum_Reduction(x, 1)", text), compiled("Sum_Reduction(x, 1)", paste(text, "= Vi(1)")),
    compiled("Sum_Reduction(x, 1)", sprintf("x = %s(1)", text)),
    compiled("Sum_Reduction(x, 1)", c("x = Vi(1)", paste(text, "= Vi(0)"))),
    compiled(sprintf("Sum_Reduction(%s + x, 1)", text), c("x = Vi(2)", paste(text, "= Vi(3)"))),
    compiled("Sum_Reduction(x, 1)", paste(text, "= Vi(1)"))(list(1, 2)),
    compiled("Sum_Reduction(x, 1)", sum_scheme = text), compiled("Sum_Reduction(x, 1)", "x = Vi(1)", precision = text),
    op(stats::setNames(list(x, x), c(text, "y"))), op(list(x, x), inner_dim = text),
    op(list(text, x)), op(list(stats::setNames(data.frame("a"), text), x)), keops_grad(op, text), lazy_op(text, Vi(x)),
    Vi(x, name = paste0(text, "!")), LazyTensor(x, text), lazy_reduce(Vi(x), text, "j"),
    lazy_reduce(Vi(x), "Sum", text), seg_reduce(1:3, lengths = 3, op = text), seg_op(text), seg_op(paste("a +", text)),
    axis_reduce(diag(3), 1, op = text), reduce_by_key(1, 1, op = text), kernel_solve(op, list(x, x), text),
    gp(dist ~ 1, cars, ~ speed, exponential(), estimate = text), nugget(fixed = text)
  )
  of_many <- alist(
    seg_reduce(1:3, lengths = 3, op = many), compiled("Sum_Reduction(x, 1)", sum_scheme = many),
    seg_reduce(1:3, lengths = 3, op = as.character(many)), seg_reduce(1:3, lengths = 3, na.rm = many),
    keops_grad(op, many), lazy_reduce(Vi(x), "Sum", many), Kmin(Vi(x), many, "j"), lazy_op("Elem", Vi(x), many + 0.5),
    lazy_op("Elem", Vi(x), many), op(stats::setNames(as.list(many), many)), softmax(1:3, many),
    seg_reduce(1:3, lengths = 3, op = rep(strrep("a", 1e6), 30))
  )
  here <- environment()
  told <- function(code, ...) {
    took <- system.time(error <- tryCatch(eval(code, list(...), here), error = identity), gcFirst = FALSE)
    expect_s3_class(error, "kernops_error")
    expect_lt(sum(took[c("user.self", "sys.self")]), 1) # CPU seconds, because other processes may use the machine
    expect_lt(nchar(paste(conditionMessage(error), collapse = "\n")), 3000)
    expect_true(validUTF8(conditionMessage(error)), label = deparse1(code))
  }
  for (text in c(strrep("a", 1e6), invalid)) for (code in of_text) told(code, text = text)
  for (code in of_many) told(code, many = 1:1e5)
})

test_that("a warning shortens long names of unused variables", {
  warning <- expect_warning(keops_kernel("Sum_Reduction(x, 1)", c("x = Vi(1)", paste(strrep("a", 1e6), "= Vi(1)"))))
  expect_lt(nchar(conditionMessage(warning)), 3000)
})

test_that("errors of formulas and data carry the call that the user wrote", {
  called <- \(code) deparse1(conditionCall(tryCatch(code, kernops_error = identity)))
  expect_identical(called(keops_kernel("Sum_Reduction(x +, 1)", "x = Vi(3)")),
                   "keops_kernel(\"Sum_Reduction(x +, 1)\", \"x = Vi(3)\")")
  op <- keops_kernel("Sum_Reduction(x * y, 1)", c("x = Vi(3)", "y = Vj(3)"))
  x <- matrix(1, 2, 3)
  expect_identical(called(op(list(x, 1))), "op(list(x, 1))")
  expect_identical(called(Vi(x) + 1:2), "Vi(x) + 1:2")
  expect_identical(called(square("a")), "square(\"a\")")
  expect_identical(called(argmin(x, "i")), "argmin(x, \"i\")")
  expect_identical(called(Kmin(Vi(x), 2.5, "j")), "Kmin(Vi(x), 2.5, \"j\")")
  expect_identical(called(sapply(1, \(n) sqdist(Vi(x), 1:2))), "sqdist(Vi(x), 1:2)")
  expect_identical(called(seg_reduce(1:3, lengths = c(1, -2))), "seg_reduce(1:3, lengths = c(1, -2))")
})

test_that("errors carry the call of the called function, but not its data", {
  x <- matrix(runif(20), 10)
  K <- exp(-sqdist(Vi(x), Vj(x)))
  head_of <- \(code) as.character(conditionCall(expect_error(code, class = "kernops_error"))[[1]])
  expect_identical(head_of(K %*% 1:3), "%*%")
  expect_identical(head_of(K + "a"), "+")
  expect_identical(head_of(K[11, ]), "[")
  expect_identical(head_of(grad(K, 1)), "grad")
  expect_identical(head_of(log(K, "a")), "log")
  expect_identical(head_of(K$exp()), "$")
  expect_identical(head_of(gp(mag ~ 1, quakes, ~ long + lat, probe = -1)), "gp")
  for (code in expression(round(K, 2:3), sum(K, 3), sum(K, "j", b = 1:3), solve(K, 1:7))) {
    error <- expect_error(eval(code), class = "kernops_error")
    expect_lt(nchar(paste(deparse(conditionCall(error)), collapse = "")), 60)
  }
})

test_that("settings need full names, `weights` may be abbreviated, and `axis` is another name of `dims`", {
  x <- matrix(rnorm(6), 2)
  expect_identical(axis_reduce(x, axis = 2), axis_reduce(x, 2))
  expect_identical(softmax(x, axis = 1), softmax(x, 1))
  expect_identical(logsumexp(x, axis = 1), logsumexp(x, 1))
  for (f in list(axis_reduce, softmax, logsumexp)) {
    expect_error(f(x, 1, axis = 2), "another name", class = "kernops_input_error")
  }
  sums <- seg_reduce(1:4, lengths = c(2, 2), weights = 1:4 / 2)
  expect_identical(sums, c(2.5, 12.5))
  expect_identical(seg_reduce(1:4, lengths = c(2, 2), weight = 1:4 / 2), sums)
  d <- data.frame(x = c(1, 2, 4, 7), z = c(1, 3, 2, 5))
  fit <- \(...) gp(z ~ 1, d, ~ x, exponential(1, 2) + nugget(0.1), estimate = "none", ...)
  expect_identical(fit(progress = FALSE, seed = 3)$how, fit(control = gp_control(progress = "none", seed = 3))$how)
  expect_error(fit(seed = 3, control = gp_control()), "not by both", class = "kernops_input_error")
  expect_error(fit(sed = 3), class = "kernops_input_error")
})
