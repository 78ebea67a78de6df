# Packages insight and performance: the numbers for fits without a field are those for lm() and glm().

skip_if_not_installed("insight")
d <- withr::with_seed(1, {
  d <- data.frame(x = runif(40), w = rnorm(40), g = gl(4, 10))
  transform(d, y = exp(5 + w + rnorm(40, sd = 0.3)), k = rpois(40, exp(1 + 0.3 * w)), b = rbinom(40, 1, 0.6))
})
peers <- local({
  logged <- lm(log(y) ~ w, d)
  counts <- glm(k ~ w, poisson(), d)
  binary <- glm(b ~ w, binomial(), d)
  ours <- function(peer, ...) gp(formula(peer), d, ~ x, ..., estimate = "none")
  bare <- exponential(1e-10, 0.3)
  list(logged = list(peer = logged, fit = ours(logged, nugget(sigma(logged)^2))),
       counts = list(peer = counts, fit = ours(counts, bare, family = poisson())),
       binary = list(peer = binary, fit = ours(binary, bare, family = binomial())))
})

test_that("insight describes a fit as it describes fits of lm() and glm()", {
  for (name in names(peers)) with(peers[[name]], {
    expect_equal(insight::model_info(fit), insight::model_info(peer), ignore_attr = TRUE)
    for (f in list(insight::find_response, insight::find_predictors, insight::find_formula, insight::n_obs,
                   insight::get_response, insight::find_parameters)) expect_equal(f(fit), f(peer), ignore_attr = TRUE)
    expect_equal(insight::get_parameters(fit), insight::get_parameters(peer), tolerance = 1e-5)
    expect_equal(insight::get_statistic(fit)$Statistic, insight::get_statistic(peer)$Statistic, tolerance = 1e-3)
    expect_equal(as.numeric(insight::get_predicted(fit)), unname(fitted(peer)), tolerance = 1e-5)
    expect_equal(insight::get_df(fit), df.residual(peer))
    expect_equal(insight::get_data(fit)$x, d$x)
  })
  p <- insight::get_predicted(peers$logged$fit, data = d[1:2, ], ci = 0.9)
  expect_equal(as.numeric(p), unname(fitted(peers$logged$peer)[1:2]))
  expect_equal(attr(p, "ci_data")$CI_low, predict(peers$logged$fit, d[1:2, ], interval = "confidence", level = 0.9)$lwr)
  trials <- gp(cbind(k, 20 - k) ~ w, d, ~ x, exponential(1e-10, 0.3), family = binomial(), estimate = "none")
  expect_false(insight::model_info(trials)$is_bernoulli)
  effects <- gp(log(y) ~ w + (1 | g), d, ~ x, nugget(), estimate = "ML")
  expect_equal(insight::find_formula(effects)$random, ~ 1 | g, ignore_formula_env = TRUE)
  expect_identical(insight::find_random(effects)$random, "g")
})

test_that("the scales of residuals agree with lm() and glm()", {
  for (name in names(peers)) with(peers[[name]], {
    expect_equal(insight::get_deviance(fit), deviance(peer), tolerance = 1e-5)
    expect_equal(insight::get_sigma(fit), insight::get_sigma(peer), tolerance = 1e-5, ignore_attr = TRUE)
  })
  times <- rep(1:2, 20)
  expect_equal(insight::get_deviance(gp(w ~ x, d, ~ x, nugget(1), weights = times, estimate = "none")),
               deviance(lm(w ~ x, d, weights = times)))
})

test_that("performance tests dispersion and variances as for lm() and glm()", {
  skip_if_not_installed("performance")
  with(peers$counts, expect_equal(unlist(performance::check_overdispersion(fit)),
                                  unlist(performance::check_overdispersion(peer)), tolerance = 1e-4))
  expect_error(performance::check_overdispersion(peers$binary$fit), "for counts", class = "kernops_input_error")
  with(peers$logged, expect_equal(performance::check_heteroscedasticity(fit),
                                  performance::check_heteroscedasticity(peer), ignore_attr = TRUE))
  with(peers$binary, {
    means <- tapply(predict(fit), d$b, mean) # means of predictive distributions, which include the error of the trend
    expect_equal(unname(performance::r2_tjur(fit)), means[["1"]] - means[["0"]])
  })
  expect_error(predict(peers$binary$fit, re.form = NA), class = "kernops_input_error")
})

test_that("performance computes errors on the scale of the formula", {
  skip_if_not_installed("performance")
  for (name in names(peers)) with(peers[[name]], {
    off <- residuals(peer, "response")
    expect_equal(performance::rmse(fit), sqrt(mean(off^2)), tolerance = 1e-5)
    expect_equal(performance::rmse(fit), performance::rmse(peer), tolerance = 1e-5)
    expect_equal(performance::mae(fit), mean(abs(off)), tolerance = 1e-5)
    y <- if (name == "logged") log(d$y) else model.response(model.frame(peer))
    expect_equal(performance::r2(fit)$R2[[1]], 1 - sum(off^2) / sum((y - mean(y))^2), tolerance = 1e-5)
  })
  expect_equal(performance::r2(peers$logged$fit)$R2[[1]], summary(peers$logged$peer)$r.squared)
  table <- performance::model_performance(peers$logged$fit)
  expect_equal(table$RMSE, performance::rmse(peers$logged$peer))
  expect_equal(table$Sigma, sigma(peers$logged$peer))
  expect_equal(table$AIC, AIC(peers$logged$fit))
})
