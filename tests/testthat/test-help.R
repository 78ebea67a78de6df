# The installed help pages.

pages <- tools::Rd_db("kernops")
tags <- \(page) vapply(page, \(part) attr(part, "Rd_tag"), "")
text_of <- \(page, tag) paste(unlist(page[tags(page) == tag]), collapse = "")
aliases <- unlist(lapply(pages, \(page) vapply(page[tags(page) == "\\alias"], \(part) paste(part, collapse = ""), "")))

expect_all_in <- function(found, known, info = NULL) expect_identical(setdiff(found, known), character(), info = info)

# reexports.Rd is excluded, because it only links to pages of other packages.
test_that("every help page has a value, an example and links to related pages", {
  for (name in setdiff(names(pages), c("kernops-package.Rd", "reexports.Rd"))) {
    expect_all_in(c("\\value", "\\examples", "\\seealso"), tags(pages[[name]]), info = name)
  }
})

test_that("examples with random numbers set a seed", {
  for (name in names(pages)) {
    code <- text_of(pages[[name]], "\\examples")
    if (grepl("\\b(rnorm|runif|sample|rexp)\\(", code)) expect_match(code, "set.seed(", fixed = TRUE, info = name)
  }
})

# The methods of each generic function, in the form "%*%,LazyTensor,ANY-method", from the tables that the package
# exports.
s4_methods <- function() {
  tables <- grep("^\\.__T__", getNamespaceExports("kernops"), value = TRUE)
  unlist(lapply(tables, function(table) {
    signatures <- gsub("#", ",", names(getExportedValue("kernops", table)), fixed = TRUE)
    paste0(sub("^\\.__T__(.*):[a-z]+$", "\\1", table), ",", signatures, "-method")
  }))
}

# Topics that users look up with `?`: all exports and methods, except print methods.
test_that("every export and every method has a help page", {
  exports <- getNamespaceExports("kernops")
  generics <- sub("^\\.__T__(.*):[a-z]+$", "\\1", grep("^\\.__T__", exports, value = TRUE))
  expect_all_in(setdiff(exports[!startsWith(exports, ".__")], generics), aliases)
  expect_all_in(paste0(sub("^\\.__C__", "", grep("^\\.__C__", exports, value = TRUE)), "-class"), aliases)
  without_any <- \(names) gsub("(,ANY)+-method$", "-method", names)
  ours <- grep("LazyTensor", s4_methods(), value = TRUE)
  expect_gt(length(ours), 30)
  expect_all_in(without_any(ours), without_any(aliases))
  s3 <- getNamespaceInfo("kernops", "S3methods")
  s3 <- s3[!s3[, 1] %in% c("print", "format"), ]
  expect_all_in(paste(s3[, 1], s3[, 2], sep = "."), aliases)
  expect_all_in(paste0(c("tidy", "glance", "augment"), ".gp"), aliases)
})

test_that("?kernops lists every option and every vignette", {
  overview <- text_of(pages[["kernops-package.Rd"]], "\\section")
  # the option for the size of pieces is used by tests only
  for (name in setdiff(c(option_names, "gpu_memory"), "tile")) {
    expect_match(overview, paste0("kernops.", name), fixed = TRUE)
  }
  folder <- testthat::test_path("..", "..", "vignettes")
  skip_if_not(dir.exists(folder))
  for (name in sub("\\.Rmd$", "", list.files(folder, "\\.Rmd$"))) {
    expect_match(overview, sprintf("vignette(\"%s\", \"kernops\")", name), fixed = TRUE)
  }
})

# Compares each chunk of R code in README.md with the output block that follows. Numbers may differ by rounding.
test_that("README.md shows the output of its code", {
  skip_on_cran()
  file <- testthat::test_path("..", "..", "README.md")
  skip_if_not(file.exists(file))
  withr::local_options(width = 100)
  lines <- readLines(file)
  fences <- grep("^```", lines)
  starts <- fences[c(TRUE, FALSE)]
  ends <- fences[c(FALSE, TRUE)]
  code <- which(lines[starts] == "```r")
  expect_gte(length(code), 4)
  chunk <- \(k) lines[seq(starts[[k]] + 1, ends[[k]] - 1)]
  numbers <- \(text) as.numeric(unlist(regmatches(text, gregexpr("-?[0-9]+\\.?[0-9]*", text))))
  words <- \(text) gsub("[ 0-9.-]+", " ", text)
  env <- new.env(parent = globalenv())
  for (k in code) {
    printed <- utils::capture.output(for (part in parse(text = chunk(k))) {
      value <- withVisible(eval(part, env))
      if (value$visible) if (isS4(value$value)) methods::show(value$value) else print(value$value)
    })
    expect_identical(words(printed), words(chunk(k + 1)))
    expect_equal(numbers(printed), numbers(chunk(k + 1)), tolerance = 1e-3)
  }
})

test_that("help pages list the arguments of all functions, with their defaults", {
  skip_on_cran()
  skip_if(nzchar(Sys.getenv("DEVTOOLS_LOAD")), "the package is not installed")
  expect_length(unclass(tools::codoc("kernops")), 0)
  expect_length(unclass(tools::checkDocFiles("kernops")), 0)
})
