# `Rscript tools/hardships.R PART ...` runs one part of tools/hardships. Status 0 is a pass, 1 a failure, 77 a skip.

suppressMessages(library(kernops))
arguments <- commandArgs(TRUE)
cuda_binary <- utils::getFromNamespace("cuda_binary", "kernops")
set.seed(1)
x <- matrix(stats::runif(400), 200)
b <- stats::rnorm(200)
d <- data.frame(u = x[, 1], v = x[, 2], z = sin(4 * x[, 1]) + stats::rnorm(200, sd = 0.1),
                k = stats::rpois(200, exp(1 + x[, 1])))
g <- rep(1:8, 25)
op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", c("x = Vi(2)", "y = Vj(2)", "b = Vj(1)"))
squares <- as.matrix(stats::dist(x))^2
failures <- 0
check <- function(right, ...) if (!isTRUE(right)) {
  cat("hardships: ", ..., "\n", sep = "")
  failures <<- failures + 1
}
skip <- function(why) {
  cat("hardships:", why, "\n")
  quit(status = 77)
}
is_close <- \(a, b, tolerance = 1e-8) isTRUE(all.equal(as.vector(a), as.vector(b), tolerance = tolerance))
fixed <- \(method = "exact", ...) gp(z ~ 1, d, ~ u + v, matern(3/2, 1, 1) + nugget(0.1), method, "none", ...)
kriged <- local({
  r <- sqrt(3 * squares)
  solved <- solve((1 + r) * exp(-r) + 0.1 * diag(200), cbind(1, d$z))
  mean <- sum(solved[, 2]) / sum(solved[, 1])
  mean + ((1 + r) * exp(-r))[1:5, ] %*% (solved[, 2] - mean * solved[, 1])
})

# Compares results of all kinds with plain R.
all_right <- function(about) {
  check(is_close(op(list(x, x, b)), exp(-squares) %*% b), about, ": a kernel is wrong")
  check(is_close(rowSums(exp(-sqdist(Vi(x), Vj(x)))), rowSums(exp(-squares))), about, ": a symbolic matrix is wrong")
  check(is_close(seg_reduce(d$z, g = g, op = "max"), tapply(d$z, g, max)), about, ": a segment reduction is wrong")
  check(is_close(stats::predict(fixed(), d[1:5, ]), kriged), about, ": kriging is wrong")
}

# Ctrl-C at random moments of long calls. The shell records the time when it sends the signal; R must respond soon, and
# later results must be right.
signals <- function(count, most = 0.4) {
  large <- matrix(stats::runif(2e4), 1e4)
  many <- data.frame(u = stats::runif(3000), v = stats::runif(3000), z = stats::rnorm(3000))
  long_calls <- list(
    kernel = \() op(list(large, large, large[, 1])), segments = \() seg_reduce(large[, 1], g = rep(1:10, 1000)),
    search = \() suppressWarnings(gp(z ~ 1, d, ~ u + v)), counts = \() suppressWarnings(gp(k ~ 1, d, ~ u + v,
                                                                                         family = poisson())),
    vecchia = \() suppressWarnings(gp(z ~ 1, many, ~ u + v, matern(3/2), "vecchia")),
    folds = \() suppressWarnings(gp_cv(fixed(), 10)), draws = \() stats::simulate(fixed(), 20, newdata = many[1:500, ])
  )
  signal <- paste("(while [ ! -e %1$s ]; do sleep 0.002; done; sleep %2$.3f; date +%%s.%%N > %3$s; kill -INT %4$d)",
                  "> /dev/null 2>&1 &")
  delays <- vapply(seq_len(count), function(k) {
    name <- sample(names(long_calls), 1)
    files <- tempfile(c("go", "sent"))
    delay <- tryCatch({
      system(sprintf(signal, files[1], stats::runif(1, 0, 0.5), files[2], Sys.getpid()))
      file.create(files[1])
      repeat long_calls[[name]]()
    }, interrupt = \(e) as.numeric(Sys.time()) - as.numeric(readLines(files[2])), error = function(e) {
      check(FALSE, name, " ended with an error: ", conditionMessage(e))
      0
    })
    unlink(files)
    if (k %% 10 == 0) all_right(paste("after an interrupt of", name))
    delay
  }, 0)
  cat("hardships:", count, "signals, back within", format(max(delays), digits = 2), "s, half of them within",
      format(stats::median(delays), digits = 2), "s\n")
  # other processes on the machine increase some of the delays
  check(stats::quantile(delays, 0.95) <= most && max(delays) <= 5 * most, "R came back late")
}

# Limits files to 4 kB.
disk <- function() {
  fit <- fixed()
  file <- tempfile()
  check(inherits(try(suppressWarnings(saveRDS(fit, file, compress = FALSE)), silent = TRUE), "try-error"),
        "saveRDS() did not notice that the disk is full")
  check(inherits(try(suppressWarnings(readRDS(file)), silent = TRUE), "try-error"), "a part of a file is read as a fit")
  all_right("after a full disk")
  text <- paste0("extern \"C\" __global__ void nothing() {}\n", strrep("// a comment that fills the disk\n", 1000))
  code <- tryCatch(cuda_binary(text, "sm_80"), kernops_cuda_error = \(e) NULL, kernops_error = function(e) e)
  if (is.null(code)) return(cat("hardships: the kernel cache is left out without NVRTC\n"))
  check(is.raw(code) || inherits(code, "kernops_error"), "a kernel that cannot be kept is neither given nor an error")
  whole <- suppressWarnings(tryCatch(cuda_binary(text, "sm_80"), error = identity))
  check(identical(whole, code) || inherits(whole, "kernops_error"), "a part of a kernel was read")
}

# Fits tables and predicts them on a full disk, in a folder on a file system of some kB, or with files that cannot grow
# beyond a limit.
tables <- function(folder) {
  utils::assignInNamespace("cell_rows", 500, "kernops")
  utils::assignInNamespace("cell_heads", 50, "kernops")
  many <- data.frame(u = stats::runif(3000), v = stats::runif(3000), z = stats::rnorm(3000))
  fit_in <- function(folder) {
    gp(z ~ 1, gp_table(many), ~ u + v, matern(3/2, 1, 1) + nugget(0.1), estimate = "none", workdir = folder)
  }
  full <- function(code, about) {
    caught <- tryCatch(code, error = identity)
    check(inherits(caught, "kernops_disk_error"), about, " on a full disk gave ", class(caught)[[1]])
    check(!length(list.files(folder)), about, " left files behind: ", toString(list.files(folder)))
  }
  full(fit_in(folder), "a fit of a table")
  small <- gp(z ~ 1, gp_table(many[1:60, ]), ~ u + v, matern(3/2, 1, 1) + nugget(0.1), estimate = "none",
              workdir = folder)
  kept <- list.files(folder, full.names = TRUE)
  caught <- tryCatch(stats::predict(small, gp_table(many[rep(1:3000, 20), ]), se.fit = TRUE, interval = "confidence"),
                     error = identity)
  check(inherits(caught, "kernops_disk_error"), "predictions on a full disk gave ", class(caught)[[1]])
  check(identical(list.files(folder, full.names = TRUE), kept), "predictions on a full disk left files behind")
  all_right("after a full disk")
}

# Kills a worker of future::plan() while it computes.
workers <- function() {
  if (!requireNamespace("future.apply", quietly = TRUE)) skip("the workers need package future.apply")
  Sys.setenv(R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep))
  sequential <- gp_cv(fixed(), 4)
  for (round in 1:3) {
    future::plan("multisession", workers = 2)
    pids <- unlist(future.apply::future_lapply(1:2, \(k) Sys.getpid()))
    system(sprintf("(sleep %.2f; kill -9 %d) &", stats::runif(1, 0, 0.3), pids[[1 + round %% 2]]))
    died <- tryCatch(repeat suppressWarnings(gp_cv(fixed(), 4)), error = identity)
    check(inherits(died, "kernops_worker_error"), "a dead worker gave ", class(died)[[1]], ": ", conditionMessage(died))
    future::plan("sequential")
    check(is_close(gp_cv(fixed(), 4)$fit, sequential$fit), "cross-validation is wrong after a worker died")
  }
  all_right("after dead workers")
}

# Children of parallel::mclapply() inherit the threads, caches and generators of their parent.
forks <- function() {
  if (.Platform$OS.type == "windows") skip("forked processes need Unix")
  tasks <- list(\() op(list(x, x, b)), \() seg_reduce(d$z, g = g, op = "sum"), \() stats::predict(fixed(), d[1:5, ]),
                \() stats::coef(suppressWarnings(gp(k ~ 1, d, ~ u + v, family = poisson()))),
                \() stats::predict(fixed("vecchia"), d[1:5, ]), \() rowSums(exp(-sqdist(Vi(x), Vj(x)))))
  here <- lapply(tasks, \(task) task())
  for (round in 1:3) {
    there <- parallel::mclapply(tasks, \(task) task(), mc.cores = 3)
    for (k in seq_along(tasks)) check(is_close(there[[k]], here[[k]]), "task ", k, " is wrong in a forked process")
    all_right("after forks")
  }
}

# Runs with the letters, decimal points and sort orders of another language; the caller sets LC_ALL.
locale <- function(name) {
  if (!l10n_info()$`UTF-8` && grepl("utf", name, ignore.case = TRUE)) skip(paste("the locale", name, "is not there"))
  all_right(name)
  named <- transform(d, I = u, i = v, site = rep(c("Ic", "ic", "Z\u00fcrich", "\u0130zmir"), 50))
  fit <- gp(z ~ site, named, ~ I + i, matern(3/2, 1, 1) + nugget(0.1), estimate = "none")
  peer <- gp(z ~ factor(match(site, unique(site))), named, ~ I + i, matern(3/2, 1, 1) + nugget(0.1),
             estimate = "none")
  check(is_close(stats::predict(fit, named[1:5, ]), stats::predict(peer, named[1:5, ])),
        name, ": levels with letters of other languages are wrong")
  check(inherits(try(keops_kernel("Sum_Reduction(Foo\u00fc(x), 1)", "x = Vi(1)"), silent = TRUE), "try-error"),
        name, ": a formula with a letter of another language is no error")
  invisible(utils::capture.output(print(fit), print(summary(fit))))
}

do.call(arguments[[1]], as.list(utils::type.convert(arguments[-1], as.is = TRUE)))
quit(status = as.integer(failures > 0))
