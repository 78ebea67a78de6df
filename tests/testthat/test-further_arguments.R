# Methods refuse arguments that they do not have, and suggest the name of an argument that is spelled similarly.

d <- withr::with_seed(1, data.frame(x = 1:20, y = sin(1:20) + rnorm(20, sd = 0.1), k = rpois(20, 3)))
known <- function(formula = y ~ 1, ...) gp(formula, d, ~ x, estimate = "none", ...)

objects <- function() {
  gaussian <- known(covariance = matern(3/2, 1, 2) + nugget(0.1))
  counts <- known(k ~ 1, covariance = matern(3/2, 1, 2), family = poisson())
  prior <- list(range = pc_range(0.5), variance = pc_sd(3), nugget = pc_sd(1))
  sampled <- gp(y ~ 1, d, ~ x, matern(3/2, 1, 2) + nugget(0.1), prior = prior)
  x <- matrix(1:3 / 3)
  list(gp = gaussian, gp_family_fit = counts, gp_posterior = suppressWarnings(gp_posterior(sampled, 3)),
       gp_cv = gp_cv(gaussian), gp_certificate = certify(gaussian), gp_variogram = gp_variogram(as.matrix(d$x), d$y),
       gp_responses = suppressWarnings(gp(cbind(y, k) ~ 1, d, ~ x, responses = "common")),
       LazyTensor = exp(-sqdist(Vi(x), Vj(x))))
}

# Methods of these generic functions are not tested, because their further arguments are fits, arguments of gp() or of
# graphical functions.
free_generics <- c("print", "format", "anova", "AIC", "BIC", "update", "plot", "mean", "solve", "logsumexp", "[")
# These methods are not tested, because they raise an error for any arguments.
refused <- c("summary.LazyTensor", "unique.LazyTensor", "duplicated.LazyTensor", "determinant.LazyTensor",
             "isSymmetric.LazyTensor")

test_that("a method refuses arguments that it does not have", {
  path <- system.file(package = "kernops")
  methods <- parseNamespaceFile(basename(path), dirname(path), mustExist = FALSE)$S3methods
  examples <- objects()
  methods <- methods[methods[, 2] %in% names(examples), , drop = FALSE]
  generic <- sub(".*::", "", methods[, 1])
  names <- paste(generic, methods[, 2], sep = ".")
  tried <- 0
  for (k in which(!generic %in% free_generics & !names %in% refused)) {
    method <- get0(names[[k]], asNamespace("kernops"))
    if (is.null(method) || !"..." %in% names(formals(method))) next
    # these packages pass further arguments to the methods of their generic functions
    if (methods[k, 4] %in% c("DHARMa", "emmeans", "insight", "loo", "performance", "sf")) next
    object <- examples[[methods[k, 2]]]
    expect_error(method(object, no_such_argument = 1), class = "kernops_input_error", info = names[[k]])
    tried <- tried + 1
  }
  expect_gt(tried, 40)
})

test_that("an error suggests the argument nearest to a mistyped one, also for functions that receive dots", {
  hint <- \(code) conditionMessage(expect_error(code, class = "kernops_input_error"))
  expect_match(hint(gp(y ~ 1, d, ~ x, fmaily = poisson())), "no argument `fmaily`.*mean `family`")
  expect_match(hint(gp(y ~ 1, d, ~ x, neighbors = 3)), "mean `neighbours`")
  expect_match(hint(gp(y ~ 1, d, ~ x, covarience = nugget(1))), "mean `covariance`")
  fit <- gp(y ~ 1, d, ~ x, matern(3/2, 1, 2) + nugget(0.1), estimate = "none")
  expect_match(hint(predict(fit, d, se.ft = TRUE)), "mean `se.fit`")
  expect_match(hint(update(fit, metod = "exact")), "mean `method`")
  expect_match(hint(matern(3/2, rnage = 3)), "mean `range`")
  expect_match(hint(tidy(fit, conf.itn = TRUE)), "mean `conf.int`")
  expect_match(hint(gp(y ~ 1, d, ~ x, zzzzzz = 3)), "Available arguments: `formula`")
})

test_that("an error suggests the variable and the family nearest to a mistyped one", {
  hint <- \(code) conditionMessage(expect_error(code, class = "kernops_input_error"))
  d$height <- 1:20
  expect_match(hint(gp(y ~ hieght + k, d, ~ x)), "`hieght` of `formula` is not in `data`.*mean `height`")
  expect_match(hint(gp(yield ~ slope, d, ~ x)), "`yield` and `slope` of .*are not in `data`")
  expect_match(hint(gp(y ~ undefined(k), d, ~ x)), "undefined")
  expect_match(hint(gp(k ~ 1, d, ~ x, family = "poison")), 'mean "poisson"')
})

test_that("arguments that step() and car pass on are accepted", {
  fit <- known(covariance = matern(3/2, 1, 2) + nugget(0.1))
  expect_identical(nobs(fit, use.fallback = TRUE), 20L)
  expect_identical(coef(fit, complete = TRUE), coef(fit))
  expect_identical(as.formula(fit), formula(fit))
  expect_identical(update.formula(fit, ~ . + k), y ~ k, ignore_formula_env = TRUE)
  fit <- gp(y ~ 1, d, ~ x, matern(3/2, 1, 2) + nugget(0.1), estimate = "none")
  larger <- gp(y ~ k, d, ~ x, matern(3/2, 1, 2) + nugget(0.1), estimate = "none")
  expect_equal(add1(fit, ~ . + k)["k", "AIC"], AIC(larger))
  expect_no_error(capture.output(step(gp(y ~ x, d, ~ x, matern(3/2) + nugget(0.1, "variance"), estimate = "ML"))))
})
