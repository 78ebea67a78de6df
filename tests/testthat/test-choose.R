# The choice of the GPU kernel for 200 formulas and sizes (src/cuda/pairs/choose.cpp). The tests need no GPU.

gauss <- "Sum_Reduction(Exp(-g * SqDist(x, y)) * b, 1)"
gradient <- function(formula, by = "x") sprintf("Grad(%s, %s, %s)", formula, by, if (by == "x") "e" else "c")
formulas <- c(
  gauss = gauss,
  laplace = "Sum_Reduction(Exp(-g * Norm2(x - y)) * b, 1)",
  cauchy = "Sum_Reduction(b / (1 + g * SqDist(x, y)), 1)",
  `cosine of products` = "Sum_Reduction(Cos(x | y) * b, 1)",
  `weighted distance` = "Sum_Reduction(Exp(-WeightedSqDist(s, x, y)) * b, 1)",
  `sum of |x - y|` = "Sum_Reduction(Exp(-Sum(Abs(x - y))) * b, 1)",
  `two contractions` = "Sum_Reduction(Exp(-SqDist(x, y)) * Cos(x | y) * b, 1)",
  `gradient of gauss` = gradient(gauss),
  `gradient of gauss in y` = gradient(gauss, "y"),
  `gradient of exp of products` = gradient("Sum_Reduction(Exp(x | y) * b, 1)"),
  `Hessian times vector` = sprintf("Grad(%s, x, u)", gradient(gauss)),
  LogSumExp = "LogSumExp_Reduction(-g * SqDist(x, y), 1)",
  softmax = "SumSoftMaxWeight_Reduction(x | y, b, 1)",
  nearest = "ArgKMin_Reduction(SqDist(x, y), 11, 1)",
  `largest product` = "Max_Reduction(x | y, 1)",
  `largest entries` = "Max_Reduction(x - y, 1)"
)

# The text of each choice: the case, the kernel that is tried first for a reduction, and the reason for the choice.
choices <- function(name, D, b, precision, architecture, rows, columns) {
  declared <- c(g = "g = Pm(1)", s = sprintf("s = Pm(%d)", D), x = sprintf("x = Vi(%d)", D),
                y = sprintf("y = Vj(%d)", D), b = sprintf("b = Vj(%d)", b), e = sprintf("e = Vi(%d)", b),
                c = sprintf("c = Vi(%d)", b), u = sprintf("u = Vi(%d)", D))
  used <- intersect(names(declared), all.vars(str2lang(formulas[[name]])))
  op <- keops_kernel(formulas[[name]], declared[used], precision = precision)
  recipes <- choose_kernels(environment(op), typical_gpu(architecture), gpu_extent(rows, columns))
  vapply(recipes, \(recipe) sprintf("%s, D = %g, b = %g, %s, %s, %g x %g\n  %s\n  %s", name, D, b, precision,
                                    architecture, rows, columns, recipe$words, recipe$reason), "")
}

test_that("the kernels that are chosen for 16 formulas of short and long vectors", {
  cases <- expand.grid(D = c(3, 24, 64, 300, 1024), precision = c("float32", "float64"), name = names(formulas),
                       stringsAsFactors = FALSE)
  lines <- unlist(Map(choices, cases$name, cases$D, 1, cases$precision, "sm_90", 1e5, 1e5))
  expect_snapshot(writeLines(lines))
})

test_that("the kernels that are chosen for several right-hand sides, other GPUs, few rows and few columns", {
  sums <- c("gauss", "gradient of gauss in y", "softmax")
  cases <- rbind(
    expand.grid(name = sums, D = c(3, 64), b = c(10, 50), architecture = "sm_90", rows = 1e5, columns = 1e5),
    expand.grid(name = c("gauss", "gradient of gauss"), D = 64, b = 1,
                architecture = c("sm_75", "sm_80", "sm_86", "sm_120"), rows = 1e5, columns = 1e5),
    expand.grid(name = c("gauss", "gradient of gauss", "nearest"), D = c(3, 64, 600), b = 1, architecture = "sm_90",
                rows = c(100, 1e6), columns = c(500, 1e6))
  )
  for (precision in c("float32", "float64")) {
    lines <- unlist(Map(choices, as.character(cases$name), cases$D, cases$b, precision,
                        as.character(cases$architecture), cases$rows, cases$columns))
    expect_snapshot(writeLines(lines))
  }
})

test_that("a computation that a kernel cannot run is passed to the next kernel, and finally to the tiled kernel", {
  op <- keops_kernel("ArgKMin_Reduction(SqDist(x, y), 11, 1)", c("x = Vi(64)", "y = Vj(64)"))
  attempt <- \(n) choose_kernels(environment(op), typical_gpu("sm_90"), gpu_extent(1e5, 1e5, FALSE, n))[[1]]
  expect_identical(c(attempt(0L)$mainloop, attempt(1L)$mainloop, attempt(2L)$mainloop), c("lists", "lists", "wide"))
  expect_identical(c(attempt(0L)$parts, attempt(1L)$parts), 1:2)
})

test_that("sums of long vectors use panels (cuBLAS) if tiles would repeat the contraction for each batch of entries", {
  mainloop <- function(formula, D, E = D) {
    op <- keops_kernel(formula, c(sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D), sprintf("b = Vj(%d)", E), "e = Vi(1)"))
    choose_kernels(environment(op), typical_gpu("sm_90"), gpu_extent(2e4, 2e4))[[1]]$mainloop
  }
  loops <- c("wide", "panels")
  slope <- "Grad(Sum_Reduction(Exp(x | y) * Elem(b, 0), 1), x, e)"
  expect_identical(vapply(c(112, 113), \(D) mainloop(slope, D, 1), ""), loops)
  softmax <- "SumSoftMaxWeight_Reduction((x | y) * Elem(e, 0), b, 1)"
  expect_identical(vapply(c(112, 113), \(D) mainloop(softmax, D), ""), loops)
  columns <- "Sum_Reduction(Exp(-SqDist(x, y)) * Elem(e, 0) * b, 1)"
  expect_identical(vapply(c(96, 97), \(D) mainloop(columns, D, 128), ""), loops)
  expect_identical(vapply(c(224, 225), \(D) mainloop(columns, D, 64), ""), loops)
})

test_that("computations within ranges never use panels or lists of nearest columns", {
  for (formula in c("ArgKMin_Reduction(SqDist(x, y), 11, 1)", "Sum_Reduction(Exp(-SqDist(x, y)), 1)")) {
    op <- keops_kernel(formula, c("x = Vi(1000)", "y = Vj(1000)"))
    loop <- \(ranges) choose_kernels(environment(op), typical_gpu("sm_80"), gpu_extent(1e5, 1e5, ranges))[[1]]$mainloop
    expect_true(loop(FALSE) %in% c("lists", "panels"))
    expect_identical(loop(TRUE), "wide")
  }
})

test_that("with few rows, each thread block computes the values of columns if the values depend on few variables", {
  choice <- function(n, rows) {
    vars <- paste0("y", seq_len(n))
    op <- keops_kernel(sprintf("Sum_Reduction(%s, 1)", paste0("Exp(-Square(x - ", vars, "))", collapse = " * ")),
                       c("x = Vi(1)", paste0(vars, " = Vj(1)")))
    choose_kernels(environment(op), typical_gpu("sm_90"), gpu_extent(rows, 1e6))[[1]]$operands
  }
  expect_identical(choice(8, 128), "made columns")
  expect_identical(choice(8, 129), "filled columns")
  expect_identical(choice(9, 128), "filled columns")
})
