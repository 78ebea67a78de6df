# Predictions by windows, against predict() of the whole map in memory, which other files compare with oracles.

skip_if_not_installed("terra")
expect_same_map <- function(fit, map, ..., windows = c(12, 40, 1e6)) {
  whole <- predict(fit, map, ...)
  for (window in windows) {
    file <- withr::local_tempfile(fileext = ".tif")
    parts <- predict(fit, map, ..., filename = file, window = window)
    expect_named(parts, names(whole))
    expect_identical(is.na(cell_values(parts)), is.na(cell_values(whole)))
    expect_equal(cell_values(parts), cell_values(whole), tolerance = 1e-12)
    expect_true(terra::compareGeom(parts, map, crs = FALSE))
    expect_identical(Filter(file.exists, paste0(file, c(".part", ".part.hdr", ".part.rds"))), character())
  }
}

test_that("each method gives the same predictions by windows and for the whole map", {
  map <- on_disk(small_map())
  for (method in c("exact", "iterative", "vecchia", "vif")) {
    expect_same_map(map_fit(method, control = gp_control(neighbours = 8, inducing = 10)), map, se.fit = TRUE,
                    interval = "prediction")
  }
  fit <- map_fit("vecchia", control = eight_near)
  expect_same_map(fit, map, joint = FALSE, interval = "confidence", probs = c(0.1, 0.25), above = 1)
  expect_same_map(fit, map, type = "terms", windows = 40)
  expect_same_map(fit, map, exclude = "trend", windows = 40)
  expect_same_map(fit, map, block = c(100, 50), windows = 40)
  expect_same_map(map_fit(), map, nmax = 10, windows = 40)
  expect_same_map(map_fit(), map, se = "local", se.fit = TRUE, interval = "none", windows = 40)
})

test_that("joint predictions of families, effects, transformations and several variables do not depend on windows", {
  map <- small_map()
  counts <- map_fit("vecchia", count ~ w, family = poisson(), control = eight_near)
  expect_same_map(counts, map, se.fit = TRUE, above = 2, windows = 36)
  expect_same_map(counts, map, block = c(100, 100), se.fit = TRUE, windows = 36)
  effects <- gp(z ~ w, map_case(), ~ x + y, matern(3/2, 1, 300) + random_effect(~ 1 | g, 0.5) + nugget(0.04), "vecchia",
                "none", control = eight_near)
  expect_same_map(effects, map, interval = "confidence", se.fit = TRUE, windows = 36)
  expect_same_map(map_fit("vecchia", exp(z) ~ w, transform = "log", control = eight_near), map, interval = "prediction",
                  windows = 36)
  two <- lmc(matern(3/2, range = 300), nugget(), sills = list(matrix(c(1, 0.5, 0.5, 1), 2), c(0.1, 0.2)))
  both <- gp(cbind(z, other) ~ w, map_case(), ~ x + y, two, "vecchia", "none", control = eight_near)
  expect_same_map(both, map, interval = "confidence", windows = 36)
})

test_that("cells that are masked or have missing values are not predicted; coordinates are variables", {
  map <- small_map()
  mask <- terra::rast(map, nlyrs = 1, vals = c(NA, NA, rep(1, 106)))
  fit <- map_fit("vecchia", control = eight_near)
  file <- withr::local_tempfile(fileext = ".tif")
  parts <- predict(fit, map, mask = mask, filename = file, window = 30)
  expect_identical(which(is.na(cell_values(parts))), c(1:3, 40L, 41L, 108L))
  # a mask removes cells from the map
  expect_equal(cell_values(parts), cell_values(predict(fit, terra::mask(map, mask))), tolerance = 1e-12)
  expect_same_map(map_fit(formula = z ~ x), terra::rast(map, nlyrs = 1), windows = 30)
  # rows without any value
  rows <- terra::rast(mask, vals = replace(rep(1, 108), 13:36, NA))
  expect_same_map(fit, terra::mask(map, rows), windows = 12)
  nothing <- terra::rast(mask, vals = rep(NA_real_, 108))
  expect_true(all(is.na(cell_values(predict(fit, map, mask = nothing)))))
})

test_that("distances between longitudes and latitudes are great-circle distances", {
  world <- terra::rast(nrows = 9, ncols = 18)
  d <- withr::with_seed(3, data.frame(x = runif(40, -180, 180), y = runif(40, -80, 80), z = rnorm(40)))
  points <- terra::vect(d, geom = c("x", "y"), crs = "EPSG:4326")
  for (method in c("exact", "vecchia")) {
    fit <- gp(z ~ 1, points, covariance = exponential(1, 3000) + nugget(0.1), method = method, estimate = "none",
              control = eight_near)
    expect_same_map(fit, world, interval = "confidence", windows = 40)
  }
  terra::crs(world) <- "EPSG:3857"
  expect_error(predict(fit, world, window = 40), class = "kernops_crs_error")
})

test_that("each tile has a file, and a VRT file joins the tiles to a map", {
  map <- small_map()
  tiles <- lapply(list(c(0, 600), c(600, 1200)), function(x) terra::crop(map, terra::ext(x[1], x[2], 0, 900)))
  folder <- withr::local_tempdir()
  fit <- map_fit(control = eight_near)
  file <- file.path(folder, "all.vrt")
  ours <- predict(fit, tiles, what = c("fit", "se.fit"), filename = file, window = 20)
  expect_setequal(list.files(folder), c("all.vrt", "all_1.tif", "all_2.tif"))
  expect_named(ours, c("fit", "se.fit"))
  whole <- predict(fit, map, what = c("fit", "se.fit"))
  expect_equal(cell_values(ours), cell_values(whole), tolerance = 1e-12)
  # cells are predicted jointly across the edges of tiles
  joint <- map_fit("vecchia", control = eight_near)
  across <- predict(joint, tiles, what = c("fit", "se.fit"))
  swapped <- predict(joint, rev(tiles), what = c("fit", "se.fit"), window = 50)
  expect_equal(cell_values(across), cell_values(predict(joint, map, what = c("fit", "se.fit"))), tolerance = 0.05)
  expect_equal(cell_values(swapped), cell_values(across), tolerance = 0.05)
  expect_error(predict(fit, tiles, filename = file), "all.vrt.* exists", class = "kernops_file_error")
  expect_error(predict(fit, tiles, filename = file.path(folder, "all.tif")), "[.]vrt", class = "kernops_input_error")
})

test_that("`what` selects columns by name, and implies the arguments that request these columns", {
  map <- small_map()
  fit <- map_fit()
  ours <- predict(fit, map, what = c("above1", "se.fit", "q0.050", "lwr"), window = 24)
  expect_named(ours, c("above1", "se.fit", "q0.05", "lwr"))
  theirs <- predict(fit, map, se.fit = TRUE, interval = "confidence", probs = 0.05, above = 1)
  expect_equal(cell_values(ours), cell_values(theirs[[names(ours)]]), tolerance = 1e-12)
  d <- map_case()
  expect_identical(predict(fit, d, what = "se.fit"), predict(fit, d, se.fit = TRUE, interval = "none")["se.fit"])
  expect_identical(predict(fit, d, what = c("process", "trend")), predict(fit, d, type = "terms")[2:1])
  expect_identical(predict(fit, d, what = "lwr", interval = "prediction", level = 0.5),
                   predict(fit, d, interval = "prediction", level = 0.5)["lwr"])
  expect_snapshot(error = TRUE, {
    predict(fit, d, what = c("fit", "sd"))
    predict(fit, d, what = "q")
    predict(fit, d, what = c("fit", "fit"))
    predict(fit, d, what = c("fit", "trend"))
    predict(fit, d, what = "lwr", interval = "none")
  })
})
