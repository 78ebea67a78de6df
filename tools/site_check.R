# Rscript tools/site_check.R: prints one line for each broken link, anchor or picture within the site, for each picture
# without alternative text, and for each page with misplaced text, TeX that is not shown as a formula, or a script or a
# style from a network.

source(file.path("tools", "site_pages.R"))

found <- 0
report <- function(page, ...) {
  found <<- found + 1
  cat("site: ", page, " ", ..., "\n", sep = "")
}

ids <- list()
ids_of <- function(page) {
  if (is.null(ids[[page]])) {
    html <- xml2::read_html(page, encoding = "UTF-8")
    ids[[page]] <<- xml2::xml_text(xml2::xml_find_all(html, "//@id | //a/@name"))
  }
  ids[[page]]
}

is_broken <- function(page, link) {
  path <- utils::URLdecode(sub("[?#].*", "", link))
  target <- if (nzchar(path)) file.path(dirname(page), path) else page
  if (dir.exists(target)) target <- file.path(target, "index.html")
  anchor <- if (grepl("#", link, fixed = TRUE)) utils::URLdecode(sub(".*#", "", link)) else ""
  if (!file.exists(target)) return(TRUE)
  nzchar(anchor) && grepl("\\.html$", target) && !anchor %in% ids_of(normalizePath(target))
}

for (page in pages()) {
  html <- xml2::read_html(page, encoding = "UTF-8")
  for (part in as.character(xml2::xml_find_all(html, network_parts))) report(page, "loads from a network: ", part)
  stray <- xml2::xml_text(xml2::xml_find_all(html, "//body/text() | //body/p"))
  text <- xml2::xml_text(xml2::xml_find_all(html, "//main//text()[not(ancestor::pre or ancestor::code)]"))
  if (any(grepl("[^[:space:]]", stray)) || any(grepl("\\(", text, fixed = TRUE))) report(page, "has stray text or TeX")
  for (picture in xml2::xml_attr(xml2::xml_find_all(html, "//img[not(@alt) or @src = '']"), "src")) {
    report(page, "has a picture without a source or an alternative text: ", picture)
  }
  links <- unique(xml2::xml_text(xml2::xml_find_all(html, "//a/@href | //link/@href | //img/@src | //script/@src")))
  for (link in links[!outside(links) & nzchar(links) & links != "#"]) {
    if (is_broken(page, link)) report(page, "has a link to ", link, ", which does not exist")
  }
}
cat("site: ", length(pages()), " pages, ", found, " findings\n", sep = "")
quit(status = as.integer(found > 0))
