# Runs `script` in another R process. After the script has called say_pid(), the process is interrupted as by Ctrl-C.
interrupt <- function(script, after = 1) {
  files <- file.path(withr::local_tempdir(), c("script", "pid", "result"))
  body <- bquote({
    .libPaths(.(.libPaths()))
    say_pid <- \() writeLines(as.character(Sys.getpid()), .(files[2]))
    result <- .(script)
    saveRDS(result, .(paste0(files[3], ".part")))
    file.rename(.(paste0(files[3], ".part")), .(files[3]))
  })
  writeLines(deparse(body), files[1])
  system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", files[1]), env = "R_TESTS=", wait = FALSE,
          stdout = FALSE, stderr = FALSE)
  wait_for(files[2], 120)
  Sys.sleep(after)
  pid <- as.integer(readLines(files[2]))
  tools::pskill(pid, tools::SIGINT)
  if (!wait_for(files[3], 30)) tools::pskill(pid, tools::SIGKILL)
  readRDS(files[3])
}
wait_for <- function(file, seconds) {
  for (step in seq_len(seconds * 10)) {
    if (file.exists(file) && file.size(file) > 0) break
    Sys.sleep(0.1)
  }
  file.exists(file)
}

# Skips a test that starts another R process if that process would not find kernops in a library.
skip_if_not_in_library <- function() {
  installed <- nzchar(system.file("DESCRIPTION", package = "kernops", lib.loc = .libPaths()))
  testthat::skip_if_not(installed, "kernops is not installed")
}
