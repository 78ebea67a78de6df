# Rscript tools/site.R: runs pkgdown with _pkgdown.yml. Formulas and tables of contents are written into the pages, and
# no page loads a script or a style from a network.

source(file.path("tools", "site_pages.R"))
source(file.path("tools", "site_links.R"))

build <- function() {
  options(pkgdown.internet = FALSE)
  # without this replacement, pkgdown queries CRAN for packages that are named but not installed
  utils::assignInNamespace("CRAN_urls", \() data.frame(Package = character(), URL = character()), "downlit")
  pkgdown::check_pkgdown()
  sources <- build_sources(repository())
  site <- pkgdown::as_pkgdown(".", link_settings(repository(), basename(sources)))
  if (nzchar(repository())) site$desc$set("BugReports", paste0(repository(), "/issues"))
  pkgdown::init_site(site) # refuses a folder with other files
  stopifnot(file.copy(sources, folder, overwrite = TRUE))
  pkgdown::build_home(site, preview = FALSE)
  pkgdown::build_reference(site, preview = FALSE, lazy = TRUE, devel = FALSE, document = FALSE)
  pkgdown::build_articles(site, preview = FALSE, lazy = TRUE)
  pkgdown::build_news(site, preview = FALSE)
  lapply(pages(), finish)
}

finish <- function(page) {
  text <- paste(readLines(page, encoding = "UTF-8"), collapse = "\n")
  if (grepl("<!-- finished -->", text, fixed = TRUE)) return()
  text <- with_formulas(text)
  html <- xml2::read_html(text, encoding = "UTF-8")
  link_sources(html, dirname(page), repository())
  fill_contents(html)
  drop_network(html)
  if (basename(dirname(page)) == folder && basename(page) == "index.html") table_to_cards(html)
  fit_phones(html)
  writeLines(c(as.character(html), "<!-- finished -->"), page, useBytes = TRUE)
}

# Converts TeX to MathML, which browsers display without a script. Code is not changed, because \(x) is a function
# there; the head of a page is not changed either.
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

# Removes the scripts and styles that pkgdown loads from a network, so that a page is complete without a network. The
# local script pkgdown.js calls functions of the removed scripts, so stubs of these functions are added. The search
# field is also removed, because the search needs a server.
drop_network <- function(html) {
  xml2::xml_remove(xml2::xml_find_all(html, "//form[@role = 'search'] | //img[@src = '']"))
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

# Shows each column of the first table of the home page as a card.
table_to_cards <- function(html) {
  table <- xml2::xml_find_first(html, "//main//table")
  rows <- xml2::xml_find_all(table, ".//tr")
  cards <- xml2::xml_add_sibling(table, "div", class = "row", .where = "before")
  for (k in seq_len(xml2::xml_length(rows[[1]]))) {
    cells <- xml2::xml_find_first(rows, sprintf("./*[%d]", k))
    card <- xml2::xml_add_child(xml2::xml_add_child(cards, "div", class = "col-md-4 mb-3"), "div", class = "card h-100")
    body <- xml2::xml_add_child(card, "div", class = "card-body")
    for (cell in cells) {
      part <- xml2::xml_add_child(body, cell)
      xml2::xml_set_name(part, "div")
      xml2::xml_set_attr(part, "class", if (xml2::xml_name(cell) == "th") "card-title fw-bold" else "card-text mb-2")
    }
  }
  xml2::xml_remove(table)
}

# Tables and equations that are wider than a phone scroll horizontally; the margins of the table of contents do not make
# the page wider.
fit_phones <- function(html) {
  tables <- xml2::xml_find_all(html, "//main//table")
  xml2::xml_set_attr(tables, "class", paste(xml2::xml_attr(tables, "class", default = ""), "d-block overflow-auto"))
  style <- paste("@media (max-width: 767.98px) { aside { width: auto; margin: 0.5rem 0; } }",
                 "math[display=block] { overflow-x: auto; overflow-y: hidden; }")
  xml2::xml_add_child(xml2::xml_find_first(html, "//head"), "style", style)
}

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
  if (xml2::xml_length(list) == 0) xml2::xml_remove(place)
}

build()
