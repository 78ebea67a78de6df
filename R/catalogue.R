# The kernels that are compiled when the package is installed. src/Makevars sources only this file, because the package
# is not yet installed when make runs.

# Reads the formulas of inst/cuda/catalogue.txt into a data frame with the columns `formula`, `args` (a list) and
# `stored`. A line with the name of a set, such as {NAME}, gives a formula for each element of the set.
catalogue <- function(file) {
  lines <- trimws(sub("#.*", "", readLines(file)))
  lines <- lines[nzchar(lines)]
  set_line <- "^[{]([A-Z]+)[}] *= *(.*)$"
  is_set <- grepl(set_line, lines)
  sets <- split(sub(set_line, "\\2", lines[is_set]), sub(set_line, "\\1", lines[is_set]))
  variable_line <- "^([a-z]+) *= *(Vi|Vj|Pm)[(].*[)]$"
  is_variable <- grepl(variable_line, lines)
  variables <- lines[is_variable]
  names(variables) <- sub(variable_line, "\\1", variables)

  # a formula and its variables are one text until every {NAME} in this text is replaced
  texts <- write_out(lines[!is_set & !is_variable], sets[names(sets) != "D"])
  used <- lapply(sub("^stored ", "", texts), function(text) {
    variables[names(variables) %in% all.names(parse(text = text))]
  })
  texts <- mapply(function(text, args) paste(c(text, args), collapse = ";"), texts, used)
  parts <- strsplit(write_out(unname(texts), sets), ";", fixed = TRUE)
  formulas <- vapply(parts, `[[`, "", 1)
  data.frame(formula = sub("^stored ", "", formulas), args = I(lapply(parts, `[`, -1)),
             stored = grepl("^stored ", formulas))
}

# Repeats each text for all combinations of elements of the sets that the text names.
write_out <- function(texts, sets) {
  for (name in names(sets)) {
    brace <- paste0("{", name, "}")
    one <- function(text) {
      if (!grepl(brace, text, fixed = TRUE)) return(text)
      vapply(sets[[name]], function(value) gsub(brace, value, text, fixed = TRUE), "", USE.NAMES = FALSE)
    }
    texts <- unlist(lapply(texts, one))
  }
  texts
}

# The distinct CUDA sources of the catalogue. Kernels that are used only for a few rows are omitted and compiled on
# first use, which shortens the installation.
catalogue_sources <- function(entries, architecture = "sm_80") {
  sources <- function(formula, args, stored) {
    kernel <- tryCatch(kernel_compile(formula, args, stored), error = function(e) {
      stop("the catalogue's formula ", formula, " is wrong: ", conditionMessage(e), call. = FALSE)
    })
    unlist(lapply(c(FALSE, TRUE), function(single) cuda_sources(kernel, single, FALSE, architecture)))
  }
  unique(unlist(Map(sources, entries$formula, entries$args, entries$stored)))
}

# All sources that are precompiled: the formulas of the catalogue, and the usual reductions of segments.
catalogue_texts <- function(file, architecture = "sm_80") {
  c(catalogue_sources(catalogue(file), architecture), cuda_segment_sources(FALSE))
}

# make in src/ calls precompile(), which fills a file such as ../inst/cuda/sm_90-1of4.kernels with its share of the
# catalogue.
precompile <- function(file, fatbinary) {
  loadNamespace("Rcpp")
  library <- dyn.load(paste0("kernops", .Platform$dynlib.ext))
  frame <- parent.env(environment())
  for (routine in getDLLRegisteredRoutines(library)$.Call) assign(routine$name, routine, frame)
  sys.source("../R/RcppExports.R", frame)
  cuda_set_paths("../inst/include", "../inst/cuda", "", unname(read.dcf("../DESCRIPTION", "Version")[1]))
  name <- regmatches(basename(file), regexec("^(sm_[0-9]+)-([0-9]+)of([0-9]+)[.]kernels$", basename(file)))[[1]]
  texts <- catalogue_texts("../inst/cuda/catalogue.txt", name[[2]])
  # a checksum of the text determines the file of a text, so a text stays in the same file when other texts are added
  turn <- vapply(texts, function(text) sum(utf8ToInt(text)), 0)
  share <- turn %% as.integer(name[[4]]) + 1 == as.integer(name[[3]])
  cuda_precompile(texts[share], name[[2]], file, fatbinary)
}
