# Classes and units of variables: predictions do not depend on the class or unit of the variables in new data.

case <- local({
  withr::local_seed(13)
  d <- data.frame(x = runif(50), day = as.Date("2024-01-01") + 0:49, g = factor(rep(1:5, 10)))
  d$time <- as.POSIXct("2024-01-01 06:00", tz = "UTC") + 3600 * (0:49)
  d$since <- as.difftime(60 * (0:49), units = "mins")
  d$z <- sin(0:49 / 5) + 0.1 * (0:49) + rnorm(50, sd = 0.1)
  d
})
known_fit <- function(formula, data = case, coords = ~ x, ...) {
  gp(formula, data, coords, exponential(1, 0.3) + nugget(0.01), estimate = "none", ...)
}
predicted <- function(fit, ...) unname(predict(fit, data.frame(x = 0.5, g = factor(2), ...)))

test_that("dates and times are converted into each other in all parts of a fit, also within expressions", {
  formulas <- list(z ~ day, z ~ I(as.numeric(day)^2 / 1e4), z ~ poly(day, 2), z ~ format(day, "%m"),
                   z ~ as.POSIXlt(day)$wday, z ~ offset(as.numeric(day)), z ~ 1 + (0 + day | g))
  for (formula in formulas) {
    slope <- if ("g" %in% all.vars(formula)) random_effect(~ 0 + day | g, 1e-4) else constant(1)
    fit <- gp(formula, case, ~ x, exponential(1, 0.3) + nugget(0.01) + slope, estimate = "none")
    expected <- predicted(fit, day = as.Date("2024-01-20"))
    expect_equal(predicted(fit, day = as.POSIXct("2024-01-20", tz = "UTC")), expected)
    expect_equal(predicted(fit, day = as.POSIXct("2024-01-20 09:00", tz = "Asia/Tokyo")), expected)
    expect_error(predicted(fit, day = 19742), "'day'.*<Date>.*<numeric>", class = "kernops_input_error")
    expect_error(predicted(fit, day = as.difftime(9, units = "days")), "<Date>.*<difftime>",
                 class = "kernops_input_error")
  }
  fit <- known_fit(z ~ time)
  expect_equal(predicted(fit, time = as.Date("2024-01-03")),
               predicted(fit, time = as.POSIXct("2024-01-03", tz = "UTC")))
  hours <- known_fit(z ~ as.POSIXlt(time)$hour)
  expect_equal(predicted(hours, time = structure(case$time[[8]], tzone = "Asia/Tokyo")),
               predicted(hours, time = case$time[[8]]))
})

test_that("durations are converted to the fitted unit, and are not accepted as dates", {
  for (fit in list(known_fit(z ~ since), known_fit(z ~ sqrt(as.numeric(since))), known_fit(z ~ 1, coords = ~ since),
                   known_fit(z ~ 1, coords = ~ as.numeric(since)), known_fit(z ~ 1, coords = case["since"]))) {
    expected <- predicted(fit, since = as.difftime(120, units = "mins"))
    expect_equal(predicted(fit, since = as.difftime(2, units = "hours")), expected)
    expect_equal(predicted(fit, since = as.difftime(2 / 24, units = "days")), expected)
    for (wrong in list(120, case$day[[1]], case$time[[1]], "120")) {
      expect_error(predicted(fit, since = wrong), "'since'.*<difftime>", class = "kernops_input_error")
    }
  }
  # difftime() chooses its unit by the data
  start <- as.POSIXct("2024-01-01", tz = "UTC")
  for (formula in list(z ~ I(time - start), z ~ difftime(time, start))) {
    fit <- known_fit(formula)
    soon <- start + c(600, 864000)
    expect_equal(predicted(fit, time = soon[[1]]), predicted(fit, time = soon)[[1]])
  }
})

test_that("columns of class units are converted to the fitted unit", {
  skip_if_not_installed("units")
  d <- transform(case, r = units::set_units(x + 0.5, "km"))
  m <- units::set_units(700, "m")
  km <- units::set_units(0.7, "km")
  fits <- list(known_fit(z ~ r, d), known_fit(z ~ log(r), d), known_fit(z ~ as.numeric(r), d), known_fit(z ~ r:g, d),
               known_fit(z ~ 1, d, ~ r), known_fit(z ~ 1, d, ~ I(r^2)), known_fit(z ~ 1, d, d["r"]))
  for (fit in fits) {
    expect_equal(predicted(fit, r = m), predicted(fit, r = km))
    expect_error(predicted(fit, r = 0.7), "'r'.*<units>.*<numeric>", class = "kernops_input_error")
    expect_error(predicted(fit, r = units::set_units(1, "kg")), "\"kg\".*\"km\"", class = "kernops_input_error")
  }
  expect_error(predicted(known_fit(z ~ x), x = 1, r = m), NA)
  lengths <- units::set_units(cbind(case$x, rev(case$x)), "km")
  fit <- known_fit(z ~ 1, d, lengths)
  expect_equal(predict(fit, coords = units::set_units(cbind(700, 200), "m")), predict(fit, cbind(0.7, 0.2)))
  grouped <- known_fit(z ~ 1, transform(d, r = units::set_units(rep(1:5 * 300, 10), "m")), group = ~ r)
  expect_equal(predicted(grouped, r = units::set_units(1:5 * 0.3, "km")),
               predicted(grouped, r = units::set_units(1:5 * 300, "m")))
  expect_equal(known_fit(z ~ 1, transform(d, z = units::set_units(z, "mg")))$loglik, known_fit(z ~ 1, d)$loglik)
  expect_error(known_fit(z ~ 1, d, weights = r), "weights.*<units>", class = "kernops_input_error")
  expect_error(known_fit(z ~ 1, d, known = list(noise = ~ r)), "noise.*<units>", class = "kernops_input_error")
})

test_that("new data have the integer codes of the fitted levels; new levels and plain numbers are errors", {
  fit <- known_fit(z ~ as.integer(g))
  expected <- unname(fitted(fit)[[12]])
  for (g in list(case$g[[12]], "2", factor("2"), factor(2, 5:1), ordered(2, c(2, 9)))) {
    expect_equal(unname(predict(fit, data.frame(x = case$x[[12]], g = g))), expected)
  }
  expect_error(predict(known_fit(z ~ g), data.frame(x = 0.5, g = "six")), "new level", class = "kernops_input_error")
  expect_error(predict(fit, data.frame(x = 0.5, g = 3)), "'g'.*<factor>", class = "kernops_input_error")
})

test_that("fits over time are plotted as curves if the trend is a function of the time", {
  for (formula in list(z ~ day, z ~ as.numeric(day))) {
    expect_identical(kernops:::field_kind(known_fit(formula, coords = ~ day)), "curve")
  }
  expect_identical(kernops:::field_kind(known_fit(z ~ time, coords = ~ time)), "curve")
  withr::local_pdf(NULL)
  expect_no_error(plot(known_fit(z ~ since, coords = ~ since)))
})

test_that("new points are matched by column names if the fit was given a matrix or spatial points", {
  u <- cbind(east = case$x, north = rev(case$x))
  new <- data.frame(north = c(0.1, 0.2), east = c(0.5, 0.6), g = factor(c(1, 3)))
  for (fit in list(known_fit(z ~ 1, coords = u), known_fit(z ~ g, coords = as.data.frame(u)))) {
    expect_equal(predict(fit, new), predict(fit, new, coords = as.matrix(new[c("east", "north")])))
    expect_error(predict(fit, new[c("east", "g")]), "lacks the column `north`", class = "kernops_input_error")
  }
  bare <- known_fit(z ~ 1, coords = unname(u))
  expect_error(predict(bare, data.frame(x1 = 1, x2 = 2)), "by a matrix", class = "kernops_input_error")
  skip_if_not_installed("sf")
  points <- sf::st_as_sf(data.frame(case, u), coords = c("east", "north"))
  fit <- known_fit(z ~ 1, points, NULL)
  expect_equal(predict(fit, data.frame(Y = 0.1, X = 0.5)), predict(known_fit(z ~ 1, coords = u), new[1, ]))
  expect_error(predict(fit, new), "class <sf>.*columns `X` and `Y`", class = "kernops_input_error")
})

test_that("a column name that occurs twice is an error if it is used", {
  twice <- cbind(case, x = 1, g = 2)
  expect_error(known_fit(z ~ 1, twice), "2 columns `x`", class = "kernops_input_error")
  expect_error(known_fit(z ~ g, twice, ~ day), "2 columns `g`", class = "kernops_input_error")
  expect_error(known_fit(z ~ 1, twice, ~ day, group = ~ g), "2 columns `g`", class = "kernops_input_error")
  expect_error(known_fit(z ~ 1, twice, ~ day, weights = x), "2 columns `x`", class = "kernops_input_error")
  expect_equal(known_fit(z ~ 1, twice, ~ day)$loglik, known_fit(z ~ 1, case, ~ day)$loglik)
  expect_error(predict(known_fit(z ~ 1), twice), "`newdata`.*2 columns `x`", class = "kernops_input_error")
  expect_equal(predict(known_fit(z ~ 1, coords = ~ day), twice), predict(known_fit(z ~ 1, coords = ~ day), case))
})

test_that("an error names a factor that has only one level", {
  d <- transform(case, h = "p", k = replace(as.character(g), 1:40, NA))
  for (formula in list(z ~ h, z ~ 0 + h, z ~ h:x)) {
    expect_error(known_fit(formula, d, ~ day), "`h` has the level \"p\" only", class = "kernops_input_error")
  }
  expect_error(known_fit(z ~ g, d, subset = g == "3"), "`g` has the level \"3\" only", class = "kernops_input_error")
  expect_error(known_fit(z ~ factor(k), transform(d, k = replace(k, k != "1", NA))), "`factor(k)` has the level",
               fixed = TRUE, class = "kernops_input_error")
})

test_that("names of variables may contain letters that the locale lacks", {
  names <- c("\u00fcber", "gr\u00fcn")
  d <- stats::setNames(case[c("x", "g", "z", "day")], c(names, "z", "day"))
  new <- d[3:5, ]
  expected <- list(known_fit(z ~ 1), known_fit(z ~ x, coords = ~ day), known_fit(z ~ 1, coords = ~ day, group = "g"))
  for (locale in c("C", "C.UTF-8")) {
    withr::local_locale(LC_CTYPE = locale)
    over <- eval(bquote(~ .(as.name(enc2native(names[[1]])))))
    trend <- eval(bquote(z ~ .(over[[2]])))
    fits <- list(known_fit(z ~ 1, d, over), known_fit(trend, d, ~ day),
                 known_fit(z ~ 1, d, ~ day, group = names[[2]]))
    for (k in 1:3) expect_equal(predict(fits[[k]], new), fitted(expected[[k]])[3:5], ignore_attr = TRUE)
    expect_error(predict(fits[[1]], new["day"]), class = "kernops_input_error")
  }
})

test_that("s(g, bs = \"re\") is a random effect, as in mgcv", {
  skip_if_not_installed("mgcv")
  withr::local_seed(14)
  d <- data.frame(x = runif(80), g = factor(rep(letters[1:8], 10)), h = factor(rep(1:2, 40)))
  d$z <- (rnorm(8) * 2)[d$g] * (1 + d$x) + rnorm(80, sd = 0.3)
  for (formula in list(z ~ x + s(g, bs = "re"), z ~ x + s(g, x, bs = "re"), z ~ x + s(g, by = x, bs = "re"),
                       z ~ x + s(g, h, bs = "re"))) {
    fit <- gp(formula, d, covariance = nugget(), estimate = "REML")
    peer <- mgcv::gam(formula, data = d, method = "REML")
    expect_equal(predict(fit, d[1:9, ]), c(predict(peer, d[1:9, ])), tolerance = 1e-5, ignore_attr = TRUE)
  }
  expect_equal(logLik(gp(z ~ x + s(g, bs = "re"), d, covariance = nugget())),
               logLik(gp(z ~ x + (1 | g), d, covariance = nugget())))
})

test_that("coordinates may be given as a formula or as column names", {
  d <- data.frame(`east ing` = c(1, 4, 2, 7, 5), y = c(3, 1, 2, 5, 9), z = c(1, 3, 2, 2, 4), check.names = FALSE)
  fit <- function(coords) gp(z ~ 1, d, coords, matern(3/2, variance = 1, range = 2) + nugget(0.1), estimate = "none")
  named <- fit(c("east ing", "y"))
  expect_identical(coef(named, "both"), coef(fit(~ `east ing` + y), "both"))
  new <- d[2:3, ] + 0.5
  expect_identical(predict(named, new), predict(fit(~ `east ing` + y), new))
  expect_identical(predict(named, new, coords = c("east ing", "y")), predict(named, new))
  expect_identical(gp_variogram(z ~ 1, d, coords = c("east ing", "y")),
                   gp_variogram(z ~ 1, d, coords = ~ `east ing` + y))
})

test_mistakes("kernops_input_error", alist(
  `a duration for a date` = predicted(known_fit(z ~ day), day = as.difftime(1, units = "days")),
  `a time within a day as a label of a day` = predicted(known_fit(z ~ 1, group = ~ day), day = case$time[[1]]),
  `a formula in quotation marks` = gp("z ~ 1", case, ~ x),
  `coordinates in quotation marks` = gp(z ~ 1, case, "~ x"),
  `names that are not those of columns` = gp(z ~ 1, case, c("x", "eggs")),
  `a factor with one level` = gp(z ~ g, case, ~ x, subset = g == "3"),
  `two columns of one name` = gp(z ~ 1, cbind(case, x = 1), ~ x),
  `an offset that is a date` = gp(z ~ offset(day), case, ~ x),
  `points without coordinates` = predict(known_fit(z ~ 1, coords = cbind(u = case$x)), data.frame(v = 1))
))
