# Files of predictions: overwriting, interrupted predictions, full disks and errors.

skip_if_not_installed("terra")

# Predicts `map` in another R process, in which a file has at most `blocks` KiB.
predict_on_full_disk <- function(fit, map_file, file, blocks, arguments) {
  input <- withr::local_tempfile(fileext = ".rds")
  script <- withr::local_tempfile(fileext = ".R")
  saveRDS(list(fit = fit, map = map_file, arguments = c(arguments, filename = file)), input)
  dump(c("input"), script)
  write(paste0("library(kernops, lib.loc = '", dirname(find.package("kernops")), "')"), script, append = TRUE)
  write(deparse(quote({
    a <- readRDS(input)
    tryCatch(do.call(predict, c(list(a$fit, terra::rast(a$map)), a$arguments)),
             error = function(e) cat(class(e)[[1]], conditionMessage(e)))
  })), script, append = TRUE)
  command <- paste0("trap '' XFSZ; ulimit -f ", blocks, "; exec ", file.path(R.home("bin"), "Rscript"), " ", script)
  suppressWarnings(system2("bash", c("-c", shQuote(command)), stdout = TRUE, stderr = TRUE))
}
parts_of <- function(file) Filter(file.exists, paste0(file, c("", ".part", ".part.hdr", ".part.rds")))

test_that("a file is overwritten only on request, and temporary files need no name", {
  map <- small_map()
  fit <- map_fit()
  file <- withr::local_tempfile(fileext = ".tif")
  first <- predict(fit, map, filename = file)
  expect_identical(terra::sources(first), normalizePath(file))
  expect_error(predict(fit, map, what = "se.fit", filename = file), "exists", class = "kernops_file_error")
  expect_named(terra::rast(file), "fit")
  second <- predict(fit, map, what = "se.fit", filename = file, overwrite = TRUE, wopt = list(datatype = "FLT4S"))
  expect_named(second, "se.fit")
  expect_equal(cell_values(second), cell_values(predict(fit, map, what = "se.fit")), tolerance = 1e-6)
  unnamed <- predict(fit, map, window = 20)
  expect_equal(dirname(terra::sources(unnamed)), normalizePath(terra::terraOptions(print = FALSE)$tempdir))
})

test_that("a prediction that a full disk interrupts resumes at the row where it stopped", {
  skip_on_os("windows")
  map <- small_map()
  source <- withr::local_tempfile(fileext = ".tif")
  on_disk(map, source)
  for (fit in list(map_fit(), map_fit("vecchia", control = eight_near))) {
    file <- withr::local_tempfile(fileext = ".tif")
    arguments <- list(what = c("fit", "se.fit"), window = 12)
    # 9 rows have 1728 bytes
    said <- predict_on_full_disk(fit, source, file, 1, arguments)
    expect_match(paste(said, collapse = " "), "kernops_file_error")
    expect_match(paste(said, collapse = " "), "resume")
    expect_setequal(parts_of(file), paste0(file, c(".part", ".part.rds")))
    record <- readRDS(paste0(file, ".part.rds"))
    expect_true(record$rows > 0 && record$rows < 9)
    again <- \(fit, map, ...) predict(fit, map, what = c("fit", "se.fit"), filename = file, ...)
    expect_error(again(fit, terra::rast(source)), "interrupted prediction", class = "kernops_file_error")
    expect_error(again(map_fit(formula = z ~ w), terra::rast(source), resume = TRUE), "another fit",
                 class = "kernops_file_error")
    expect_error(again(fit, map, resume = TRUE), "another map", class = "kernops_file_error")
    expect_error(again(fit, terra::rast(source), level = 0.9, resume = TRUE), "another request",
                 class = "kernops_file_error")
    # writes another number into a finished row: the resumed prediction must not compute this row again
    values <- readBin(paste0(file, ".part"), 0, 24 * record$rows)
    writeBin(replace(values, 1, 99), paste0(file, ".part"))
    resumed <- cell_values(again(fit, terra::rast(source), resume = TRUE, window = 30))
    expect_identical(parts_of(file), file)
    expect_identical(resumed[1, 1], 99)
    expect_equal(resumed[-1, ], cell_values(predict(fit, map, what = c("fit", "se.fit")))[-1, ], tolerance = 1e-12)
  }
})

test_that("a full disk leaves either no file or rows from which predictions resume", {
  skip_on_os("windows")
  source <- withr::local_tempfile(fileext = ".tif")
  on_disk(small_map(), source)
  file <- withr::local_tempfile(fileext = ".tif")
  expect_match(paste(predict_on_full_disk(map_fit(), source, file, 0, list()), collapse = " "), "kernops_file_error")
  expect_identical(parts_of(file), character())
  # the rows are complete, but the format of the file is unknown
  map <- small_map()
  zones <- terra::rast(map, nlyrs = 1, vals = rep(1:2, each = 54))
  expect_error(suppressMessages(predict(map_fit(), map, zones = zones, filename = file,
                                        wopt = list(filetype = "NONE"))), class = "kernops_file_error")
  expect_setequal(parts_of(file), paste0(file, c(".part", ".part.rds")))
  ours <- predict(map_fit(), map, zones = zones, filename = file, resume = TRUE)
  expect_equal(ours$zones, predict(map_fit(), map, zones = zones)$zones)
  expect_equal(cell_values(ours$fit), cell_values(predict(map_fit(), map)), tolerance = 1e-12)
})

test_that("errors name invalid arguments before predictions begin", {
  map <- small_map()
  fit <- map_fit()
  folder <- withr::local_tempdir()
  expect_error(predict(fit, map, filename = file.path(folder, "no", "map.tif")), "not a folder",
               class = "kernops_file_error")
  expect_error(predict(fit, map, filename = folder), class = "kernops_file_error")
  expect_snapshot(error = TRUE, {
    predict(fit, map, filename = 1)
    predict(fit, map, file = "map.tif")
    predict(fit, map, resume = TRUE)
    predict(fit, map, mask = 1)
    predict(fit, map, mask = terra::aggregate(map, 3))
    predict(fit, map, window = 0)
    predict(fit, map, overwrite = NA, filename = "map.tif")
    predict(fit, map, wopt = "FLT4S", window = 20)
    predict(fit, map, window = 20, cov = TRUE)
    predict(fit, map, window = 20, sums = rep(1, 108))
    predict(fit, map_case(), filename = "map.tif")
    predict(fit, map, filename = "missing.tif", 3)
  })
  unlink(terra::sources(lost <- on_disk(map)))
  expect_error(predict(fit, lost, window = 20), "cannot be read", class = "kernops_file_error")
})
