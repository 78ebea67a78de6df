# Links of the site to sources and issues, for tools/site.R. The environment variable KERNOPS_REPOSITORY has the public
# address of the repository, such as https://example.org/kernops. Without an address, the site offers the source package
# for download, and the link for reports of problems is BugReports of DESCRIPTION.

repository <- function() sub("/+$", "", Sys.getenv("KERNOPS_REPOSITORY"))

# The settings of pkgdown for these links, which take precedence over _pkgdown.yml.
link_settings <- function(address, package) {
  links <- list(home = list(links = list(list(text = "Download the sources", href = package))))
  if (!nzchar(address)) return(links)
  c(links, list(repo = list(url = list(home = address, source = paste0(address, "/blob/HEAD/"),
                                       issue = paste0(address, "/issues/"), user = ""))))
}

# Sets the fields URL and BugReports from the address; `fields` has the lines of a DESCRIPTION file. An empty address
# changes nothing.
with_address <- function(fields, address) {
  if (!nzchar(address)) return(fields)
  fields <- fields[!grepl("^(URL|BugReports):", fields)]
  after <- grep("^License:", fields)
  append(fields, c(paste0("URL: ", address), paste0("BugReports: ", address, "/issues")), after)
}

# Builds the source package of the files in git, without vignettes, in a temporary folder. Returns the path of its file.
build_sources <- function(address) {
  copy <- file.path(tempfile("sources"), "kernops")
  files <- system2("git", "ls-files", stdout = TRUE)
  lapply(unique(file.path(copy, dirname(files))), dir.create, recursive = TRUE, showWarnings = FALSE)
  stopifnot(file.copy(files, file.path(copy, files)))
  description <- file.path(copy, "DESCRIPTION")
  writeLines(with_address(readLines(description), address), description)
  home <- setwd(dirname(copy))
  on.exit(setwd(home))
  system2(file.path(R.home("bin"), "R"), c("CMD", "build", "--no-build-vignettes", "--no-manual", "kernops"))
  normalizePath(list.files(pattern = "[.]tar[.]gz$"))
}

# Pages name source files that are not on the site. With an address, each name becomes a link to the file at this
# address; without an address, the name stays plain text. pkgdown has already replaced .md by .html.
link_sources <- function(html, home, address) {
  links <- xml2::xml_find_all(html, "//a[@href]")
  path <- sub("[?#].*", "", xml2::xml_attr(links, "href"))
  news <- path == "NEWS.html"
  xml2::xml_set_attr(links[news], "href", "news/index.html")
  absent <- nzchar(path) & !outside(path) & !news & !file.exists(file.path(home, path))
  file <- ifelse(file.exists(path), path, sub("[.]html$", ".md", path))
  source <- absent & file.exists(file)
  if (nzchar(address)) {
    xml2::xml_set_attr(links[source], "href", paste0(address, "/blob/HEAD/", file[source]))
  } else {
    xml2::xml_set_name(links[source], "span")
    xml2::xml_set_attr(links[source], "href", NULL)
  }
}
