# tools/lint: each test that uses a suggested package must be skipped if that package is not installed.

# Two packages are always available: testthat, which runs the tests, and withr, which testthat requires.
suggested_packages <- function() {
  packages <- strsplit(gsub("[(][^)]*[)]", "", read.dcf("DESCRIPTION", "Suggests")), "[[:space:],]+")[[1]]
  setdiff(packages, c("", "testthat", "withr", rownames(installed.packages(priority = "base"))))
}

literals <- function(e) if (is.character(e)) e else if (is.call(e)) unlist(lapply(as.list(e)[-1], literals))

# The packages used in an expression.
used_packages <- function(e) {
  if (calls_one_of(e, c("::", ":::", "library", "loadNamespace"))) return(as.character(e[[2]]))
  if (is.call(e)) unlist(lapply(as.list(e), used_packages))
}

# The packages whose absence skips an expression.
required_packages <- function(e) {
  conditions <- c("skip_if_not_installed", "requireNamespace", "is_installed")
  if (calls_one_of(e, conditions)) return(literals(e[[2]]))
  if (calls_one_of(e, "for") && calls_one_of(e[[4]], conditions)) return(literals(e[[3]]))
  if (is.call(e)) c(literals(e$needs), unlist(lapply(as.list(e), required_packages)))
}

# The functions that a file defines, with the packages they use and require.
functions_of <- function(code) {
  defined <- Filter(function(e) calls_one_of(e, "<-") && calls_one_of(e[[3]], c("function", "\\")), as.list(code))
  stats::setNames(lapply(defined, `[[`, 3), vapply(defined, function(e) deparse1(e[[2]]), ""))
}

# Returns the expression and the functions that it calls, directly or indirectly.
with_callees <- function(e, functions) {
  called <- character()
  repeat {
    more <- setdiff(intersect(unlist(lapply(c(list(e), functions[called]), all.names)), names(functions)), called)
    if (length(more) == 0) return(c(list(e), functions[called]))
    called <- c(called, more)
  }
}

tests_without_skip <- function() {
  suggested <- suggested_packages()
  helpers <- unlist(lapply(find("tests/testthat", "^helper-.*\\.R$"), function(file) functions_of(parse(file))))
  for (file in find("tests/testthat", "^test-.*\\.R$")) {
    code <- parse(file, keep.source = TRUE)
    lines <- vapply(attr(code, "srcref"), `[[`, 1L, 1L)
    own <- functions_of(code)
    functions <- c(own, helpers[setdiff(names(helpers), names(own))])
    skips <- as.list(code)[vapply(as.list(code), calls_one_of, NA, "skip_if_not_installed")]
    for (k in which(!vapply(as.list(code), calls_one_of, NA, "<-"))) {
      all <- with_callees(code[[k]], functions)
      lacking <- setdiff(intersect(unlist(lapply(all, used_packages)), suggested),
                         unlist(lapply(c(skips, all), required_packages)))
      say(sprintf("%s:%d", rep(file, length(lacking)), lines[[k]]),
          sprintf("uses %s without skip_if_not_installed()", lacking))
    }
  }
}
