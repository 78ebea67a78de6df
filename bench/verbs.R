# R_LIBS=.lib Rscript bench/verbs.R [columns] [knn] [methods] [kmeans] [kde] [sums] [tests] [moran] [ripley] [mixture]
#   [independence] [sinkhorn] [ridge] [spectra]
#
# The functions for tasks on points, compared with the packages that users have for these tasks, on one core. The script
# prints the CPU seconds of two functions that run in turn, and the ratio of the times. `columns`: nanoseconds per row
# of reductions of 1e6 rows by 2 to 128 columns. `methods`: both methods of knn(), from which R/verb_knn.R chooses.

library(kernops)
options(kernops.threads = 1, kernops.backend = "cpu")
chosen <- commandArgs(TRUE)
wanted <- \(part) !length(chosen) || part %in% chosen
title <- function(...) cat("\n", sprintf(...), "\n", sep = "")
show <- function(rows) print(do.call(rbind, rows), digits = 3, row.names = FALSE)
cpu <- function(code) sum(system.time(code())[1:2])

# The smallest CPU time of each function; the functions run in turn.
turns <- function(..., runs = 3) {
  codes <- list(...)
  apply(matrix(replicate(runs, vapply(codes, cpu, 0)), length(codes)), 1, min)
}
cloud <- \(n, d) withr::with_seed(1, matrix(rnorm(n * d), n))
row <- \(...) data.frame(..., check.names = FALSE)

if (wanted("columns")) {
  title("1e6 rows and few columns, nanoseconds a row")
  formulas <- c(ArgMin = "ArgMin_Reduction(SqDist(x, y), 1)", Gauss = "Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)",
                gradient = "Grad(Sum_Reduction(Exp(-SqDist(x, y)) * b, 1), x, e)",
                LogSumExp = "LogSumExp_Reduction(-SqDist(x, y), 1)")
  rows <- 1e6
  show(lapply(c(2, 7, 10, 16, 32, 64, 128), \(n) {
    data <- list(x = cloud(rows, 3), y = cloud(n, 3), b = cloud(n, 1), e = cloud(rows, 1))
    declared <- c(x = "x = Vi(3)", y = "y = Vj(3)", b = "b = Vj(1)", e = "e = Vi(1)")
    time <- function(formula) {
      used <- intersect(names(data), all.vars(str2lang(formula)))
      op <- keops_kernel(formula, declared[used])
      1e9 * turns(\() op(data[used])) / rows
    }
    do.call(row, c(list(columns = n), lapply(formulas, time)))
  }))
}

# CPU seconds of code() in another process. After `limit` CPU seconds, the process is stopped and the result is NA.
cpu_within <- function(limit, code) {
  job <- parallel::mcparallel(cpu(code))
  repeat {
    result <- parallel::mccollect(job, wait = FALSE, timeout = 1)
    if (!is.null(result)) return(result[[1]])
    if (sum(ps::ps_cpu_times(ps::ps_handle(job$pid))[1:2]) > limit) {
      tools::pskill(job$pid, tools::SIGKILL)
      return(NA)
    }
  }
}

if (wanted("knn")) {
  title("10 nearest of 1e5 points: CPU seconds, and times ours. NA: stopped after three times ours")
  show(lapply(c(2, 3, 10, 50), \(d) {
    x <- cloud(1e5, d)
    ours <- min(replicate(if (d <= 3) 3 else 1, cpu(\() knn(x, k = 10))))
    most <- if (d <= 3) Inf else 3 * ours
    of_fnn <- cpu_within(most, \() FNN::get.knn(x, 10))
    of_rann <- cpu_within(most, \() RANN::nn2(x, k = 11))
    row(d = d, knn = ours, FNN = of_fnn, RANN = of_rann, "FNN / knn" = of_fnn / ours, "RANN / knn" = of_rann / ours)
  }))
}

if (wanted("methods")) {
  title("10 nearest: CPU seconds of the methods of knn()")
  cases <- expand.grid(n = c(1e3, 1e4, 5e4), d = c(3, 5, 6, 8, 10, 12, 16, 24))
  show(Map(\(n, d) {
    x <- cloud(n, d)
    times <- turns(\() knn(x, k = 10, method = "tree"), \() knn(x, k = 10, method = "panels"), runs = 1)
    row(n = n, d = d, tree = times[[1]], panels = times[[2]])
  }, cases$n, cases$d))
}

if (wanted("kmeans")) {
  title("20 iterations of k-means, 1e5 points: CPU seconds, and times ours")
  show(Map(\(d, k) {
    x <- cloud(1e5, d)
    start <- x[seq_len(k), ]
    ours <- \() suppressWarnings(kmeans_large(x, start, iter.max = 20))
    theirs <- \() suppressWarnings(stats::kmeans(x, start, iter.max = 20, algorithm = "Lloyd"))
    stopifnot(all.equal(ours()$tot.withinss, theirs()$tot.withinss, tolerance = 1e-3))
    times <- turns(ours, theirs)
    row(d = d, k = k, kmeans_large = times[[1]], "stats, Lloyd" = times[[2]], "stats / ours" = times[[2]] / times[[1]])
  }, c(2, 3, 10, 10, 50), c(10, 7, 10, 50, 100)))
}

if (wanted("kde")) {
  title("Densities of 1e4 points at 1,000: CPU seconds, and times ours")
  show(lapply(1:4, \(d) {
    x <- cloud(1e4, d)
    at <- cloud(1000, d)
    h <- kde(x[1:1000, , drop = FALSE])$bandwidth / 10
    theirs <- \() if (d == 1) ks::kde(x[, 1], h = sqrt(h[1, 1]), eval.points = at[, 1], binned = FALSE)
                  else ks::kde(x, H = h, eval.points = at, binned = FALSE)
    ours <- \() kde(x, at, h)
    stopifnot(all.equal(ours()$density, theirs()$estimate))
    times <- turns(ours, theirs)
    row(d = d, kde = times[[1]], ks = times[[2]], "ks / ours" = times[[2]] / times[[1]])
  }))
}

if (wanted("sums")) {
  title("kernel_sum() of n x n points in the unit square to 1e-6: CPU seconds, exact ones by 1,000 rows, and the error")
  for (n in c(1e5, 1e6, 1e7)) show(lapply(c("Exp(-SqDist(x, y) / 0.02)", "Exp(-Norm2(x - y) / 0.1)"), \(kernel) {
    if (n > 1e5 && startsWith(kernel, "Exp(-Norm2")) return(NULL)
    x <- withr::with_seed(1, matrix(runif(2 * n), n))
    b <- withr::with_seed(2, rnorm(n))
    seconds <- cpu(\() sums <<- kernel_sum(kernel, x, b = b, tol = 1e-6))
    rows <- cpu(\() kernel_sum(kernel, x[1:1000, ], x, b))
    row(n = n, kernel = kernel, seconds = seconds, exact = rows * n / 1000, error = attr(sums, "error"),
        modes = attr(sums, "modes")[[1]])
  }))
}

if (wanted("tests")) {
  title("Two samples of 500 points, 199 permutations: CPU seconds, and times ours")
  show(lapply(c(1, 3, 10), \(d) {
    x <- cloud(1000, d)
    ours <- \() energy_test(x[1:500, ], x[501:1000, ], 199)
    theirs <- \() energy::eqdist.etest(x, c(500, 500), R = 199)
    stopifnot(all.equal(ours()$statistic, theirs()$statistic, check.attributes = FALSE))
    times <- turns(ours, theirs)
    row(d = d, energy_test = times[[1]], energy = times[[2]], "energy / ours" = times[[2]] / times[[1]])
  }))
}

if (wanted("moran")) {
  title("Moran's I of 1,000 points, all pairs and within a radius: CPU seconds, and times ours")
  x <- withr::with_seed(1, matrix(runif(2000), 1000))
  z <- sin(5 * x[, 1]) + cloud(1000, 1)[, 1]
  show(lapply(c(Inf, 0.1), \(radius) {
    theirs <- \() {
      near <- spdep::dnearneigh(x, 0, min(radius, 2))
      by_distance <- if (radius == Inf) lapply(spdep::nbdists(near, x), \(d) 1 / d)
      spdep::moran.test(z, spdep::nb2listw(near, glist = by_distance, style = "B"))
    }
    ours <- \() morans_i(x, z, radius)
    stopifnot(all.equal(ours()$estimate[[1]], theirs()$estimate[[1]]))
    times <- turns(ours, theirs, runs = 1)
    row(radius = radius, morans_i = times[[1]], spdep = times[[2]], "spdep / ours" = times[[2]] / times[[1]])
  }))
}

if (wanted("ripley")) {
  title("K functions at 513 distances: CPU seconds, and times ours")
  unit <- cbind(0:1, 0:1)
  cases <- expand.grid(n = c(3000, 1e5), correction = c("translation", "isotropic"), stringsAsFactors = FALSE)
  show(Map(\(n, correction) {
    x <- withr::with_seed(1, matrix(runif(2 * n), n))
    pattern <- spatstat.geom::ppp(x[, 1], x[, 2])
    name <- c(translation = "translate", isotropic = "isotropic")[[correction]]
    theirs <- \() spatstat.explore::Kest(pattern, correction = name, nlarge = Inf)
    ours <- \() ripley_k(x, unit, correction = correction)
    stopifnot(all.equal(ours()$K, as.data.frame(theirs())[[3]]))
    times <- turns(ours, theirs, runs = if (n < 1e4) 3 else 1)
    row(n = n, correction = correction, ripley_k = times[[1]], spatstat = times[[2]],
        "spatstat / ours" = times[[2]] / times[[1]])
  }, cases$n, cases$correction))
}

if (wanted("mixture")) {
  title("20 iterations of a mixture of 5 components, 1e5 points: CPU seconds, and times ours")
  show(lapply(c(2, 5, 10), \(d) {
    label <- rep_len(1:5, 1e5)
    x <- cloud(1e5, d) + label
    start <- mclust::unmap(label)
    ours <- \() suppressWarnings(mixture_model(x, 5, start = label, tol = 0, iter.max = 20))
    theirs <- \() suppressWarnings(mclust::meVVV(x, start, control = mclust::emControl(tol = 0, itmax = 20)))
    stopifnot(all.equal(ours()$loglik, theirs()$loglik, tolerance = 1e-4))
    times <- turns(ours, theirs)
    row(d = d, mixture_model = times[[1]], mclust = times[[2]], "mclust / ours" = times[[2]] / times[[1]])
  }))
}

if (wanted("independence")) {
  title("Distance correlations of n observations, and tests with 199 permutations: CPU seconds, and times ours")
  cases <- data.frame(n = c(1e5, 2000, 2000, 1000, 1000), d = c(1, 3, 20, 1, 3), permutations = c(0, 0, 0, 199, 199))
  show(Map(\(n, d, permutations) {
    x <- cloud(n, d)
    y <- x^2 + withr::with_seed(2, rnorm(n * d))
    theirs <- \() {
      if (permutations) return(energy::dcor.test(x, y, R = permutations)$estimates[["dCor"]])
      if (d == 1) sqrt(energy::dcor2d(x[, 1], y[, 1], type = "V")) else energy::dcor(x, y)
    }
    ours <- \() distance_correlation(x, y, permutations)$statistic[[1]]
    stopifnot(all.equal(ours(), theirs(), check.attributes = FALSE))
    times <- turns(ours, theirs)
    row(n = n, d = d, permutations = permutations, ours = times[[1]], energy = times[[2]],
        "energy / ours" = times[[2]] / times[[1]])
  }, cases$n, cases$d, cases$permutations))
}

if (wanted("sinkhorn")) {
  title("Sinkhorn's algorithm between two samples of n points: CPU seconds of an iteration, dense R, and times ours")
  show(lapply(c(1000, 4000), \(n) {
    x <- cloud(n, 3)
    y <- cloud(n, 3) + 1
    dense <- \() {
      cost <- outer(rowSums(x^2), rowSums(y^2), `+`) - 2 * tcrossprod(x, y)
      k <- exp(-cost / 0.5)
      u <- v <- rep(1, n)
      for (step in 1:20) {
        u <- 1 / (n * drop(k %*% v))
        v <- 1 / (n * drop(u %*% k))
      }
    }
    ours <- \() suppressWarnings(sinkhorn(x, y, 0.5, scaling = 0, tol = 0, iter.max = 20))
    times <- turns(ours, dense) / 20
    row(n = n, sinkhorn = times[[1]], "dense, without logarithms" = times[[2]],
        "dense / ours" = times[[2]] / times[[1]])
  }))
}

if (wanted("ridge")) {
  title("Kernel ridge regression of n points, and 1,000 predictions: CPU seconds, and times ours")
  show(lapply(c(500, 1500), \(n) {
    x <- withr::with_seed(1, matrix(runif(3 * n), n))
    y <- sin(6 * x[, 1]) + cloud(n, 1)[, 1] / 10
    new <- withr::with_seed(2, matrix(runif(3000), 1000))
    theirs <- \() kernlab::predict(kernlab::gausspr(x, y, scaled = FALSE, kernel = "rbfdot", kpar = list(sigma = 2),
                                                    var = 0.1), new)
    ours <- \() predict(kernel_ridge(x, y, 0.5, 0.1, centre = FALSE), new)
    stopifnot(all.equal(ours(), theirs(), tolerance = 1e-3, check.attributes = FALSE))
    times <- turns(ours, theirs, runs = 1)
    row(n = n, kernel_ridge = times[[1]], kernlab = times[[2]], "kernlab / ours" = times[[2]] / times[[1]])
  }))
}

if (wanted("spectra")) {
  title("Two principal components of n points: CPU seconds, and times ours")
  show(lapply(c(500, 2000), \(n) {
    x <- cloud(n, 3)
    theirs <- \() kernlab::eig(kernlab::kpca(x, kernel = "rbfdot", kpar = list(sigma = 0.5), features = 2))
    ours <- \() kernel_pca(x, 2, 1)$values / n
    stopifnot(all.equal(ours(), theirs(), check.attributes = FALSE))
    times <- turns(ours, theirs, runs = 1)
    row(n = n, kernel_pca = times[[1]], kernlab = times[[2]], "kernlab / ours" = times[[2]] / times[[1]])
  }))
}
