# Rscript tools/site.R build: runs pkgdown with _pkgdown.yml. Formulas and tables of contents are written into the
# pages, and no page loads a script or a style from a network. Rscript tools/site.R check: prints one line for each
# broken link or picture within the site, and for each page with misplaced text, TeX that is not shown as a formula, or
# a script or a style from a network.

folder <- "site"

build <- function() {
  options(pkgdown.internet = FALSE)
  # otherwise CRAN is queried for packages that are named but not installed
  utils::assignInNamespace("CRAN_urls", \() data.frame(Package = character(), URL = character()), "downlit")
  pkgdown::check_pkgdown()
  pkgdown::init_site()
  pkgdown::build_home(preview = FALSE)
  pkgdown::build_reference(preview = FALSE, lazy = TRUE, devel = FALSE, document = FALSE)
  pkgdown::build_articles(preview = FALSE, lazy = TRUE)
  pkgdown::build_news(preview = FALSE)
  lapply(pages(), finish)
}

pages <- function() list.files(folder, "\\.html$", recursive = TRUE, full.names = TRUE)
outside <- function(link) grepl("^([a-z]+:|//)", link)

finish <- function(page) {
  text <- paste(readLines(page, encoding = "UTF-8"), collapse = "\n")
  if (grepl("<!-- finished -->", text, fixed = TRUE)) return()
  text <- with_formulas(text)
  html <- xml2::read_html(text, encoding = "UTF-8")
  drop_links_to_sources(html, dirname(page))
  fill_contents(html)
  drop_network(html)
  # a table that is wider than a phone scrolls
  tables <- xml2::xml_find_all(html, "//main//table")
  xml2::xml_set_attr(tables, "class", paste(xml2::xml_attr(tables, "class", default = ""), "d-block overflow-auto"))
  writeLines(c(as.character(html), "<!-- finished -->"), page, useBytes = TRUE)
}

# TeX as MathML, which browsers display without a script. Code, in which \(x) is a function, and the head of a page are
# left alone.
with_formulas <- function(text) {
  code <- gregexpr("(?s)<(head|pre|code|script)\\b.*?</\\1>", text, perl = TRUE)
  parts <- regmatches(text, code, invert = TRUE)[[1]]
  tex <- gregexpr("(?s)\\\\\\(.+?\\\\\\)|\\\\\\[.+?\\\\\\]", parts, perl = TRUE)
  found <- unlist(regmatches(parts, tex))
  if (length(found) == 0) return(text)
  made <- mathml(found)
  number <- 0
  regmatches(parts, tex) <- lapply(regmatches(parts, tex), function(some) {
    number <<- number + length(some)
    made[number - length(some) + seq_along(some)]
  })
  paste(c(rbind(parts, c(regmatches(text, code)[[1]], ""))), collapse = "")
}

mathml <- function(tex) {
  for (entity in list(c("&lt;", "<"), c("&gt;", ">"), c("&amp;", "&"))) {
    tex <- gsub(entity[[1]], entity[[2]], tex, fixed = TRUE)
  }
  from <- tempfile(fileext = ".md")
  to <- tempfile(fileext = ".html")
  writeLines(gsub("\n", " ", tex, fixed = TRUE), from, sep = "\n\n", useBytes = TRUE)
  rmarkdown::pandoc_convert(from, "html", "markdown+tex_math_single_backslash", to, options = "--mathml")
  made <- xml2::xml_find_all(xml2::read_html(to, encoding = "UTF-8"), "//math")
  stopifnot(length(made) == length(tex))
  as.character(made)
}

# README.md and other pages name source files that are not on the site: their names are kept without links. pkgdown has
# replaced .md by .html before.
drop_links_to_sources <- function(html, home) {
  links <- xml2::xml_find_all(html, "//a[@href]")
  path <- sub("[?#].*", "", xml2::xml_attr(links, "href"))
  news <- path == "NEWS.html"
  xml2::xml_set_attr(links[news], "href", "news/index.html")
  missing <- nzchar(path) & !outside(path) & !news & !file.exists(file.path(home, path))
  source <- missing & (file.exists(path) | file.exists(sub("\\.html$", ".md", path)))
  xml2::xml_set_name(links[source], "span")
  xml2::xml_set_attr(links[source], "href", NULL)
}

# Removes the scripts and styles that pkgdown loads from a network: a page is complete without one. pkgdown.js, which is
# local, calls them, so a stub takes the place of each.
drop_network <- function(html) {
  xml2::xml_remove(xml2::xml_find_all(html, network_parts))
  xml2::xml_remove(xml2::xml_find_all(html, "//script[contains(@src, 'mathjax')]"))
  script <- xml2::xml_find_first(html, "//script[contains(@src, 'pkgdown.js')]")
  if (is.na(script)) return()
  stubs <- paste("window.Toc = { init: function() {} };",
                 "window.ClipboardJS = { isSupported: function() { return false; } };",
                 "window.Mark = function() { this.mark = this.unmark = function() {}; };",
                 "jQuery.fn.headroom = jQuery.fn.autocomplete = function() { return this; };")
  xml2::xml_add_sibling(script, "script", stubs, .where = "before")
}
network_parts <- paste("//script[starts-with(@src, 'http')] | //script[starts-with(@src, '//')]",
                       "//link[@rel = 'stylesheet'][starts-with(@href, 'http')]", sep = " | ")

# The table of contents of a page.
fill_contents <- function(html) {
  place <- xml2::xml_find_first(html, "//nav[@id = 'toc']")
  script <- xml2::xml_find_all(html, "//script[contains(@src, 'bootstrap-toc')]")
  xml2::xml_set_attr(script, "src", NULL)
  xml2::xml_set_text(script, "window.Toc = { init: function() {} };")
  if (is.na(place)) return()
  list <- xml2::xml_add_child(place, "ul", class = "nav navbar-nav")
  for (heading in xml2::xml_find_all(html, "//main//h2")) {
    id <- xml2::xml_attr(heading, "id")
    if (is.na(id)) id <- xml2::xml_attr(xml2::xml_parent(heading), "id")
    if (is.na(id)) next
    item <- xml2::xml_add_child(list, "li", class = "nav-item")
    xml2::xml_add_child(item, "a", trimws(xml2::xml_text(heading)), class = "nav-link", href = paste0("#", id))
  }
}

check <- function() {
  total <- 0
  ids <- list()
  ids_of <- function(page) {
    if (is.null(ids[[page]])) {
      html <- xml2::read_html(page, encoding = "UTF-8")
      ids[[page]] <<- xml2::xml_text(xml2::xml_find_all(html, "//@id | //a/@name"))
    }
    ids[[page]]
  }
  for (page in pages()) {
    html <- xml2::read_html(page, encoding = "UTF-8")
    remote <- length(xml2::xml_find_all(html, network_parts))
    if (remote) cat("site: ", page, " loads ", remote, " scripts or styles from a network\n", sep = "")
    total <- total + remote
    stray <- xml2::xml_text(xml2::xml_find_all(html, "//body/text() | //body/p"))
    text <- xml2::xml_text(xml2::xml_find_all(html, "//main//text()[not(ancestor::pre or ancestor::code)]"))
    if (any(grepl("[^[:space:]]", stray)) || any(grepl("\\(", text, fixed = TRUE))) {
      total <- total + 1
      cat("site: ", page, " has stray text or TeX\n", sep = "")
    }
    links <- unique(xml2::xml_text(xml2::xml_find_all(html, "//a/@href | //link/@href | //img/@src | //script/@src")))
    for (link in links[!outside(links) & nzchar(links) & links != "#"]) {
      path <- utils::URLdecode(sub("[?#].*", "", link))
      target <- if (nzchar(path)) file.path(dirname(page), path) else page
      if (dir.exists(target)) target <- file.path(target, "index.html")
      place <- if (grepl("#", link, fixed = TRUE)) sub(".*#", "", link) else ""
      broken <- !file.exists(target) ||
        nzchar(place) && grepl("\\.html$", target) && !utils::URLdecode(place) %in% ids_of(normalizePath(target))
      if (broken) {
        total <- total + 1
        cat("site: ", page, " has a link to ", link, ", which is not there\n", sep = "")
      }
    }
  }
  cat("site: ", length(pages()), " pages, ", total, " broken\n", sep = "")
  quit(status = as.integer(total > 0))
}

switch(commandArgs(TRUE)[[1]], build = build(), check = check())
