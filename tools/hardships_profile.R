# A profile that hides suggested packages, wherever they are installed. testthat and its dependencies stay visible.
local({
  hidden <- c("bit64", "collapse", "dplyr", "emmeans", "fields", "FNN", "future", "future.apply", "ggplot2",
              "gstat", "lme4", "MASS", "Matrix", "mgcv", "RSpectra", "sf", "sp", "spacetime", "stars", "terra",
              "tibble", "tidyr", "units")
  load <- base::loadNamespace
  without <- function(package, ...) {
    name <- if (is.list(package)) package[[1]] else package
    if (as.character(name) %in% hidden) stop(packageNotFoundError(name, .libPaths(), sys.call()))
    load(package, ...)
  }
  unlockBinding("loadNamespace", baseenv())
  assign("loadNamespace", without, envir = baseenv())
  lockBinding("loadNamespace", baseenv())
})
