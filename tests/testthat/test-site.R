# Links of the website to sources and issues, with and without a public repository.

root <- testthat::test_path("..", "..")
skip_if_not(file.exists(file.path(root, "tools", "site_links.R"))) # an installed package does not contain tools/
source(file.path(root, "tools", "site_pages.R"), local = TRUE)
source(file.path(root, "tools", "site_links.R"), local = TRUE)

test_that("links to files point to the repository", {
  skip_if_not_installed("xml2")
  page <- '<p><a href="NEWS.html">n</a> <a href="CONTRIBUTING.html">c</a> <a href="bench/HISTORY.md#top">h</a>
           <a href="https://example.org">e</a></p>'
  home <- withr::local_tempdir()
  withr::local_dir(root)
  linked <- function(address) {
    html <- xml2::read_html(page)
    link_sources(html, home, address)
    xml2::xml_attr(xml2::xml_find_all(html, "//a"), "href")
  }
  expect_identical(linked(""), c("news/index.html", "https://example.org"))
  files <- paste0("https://code.local/k/blob/HEAD/", c("CONTRIBUTING.md", "bench/HISTORY.md"))
  expect_identical(linked("https://code.local/k"), c("news/index.html", files, "https://example.org"))
})

test_that("the address of the repository is in the settings of pkgdown and in DESCRIPTION", {
  withr::local_envvar(KERNOPS_REPOSITORY = "https://code.local/k/")
  expect_identical(repository(), "https://code.local/k")
  settings <- link_settings(repository(), "kernops_1.tar.gz")
  expect_identical(settings$repo$url$issue, "https://code.local/k/issues/")
  expect_null(link_settings("", "kernops_1.tar.gz")$repo)
  path <- withr::local_tempfile()
  read <- function(address) {
    writeLines(with_address(readLines(file.path(root, "DESCRIPTION")), address), path)
    read.dcf(path)[1, ]
  }
  expect_identical(read(repository())[c("URL", "BugReports")],
                   c(URL = "https://code.local/k", BugReports = "https://code.local/k/issues"))
  expect_false("URL" %in% names(read("")))
  # bug.report() writes to the maintainer
  expect_identical(read("")[["BugReports"]], sub(".*<(.*)>", "mailto:\\1", maintainer("kernops")))
})
