# Interrupts of long computations, on every backend.

# Runs script in another R, and interrupts it as Ctrl-C does once it has said that it is at work.
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
  wait_for(files[2], 60)
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

for (backend in c("cpu", "cuda")) test_that(paste("Ctrl-C ends a huge job within moments, and R lives on:", backend), {
  skip_if_not(backend %in% backends(), cuda_refusal())
  skip_on_os("windows")
  skip_on_cran()
  installed <- nzchar(system.file("DESCRIPTION", package = "kernops", lib.loc = .libPaths()))
  skip_if_not(installed, "kernops is not installed")
  result <- interrupt(bquote({
    y <- matrix(runif(3e7), ncol = 3)
    x <- y[1:1e6, ]
    args <- c("x = Vi(3)", "y = Vj(3)")
    op <- kernops::keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", args, backend = .(backend))
    few <- op(list(x[1:2e4, ], y[1:100, ])) # compiles what it takes
    say_pid()
    start <- proc.time()[["elapsed"]]
    ended <- tryCatch({op(list(x, y)); "finished"}, interrupt = \(e) "interrupted")
    list(ended = ended, seconds = proc.time()[["elapsed"]] - start, few = few,
         afterwards = op(list(x[1:2e4, ], y[1:100, ])))
  }))
  expect_identical(result$ended, "interrupted")
  expect_lt(result$seconds, 1 + 1.5)
  expect_identical(result$afterwards, result$few)
})
