# The grammar of formulas. Formulas have the infix notation of R, so the oracle evaluates them in R.

scalars <- list(a = 2.5, b = -1.25, c = 3, d = 0.5)
dot_product <- list2env(list(`|` = `*`), parent = baseenv())
worth_in_R <- \(formula) as.numeric(eval(str2lang(formula), scalars, dot_product))
worth <- \(formula) do.call(value_of, c(list(formula), scalars[all.vars(str2lang(formula))]))

test_that("decimal numbers are parsed exactly", {
  for (number in c("2", "0.5", ".5", "1e-3", "1E+3", "2.5e2", "0.1", "123456789.123", "1e-300", "1e300")) {
    expect_identical(value_of(number), as.numeric(number), label = number)
  }
  expect_identical(value_of("0.1", precision = "float32"), 13421773 / 2^27)
})

test_that("Inf, NaN and pi are numbers, unless a variable has this name", {
  expect_identical(value_of("Inf"), Inf)
  expect_identical(value_of("-Inf"), -Inf)
  expect_identical(value_of("NaN"), NaN)
  expect_identical(value_of("2 * pi"), 2 * pi)
  expect_identical(value_of("pi", pi = 3), 3)
})

test_that("precedence and associativity agree with R", {
  formulas <- c(
    "-2^2", "-a^2", "2^3^2", "2^-1", "a^-b", "c^-2^-1", "c**2", "-c**2", "a^2 * b", "a * b^2", "-1e-1^2",
    "a - b - c", "a / b / c", "a - b + c", "a * b / c * d", "1 / 2 / 4", "7 - 3 - 2", "1e2 - 1", "2 * 3 + 4",
    "a + b * c", "(a + b) * c", "a * b + c * d", "-a + b", "-a * -b", "a - -b", "--a", "-(-a)", "1 - a^2 / 2",
    "a < b", "a <= b", "a > b", "a >= b", "a == b", "a != b", "a == 2.5", "a + b < c + d", "a * b < c",
    "a | b", "a + b | c", "a | b + c", "a < c | b", "b | a < c", "a | b | c", "a - b | c - d", "-a | b",
    "a^2 | b^2", "(a|b) + c", "a * (b | c)", "a / (b - c)^2", "+a", "a - +b"
  )
  for (formula in formulas) {
    expect_equal(worth(formula), worth_in_R(formula), tolerance = 1e-14, label = formula)
  }
})

test_that("random arithmetic agrees with R", {
  withr::local_seed(1)
  atom <- \() sample(c(names(scalars), "2", "0.75", "(a - 2 * c)"), 1)
  link <- \() sample(c(" + ", " - ", " * ", " / ", "-", "*"), 1)
  for (trial in 1:100) {
    formula <- paste(c(atom(), replicate(5, c(link(), atom()))), collapse = "")
    expect_equal(worth(formula), worth_in_R(formula), tolerance = 1e-12, label = formula)
  }
})

test_that("spaces have no meaning", {
  op <- keops_kernel(" Sum_Reduction ( Scalprod( x ,\ty )\n, 1 ) ", c(" x=Vi( 2 )", "y  =  Vj(2) "))
  expect_identical(op(list(x = 1:2, y = 3:4) |> lapply(t)), matrix(11))
  hard_spaces <- keops_kernel("Sum_Reduction(x\u00a0*\u00a0y, 1)", c("x = Vi(1)", "y = Vj(1)"))
  expect_identical(hard_spaces(list(2, 3)), matrix(6))
})

test_that("variables may have a position, or be declared inside the formula", {
  withr::local_seed(20)
  x <- uniform(4, 3)
  y <- uniform(5, 3)
  expected <- x %*% colSums(y)
  same_operator <- function(formula, args) {
    expect_close(keops_kernel(formula, args)(list(x, y)), expected, info = formula)
  }
  same_operator("Sum_Reduction(x | y, 1)", c("x = Vi(3)", "y = Vj(3)"))
  same_operator("Sum_Reduction(x | y, 1)", c("x = Vi(0, 3)", "y = Vj(1, 3)"))
  same_operator("Sum_Reduction(x | y, 1)", c("y = Vj(1, 3)", "x = Vi(0,3)"))
  same_operator("Sum_Reduction(Var(0,3,0) | Var(1,3,1), 1)", character())
  same_operator("Sum_Reduction(Vi(0,3) | Vj(1,3), 1)", character())
})

test_that("the axis of a reduction is written 0 or i, or 1 or j", {
  withr::local_seed(21)
  input <- list(x = uniform(4), y = uniform(5))
  along <- \(axis) keops_kernel(sprintf("Sum_Reduction(x * y, %s)", axis), c("x = Vi(1)", "y = Vj(1)"))(input)
  expect_identical(along("i"), along("0"))
  expect_identical(along("j"), along("1"))
  expect_identical(dim(along("i")), c(5L, 1L))
})

test_that("names follow the rules of R, also names that resemble operations", {
  for (name in c("x.1", "long_name", ".x", "X", "exp", "Sum1", "i", "j", "Vi2")) {
    op <- keops_kernel(sprintf("Sum_Reduction(Exp(%s) * y, 1)", name), c(paste(name, "= Vi(1)"), "y = Vj(1)"))
    expect_close(op(list(0, 2)), 2, info = name)
  }
})

test_that("names may have any encoding, in any locale", {
  latin1 <- \(x) iconv(x, "UTF-8", "latin1")
  formula <- "Sum_Reduction(\u00e9t\u00e9 * y, 1)"
  args <- c("\u00e9t\u00e9 = Vi(1)", "y = Vj(1)")
  value_of <- \(formula, args, name) keops_kernel(formula, args)(stats::setNames(list(2, 1:3), c(name, "y")))
  for (locale in c(Sys.getlocale("LC_CTYPE"), "C")) {
    withr::local_locale(LC_CTYPE = locale)
    expect_identical(value_of(formula, args, "\u00e9t\u00e9"), matrix(12))
    expect_identical(value_of(latin1(formula), args, latin1("\u00e9t\u00e9")), matrix(12))
    expect_identical(value_of(latin1(formula), latin1(args), "\u00e9t\u00e9"), matrix(12))
  }
})

test_that("deep formulas may be slow, but do not crash R", {
  deep <- \(left, right) paste0(strrep(left, 1e4), "a", strrep(right, 1e4))
  for (formula in c(deep("(", ")"), deep("-", ""), deep("Minus(", ")"), deep("", "^1"), deep("", "+a"))) {
    value <- tryCatch(value_of(formula, a = 2), kernops_formula_error = \(e) NULL)
    expect_true(is.null(value) || value %in% c(2, 20002), label = substr(formula, 1, 9))
  }
})

test_that("a formula that is too deep for the stack is refused, whatever the size of the stack", {
  skip_on_os("windows")
  skip_on_cran()
  skip_if_not_in_library()
  result <- withr::local_tempfile()
  script <- withr::local_tempfile(lines = deparse(bquote({
    .libPaths(.(.libPaths()))
    one <- \(left, right, inner = "x * y") paste0("Sum_Reduction(", left, inner, right, ", 1)")
    ended <- sapply(c(100, 500, 960, 1990, 1e5), \(n) {
      left <- c("(", "[", "-", "Sin(", "Matern(1.5, ", "Grad(Sin(", "")
      right <- c(")", "]", "", ")", ")", "), x, x)", " + x", " * y", "^y", " | y", " * y + x", " < y")
      formulas <- c(mapply(one, strrep(left[1:6], n), strrep(right[1:6], n)),
                    sapply(strrep(right[7:12], n), one, left = ""),
                    Grad = paste0("Grad(", one("", strrep(" + x", n), "Sin(x * y)"), ", x, x)"),
                    misfit = one(strrep("Sin(", n), strrep(")", n), "Concat(x, y), Concat(x, Concat(x, x))"))
      if (n < 960) formulas <- formulas[-6] # a formula with so many derivatives is refused only after seconds
      sapply(formulas, \(formula) {
        op <- tryCatch(kernops::keops_kernel(formula, c("x = Vi(1)", "y = Vj(1)")), kernops_formula_error = identity)
        class(op)[1]
      }, USE.NAMES = FALSE)
    })
    saveRDS(unlist(ended), .(result))
  })))
  for (size in c(1024, 2048)) {
    r <- shQuote(file.path(R.home("bin"), "Rscript"))
    system(paste("ulimit -s", size, "&& R_TESTS=", r, "--vanilla", shQuote(script)), ignore.stderr = TRUE)
    expect_setequal(readRDS(result), c("keops_kernel", "kernops_formula_error"))
    unlink(result)
  }
})

test_that("the caret is below the error, and the message shows as much of the formula as fits", {
  under_caret <- function(formula) {
    told <- tryCatch(keops_kernel(formula, c("x = Vi(1)", "\u6f22 = Vi(1)")), kernops_formula_error = conditionMessage)
    lines <- utils::tail(strsplit(told, "\n")[[1]], 2)
    letters <- strsplit(lines[[1]], "")[[1]]
    after <- cumsum(nchar(letters, type = "width")) >= nchar(sub("[^^]*$", "", lines[[2]]))
    c(paste(letters[after], collapse = ""), trimws(lines[[1]]))
  }
  expect_identical(under_caret(paste0("Sum_Reduction(", strrep("\u6f22 + ", 40), "zz, 1)"))[[1]], "zz, 1)")
  expect_identical(under_caret(paste0("Sum_Reduction(x", strrep(" + x", 300), " + zz, 1)"))[[1]], "zz, 1)")
  expect_identical(under_caret(paste0("Sum_Reduction(x +\n", strrep(" ", 30), "zz, 1)"))[[2]],
                   paste0("Sum_Reduction(x +", strrep(" ", 31), "zz, 1)"))
})

test_that("sizes beyond the range of integers are errors, and do not overflow", {
  op <- \(formula) keops_kernel(formula, "x = Vj(1)")
  too_large <- c("Sum_Reduction(Transpose(SumT(x, 4), 65536, 65536), 1)",
                 "Sum_Reduction(TensorProd(SumT(x, 65536), SumT(x, 65537)), 1)",
                 "Sum_Reduction(MatMult(SumT(x, 65536), SumT(x, 65537), 1), 1)",
                 "Sum_Reduction(Kron(SumT(x, 65536), SumT(x, 65537), [65536], [65537]), 1)",
                 "KMin_Reduction(SumT(x, 4097), 1048576, 1)", "KMin_ArgKMin_Reduction(SumT(x, 2049), 1048576, 1)")
  for (formula in too_large) expect_error(op(formula), class = "kernops_formula_error", label = formula)
  expect_identical(op("Sum_Reduction(SumT(x, 1048576), 1)")(list(2)), matrix(2, 1, 2^20))
})

test_that("compilation ends for formulas whose size doubles with each derivative", {
  expect_s3_class(keops_kernel("Sum_Reduction(BSpline(k, x, 30), 1)", c("k = Pm(40)", "x = Vj(1)")), "keops_kernel")
  tower <- paste0(strrep("Grad(", 40), "Exp(Sin(x) * x)", strrep(", x, 1)", 40))
  expect_error(keops_kernel(sprintf("Sum_Reduction(%s, 1)", tower), "x = Vj(1)"), class = "kernops_formula_error")
})

test_that("the time to compile a product is at most proportional to its length", {
  long <- sprintf("Sum_Reduction(x%s, 1)", strrep(" * y / x", 900))
  expect_lt(system.time(op <- keops_kernel(long, c("x = Vi(1)", "y = Vj(1)")))[["elapsed"]], 2)
  expect_equal(op(list(1.01, 1.02)), matrix(1.01 * (1.02 / 1.01)^900))
})

test_that("Ctrl-C interrupts the compilation of a formula", {
  skip_on_os("windows")
  skip_on_cran()
  skip_if_not_in_library()
  result <- interrupt(quote({
    say_pid()
    start <- proc.time()[["elapsed"]]
    ended <- tryCatch({
      repeat {
        formula <- "LogSumExp_Reduction(-SqDist(x,y)*Sin(x|y)/(1+(x|x)),1)"
        op <- kernops::keops_kernel(formula, c("x = Vi(2)", "y = Vj(2)"))
        for (order in 1:11) op <- kernops::keops_grad(op, "x")
      }
    }, interrupt = \(e) "interrupted")
    list(ended = ended, seconds = proc.time()[["elapsed"]] - start)
  }), after = 5)
  expect_identical(result$ended, "interrupted")
  expect_lt(result$seconds, 5 + 1.5)
})

build <- \(formula, args = c("x = Vi(1)", "y = Vj(1)")) keops_kernel(formula, args)
test_mistakes("kernops_formula_error", alist(
  undeclared = build("Sum_Reduction(Exp(-z) * x * y, 1)"),
  unbalanced = build("Sum_Reduction((x|y, 1)"),
  unopened = build("Sum_Reduction(x|y), 1)"),
  `unknown operation` = build("Sum_Reduction(Foo(x) * y, 1)"),
  `misspelt operation` = build("Sum_Reduction(Exq(x) * y, 1)"),
  `unknown reduction` = build("Sun_Reduction(x * y, 1)"),
  `sizes that do not fit` = build("Sum_Reduction(x + y, 1)", c("x = Vi(3)", "y = Vj(7)")),
  `dot product of unequal sizes` = build("Sum_Reduction(Scalprod(x, y), 1)", c("x = Vi(3)", "y = Vj(2)")),
  `weighted distance of unequal sizes` =
    build("Sum_Reduction(WeightedSqDist(s, x, y), 1)", c("s = Pm(1)", "x = Vi(3)", "y = Vj(2)")),
  `entry outside of the vector` = build("Sum_Reduction(Elem(x, 3) * y, 1)", c("x = Vi(3)", "y = Vj(1)")),
  `alias cut short` = build("Sum_Reduction(x * y, 1)", c("x = Vi(3)", "y = Vj(3")),
  `alias of no kind` = build("Sum_Reduction(x * y, 1)", c("x = Vi(3)", "y = Vk(3)")),
  `alias of size 0` = build("Sum_Reduction(x * y, 1)", c("x = Vi(3)", "y = Vj(0)")),
  `alias without a name` = build("Sum_Reduction(x * y, 1)", c("x = Vi(3)", "= Vj(3)")),
  `duplicate names` = build("Sum_Reduction(x * y, 1)", c("x = Vi(3)", "x = Vj(3)", "y = Vj(3)")),
  `duplicate positions` = build("Sum_Reduction(x * y, 1)", c("x = Vi(0, 3)", "y = Vj(0, 3)")),
  `some positions` = build("Sum_Reduction(x * y, 1)", c("x = Vi(0, 3)", "y = Vj(3)")),
  `too few arguments` = build("Sum_Reduction(Scalprod(x) * y, 1)"),
  `too many arguments` = build("Sum_Reduction(Exp(x, y), 1)"),
  `number for an integer argument` = build("Sum_Reduction(Pow(x, 0.5) * y, 1)"),
  `missing axis` = build("Sum_Reduction(x * y)"),
  `axis that is none` = build("Sum_Reduction(x * y, 2)"),
  `no reduction` = build("x * y"),
  `KMin without K` = build("KMin_Reduction(x * y, 1)"),
  `K of 0` = build("KMin_Reduction(x * y, 0, 1)"),
  `weights for Min` = build("Min_Reduction(x, y, 1)"),
  `text after the end` = build("Sum_Reduction(x * y, 1) x"),
  `a bracket too many before the axis` = build("Sum_Reduction(Exp(x * y)), 1)"),
  `an operation that is no reduction` = build("Sum(x * y, 1)"),
  `a reduction in small letters` = build("sum_reduction(x * y, 1)"),
  `an axis in quotes` = build("Sum_Reduction(x * y, \"j\")"),
  `a size beyond all bounds` = build("Sum_Reduction(TensorProd(SumT(x, 2^16), SumT(y, 2^16)), 1)"),
  `K values beyond all bounds` = build("KMin_Reduction(SumT(x * y, 4097), 1048576, 1)"),
  `sizes that an abbreviation does not take` = build("Sum_Reduction(Exp(x) * Matern(y, x), 1)",
                                                     c("x = Vi(2)", "y = Vj(3)")),
  `weights that do not fit` = build("Sum_Reduction(WeightedSqNorm(x, y), 1)", c("x = Vi(3)", "y = Vj(2)")),
  `splines of too high an order` = build("Sum_Reduction(BSpline(y, x, 3), 1)", c("x = Vi(1)", "y = Vj(4)")),
  `a derivative that does not exist` = build("Sum_Reduction(y * Grad(Polygamma(x, 16), x, 1), 1)"),
  `an inline variable of no size` = build("Sum_Reduction(Vi(0) * Vj(1, 1), 1)", character()),
  `an inline variable with the name of another` = build("Sum_Reduction(Var(0, 1, 0) * var0, 1)", "var0 = Vi(1, 1)"),
  `a gradient of another shape` = build("Grad(Sum_Reduction(x, 1), x, y)"),
  `a place below 0` = build("Sum_Reduction(Elem(x, -1) * y, 1)"),
  `an empty alias` = build("Sum_Reduction(x, 1)", c("x = Vi(1)", "")),
  `a minus as it is printed` = build("Sum_Reduction(x \u2212 y, 1)"),
  `a square as it is printed` = build("Sum_Reduction((x - y)\u00b2, 1)"),
  `a sign of no meaning` = build("Sum_Reduction(x * \u00d7 y, 1)"),
  `a matrix product of R` = build("Sum_Reduction(x %*% y, 1)"),
  `a remainder of R` = build("Sum_Reduction(x %% y, 1)"),
  `a logical operator of R` = build("Sum_Reduction((x < y) & x, 1)"),
  `a negation of R` = build("Sum_Reduction(!x * y, 1)"),
  `an assignment for a comparison` = build("Sum_Reduction(x = y, 1)"),
  `bars for an absolute value` = build("Sum_Reduction(|x - y|, 1)"),
  `alias too large` = build("Sum_Reduction(x * y, 1)", c("x = Vi(3)", "y = Vj(99999999999)")),
  `operator without operand` = build("Sum_Reduction(x * , 1)"),
  `two operands in a row` = build("Sum_Reduction(x y, 1)"),
  `unknown character` = build("Sum_Reduction(x $ y, 1)"),
  `number too large` = build("Sum_Reduction(x * y * 1e999, 1)"),
  `integer too large` = build("Sum_Reduction(Elem(x, 99999999999) * y, 1)"),
  `malformed number` = build("Sum_Reduction(x * y * 1.2.3, 1)"),
  `empty formula` = build(""),
  `missing formula` = build(NA_character_),
  `two formulas` = build(c("Sum_Reduction(x, 1)", "Sum_Reduction(y, 1)")),
  `formula that is no text` = build(3),
  `NULL formula` = build(NULL),
  `args that are no text` = build("Sum_Reduction(x * y, 1)", 1:2),
  `missing args` = build("Sum_Reduction(x * y, 1)", c("x = Vi(1)", NA))
))

test_that("the text of a formula is never evaluated as R code", {
  marker <- withr::local_tempfile()
  hostile <- sprintf("Sum_Reduction(file.create('%s') + x * y, 1)", marker)
  expect_error(build(hostile), class = "kernops_formula_error")
  expect_false(file.exists(marker))
})

test_that("Let() names expressions, also around a reduction and its gradient", {
  expect_equal(value_of("Let(t, Sin(a), r, t * t, r + t)", a = 2), sin(2)^2 + sin(2))
  expect_equal(value_of("1 + Let(t, a + 1, t * Let(r, t - 3, r / t))", a = 2), 1)
  args <- c("x = Vi(1)", "y = Vj(1)")
  op <- keops_kernel("Let(t, x * y, Sum_Reduction(t * t, 1))", args)
  x <- c(0.5, 2)
  y <- c(1, -2, 3)
  expect_equal(op(list(x, y)), cbind(x^2 * sum(y^2)), ignore_attr = TRUE)
  expect_equal(keops_grad(op, "x")(list(x, y, c(1, 1))), cbind(2 * x * sum(y^2)), ignore_attr = TRUE)
})

let <- \(formula) keops_kernel(sprintf("Sum_Reduction(%s, 1)", formula), c("x = Vi(1)", "y = Vj(1)"))
test_mistakes("kernops_formula_error", alist(
  `a name without a value` = let("Let(t, x * y)"),
  `a name that is a variable` = let("Let(x, y, x + y)"),
  `a name given twice` = let("Let(t, x, t, y, t)"),
  `a value for a name` = let("Let(x + 1, y, x + y)"),
  `a name outside` = let("Let(t, x, t) + t * y"),
  `Let of nothing` = keops_kernel("Let(Sum_Reduction(x, 1))", "x = Vi(1)")
))
