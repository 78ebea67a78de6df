# Package DHARMa reads fits of gp() in the way in which it reads fits of lm() and glm(). Without a field, the
# distributions of both kinds of fits agree.

d <- withr::with_seed(1, {
  d <- data.frame(x = runif(60), w = rnorm(60), n = rep(c(4, 7), 30))
  transform(d, z = w + rnorm(60, sd = 0.5), k = rpois(60, exp(1 + 0.5 * w)), s = rbinom(60, n, plogis(w)),
            b = factor(rbinom(60, 1, 0.5), labels = c("no", "yes")))
})
bare <- exponential(1e-10, 0.3)
ours <- function(peer, ...) gp(formula(peer), d, ~ x, ..., estimate = "none")
counts <- glm(k ~ w, poisson(), d)
fit <- ours(counts, bare, family = poisson())
simulations <- kernops:::getSimulations.gp

test_that("simulations agree with simulate(), as numbers", {
  expect_equal(withr::with_seed(2, simulations(fit, 3)), unname(as.matrix(simulate(fit, 3, seed = 2, noise = TRUE))))
  trials <- gp(cbind(s, n - s) ~ w, d, ~ x, bare, family = binomial(), estimate = "none")
  expect_equal(kernops:::getObservedResponse.gp(trials), d$s)
  expect_equal(withr::with_seed(2, simulations(trials, 1))[, 1], simulate(trials, 1, seed = 2, noise = TRUE)[[1]][, 1])
  shares <- gp(s / n ~ w, d, ~ x, bare, family = binomial(), weights = n, estimate = "none")
  expect_equal(kernops:::getObservedResponse.gp(shares), d$s)
  expect_equal(range(simulations(shares, 9) %% 1), c(0, 0))
  levels <- gp(b ~ w, d, ~ x, bare, family = binomial(), estimate = "none")
  expect_equal(kernops:::getObservedResponse.gp(levels), as.integer(d$b == "yes"))
  expect_setequal(simulations(levels, 2), 0:1)
})

test_that("the share of simulations that do not exceed an observation agrees with glm()", {
  y <- kernops:::getObservedResponse.gp(fit)
  expect_equal(y, d$k)
  expect_equal(kernops:::getFitted.gp(fit), unname(fitted(counts)), tolerance = 1e-5)
  expect_equal(kernops:::getResiduals.gp(fit), unname(residuals(counts, "response")), tolerance = 1e-4)
  share <- rowMeans(withr::with_seed(3, simulations(fit, 4000)) <= y)
  # given the data, the coefficients of the trend are normal
  linear <- predict(counts, se.fit = TRUE)
  p <- rowMeans(sapply(qnorm(ppoints(500)), \(z) ppois(y, exp(linear$fit + z * linear$se.fit))))
  expect_true(all(abs(share - p) < 5 * sqrt(p * (1 - p) / 4000) + 1e-3))
})

test_that("simulations with a new field have a larger variance than simulations given the data", {
  field <- gp(z ~ 1, d, ~ x, exponential(4, 0.3) + nugget(0.1), estimate = "none")
  spread <- function(...) mean(apply(withr::with_seed(4, simulations(field, 300, ...)), 1, var))
  expect_equal(spread(conditional = FALSE), 4.1, tolerance = 0.1)
  expect_lt(spread(), 1)
})

test_that("rows without a response are omitted, and refits are refused", {
  lacking <- gp(z ~ w, transform(d, z = replace(z, 1:2, NA)), ~ x, nugget(0.2), estimate = "none",
                na.action = na.exclude)
  expect_length(kernops:::getFitted.gp(lacking), 58)
  expect_identical(dim(simulations(lacking, 2)), c(58L, 2L))
  expect_error(simulations(fit, 2, type = "refit"), class = "kernops_input_error")
})

test_that("DHARMa accepts a fit", {
  skip_if_not_installed("DHARMa")
  simulated <- suppressWarnings(DHARMa::simulateResiduals(fit, 500, seed = 1))
  theirs <- DHARMa::simulateResiduals(counts, 500, seed = 1)
  expect_equal(simulated$fittedPredictedResponse, unname(fitted(counts)), tolerance = 1e-5)
  expect_lt(max(abs(rowMeans(simulated$simulatedResponse) - rowMeans(theirs$simulatedResponse))), 1)
  expect_gt(DHARMa::testUniformity(simulated, plot = FALSE)$p.value, 0.01)
})
