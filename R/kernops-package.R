#' kernops: Gaussian processes, kriging and sums over all pairs of many points
#'
#' **A map**: [gp()] fits Gaussian processes to up to millions of points, with trends, random effects, smooths, several
#' variables ([lmc()]), space and time, and [families][gp_families] of responses such as counts and presence;
#' [predict()][predict.gp] predicts points, rasters and areas (kriging).
#'
#' **A matrix of pairs**: R's arithmetic with [symbolic matrices][LazyTensor], such as `exp(-sqdist(Vi(x), Vj(y)))`,
#' makes a formula, and [keops_kernel()] accepts a formula as a string. The formula is reduced over all pairs, with
#' memory proportional to the size of the data; [keops_grad()] gives the exact gradient, [kernel_solve()] solves linear
#' systems, and [keops_ops()] lists the operations.
#'
#' **Groups**: [seg_reduce()], [seg_scan()], [seg_roll()] and [seg_transform()] compute by groups, runs and rows of
#' sparse matrices; [axis_reduce()] reduces dimensions of arrays.
#'
#' @section Vignettes:
#' \describe{ \item{`vignette("start", "kernops")`}{sums over pairs, gradients, linear systems}
#'   \item{`vignette("formulas", "kernops")`}{the formula language} \item{`vignette("machine-learning",
#'   "kernops")`}{common tasks in a few lines each} \item{`vignette("gaussian-processes", "kernops")`}{Gaussian
#'   processes in one dimension and with covariances of your own} \item{`vignette("kriging", "kernops")`}{maps with
#'   standard errors from spatial data} \item{`vignette("beyond-gaussian", "kernops")`}{counts, presence and absence,
#'   outliers} \item{`vignette("mixed-models", "kernops")`}{random effects, smooths and years in addition to a field}
#'   \item{`vignette("from-gstat", "kernops")`}{calls of gstat and of kernops} \item{`vignette("from-mgcv",
#'   "kernops")`}{calls of mgcv and of kernops} \item{`vignette("from-spmodel-and-sdmTMB", "kernops")`}{calls of
#'   spmodel, sdmTMB and kernops} \item{`vignette("for-package-developers", "kernops")`}{imports, operators as fields,
#'   threads, tests, headers} \item{`vignette("large-kriging", "kernops")`}{kriging with many points, on the CPU and on
#'   GPUs} \item{`vignette("large-data", "kernops")`}{rasters and tables that do not fit into memory; thousands of
#'   responses} \item{`vignette("segments", "kernops")`}{groups, runs, sparse matrices, dimensions of arrays}
#'   \item{`vignette("from-keops", "kernops")`}{for users of KeOps, PyKeOps and rkeops} } `browseVignettes("kernops")`
#'   shows the installed vignettes. Vignettes are installed by `tools/demo` in the folder of the sources, or from a
#'   source package made by `R CMD build`.
#'
#' @section Options:
#' \describe{ \item{`kernops.threads`}{number of CPU threads (default: all cores, at most 2 under `R CMD check`).
#'   Results do not depend on it.} \item{`kernops.precision`}{`"float64"` (default), `"float32"`, `"bfloat16"` or
#'   `"float16"`: the precision of new operators and GPU matrices.} \item{`kernops.backend`}{`"auto"` (default), `"cpu"`
#'   or `"cuda"`: the backend of new operators.} \item{`kernops.device`}{which GPUs new operators use, as numbers from 0
#'   (default: 0).} \item{`kernops.isa`}{`"baseline"`, `"avx2"` or `"avx512"`: the instruction set (default: the best of
#'   the machine). Results differ by rounding: see "Reproducibility" in [keops_kernel()].}
#'   \item{`kernops.dense_entries`}{the largest number of entries (default: `1e7`) of a symbolic matrix that functions
#'   such as `eigen()` convert to an ordinary matrix; see [lazy_base].} \item{`kernops.gpu_memory`}{the largest number
#'   of bytes that kernops uses on each GPU (default: the free memory); see [gpu_matrix()].}
#'   \item{`kernops.progress`}{`FALSE`: no progress bars in interactive sessions.} \item{`kernops.cache_dir`}{the folder
#'   of compiled GPU kernels, read when kernops is loaded; see [kernops_cache_info()].} } Each option can also be set by
#'   an environment variable, such as `KERNOPS_THREADS`. Options take precedence over environment variables, and
#'   arguments over both. [with_kernops()] sets options for some calls only.
#'
#' @examples
#' set.seed(1)
#' x <- matrix(runif(3000), ncol = 3)
#' K <- exp(-sqdist(Vi(x), Vj(x)) / (2 * 0.1^2))
#' K
#' head(K %*% x[, 1], 3)
#' @keywords internal
#' @useDynLib kernops, .registration = TRUE
#' @importFrom Rcpp evalCpp
"_PACKAGE"

.onLoad <- function(libname, pkgname) {
  the$cache <- cache_folder()
  here <- file.path(libname, pkgname)
  cuda_set_paths(file.path(here, "include"), file.path(here, "cuda"), if (is.na(the$cache)) "" else the$cache,
                 unname(getNamespaceVersion(pkgname)))
  when_loaded("terra", register_in_terra)
}
