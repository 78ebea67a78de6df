# The limits in README.md are limits of the package. (test-help.R compares the output blocks.)

readme <- testthat::test_path("..", "..", "README.md")

# The bold words at the beginning of each item in the list of a section.
items_of_section <- function(title) {
  lines <- readLines(readme)
  start <- match(paste("##", title), lines)
  end <- grep("^## ", lines)
  section <- lines[seq(start + 1, min(end[end > start]) - 1)]
  sub("^- \\*\\*(.*?)\\*\\*.*", "\\1", grep("^- ", section, value = TRUE), perl = TRUE)
}

# For each limit, a call that kernops must refuse, or NULL if the limit is only advice.
limits <- list(
  "Small dense matrices." = NULL,
  "Neural networks." = NULL,
  "Fields and effects of dispersions." = quote(
    gp(count ~ 1, d, ~ x, family = negative_binomial(), dispersion = ~ (1 | site))
  ),
  "Adaptive smooths of several variables." = quote(gp(z ~ s(x, w, bs = "ad", k = 5), d, covariance = nugget())),
  "Data frames by groups in general." = NULL,
  "GPUs of other makers than NVIDIA." = quote(keops_kernel("Sum_Reduction(x, 1)", "x = Vi(1)", backend = "opencl"))
)

test_that("README.md does not deny existing features", {
  skip_if_not(file.exists(readme))
  expect_identical(items_of_section("Limits"), names(limits))
  set.seed(1)
  d <- data.frame(x = runif(300), w = runif(300), site = rep(1:5, 60), z = rnorm(300), count = rpois(300, 3))
  for (limit in names(limits)) {
    if (!is.null(limits[[limit]])) expect_error(eval(limits[[limit]]), class = "kernops_error", info = limit)
  }
})

test_that("README.md names what most readers search for, and the number of families", {
  skip_if_not(file.exists(readme))
  table <- grep("^[|]", readLines(readme), value = TRUE)[1:5]
  cells <- trimws(strsplit(table[1], "|", fixed = TRUE)[[1]][-1])
  expect_identical(cells, c("I have a map", "I have a matrix of pairs", "I have groups"))
  for (name in c("family", "lmc()", "s(x)", "counts", "presence", "transformations", "sf, stars, terra")) {
    expect_match(table[4], name, fixed = TRUE)
  }
  named <- as.integer(sub(".*counts, presence and (\\d+) other families.*", "\\1", table[4]))
  # README.md describes three other families: Gaussian, counts, presence and absence
  expect_length(kernops:::family_table(), named + 3)
})

test_that("the citation has the title of the package and of the article on the formula language", {
  citations <- citation("kernops")
  expect_identical(citations[[1]]$title, paste0("kernops: ", packageDescription("kernops")$Title))
  expect_match(format(citations[[2]], "text"), "Journal of Machine Learning Research", fixed = TRUE)
})

test_that("each vignette is in a group of the site", {
  site <- testthat::test_path("..", "..", "_pkgdown.yml")
  skip_if_not(file.exists(site))
  lines <- readLines(site)
  lines <- lines[seq(match("articles:", lines), match("reference:", lines))]
  vignettes <- sub("[.]Rmd$", "", list.files(file.path(dirname(site), "vignettes"), "[.]Rmd$"))
  expect_setequal(sub("^  - ", "", grep("^  - ", lines, value = TRUE)), vignettes)
})
