ops <- keops_ops()

test_that("the table of operations describes each operation in one row", {
  expect_s3_class(ops, "data.frame")
  expect_named(ops, c("name", "group", "arguments", "size", "meaning", "gradient"))
  expect_true(all(vapply(ops, is.character, NA)))
  for (column in c("name", "group", "meaning")) expect_false("" %in% ops[[column]], label = column)
  expect_false(anyNA(ops))
  expect_match(ops$name, "^[A-Z][A-Za-z0-9_]*$")
  expect_gt(nrow(ops), 80)
})

test_that("an operation has several rows in the table only if the sizes of its arguments select the formula", {
  expect_setequal(ops$name[duplicated(ops$name)], c("Scalprod", "SqDist", "WeightedSqNorm", "BSpline"))
})

test_that("the rows of the table agree with the definition that the engine compiles", {
  definition <- readLines(system.file("include", "kernops", "ops.def", package = "kernops"))
  row <- "^(OP|FORMULA|LEAF|BUILT)\\( *([A-Za-z0-9_]+),.*"
  expect_identical(ops$name, sub(row, "\\2", grep(row, definition, value = TRUE)))
})

test_that("each vector argument has its gradient in the tables, as a formula", {
  expect_identical(ops$gradient[ops$name == "Exp"], "Exp(a) * g")
  check_gradients <- function(table, vectors) for (row in which(nzchar(table$gradient))) {
    arguments <- trimws(strsplit(table$arguments[[row]], ",")[[1]])
    gradients <- as.list(str2lang(sprintf("list(%s)", table$gradient[[row]])))[-1]
    expect_length(gradients, max(1, sum(arguments %in% vectors)))
  }
  check_gradients(ops, c("a", "b", "c"))
  check_gradients(keops_reductions(), c("f", "w"))
})

test_that("the parser knows every name of the table", {
  complaint <- function(name) {
    wrong_arity <- sprintf("Sum_Reduction(%s(x, x, x, x, x, x, x, x, y), 1)", name)
    build <- \() keops_kernel(wrong_arity, c("x = Vi(1)", "y = Vj(1)"))
    conditionMessage(expect_error(build(), class = "kernops_formula_error"))
  }
  for (name in unique(ops$name)) expect_no_match(complaint(name), "there is no operation", label = name)
  expect_match(complaint("Nonsense"), "there is no operation")
})

test_that("the rows of the table of reductions agree with the definition that the engine compiles", {
  reductions <- keops_reductions()
  expect_named(reductions, c("name", "arguments", "size", "meaning", "gradient"))
  definition <- readLines(system.file("include", "kernops", "reductions.def", package = "kernops"))
  row <- "^REDUCTION\\( *([A-Za-z_]+),.*"
  # the last reduction is one that formulas cannot name
  expect_identical(c(reductions$name, "Store"), sub(row, "\\1", grep(row, definition, value = TRUE)))
})
