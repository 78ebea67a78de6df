# The R part of tools/vignettes.
# missing: prints the reason if vignettes cannot be built on this machine, otherwise nothing
# build name work doc: knits vignettes/name.Rmd in the folder `work`; writes the page, the R code and the text to `doc`
# installed: prints how many vignettes R finds

args <- commandArgs(TRUE)

missing <- function() {
  lacking <- Filter(\(name) !nzchar(system.file(package = name)), c("knitr", "rmarkdown"))
  if (length(lacking)) {
    return(cat("the R package", lacking[[1]], "is missing (Debian: r-cran-rmarkdown)"))
  }
  if (!rmarkdown::pandoc_available("1.14")) cat("pandoc is missing (Debian: pandoc)")
}

# Builds in a new folder, because buildVignette() treats other files in the folder as parts of the vignette.
build <- function(name, work, doc) {
  work <- file.path(normalizePath(work), name)
  doc <- normalizePath(doc)
  unlink(work, recursive = TRUE)
  dir.create(work)
  file.copy(c(Sys.glob("vignettes/*.png"), file.path("vignettes", paste0(name, ".Rmd"))), work)
  setwd(work)
  loadNamespace("knitr") # registers the vignette engine
  tools::buildVignette(paste0(name, ".Rmd"), engine = "knitr::rmarkdown")
  made <- paste0(name, c(".Rmd", ".R", ".html"))
  stopifnot(file.exists(made[-2]), file.copy(made[file.exists(made)], doc, overwrite = TRUE))
  unlink(work, recursive = TRUE)
}

installed <- function() {
  found <- utils::vignette(package = "kernops")$results[, "Item"]
  stopifnot(setequal(found, sub("\\.Rmd$", "", basename(Sys.glob("vignettes/*.Rmd")))))
  cat("vignettes: ", length(found), " installed; R_LIBS=.lib R, then browseVignettes(\"kernops\")\n", sep = "")
}

switch(args[[1]], missing = missing(), build = do.call(build, as.list(args[-1])), installed = installed())
