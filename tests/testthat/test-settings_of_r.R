# Results depend neither on R's options, nor on the locale, nor on the time zone.

settings <- list(
  OutDec = \(env) withr::local_options(OutDec = ",", .local_envir = env),
  `scipen = -5` = \(env) withr::local_options(scipen = -5, .local_envir = env),
  `scipen = 100` = \(env) withr::local_options(scipen = 100, .local_envir = env),
  `digits = 1` = \(env) withr::local_options(digits = 1, .local_envir = env),
  `digits = 22` = \(env) withr::local_options(digits = 22, .local_envir = env),
  warn = \(env) withr::local_options(warn = 2, warnPartialMatchArgs = TRUE, warnPartialMatchAttr = TRUE,
                                     warnPartialMatchDollar = TRUE, .local_envir = env),
  stringsAsFactors = \(env) suppressWarnings(withr::local_options(stringsAsFactors = TRUE, .local_envir = env)),
  contrasts = \(env) withr::local_options(contrasts = c("contr.sum", "contr.helmert"), .local_envir = env),
  na.action = \(env) withr::local_options(na.action = "na.exclude", .local_envir = env),
  na.fail = \(env) withr::local_options(na.action = "na.fail", .local_envir = env),
  `time zone of New York` = \(env) withr::local_timezone("America/New_York", .local_envir = env),
  `time zone of Nepal` = \(env) withr::local_timezone("Asia/Kathmandu", .local_envir = env),
  `locale C` = \(env) local_locale_or_skip("C", env),
  `Turkish locale` = \(env) local_locale_or_skip("tr_TR.UTF-8", env),
  `German locale` = \(env) local_locale_or_skip("de_DE.UTF-8", env)
)

local_locale_or_skip <- function(name, env) {
  now <- c(LC_CTYPE = Sys.getlocale("LC_CTYPE"))
  known <- suppressWarnings(withr::with_locale(now, Sys.setlocale("LC_CTYPE", name)))
  skip_if_not(nzchar(known), paste("The operating system has no locale", name))
  withr::local_locale(c(LC_CTYPE = name, LC_COLLATE = name, LC_TIME = name), .local_envir = env)
}

expected <- new.env() # numbers under the settings of this session

for (kind in c("pairs", "fits")) {
  for (setting in names(settings)) test_that(paste("numbers of", kind, "are the same under", setting), {
    d <- settings_data()
    calls <- switch(kind, pairs = calls_of_pairs(d), fits = calls_of_fits(d))
    expected[[kind]] <- expected[[kind]] %||% lapply(calls, numbers_of)
    settings[[setting]](environment())
    for (name in names(calls)) {
      expect_equal(numbers_of(calls[[name]]), expected[[kind]][[name]], tolerance = 1e-10, info = name)
    }
    expect_gt(min(lengths(expected[[kind]])), 0)
  })
}

for (setting in names(settings)) test_that(paste("fits and symbolic matrices are printed under", setting), {
  settings[[setting]](environment())
  expect_gt(length(printed_of_fits(settings_data())), 30)
})

test_that("the same numbers are read from a formula under each setting", {
  withr::local_options(OutDec = ",", scipen = -5, digits = 1)
  x <- c(0, -0.1, 1 / 3, 1e5, 123456789.5, 2^60, 1e-310, .Machine$double.xmax, pi * 1e-20, -Inf, Inf)
  expect_identical(as.numeric(code_number(x)), x)
  expect_identical(code_number(c(NA, NaN, 1.5, 100000)), c("NaN", "NaN", "1.5", "100000"))
  read <- \(x) drop(keops_kernel(code_text("Sum_Reduction(x + ", x, ", 1)"), "x = Vi(1)")(list(0)))
  expect_identical(vapply(x[3:6], read, 0), x[3:6])
})

test_that("columns of predictions have the same names under each option", {
  d <- settings_data()
  fit <- gp(z ~ 1, d, ~ x + y, exponential(1, 0.3) + nugget(0.1), estimate = "none")
  columns <- \() names(predict(fit, d[1:2, ], probs = c(0.025, 0.5), above = c(0.25, 1e5), interval = "prediction"))
  expect_identical(columns()[4:7], c("q0.025", "q0.5", "above0.25", "above100000"))
  withr::local_options(OutDec = ",", scipen = -5, digits = 1)
  expect_identical(columns()[4:7], c("q0.025", "q0.5", "above0.25", "above100000"))
})

test_that("neither loading the package nor calling its functions creates or changes R's random seed", {
  skip_on_cran()
  code <- "x <- 1:9 / 9
    K <- exp(-kernops::sqdist(kernops::Vi(x), kernops::Vj(x)))
    sums <- sum(K, 'j') + solve(K, x, lambda = 1) + kernops::seg_reduce(x, lengths = c(4, 5))[[1]]
    ignored <- kernops::gp(x ~ 1, coords = ~ x, covariance = kernops::exponential(1, 0.3) + kernops::nugget(0.1))
    cat(exists('.Random.seed'))"
  expect_identical(run_fresh(code), "FALSE")
  run <- \() keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", c("x = Vi(1)", "y = Vj(1)"))(list(1:3, 1:4))
  withr::local_seed(1)
  before <- .Random.seed
  run()
  seg_softmax(1:4, lengths = c(2, 2))
  expect_identical(.Random.seed, before)
})
