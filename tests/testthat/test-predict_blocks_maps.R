# Predictions of fits of tables for maps, by windows and in files.

table_on_map <- function() {
  small_cells(frame = parent.frame())
  d <- map_case(1500)
  rownames(d) <- NULL
  known <- matern(3/2, 1, 300) + nugget(0.04)
  fit <- gp(z ~ w + g, gp_table(d), ~ x + y, known, estimate = "none", neighbours = 10)
  same <- gp(z ~ w + g, d, ~ x + y, known, "vecchia", "none", neighbours = 10)
  same$vecchia$local <- fit$vecchia$local
  same$beta <- fit$beta
  same$state$root <- fit$state$root
  list(fit = fit, same = same)
}

test_that("predictions of a map by windows and of the whole map agree with a fit in memory", {
  skip_if_not_installed("terra")
  case <- table_on_map()
  map <- small_map()
  expected <- predict(case$same, map, what = c("fit", "se.fit", "above2"), joint = FALSE)
  what <- c("fit", "se.fit", "above2")
  expect_equal(cell_values(predict(case$fit, map, what = what, joint = FALSE)), cell_values(expected),
               tolerance = 1e-10)
  file <- withr::local_tempfile(fileext = ".tif")
  written <- predict(case$fit, on_disk(map), filename = file, what = what, window = 24, joint = FALSE)
  expect_equal(names(written), what)
  expect_equal(normalizePath(terra::sources(written)), normalizePath(file))
  expect_equal(cell_values(written), cell_values(expected), tolerance = 1e-10)
})

test_that("predictions of a map by windows have the same bits as those of its cells in memory", {
  skip_if_not_installed("terra")
  case <- table_on_map()
  replaced_locally(result_rows = 50)
  map <- small_map()
  what <- c("fit", "se.fit")
  before <- list.files(tempdir(), "^kernops-")
  expected <- cell_values(predict(case$fit, map, what = what))
  for (window in c(24, 1000)) {
    file <- withr::local_tempfile(fileext = ".tif")
    expect_identical(cell_values(predict(case$fit, map, filename = file, what = what, window = window)), expected)
  }
  tiles <- list(map[1:3, , drop = FALSE], map[4:terra::nrow(map), , drop = FALSE])
  file <- withr::local_tempfile(fileext = ".vrt")
  expect_identical(cell_values(predict(case$fit, tiles, filename = file, what = what, window = 24)), expected)
  expect_identical(setdiff(list.files(tempdir(), "^kernops-"), before), character())
})

test_that("the prediction of an interrupted map resumes", {
  skip_if_not_installed("terra")
  case <- table_on_map()
  map <- on_disk(small_map())
  file <- withr::local_tempfile(fileext = ".tif")
  whole <- predict(case$fit, map, what = "fit")
  windows <- 0
  replaced_locally(append_map_rows = local({
    append <- utils::getFromNamespace("append_map_rows", "kernops")
    function(...) {
      windows <<- windows + 1
      if (windows == 3) rlang::interrupt()
      append(...)
    }
  }))
  interrupted <- rlang::catch_cnd(predict(case$fit, map, filename = file, what = "fit", window = 24), "interrupt")
  expect_s3_class(interrupted, "interrupt")
  expect_true(file.exists(paste0(file, ".part")))
  resumed <- predict(case$fit, map, filename = file, what = "fit", window = 24, resume = TRUE)
  expect_equal(windows, 6)
  expect_equal(cell_values(resumed), cell_values(whole), tolerance = 1e-12)
})

test_that("zones have the means, totals and areas of kriging with all observations, whatever the windows", {
  skip_if_not_installed("terra")
  case <- table_on_map()
  replaced_locally(few_latent = 100)
  map <- small_map()
  zones <- terra::rast(map, nlyrs = 1, vals = 1 + (terra::xFromCell(map, 1:108) > 500))
  exact <- gp(z ~ w + g, map_case(1500), ~ x + y, case$fit$covariance, "exact", "none")
  expected <- predict(exact, map, zones = zones, above = 1, nsim = 4000)$zones
  ours <- predict(case$fit, map, zones = zones, above = 1, nsim = 4000, what = "fit")
  expect_named(ours$fit, "fit")
  expect_equal(ours$zones[1:3], expected[1:3])
  expect_equal(ours$zones$fit, expected$fit, tolerance = 0.005)
  expect_equal(ours$zones$se.fit[1:4], expected$se.fit[1:4], tolerance = 0.03)
  expect_equal(ours$zones$se.fit[5:6], expected$se.fit[5:6], tolerance = 0.08)
  tiles <- list(map[1:3, , drop = FALSE], map[4:9, , drop = FALSE])
  file <- withr::local_tempfile(fileext = ".vrt")
  in_tiles <- predict(case$fit, tiles, zones = zones, above = 1, nsim = 4000, filename = file, window = 24)
  expect_equal(in_tiles$zones, ours$zones, tolerance = 1e-10)
  expect_named(in_tiles$fit, c("fit", "above1"))
})

test_that("files of other data, and blocks of maps by windows, are refused", {
  skip_if_not_installed("terra")
  case <- table_on_map()
  map <- small_map()
  expect_error(predict(case$fit, map, block = c(1, 1), filename = tempfile(fileext = ".tif")), "block.*in memory",
               class = "kernops_input_error")
  expect_error(predict(case$fit, map_case(3), filename = tempfile()), "filename.*map", class = "kernops_input_error")
  expect_error(predict(case$fit, map, fielname = "a.tif"), "filename", class = "kernops_input_error")
})
