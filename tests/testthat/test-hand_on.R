# Functions that mask functions of other packages: calls without symbolic matrices are forwarded to the masked
# functions.

X <- matrix(c(0.5, 2, -1, 3), 2)

test_that("if no other package is attached, the masked functions are those of kernops", {
  expect_equal(clamp(1:3, 2, 2.5), c(2, 2, 2.5))
  expect_equal(extract(4:6, 2, 2), 5:6)
  expect_error(if_else(condition = TRUE, true = 1, false = 2), "argument `f`", class = "kernops_input_error")
})

test_that("functions of packages attached earlier receive their arguments unevaluated", {
  theirs <- list(clamp = \(x, lower, upper, ...) c("theirs", lower), mod = \(e1, e2) "their mod",
                 if_else = \(condition, true, false, missing = NULL) list(condition, true, missing),
                 extract = \(data, col, into, ...) list(data, substitute(col), into))
  attach(theirs, name = "package:theirs", pos = length(search()), warn.conflicts = FALSE)
  withr::defer(detach("package:theirs", character.only = TRUE))
  counted <- 0
  once <- \() {
    counted <<- counted + 1
    "data"
  }
  expect_identical(extract(once(), column, "a"), list("data", quote(column), "a"))
  expect_identical(counted, 1)
  expect_identical(extract(data = "data", column, into = "a"), list("data", quote(column), "a"))
  expect_identical(clamp("raster", lower = 3, upper = 4), c("theirs", "3"))
  expect_identical(mod(5, 3), "their mod")
  expect_identical(if_else(c(TRUE, NA), 1, 2, missing = 3), list(c(TRUE, NA), 1, 3))
  expect_identical(if_else(condition = TRUE, true = 1, false = 2), list(TRUE, 1, NULL))
  local({
    inner <- "local"
    expect_identical(extract(inner, column, into = inner)[[3]], "local")
  })
  expect_s4_class(clamp(Vi(X), 0, 1), "LazyTensor")
  expect_s4_class(mod(5, Vi(X)), "LazyTensor")
  expect_s4_class(if_else(Vi(X) > 0, 1, 0), "LazyTensor")
  expect_equal(sum(extract(Vi(X), 2, 1), "j"), X[, 2, drop = FALSE])
})

test_that("masked functions of tidyr and dplyr receive columns of data frames", {
  skip_if_not_installed("tidyr")
  skip_if_not_installed("dplyr")
  run <- function(code) {
    code <- paste("suppressPackageStartupMessages({library(tidyr); library(dplyr); library(kernops)});", code)
    system2(file.path(R.home("bin"), "Rscript"), c("-e", shQuote(code)), stdout = TRUE, stderr = TRUE)
  }
  code <- paste("d <- data.frame(x = c('a-1', 'b-2')) |> extract(x, c('p', 'q'), '(.)-(.)');",
                "d <- d |> mutate(r = if_else(p == 'a', 'yes', NA_character_)); cat(d$q, d$r)")
  expect_match(paste(run(code), collapse = " "), "1 2 yes NA$")
})

test_that("functions of packages that are attached later accept symbolic matrices", {
  run <- function(package) {
    code <- sprintf("suppressPackageStartupMessages({library(kernops); library(%s)}); X <- matrix(c(0.5, 2, -1, 3), 2)",
                    package)
    code <- paste(code, switch(package, tidyr = "cat('', sum(extract(Vi(X), 2, 1), 'j'))", terra =
      "cat(sum(clamp(Vi(X), 0, 1), 'j'), values(clamp(rast(X), 0, 1)), sum(extract(Vi(X), m = 2, d = 1), 'j'))"),
      sep = "; ")
    paste(system2(file.path(R.home("bin"), "Rscript"), c("-e", shQuote(code)), stdout = TRUE, stderr = TRUE),
          collapse = " ")
  }
  if (requireNamespace("terra", quietly = TRUE)) expect_match(run("terra"), "0.5 1 0 1 0.5 0 1 1 -1 3$")
  if (requireNamespace("tidyr", quietly = TRUE)) expect_match(run("tidyr"), "-1 3$")
})

test_that("functions of terra accept symbolic matrices if terra is loaded first, without messages", {
  skip_if_not_installed("terra")
  run <- function(attached) {
    code <- paste("library(terra, quietly = TRUE, warn.conflicts = FALSE);", attached,
                  "X <- kernops::Vi(matrix(c(0.5, 2, -1, 3), 2));",
                  "cat('', sum(terra::clamp(X, 0, 1), 'j'), sum(terra::extract(X, 2, 1), 'j'))")
    paste(system2(file.path(R.home("bin"), "Rscript"), c("-e", shQuote(code)), stdout = TRUE, stderr = TRUE),
          collapse = " ")
  }
  for (code in c("library(kernops, warn.conflicts = FALSE);", "invisible(loadNamespace('kernops'));")) {
    expect_match(run(code), "^(terra [0-9.]+)? *0.5 1 0 1 -1 3$", label = code)
  }
})

test_that("no function of base R is masked by another function", {
  ours <- intersect(getNamespaceExports("kernops"), ls(baseenv()))
  for (name in ours) {
    expect_true(is.primitive(get(name, baseenv())) || methods::is(getExportedValue("kernops", name), "standardGeneric"),
                label = name)
  }
  expect_false("diag" %in% getNamespaceExports("kernops"))
})

test_that("arguments of the same meaning have the same name in all functions", {
  functions <- Filter(is.function, mget(getNamespaceExports("kernops"), asNamespace("kernops"), inherits = TRUE))
  takers <- \(argument) names(Filter(\(f) argument %in% names(formals(args(f))), functions))
  expect_identical(takers("gradin"), "grad") # the name that rkeops gives to eta, as an alternative
  expect_identical(takers("dim"), "axis_plan") # the shape of the array; `dims` are the dimensions to reduce
  expect_setequal(takers("axis"), c("axis_reduce", "softmax")) # the name that Python gives to dims, as an alternative
  others <- c("w", "weight", "wrt", "variable", "along")
  for (other in others) expect_identical(takers(other), character(), label = other)
})
