# Progress messages of a fit.

# Runs `code` as in an interactive session, and returns the calls of the progress bar as a data frame.
said_during <- function(code) {
  withr::local_options(rlang_interactive = TRUE)
  said <- NULL
  real <- kernops:::long_bar
  withr::defer(utils::assignInNamespace("long_bar", real, "kernops"))
  utils::assignInNamespace("long_bar", function(what, frame) function(step = NULL, fraction = NULL, detail = NULL) {
    said <<- rbind(said, data.frame(what = what, step = c(step, NA)[1], fraction = c(fraction, NA)[1],
                                    detail = c(detail, NA)[1]))
  }, "kernops")
  force(code)
  said
}
case <- local({
  withr::local_seed(1)
  smooth_case(500)
})

test_that("one bar covers all steps of a fit: the start from a subset, likelihoods and solves", {
  for (method in c("exact", "iterative")) {
    said <- said_during(gp(z ~ 1, case, ~ a + b, method = method, control = gp_control(subset = 300)))
    expect_identical(unique(said$what), "Fitting")
    expect_match(said$step[!is.na(said$step)][1], "start from 300 observations")
    expect_match(said$step, "^likelihood 3", all = FALSE)
    expect_true(any(grepl(if (method == "exact") "log-likelihood -?[0-9]" else "solving [0-9]+ %",
                          c(said$step, said$detail))))
    moved <- said$fraction[!is.na(said$fraction)]
    expect_gt(length(moved), 1)
    expect_gte(min(moved), 0)
    expect_gt(max(moved), 0.4)
  }
})

test_that("standard errors and cross-validation of the iterative method have a progress bar, too", {
  fit <- gp(z ~ 1, case, ~ a + b, matern(3/2, 1, 0.5) + nugget(0.05), method = "iterative", estimate = "none")
  said <- said_during(predict(fit, case[1:130, ], se.fit = TRUE))
  expect_identical(unique(said$what), "Predicting")
  expect_equal(said$fraction[!is.na(said$fraction)], c(0, 64, 128) / 130)
  expect_identical(unique(said_during(gp_cv(fit))$what), "Leaving out")
})

test_that("the windows of a map share one bar, with a part for each window", {
  skip_if_not_installed("terra")
  fit <- map_fit("iterative")
  said <- said_during(predict(fit, small_map(), se.fit = TRUE, interval = "none", window = 12))
  expect_identical(unique(said$what), "Predicting")
  expect_match(said$step[!is.na(said$step)], "^row [1-9] of 9$")
  moved <- said$fraction[!is.na(said$fraction)]
  expect_gt(length(moved), 9)
  expect_false(is.unsorted(moved))
  expect_lt(max(moved), 1)
  expect_match(said$detail[!is.na(said$detail)], "^, (standard error|solving)")
})

test_that("there is no bar in sessions that are not interactive, or if bars are switched off", {
  expect_null(said_during(gp(z ~ 1, case[1:30, ], ~ a + b, control = gp_control(progress = "none"))))
  withr::local_options(rlang_interactive = FALSE)
  expect_silent(gp(z ~ 1, case[1:30, ], ~ a + b))
})

test_that("a bar is removed when its computation ends, even after an error", {
  withr::local_options(rlang_interactive = TRUE)
  expect_error(kernops:::with_bar("Trying", stop("no")), "no")
  expect_null(kernops:::the$bar)
})

# Runs `code` and logs the bars of cli: the names of bars, one per event; the events; and the values to which bars are
# set.
bars_during <- function(code) {
  rlang::local_interactive(TRUE)
  withr::local_options(cli.progress_handlers_only = "logger", cli.progress_show_after = 0)
  set_to <- numeric()
  update <- cli::cli_progress_update
  withr::defer(utils::assignInNamespace("cli_progress_update", update, "cli"))
  utils::assignInNamespace("cli_progress_update", function(..., set, .envir) {
    set_to <<- c(set_to, set)
    update(..., set = set, .envir = .envir)
  }, "cli")
  lines <- grep(" cli-", capture.output(code), value = TRUE, fixed = TRUE)
  lines <- sub("^[^ ]+ ", "", lines)
  list(bars = sub(" .*", "", lines), events = sub("^[^ ]+ [^ ]+ ", "", lines), set_to = set_to)
}

test_that("the bar of cli is closed when the code of with_bar() ends, also by an error, and is not reopened", {
  for (code in alist(kernops:::say_progress(fraction = 0.5), stop("no"))) {
    seen <- bars_during({
      try(kernops:::with_bar("Trying", eval(code)), silent = TRUE)
      kernops:::say_progress(fraction = 0.7)
    })
    expect_identical(seen$events[[1]], "created")
    expect_match(seen$events[[length(seen$events)]], "terminated")
    expect_length(unique(seen$bars), 1)
  }
})

test_that("bars do not go backwards, and accept updates after they have reached the end", {
  fractions <- c(0.2, 0.6, 0.1, NaN, 1, 0.3, -Inf, Inf, 1)
  long <- bars_during(kernops:::with_bar("Trying", for (f in fractions) kernops:::say_progress(fraction = f)))
  short <- bars_during((function() {
    report <- kernops:::progress_bar("Trying", after = 0)
    for (f in fractions) report(f)
  })())
  for (seen in list(long, short)) {
    expect_identical(seen$set_to, c(0.2, 0.6, 0.6, 0.6, 0.99, 0.99, 0.99, 0.99, 0.99))
    expect_match(seen$events[[length(seen$events)]], "terminated")
  }
  # a bar that is opened within another bar
  said <- said_during(kernops:::with_bar("Trying", {
    report <- kernops:::progress_bar("Solving")
    for (f in c(0.2, 0.6, 0.1)) report(f)
  }))
  expect_identical(said$detail, paste0(", solving ", c(20, 60, 60), " %"))
})

test_that("the real bar is drawn", {
  withr::local_options(rlang_interactive = TRUE, cli.progress_show_after = 0, cli.dynamic = TRUE)
  shown <- cli::cli_fmt(kernops:::with_bar("Trying", for (k in 1:3) {
    kernops:::say_progress(step = paste("step", k), fraction = k / 4, detail = ", solving 10 %")
  }))
  expect_true(is.character(shown))
})

test_that("the steps of the search are printed on request", {
  expect_output(gp(z ~ 1, case[1:30, ], ~ a + b, control = gp_control(progress = "steps")),
                "likelihood 1, log-likelihood .* at matern.variance = ")
})

test_mistakes("kernops_input_error", alist(`progress that is none` = gp_control(progress = "all")))

test_that("bars are not shown if they are switched off", {
  fit <- \(...) gp(z ~ 1, case[1:30, ], ~ a + b, control = gp_control(...))
  expect_null(said_during(fit(progress = FALSE)))
  expect_false(is.null(said_during(fit(progress = TRUE))))
  expect_null(with_kernops(said_during(fit()), progress = FALSE))
  expect_error(gp_control(progress = NA), class = "kernops_input_error")
})
