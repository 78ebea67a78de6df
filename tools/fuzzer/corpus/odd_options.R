# Options were used without a check, so that options that are strings or functions raised errors of R.
f <- \(x) seg_reduce(x, g = c(1, 1, 2, 2))
use <- function(..., code) {
  old <- options(...)
  on.exit(options(old))
  refuses(code)
}
use(kernops.tile = "large", code = f(1:4)) && use(kernops.tile = -1, code = f(1:4)) &&
  use(kernops.dense_entries = sum, code = svd(Vi(1:3) - Vj(1:2))) && use(kernops.threads = NA, code = sum(Vi(1:3), "i"))
