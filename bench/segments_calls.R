# R_LIBS=.lib Rscript bench/segments_calls.R [values]
#
# One call of seg_reduce() without a plan, by factors, integers and strings of 100, 1e5 and 1e6 groups, compared with
# collapse, which also computes the groups in its call. The functions of both packages run on one core, and are called
# in turn. Each time is the minimum of processor times, which other processes affect least. The results are recorded in
# HISTORY.md.

library(kernops)

args <- commandArgs(TRUE)
n <- if (length(args)) as.numeric(args[1]) else 1e7
options(kernops.threads = 1, width = 150)
if (!requireNamespace("collapse", quietly = TRUE)) stop("This table needs the package 'collapse'.")
collapse::set_collapse(nthreads = 1)

set.seed(6)
x <- rnorm(n)
w <- runif(n)
processor_ms <- function(call) {
  gc(FALSE)
  time <- system.time(call(), gcFirst = FALSE)
  1e3 * (time[["user.self"]] + time[["sys.self"]])
}
ratio <- function(ours, peer, turns = 5) {
  times <- replicate(turns, c(processor_ms(ours), processor_ms(peer)))
  least <- apply(times, 1, min)
  data.frame(kernops = least[[1]], collapse = least[[2]], ratio = least[[1]] / least[[2]])
}
keys_of <- function(kind, code, groups) {
  switch(kind, factor = factor(code, seq_len(groups)), integer = code, string = sprintf("id%07d", code))
}
# Checks that results are equal, matched by name: collapse sorts strings by bytes, and has NA for levels without values.
agree <- function(ours, peer) stopifnot(all.equal(ours[names(peer)], replace(peer, is.na(peer), 0)))

cat(R.version.string, ", kernops ", format(packageVersion("kernops")), ", collapse ",
    format(packageVersion("collapse")), ", one core\n\n", sep = "")
cat(sprintf("One call with %g doubles by group, milliseconds (goal: ratio 1.0, stretch 0.7)\n", n))
for (kind in c("factor", "integer", "string")) for (groups in c(1e2, 1e5, 1e6)) {
  g <- keys_of(kind, sample.int(groups, n, TRUE), groups)
  agree(seg_reduce(x, g = g), collapse::fsum(x, g))
  rows <- list(
    sum = ratio(\() seg_reduce(x, g = g), \() collapse::fsum(x, g)),
    mean = ratio(\() seg_reduce(x, g = g, op = "mean"), \() collapse::fmean(x, g)),
    sd = ratio(\() seg_reduce(x, g = g, op = "sd"), \() collapse::fsd(x, g)),
    "weighted mean" = ratio(\() seg_reduce(x, g = g, op = "mean", weights = w), \() collapse::fmean(x, g, w)),
    first = ratio(\() seg_reduce(x, g = g, op = "first"), \() collapse::ffirst(x, g)),
    median = ratio(\() seg_reduce(x, g = g, op = "median"), \() collapse::fmedian(x, g))
  )
  table <- cbind(keys = kind, groups = format(groups, scientific = FALSE), op = names(rows), do.call(rbind, rows))
  print(table, digits = 3, row.names = FALSE)
}
