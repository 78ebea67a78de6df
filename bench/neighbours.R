# R_LIBS=.lib Rscript bench/neighbours.R [points]
#
# Max-min ordering and ordered nearest neighbours: times for increasing numbers of points, of neighbours and of
# coordinates, compared with a search through all pairs by the engine and, if installed, FNN and GpGp. FNN searches
# among all points, with one thread; GpGp's ordering is approximate.

library(kernops)
largest <- as.numeric(c(commandArgs(TRUE), 1e6)[[1]])
order_of <- kernops:::vecchia_order
neighbours_of <- kernops:::ordered_neighbours
cores <- kernops:::threads()

seconds <- function(code, runs = 3) {
  code <- substitute(code)
  frame <- parent.frame()
  min(vapply(seq_len(runs), \(run) system.time(eval(code, frame))[["elapsed"]], 0))
}
table <- function(...) print(data.frame(..., check.names = FALSE), digits = 3, row.names = FALSE)
title <- function(...) cat("\n", sprintf(...), "\n", sep = "")
cloud <- function(n, d) withr::with_seed(1, matrix(runif(n * d), n))

measure <- function(n, d, m) {
  u <- cloud(n, d)
  runs <- if (n > 2e5) 1 else 3
  ordering <- seconds(order <- order_of(u), runs)
  u <- u[order, , drop = FALSE]
  one <- seconds(neighbours_of(u, m, 1L), runs)
  all <- seconds(neighbours_of(u, m, cores), runs)
  data.frame(n, d, m, ordering, "one core" = one, "all cores" = all, "microseconds/point" = 1e6 * (ordering + all) / n,
             check.names = FALSE)
}

title("Uniform points, %d cores, seconds", cores)
cases <- expand.grid(n = unique(c(1e4, 1e5, largest)), d = 2, m = c(10, 30, 60))
cases <- rbind(cases, expand.grid(n = 1e5, d = c(1, 3, 5, 8), m = 30))
table(do.call(rbind, Map(measure, cases$n, cases$d, cases$m)))

title("30 neighbours in the plane, one core: seconds of others, and how many times ours")
u <- cloud(1e5, 2)
order <- order_of(u)
u <- u[order, ]
ours <- seconds(neighbours_of(u, 30, 1L))
pairs <- keops_kernel("ArgKMin_Reduction(SqDist(x, y) + 1e9 * (IndexJ() >= IndexI()), 30, 1)",
                      c("x = Vi(2)", "y = Vj(2)"), backend = "cpu")
some <- u[1:2e4, ]
small <- seconds(neighbours_of(some, 30, 1L))
all_pairs <- with_kernops(seconds(pairs(list(some, some)), 1), threads = 1)
rows <- NULL
add <- function(what, theirs, ours) {
  rows <<- rbind(rows, data.frame(what, seconds = theirs, "/ ours" = theirs / ours, check.names = FALSE))
}
add("all pairs, n = 20000", all_pairs, small)
if (requireNamespace("FNN", quietly = TRUE)) add("FNN, n = 100000", seconds(FNN::get.knn(u, 30), 1), ours)
if (requireNamespace("GpGp", quietly = TRUE)) {
  add("GpGp, n = 100000", seconds(GpGp::find_ordered_nn(u, 30), 1), ours)
  add("GpGp, ordering", seconds(GpGp::order_maxmin(u), 1), seconds(order_of(u)))
}
table(rows)
