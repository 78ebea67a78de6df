# The hand-written scalar loop with which kernops is compared, and functions that measure times.

# Compiles the loop in tempdir(), with R's compiler.
scalar_compile <- function(source) {
  file.copy(source, tempdir(), overwrite = TRUE)
  old <- setwd(tempdir())
  on.exit(setwd(old))
  unlink("scalar.o")
  # -O2 for every configuration of R, without -march and -ffast-math, as in a plain build
  makevars <- tempfile()
  writeLines("CXXFLAGS = -O2", makevars)
  log <- system2(
    file.path(R.home("bin"), "R"), c("CMD", "SHLIB", "scalar.cpp"),
    env = paste0("R_MAKEVARS_USER=", makevars), stdout = TRUE, stderr = TRUE
  )
  if (!is.null(attr(log, "status"))) {
    stop("bench/scalar.cpp does not compile:\n", paste(log, collapse = "\n"))
  }
  dyn.load(paste0("scalar", .Platform$dynlib.ext))
}

# `what`: "scalar_gauss" or "scalar_gauss_float" (a sum for each row of x), or "scalar_gauss_grad" (a gradient)
scalar_run <- function(what, x, y, b, s) {
  out <- matrix(0, nrow(x), if (what == "scalar_gauss_grad") 3 else 1)
  .C(what, x, y, b, s, nrow(x), nrow(y), out = out)$out
}

# median time of some runs, after a first run that is not timed
seconds <- function(expr, runs = 5) {
  expr <- substitute(expr)
  frame <- parent.frame()
  once <- function() system.time(eval(expr, frame), gcFirst = FALSE)[["elapsed"]]
  if (runs > 1) once()
  median(replicate(runs, once()))
}
