# New points that predict() and simulate() accept.

test_that("new data must contain the variables that the fit had for each observation; the environment is ignored", {
  withr::local_seed(36)
  d <- smooth_case(40)
  a <- w <- c(0.1, 0.2)
  new <- data.frame(a = c(0.6, 0.7), b = 0.3, w = 1:2)
  fit <- gp(z ~ w, d, ~ a + b, given(), estimate = "none")
  expect_error(predict(fit, new[c("b", "w")]), "lacks `a` .*columns `b` and `w`", class = "kernops_input_error")
  expect_error(predict(fit, new[c("a", "b")]), "lacks `w` .*columns `a` and `b`", class = "kernops_input_error")
  expect_error(predict(fit, coords = as.matrix(new[c("a", "b")])), "lacks `w`", class = "kernops_input_error")
  expect_error(simulate(fit, 1, newdata = new[c("b", "w")]), "lacks `a`", class = "kernops_input_error")
  expect_error(predict(fit, new["w"], coords = ~ a + a), "any column of `newdata`", class = "kernops_input_error")

  # variables that the fit found outside of `data`
  expected <- predict(fit, new)
  z <- d$z; w <- d$w; a <- d$a; b <- d$b
  loose <- gp(z ~ w, coords = ~ a + b, covariance = given(), estimate = "none")
  expect_equal(predict(loose, new), expected)
  w <- a <- b <- c(0.1, 0.2)
  expect_error(predict(loose, new[c("a", "b")]), "lacks `w`", class = "kernops_input_error")
  expect_error(predict(loose, new[c("w", "b")]), "lacks `a`", class = "kernops_input_error")

  # a formula with d$a ignores new data: predictions at new points would use the values of the fit
  as_list <- as.list(d)
  for (fit in list(gp(d$z ~ 1, coords = ~ d$a + d$b, covariance = given(), estimate = "none"),
                   gp(as_list$z ~ 1, coords = ~ as_list$a + as_list$b, covariance = given(), estimate = "none"))) {
    expect_error(predict(fit, transform(d, a = 1 - a)), "`newdata`", class = "kernops_input_error")
    expect_length(predict(fit, cbind(0.1, 0.2)), 1)
  }
})

test_that("numbers of class integer64 are refused, because their bits are not those of doubles", {
  d <- list2DF(list(z = c(1, 2, 4), w = 1:3 / 2, a = c(1, 3, 4)))
  whole <- \(name) list2DF(replace(as.list(d), name, list(integer64(1:3, c(0, 0, 0)))))
  for (name in c("z", "w", "a")) {
    expect_error(gp(z ~ w, whole(name), ~ a, given(), estimate = "none"), "integer64", class = "kernops_input_error")
  }
  fit <- gp(z ~ w, d, ~ a, given(), estimate = "none")
  for (name in c("w", "a")) expect_error(predict(fit, whole(name)), "integer64", class = "kernops_input_error")
})

test_that("a message says once that standard errors without an interval refer to the field", {
  d <- withr::with_seed(39, smooth_case(30))
  fit <- gp(z ~ 1, d, ~ a + b, given(), estimate = "none")
  told <- function(...) {
    rlang::reset_message_verbosity("kernops_field_se")
    message <- NULL
    withCallingHandlers(predict(...), kernops_field_se = function(m) {
      message <<- conditionMessage(m)
      invokeRestart("muffleMessage")
    })
    message
  }
  expect_match(told(fit, d[1:2, ], se.fit = TRUE), "without the nugget.*interval = \"prediction\"")
  expect_silent(predict(fit, se.fit = TRUE)) # the second call
  for (interval in c("none", "confidence", "prediction")) expect_null(told(fit, d, se.fit = TRUE, interval = interval))
  expect_null(told(fit, d))
  expect_null(told(fit, d, se.fit = TRUE, type = "terms"))
  smooth <- gp(z ~ 1, d, ~ a + b, exponential(1, 0.3), estimate = "none")
  expect_null(told(smooth, d, se.fit = TRUE))
  noisy <- gp(z ~ 1, d, ~ a + b, exponential(1, 0.3), estimate = "none", known = list(noise = 0.1))
  expect_match(told(noisy, d, se.fit = TRUE), "without the known noise")
  rlang::reset_message_verbosity("kernops_field_se")
  expect_no_message(gp_cv(fit, 2))
  expect_no_message(simulate(fit, 1, type = "field"))
  if (requireNamespace("generics", quietly = TRUE)) expect_no_message(generics::augment(fit, d))
  told(fit, se.fit = TRUE)
})

test_that("settings in the environment of a formula are found, also if new data have other columns", {
  withr::local_seed(37)
  d <- smooth_case(40)
  unit <- 2
  knots <- c(-1, 1)
  fit <- gp(z ~ splines::ns(w, knots = knots) + offset(w / unit), d, ~ I(a / unit) + b, given(), estimate = "none")
  expect_equal(predict(fit, d[3:5, ]), fitted(fit)[3:5])
  expect_equal(predict(fit, d[1:2, c("a", "b", "w")]), fitted(fit)[1:2])
})

test_that("variables of new data must have the types that they had in the fit", {
  withr::local_seed(27)
  d <- transform(smooth_case(40), g = factor(rep(c("p", "q"), 20)), l = rep(c(TRUE, FALSE, TRUE, TRUE), 10))
  new <- data.frame(a = 0.5, b = 0.5, w = 2, g = "q", l = TRUE)
  fit <- gp(z ~ w + g + l, d, ~ a + b, given(), estimate = "none")
  expect_equal(predict(fit, transform(new, w = 2L)), predict(fit, new))
  expect_equal(predict(fit, transform(new, g = factor("q"))), predict(fit, new))
  expect_identical(unname(predict(fit, transform(new, w = NA))), NA_real_)
  for (wrong in list(transform(new, w = "7"), transform(new, w = factor(2)), transform(new, l = 1))) {
    name <- names(new)[!mapply(identical, wrong, new)]
    expect_error(predict(fit, wrong), paste0("'", name, "' was fitted"), class = "kernops_input_error")
  }
  expect_no_warning(expect_error(predict(fit, transform(new, g = 1L)), "'g' was fitted", class = "kernops_input_error"))
})

test_that("a point at which the covariance is NaN does not affect other points", {
  withr::local_seed(28)
  d <- smooth_case(40)
  log_distance <- covariance("s * Exp(-Abs(Log(x) - Log(y)) / l)", list(s = 1, l = 0.5))
  new <- data.frame(a = c(0.5, 2, -1, 3))
  for (method in c("exact", "iterative")) {
    fit <- gp(z ~ 1, d, ~ a, log_distance + nugget(0.1), estimate = "none", method = method)
    ours <- predict(fit, new, se.fit = TRUE)
    expect_equal(ours[-3, ], predict(fit, new[-3, , drop = FALSE], se.fit = TRUE), tolerance = 1e-6,
                 ignore_attr = "row.names")
    expect_true(all(is.na(ours[3, ])))
  }
  fit <- update(fit, method = "exact")
  for (conditional in c(TRUE, FALSE)) {
    draws <- simulate(fit, 2, 1, new, conditional = conditional)
    expect_equal(unname(draws[-3, ]), unname(simulate(fit, 2, 1, new[-3, , drop = FALSE], conditional = conditional)))
    expect_true(all(is.na(draws[3, ])))
  }
  # points that are far apart have finite variances, but the covariance between them is NaN
  torn <- covariance("s * Exp(-Norm2(x - y)) * Exp(Log(l - Norm2(x - y)))", list(s = 1, l = 2)) + nugget(1)
  torn <- gp(z ~ 1, d, ~ a, torn, estimate = "none")
  expect_error(simulate(torn, newdata = data.frame(a = c(0, 9))), "finite", class = "kernops_input_error")
})

test_that("the columns of a matrix of new points are matched by name", {
  withr::local_seed(27)
  d <- smooth_case(20)
  fit <- gp(z ~ 1, d, ~ a + b, given(), estimate = "none")
  expected <- unname(predict(fit, d[1:4, ]))
  swapped <- as.matrix(d[1:4, c("b", "a")])
  expect_equal(unname(predict(fit, swapped)), expected)
  expect_equal(unname(predict(fit, coords = swapped)), expected)
  expect_equal(unname(predict(fit, `colnames<-`(swapped[, 2:1], c("p", "q")))), expected)
  expect_equal(unname(predict(fit, unname(swapped[, 2:1]))), expected)
})
