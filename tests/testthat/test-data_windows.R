# Predictions of maps of stars by windows, and the cells that the windows read.

skip_if_not_installed("terra")
skip_if_not_installed("stars")

stars_case <- function() {
  map <- small_map()
  terra::crs(map) <- "EPSG:3857"
  map <- map[["w"]]
  stars::st_as_stars(map)
}
values_by_place <- function(map) {
  table <- as.data.frame(stars::st_as_stars(map))
  table[order(-table$y, table$x), setdiff(names(table), c("x", "y"))]
}

test_that("predictions of stars maps and proxies by windows agree with those of the whole map", {
  map <- stars_case()
  fit <- map_fit("vecchia", z ~ w + x, control = eight_near)
  whole <- predict(fit, map, what = c("fit", "se.fit"))
  ours <- predict(fit, map, what = c("fit", "se.fit"), window = 24)
  expect_s3_class(ours, "stars_proxy")
  columns <- as.data.frame(split(stars::st_as_stars(ours)))
  expect_equal(columns[c("fit", "se.fit")], as.data.frame(whole)[c("fit", "se.fit")], tolerance = 1e-12)
  file <- withr::local_tempfile(fileext = ".tif")
  stars::write_stars(map, file, type = "Float64")
  proxy <- stats::setNames(stars::read_stars(file, proxy = TRUE), "w")
  out <- withr::local_tempfile(fileext = ".tif")
  by_proxy <- predict(fit, proxy, what = c("fit", "se.fit"), window = 24, filename = out)
  expect_equal(as.data.frame(split(stars::st_as_stars(by_proxy)))[c("fit", "se.fit")], columns[c("fit", "se.fit")],
               tolerance = 1e-12)
  # a part of a proxy
  part <- predict(fit, proxy[, 3:9, 2:5], window = 7)
  expect_equal(values_by_place(part), values_by_place(predict(fit, map[, 3:9, 2:5])), tolerance = 1e-12)
})

test_that("stars maps whose rows go upwards are flipped, and irregular grids are refused", {
  map <- stars_case()
  fit <- map_fit(formula = z ~ w)
  up <- stars::st_as_stars(list(w = map[[1]][, 9:1]),
                           dimensions = stars::st_dimensions(x = seq(0, 1200, by = 100), y = seq(0, 900, by = 100)))
  up <- stars::st_set_dimensions(up, names = c("x", "y"))
  ours <- predict(fit, up, window = 24)
  expect_equal(values_by_place(ours), values_by_place(predict(fit, map)), tolerance = 1e-12)
  uneven <- stars::st_as_stars(list(w = matrix(0, 2, 2)),
                               dimensions = stars::st_dimensions(x = c(0, 1, 3), y = c(0, 1, 3)))
  expect_error(predict(fit, uneven, window = 4), "regular grid", class = "kernops_input_error")
})

test_that("layers that the fit does not use are not read, unless the fit uses no layers", {
  map <- small_map()
  variables <- kernops:::variables_of_fit(map_fit(formula = z ~ w))
  expect_true(all(c("w", "x", "y") %in% variables))
  expect_identical(kernops:::numbers_of_layers(c("a", "w"), variables), 2L)
  expect_identical(kernops:::numbers_of_layers(c("a", "b"), variables), 1:2)
  fit <- map_fit(formula = z ~ 1)
  expect_equal(cell_values(predict(fit, map, window = 20)), cell_values(predict(fit, map)), tolerance = 1e-12)
})
