# Sets another cache folder, catalogue or version for the rest of a test.
use_paths <- function(cache, catalogue = "", version = "test") {
  cuda_set_paths(system.file("include", package = "kernops"), catalogue, cache, version)
}
local_paths <- function(cache = withr::local_tempdir(.local_envir = env), ..., env = parent.frame()) {
  kept <- the$cache
  the$cache <- cache
  use_paths(cache, ...)
  withr::defer({
    the$cache <- kept
    .onLoad(dirname(system.file(package = "kernops")), "kernops")
  }, env)
  cache
}
