# Every operation and reduction compiles for GPUs; this needs the compiler, but no GPU.

skip_unless_only_compiler <- function() {
  skip_on_cran()
  skip_without_nvrtc()
  skip_if("cuda" %in% backends(), "the GPU compiles and runs them all in other tests")
}

expect_source_compiles <- function(op, single, architecture) {
  for (text in cuda_sources(environment(op)$kernel, single)[1:2]) expect_compiles(text, architecture)
}

# Values are compiled in one precision for one architecture, gradients in the other precision for another architecture.
# The compile time of a kernel hardly depends on its formula. Each kernel therefore combines several operations, to save
# compilations.
for (names in split(names(oracle_ops), ceiling(seq_along(oracle_ops) / 8))) {
  test_that(paste(toString(names), "compile for GPUs, and so do their gradients"), {
    skip_unless_only_compiler()
    withr::local_seed(1)
    case <- \(name, prefix) random_case(name, 3, 4, trial = 1, prefix = prefix)
    cases <- Map(case, names, head(letters, length(names)))
    declared <- c("u = Vi(1)", "w = Vj(1)", unlist(lapply(cases, `[[`, "args")))
    sum_of <- \(terms) keops_kernel(sprintf("Sum_Reduction(u * w * (%s), 1)", paste(terms, collapse = " + ")), declared)
    expect_source_compiles(sum_of(vapply(cases, \(case) sprintf("Sum(%s)", case$formula), "")), TRUE, "compute_80")
    slope <- \(case) sprintf("Sum(Grad(%s, %s, Sin(%s)))", case$formula, names(case$input)[[1]], case$formula)
    expect_source_compiles(sum_of(lapply(Filter(\(case) length(case$input), cases), slope)), FALSE, "compute_90")
  })
}

test_that("every reduction compiles for GPUs", {
  skip_unless_only_compiler()
  table <- keops_reductions()
  for (n in seq_len(nrow(table))) {
    arguments <- gsub("p", "3", gsub("w", "b", sub("f", "SqDist(x, y) + Sum(b)", table$arguments[[n]])))
    formula <- sprintf("%s_Reduction(%s, 1)", table$name[[n]], arguments)
    op <- keops_kernel(formula, c("x = Vi(3)", "y = Vj(3)", "b = Vj(2)"))
    expect_source_compiles(op, TRUE, "compute_90")
    expect_source_compiles(op, FALSE, "compute_80")
  }
})
