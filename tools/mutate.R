# Called by tools/mutate. A row is an operation of ops.def or a reduction of reductions.def. A mutant of a row flips the
# sign of one gradient. The script runs the tests of a row with each mutant of the row, in a process that is forked
# before the tables of operations are created; KERNOPS_MUTANT has the name of the mutant.
suppressPackageStartupMessages({library(testthat); library(kernops)})

# Replaces test_that() of testthat. If the calling function has an argument `env`, its default, parent.frame(), is
# evaluated here: inside the test, parent.frame() would be another environment.
test_that <- function(desc, code) {
  if (!grepl(getOption("mutate.tests"), desc)) return()
  caller <- parent.frame()
  if (exists("env", caller, inherits = FALSE)) force(caller$env)
  eval(as.call(list(testthat::test_that, desc, substitute(code))), caller)
}

# Returns whether these files contain matching tests and all of them pass.
passes <- function(mutant, files, tests = "") {
  Sys.setenv(KERNOPS_MUTANT = mutant)
  options(mutate.tests = tests)
  folder <- tempfile() # snapshots are files in the folder of the tests, so each process has a copy of this folder
  dir.create(folder)
  file.copy("tests/testthat", folder, recursive = TRUE)
  results <- as.data.frame(test_dir(file.path(folder, "testthat"), filter = sprintf("^(%s)$", files),
                                    package = "kernops", load_package = "installed", reporter = "silent",
                                    stop_on_failure = FALSE))
  unlink(folder, recursive = TRUE)
  sum(results$nb) > 0 && !any(results$failed, results$error)
}

# Runs f on all cores. If a process dies, the result of its test is missing.
side_by_side <- function(f, ...) {
  passed <- parallel::mcmapply(f, ..., mc.cores = parallel::detectCores(), mc.preschedule = FALSE, SIMPLIFY = FALSE)
  died <- !vapply(passed, is.logical, NA)
  if (any(died)) stop("R died in the tests of ", toString(names(passed)[died]))
  vapply(passed, isTRUE, NA)
}

row_of <- \(mutant) sub(" .*", "", mutant)
passes_row <- function(row, mutant) {
  if (!endsWith(row, "_Reduction")) return(passes(mutant, "ops", sprintf("^%s has (the gradient|second)", row)))
  passes(mutant, "keops_grad", sprintf("finite differences: %s\\(", row))
}
passes_all <- \(mutant) passes(mutant, "ops|reductions|keops_grad|built")

show_all <- 'invisible(kernops::keops_ops()); k <- kernops::keops_kernel("Sum_Reduction(x, 1)", "x = Vi(1)")'
mutants <- system2("Rscript", c("-e", shQuote(show_all)), stdout = TRUE, env = "KERNOPS_MUTANT=list")
mutants <- mutants[grepl(paste(commandArgs(TRUE), collapse = "|"), mutants)]
if (!length(mutants)) stop("there is no such row")

# A test that fails without a mutant cannot detect a mutant.
rows <- unique(row_of(mutants))
sound <- rows[side_by_side(passes_row, rows, "none")]
suspects <- mutants[!row_of(mutants) %in% sound | side_by_side(passes_row, row_of(mutants), mutants)]
survivors <- NULL
if (length(suspects)) {
  writeLines(sprintf("mutate: the tests of its row do not tell, so all have to: %s", suspects))
  passed <- side_by_side(passes_all, c("none", suspects))
  if (!passed[[1]]) stop("the tests fail without a mutant")
  survivors <- suspects[passed[-1]]
  writeLines(sprintf("mutate: survived: %s", survivors))
}
total <- length(mutants)
cat(sprintf("%d mutants, %d killed, %d survived\n", total, total - length(survivors), length(survivors)))
quit(status = as.integer(length(survivors) > 0))
