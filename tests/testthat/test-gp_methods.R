# Methods of fits of gp(): printing, plots, coefficients and draws; saved fits.

test_that("a fit leaves R's random numbers unchanged", {
  d <- withr::with_seed(22, smooth_case(40))
  withr::local_seed(23)
  before <- .Random.seed
  for (method in c("exact", "iterative")) {
    fit <- gp(z ~ 1, d, ~ a + b, method = method)
    predict(fit, d[1:3, ], se.fit = TRUE)
    gp_cv(fit)
    gp_cv(fit, folds = 3)
    simulate(fit, seed = 1, type = "field")
  }
  expect_identical(.Random.seed, before)
})

test_that("`control` may be a list", {
  withr::local_seed(24)
  d <- smooth_case(30)
  by_list <- gp(z ~ 1, d, ~ a + b, given(), estimate = "none", method = "iterative", control = list(probes = 4))
  by_function <- update(by_list, control = gp_control(probes = 4))
  expect_identical(by_list$how, by_function$how)
  expect_equal(predict(by_list, d, control = list(cg_tol = 1e-8)), predict(by_list, d))
})

test_that("a fit and its summary can be printed", {
  withr::local_seed(11)
  fit <- gp(z ~ w, smooth_case(50), ~ a + b, matern(3/2, 1, 0.5) + nugget(0.01), estimate = "none")
  expect_snapshot({
    fit
    summary(fit)
  })
})

test_that("a saved fit gives the same predictions in a new session", {
  skip_on_cran()
  skip_if_not_in_library()
  withr::local_seed(17)
  d <- smooth_case(60)
  new <- smooth_case(5)
  for (method in c("exact", "iterative")) {
    fit <- gp(z ~ w, d, ~ a + b, given(), estimate = "none", method = method)
    folder <- withr::local_tempdir()
    saveRDS(list(fit = fit, new = new), file.path(folder, "saved"))
    writeLines(deparse(bquote({
      .libPaths(.(.libPaths()))
      library(kernops)
      saved <- readRDS(.(file.path(folder, "saved")))
      saveRDS(list(predict(saved$fit, saved$new, interval = "prediction"),
                   simulate(saved$fit, 2, seed = 1, newdata = saved$new), gp_cv(saved$fit)),
            .(file.path(folder, "there")))
    })), file.path(folder, "script"))
    system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", file.path(folder, "script")), env = "R_TESTS=")
    expect_equal(readRDS(file.path(folder, "there")),
                 list(predict(fit, new, interval = "prediction"), simulate(fit, 2, seed = 1, newdata = new),
                       gp_cv(fit)))
  }
})

test_that("every kind of plot can be drawn", {
  withr::local_seed(12)
  d <- smooth_case(40)
  file <- withr::local_tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  for (fit in list(gp(z ~ 1, d, ~ a + b, given(), estimate = "none"), gp(z ~ w, d, ~ a + b, given(), estimate = "none"),
                   gp(z ~ 1, d, ~ a, given(), estimate = "none"),
                   gp(z ~ 1, d[1, ], ~ a + b, given(), estimate = "none"),
                   gp(z ~ 1, transform(d, b = 1), ~ a + b, given(), estimate = "none"))) {
    expect_invisible(plot(fit, n = 30))
    expect_invisible(plot(fit, "field", n = 30, main = "a title of one's own", xlab = "east"))
  }
  plot(gp_variogram(d[c("a", "b")], d$z))
  plot(gp_variogram(d[c("a", "b")], d$z, breaks = 8:9))
  grDevices::dev.off()
  expect_gt(file.size(file), 1000)
})

test_that("the drawn field of a fit with a trend of the coordinates agrees with predict()", {
  withr::local_seed(38)
  d <- transform(smooth_case(40), h = a + 1)
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  # the names of the graphical primitives that a plot draws, from the display list
  drawn <- function(fit) {
    grDevices::dev.control("enable")
    plot(fit, "field", n = 200)
    calls <- grDevices::recordPlot()[[1]]
    vapply(calls, function(call) call[[2]][[1]]$name, "")
  }
  line <- function(h) h
  for (trend in list(z ~ 1, z ~ a + b, z ~ poly(a, 2) * b, z ~ line(a) + offset(b))) {
    fit <- gp(trend, d, ~ a + b, given(), estimate = "none")
    expect_true("C_raster" %in% drawn(fit), label = deparse(trend))
    map <- kernops:::panels_of(fit, "field", 100, 0.95, FALSE, NULL, list())[[1]]
    expect_equal(as.vector(map$z), unname(predict(fit, expand.grid(a = map$axes[[1]], b = map$axes[[2]]))))
  }
  by_matrix <- gp(z ~ a, d, as.matrix(d[c("a", "b")]), given(), estimate = "none")
  expect_true("C_raster" %in% drawn(by_matrix))
  fit <- gp(z ~ a, d, ~ a, given(), estimate = "none")
  curve <- kernops:::panels_of(fit, "field", 20, 0.9, TRUE, NULL, list())[[1]]$curves
  expect_equal(curve[-1], predict(fit, data.frame(a = curve$x), interval = "confidence", level = 0.9),
               ignore_attr = "row.names")
  # the trend uses other variables, one of them with the name of a coordinate
  off <- as.matrix(transform(d, a = a + rnorm(40))[c("a", "b")])
  for (fit in list(gp(z ~ h, d, ~ a + b, given(), estimate = "none"), gp(z ~ a, d, off, given(), estimate = "none"))) {
    expect_false("C_raster" %in% drawn(fit))
  }
})

test_that("coef() and vcov() accept the arguments of the methods for lm()", {
  fit <- gp(z ~ 1, smooth_case(10), ~ a + b, given(), estimate = "none", known = NULL)
  expect_identical(coef(fit, complete = FALSE), coef(fit))
  expect_identical(vcov(fit, complete = FALSE), vcov(fit))
})
