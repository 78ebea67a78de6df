# Levels of groups, random effects and folds are compared by value, not by their text. The oracle numbers the groups
# with base functions of the values.

kind_of_level <- function(values, number, group = ~ v) {
  d <- withr::with_seed(11, data.frame(x = runif(60), z = 4 * number[rep(1:4, 15)] + rnorm(60, sd = 0.1)))
  d$number <- number[rep(1:4, 15)]
  d$v <- if (is.data.frame(values)) values[rep(1:4, 15), ] else rep(values, 15)
  fit <- function(group) gp(z ~ 1, d, ~ x, exponential(9, 0.3) + nugget(0.01), group = group, estimate = "none")
  list(fit = fit(group), expected = fit(~ number))
}

expect_levels <- function(values, new = values, number = 1:4, group = ~ v) {
  fits <- kind_of_level(values, number, group)
  expect_equal(fits$fit$loglik, fits$expected$loglik)
  expected <- unname(predict(fits$expected, data.frame(x = 0.4, number = number)))
  d <- data.frame(x = rep(0.4, 4))
  d$v <- new
  expect_equal(unname(predict(fits$fit, d)), expected)
  for (k in 1:4) expect_equal(unname(predict(fits$fit, d[k, ])), expected[[k]])
  labels <- fits$fit$parts$columns[[1]]$levels
  expect_identical(anyDuplicated(labels), 0L)
  expect_identical(validUTF8(labels), rep(TRUE, length(labels)))
  invisible(labels)
}

test_that("numbers are compared by value, whatever their type and printed form", {
  expect_identical(expect_levels(1:4 * 1e5, 1:4 * 100000L), paste0(1:4, "00000"))
  expect_levels(c(3L, 10L, 200000L, -7L), c(3, 10, 2e5, -7))
  expect_levels(1e17 + 16 * 0:3)
  expect_levels(0.1 + 0:3 * 2^-56)
  expect_levels(c(0, 1, 2, 3), c(-0, 1, 2, 3))
  expect_levels(c(1e5, 1e-300, 2^53, 1e22), I(c(1e5, 1e-300, 2^53, 1e22)))
  expect_levels(1:4 * 1e5, 1:4 * 100000L, group = ~ factor(v))
  skip_if_not_installed("bit64")
  large <- bit64::as.integer64("9007199254740993") + 0:3
  expect_levels(large)
  expect_levels(bit64::as.integer64(1:4 * 1e5), 1:4 * 1e5)
  expect_levels(1:4 * 100000L, bit64::as.integer64(1:4 * 1e5))
})

test_that("times are compared by instant, whatever their time zone, class and printed form", {
  noon <- as.POSIXct("2023-10-29 00:00", tz = "Europe/Berlin")
  hours <- noon + 3600 * 0:3 # summer time ends, so that two hours print alike
  elsewhere <- structure(hours, tzone = "Asia/Tokyo")
  expect_levels(hours, elsewhere)
  expect_levels(hours, as.POSIXlt(elsewhere))
  expect_identical(expect_levels(as.POSIXct("2024-05-01 12:00:01", tz = "UTC") + c(0, 0.25, 0.5, 0.75)),
                   paste0("2024-05-01 12:00:01.", c("000", "250", "500", "750")))
  expect_levels(hours, elsewhere, group = ~ as.factor(v))
  days <- as.Date("2024-02-28") + 0:3
  expect_identical(expect_levels(days, as.POSIXct(format(days), tz = "UTC")), format(days))
  expect_levels(as.POSIXct(format(days), tz = "UTC"), days)
  expect_identical(expect_levels(as.difftime(1:4 * 10, units = "mins"), as.difftime(1:4 / 6, units = "hours")),
                   paste(1:4 * 10, "mins"))
  seconds <- c(49, 98, 103, 107)
  expect_levels(as.difftime(seconds, units = "secs"), as.difftime(seconds / 86400, units = "days"))
})

test_that("strings are compared by characters in any encoding, strings of bytes by bytes, factors by labels", {
  letters <- c("\u00e9t\u00e9", "na\u00efve", "\u00fc", "u")
  expect_levels(letters, iconv(letters, "UTF-8", "latin1"))
  expect_levels(iconv(letters, "UTF-8", "latin1"), factor(letters, rev(letters)))
  bytes <- c("\xff\xfe", "\xff", "a", "<ff>")
  Encoding(bytes) <- "bytes"
  expect_levels(bytes)
  expect_levels(factor(c("10", "9", "1e5", "x"), c("x", "10", "9", "1e5")), c("10", "9", "1e5", "x"))
  # factors whose labels are numbers match numbers
  expect_levels(factor(c(1e5, 2, 30, 4)), c(100000L, 2L, 30L, 4L))
})

test_that("a level of a:b is a pair of levels", {
  a <- rep(c("1", "1:1"), 2)
  b <- c("1:2", "2", "2", "1:2")
  labels <- expect_levels(data.frame(a, b), data.frame(a, b), group = ~ v$a:v$b)
  expect_setequal(labels, c("\"1\":\"1:2\"", "1:2", "1:1:1:2", "\"1:1\":\"2\""))
  at <- as.POSIXct("2024-05-01", tz = "UTC") + c(0, 0.5)
  expect_levels(data.frame(t = rep(at, 2), id = rep(c(1e5, 2e5), each = 2)),
                data.frame(t = structure(rep(at, 2), tzone = "Asia/Tokyo"), id = rep(c(100000L, 200000L), each = 2)),
                group = ~ v$t:(v$id))
})

test_that("random effects and folds compare levels by value, too", {
  withr::local_seed(12)
  d <- data.frame(x = runif(80), a = rep(c("1", "1:1"), 40), b = rep(c("1:2", "2"), 40), t = rep(1:4, each = 20))
  d$z <- c(-3, 3)[factor(d$a)] + d$t + rnorm(80, sd = 0.1)
  d$s <- as.POSIXct("2024-05-01 12:00", tz = "UTC") + d$t / 8
  covariance <- nugget(0.01) + exponential(0.1, 0.1, fixed = c("variance", "range"))
  fit <- gp(z ~ 1 + (1 | a/b) + (1 | s), d, ~ x, covariance)
  peer <- gp(z ~ 1 + (1 | a) + (1 | b) + (1 | t), d, ~ x, covariance)
  expect_equal(logLik(fit), logLik(peer), tolerance = 1e-6)
  skip_if_not_installed("nlme")
  effects <- nlme::ranef(fit)
  expect_identical(rownames(effects[["a:b"]]), c("\"1\":\"1:2\"", "\"1:1\":\"2\""))
  expect_identical(rownames(effects$s), paste0("2024-05-01 12:00:00.", c("125", "250", "375", "500")))

  known <- gp(z ~ 1, d, ~ x, exponential(9, 0.3) + nugget(0.01), estimate = "none")
  bytes <- c("\xff", "\xfe", "a", "b")
  Encoding(bytes) <- "bytes"
  expected <- gp_cv(known, d$t)$fit
  for (folds in list(d$s, 1e17 + 16 * d$t, bytes[d$t], as.POSIXlt(d$s), as.difftime(d$t, units = "mins"))) {
    expect_identical(gp_cv(known, folds)$fit, expected)
  }
  twofold <- gp_cv(known, as.integer(factor(d$a)))$fit
  expect_identical(gp_cv(known, factor(d$a):factor(d$b))$fit, twofold)
  skip_if_not_installed("bit64")
  expect_identical(gp_cv(known, bit64::as.integer64(d$t))$fit, expected)
})

test_that("a new level of another class is an error that names the variable and both classes", {
  refused <- function(values, new) {
    fit <- kind_of_level(values, 1:4)$fit
    d <- data.frame(x = rep(0.4, length(new)))
    d$v <- new
    expect_error(predict(fit, d), paste0("'v'.*<", class(values)[[1]], ".*<", class(new)[[1]]),
                 class = "kernops_input_error")
    expect_true(is.na(predict(fit, data.frame(x = 0.4, v = NA))))
  }
  days <- as.Date("2024-02-28") + 0:3
  refused(1:4, "1")
  refused(1:4 / 1, factor(1))
  refused(c("1", "2", "3", "4"), 1)
  refused(factor(letters[1:4]), 2)
  refused(factor(iconv(c("\u00e4", "b", "c", "d"), "UTF-8", "latin1")), 2)
  refused(c(0, 1, 2, 3), TRUE)
  refused(days, 19000)
  refused(days, "2024-02-28")
  refused(days, as.difftime(19000, units = "days"))
  refused(days, as.POSIXct("2024-02-28 10:00", tz = "UTC"))
  refused(days, as.POSIXct("2024-02-28", tz = "America/New_York"))
  refused(as.POSIXct("2024-02-28", tz = "Asia/Tokyo") + 86400 * 0:3, days[[1]])
  refused(as.difftime(1:4, units = "mins"), 60)
  logical <- gp(z ~ 1, data.frame(x = 1:4, z = 1:4, v = c(TRUE, FALSE)), ~ x, exponential(1, 1), group = ~ v,
                estimate = "none")
  expect_error(predict(logical, data.frame(x = 1, v = 1)), "'v'.*<logical>.*<numeric>", class = "kernops_input_error")
})
