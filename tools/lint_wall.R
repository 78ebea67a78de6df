# tools/lint: the boundary between the engine and the Gaussian-process layer, which R/engine.R describes. Prints one
# line for each finding: an engine function that uses the layer, a function of the layer that uses an engine function
# missing from R/engine.R, a listed function that nothing uses, and a name that two files define.

say <- function(where, text) if (length(where)) cat(paste0(where, ": ", text, "\n"), sep = "")

layer <- "^(gp|data|cov|lik|search|predict|predictive|draws|vario|source|table)[_.]"
most_names <- 39 # the maximum number of engine functions that the layer may use; see R/engine.R

# The functions and constants defined by the files of R/: name, file, layer, and the global names that each uses.
definitions <- function(files = setdiff(list.files("R", "[.]R$", full.names = TRUE), "R/engine.R")) {
  of_file <- function(file) {
    parts <- Filter(\(e) is.call(e) && identical(e[[1]], quote(`<-`)) && is.name(e[[2]]), as.list(parse(file)))
    globals <- lapply(parts, \(e) codetools::findGlobals(eval(call("function", NULL, e[[3]]), baseenv())))
    data.frame(name = vapply(parts, \(e) as.character(e[[2]]), ""), file = rep(file, length(parts)), uses = I(globals))
  }
  all <- do.call(rbind, lapply(files, of_file))
  all$upper <- grepl(layer, basename(all$file))
  all
}

uses <- function(defined, k, among) intersect(defined$uses[[k]], among$name)

# Reads the lines of R/engine.R that have the form `name  promise`. The names above the heading "Functions that serve
# both sides" are functions of the engine.
promises <- function(file = file.path("R", "engine.R")) {
  lines <- readLines(file)
  rows <- regmatches(lines, regexec("^#   ([a-z_.A-Z0-9]+)  +(.*)$", lines))
  kept <- lengths(rows) > 0
  data.frame(name = vapply(rows[kept], `[[`, "", 2),
             engine = which(kept) < grep("^# Functions that serve both sides", lines))
}

wall <- function(defined = definitions(), listed = promises()) {
  upper <- defined[defined$upper, ]
  engine <- defined[!defined$upper, ]
  for (k in seq_len(nrow(engine))) {
    wrong <- setdiff(uses(engine, k, upper), engine$name)
    text <- sprintf("%s uses %s of the layer above", engine$name[[k]], toString(wrong))
    if (length(wrong)) say(engine$file[[k]], text)
  }
  used <- lapply(seq_len(nrow(upper)), \(k) setdiff(uses(upper, k, engine), upper$name))
  for (k in seq_len(nrow(upper))) {
    wrong <- setdiff(used[[k]], c(listed$name, local_names))
    if (length(wrong)) say(upper$file[[k]], sprintf("%s uses %s: not in R/engine.R", upper$name[[k]], toString(wrong)))
  }
  say(rep("R/engine.R", sum(!listed$name %in% unlist(used))),
      sprintf("%s: nothing above the wall uses it", setdiff(listed$name, unlist(used))))
  if (sum(listed$engine) > most_names) say("R/engine.R", sprintf("more than %d names of the engine", most_names))
}

# R keeps the last definition of a name.
twice <- function(defined = definitions()) {
  again <- duplicated(defined$name)
  say(defined$file[again], sprintf("%s is defined in another file, too", defined$name[again]))
}

# Columns or local variables that codetools mistakes for global names.
local_names <- c("leaf", "points", "variable", "the")

twice()
wall()
