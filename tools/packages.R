# Rscript tools/packages.R [docs | dev | coverage]
#   prints the packages of DESCRIPTION that are missing or too old, each after "needed" or "suggested"; with one of
#   the words, also the packages of Config/Needs/<word>
# Rscript tools/packages.R install name ...
#   installs the named packages from CRAN into the user's library

lacking <- function(field, kind) {
  entries <- read.dcf("DESCRIPTION", field)
  if (is.na(entries)) return(invisible())
  for (entry in trimws(strsplit(entries, ",")[[1]])) {
    name <- sub("[ (].*", "", entry)
    version <- if (grepl(">=", entry)) gsub(".*>= *|\\).*", "", entry) else "0"
    if (!has(name, version)) cat(kind, name, "\n")
  }
}

has <- function(name, version) {
  if (name == "R") {
    if (getRversion() >= version) return(TRUE)
    stop("kernops needs R >= ", version, "; this is R ", getRversion(), call. = FALSE)
  }
  nzchar(system.file(package = name)) && packageVersion(name) >= version
}

install <- function(names) {
  library <- strsplit(Sys.getenv("R_LIBS_USER"), .Platform$path.sep)[[1]][1]
  if (is.na(library)) library <- .libPaths()[1]
  dir.create(library, recursive = TRUE, showWarnings = FALSE)
  repos <- getOption("repos")
  repos[repos == "@CRAN@"] <- "https://cloud.r-project.org"
  install.packages(names, library, repos = repos, quiet = TRUE)
}

args <- commandArgs(TRUE)
if (identical(args[1], "install")) {
  install(args[-1])
} else {
  for (field in c("Depends", "Imports", "LinkingTo")) lacking(field, "needed")
  lacking("Suggests", "suggested")
  if (length(args) && nzchar(args[1])) lacking(paste0("Config/Needs/", args[1]), "suggested")
}
