# Likelihoods of families whose parameters have predictors: each family of the table, against plain R.

withr::local_options(kernops.backend = "auto")
cases <- Filter(\(case) length(case$phi) > 0 && is.null(case$classes), oracle_densities())
labels <- density_labels(cases)
d <- family_data(30)
u <- as.matrix(d[c("a", "b")])
d$z <- withr::with_seed(5, rnorm(30))
Z <- cbind(1, d$z)

# Random responses y, and a fit after a few steps with a predictor for each parameter. `frame` has the responses in the
# form that gp() expects, y in the form of the density.
make <- function(k, method = "exact", ...) withr::with_seed(2, {
  case <- cases[[k]]
  family <- family_of(names(cases)[k], case)
  kind <- family$density$response
  w <- rep_len(if (kind == "binomial") 5 else 1:2, 30)
  y <- family$density$draw(0.3 + sin(5 * d$a) + 0.3 * d$w, w, case$phi, family$link)
  if (kind == "time") y <- ifelse(y > 2, -2, y)
  frame <- cbind(d, w_prior = w)
  frame$response <- if (kind == "time") cbind(abs(y), y > 0) else y
  predictors <- lapply(case$phi, \(each) ~ z)
  field <- matern(3/2, 0.8, 0.4) + nugget(0.1, fixed = "variance")
  fit <- suppressWarnings(gp(response ~ w, frame, ~ a + b, field, family = family, weights = w_prior,
                             predictors = predictors, method = method, maxit = 1, starts = 1, ...))
  # start near the parameters of the case
  links <- lapply(names(case$phi), kernops:::parameter_link, family = family)
  start <- unlist(Map(\(link, phi) c(link$link(phi), 0.3), links, case$phi))
  own <- kernops:::reported_parameters(fit$family, start, inverse = TRUE)
  theta <- c(0.88, 0.44, 0.11, own, 0.3, -0.2)
  list(fit = fit, y = y, w = w, theta = unname(theta), links = links, frame = frame,
       likelihood = kernops:::likelihood_for(fit$response, fit$outer, fit$how))
})

made <- list()
made_of <- function(k) {
  if (is.null(made[labels[k]][[1]])) made[[labels[k]]] <<- make(k)
  made[[labels[k]]]
}

# -2 log-likelihood in plain R at coefficients `gamma` of the predictors, with one column for each parameter.
oracle_value <- function(k, made, theta, gamma) {
  case <- cases[[k]]
  phi <- vapply(seq_along(made$links), \(j) made$links[[j]]$inverse(as.vector(Z %*% gamma[, j])), numeric(30))
  mean <- as.vector(made$fit$response$basis %*% theta[-seq_len(3 + length(gamma))])
  each <- \(f) \(...) vapply(seq_len(30), \(i) f(i, ...), 0)
  density <- each(\(i, eta) case$log_density(made$y[[i]], made$w[[i]], eta[[i]], phi[i, ]))
  oracle_laplace(covariance_of(u, theta[1], theta[2], theta[3]), mean, density)$value
}

for (k in seq_along(cases)) test_that(paste("likelihood and gradient agree with plain R:", labels[k]), {
  made <- made_of(k)
  theta <- made$theta
  count <- 2 * length(cases[[k]]$phi)
  gamma <- matrix(kernops:::reported_parameters(made$fit$family, theta[3 + seq_len(count)]), 2)
  state <- made$likelihood$evaluate(theta)
  slope <- state$gradient()
  expect_true(all(eigen(state$information(), symmetric = TRUE, only.values = TRUE)$values > 0))
  expect_equal(state$value, oracle_value(k, made, theta, gamma), tolerance = 1e-7)
  differences <- vapply(seq_along(theta), function(k) {
    step <- replace(numeric(length(theta)), k, 1e-4)
    (made$likelihood$value(theta + step) - made$likelihood$value(theta - step)) / 2e-4
  }, 0)
  expect_equal(unname(slope), differences, tolerance = 1e-5)
})

for (k in match(c("zero_inflated_poisson", "hurdle_negative_binomial", "Gamma"), names(cases))) {
  test_that(paste("Vecchia's approximation with all neighbours is exact:", labels[k]), {
    near <- make(k, "vecchia", neighbours = 29)
    state <- near$likelihood$evaluate(near$theta)
    # Vecchia's approximation enlarges the variance of the field by the factor 1 + 1e-9. The nugget of the exact
    # likelihood is increased by the same amount.
    theta <- near$theta
    dense <- made_of(k)$likelihood$evaluate(replace(theta, 3, theta[[3]] + 1e-9 * theta[[1]]))
    expected <- dense$gradient()
    expected[[1]] <- expected[[1]] + 1e-9 * expected[[3]]
    expect_equal(state$value, dense$value, tolerance = 1e-9)
    expect_equal(unname(state$gradient()), unname(expected), tolerance = 1e-7)
  })
}

test_that("constant predictors agree with the family without predictors", {
  for (k in seq_along(cases)) {
    made <- made_of(k)
    plain <- made$fit$response
    plain$family <- family_of(names(cases)[k], cases[[k]])
    model <- made$fit$outer
    own <- 3 + seq_len(2 * length(cases[[k]]$phi))
    model$parameters <- model$parameters[-own, ]
    theta <- replace(made$theta, own, kernops:::reported_parameters(made$fit$family, unlist(
      Map(\(link, phi) c(link$link(phi), 0), made$links, cases[[k]]$phi)
    ), inverse = TRUE))
    expected <- kernops:::laplace_likelihood(plain, model)$value(c(theta[1:3], cases[[k]]$phi, theta[-(1:max(own))]))
    expect_equal(made$likelihood$value(theta), expected, tolerance = 1e-12, info = labels[k])
  }
})

for (k in seq_along(cases)) test_that(paste("methods of fits work with predictors:", labels[k]), {
  made <- made_of(k)
  fit <- made$fit
  new <- data.frame(a = c(0.2, 0.9, 0.4), b = c(0.3, 0.6, 0.1), w = c(0, 1, 2), z = c(-1, 0, 1))
  response <- predict(fit, new, se.fit = TRUE, interval = "prediction", above = 1)
  expect_true(all(is.finite(unlist(response))))
  # predictions of single points agree with predictions of all points, although each point has its own parameters
  alone <- do.call(rbind, lapply(1:3, \(i) predict(fit, new[i, ], se.fit = TRUE, interval = "prediction", above = 1)))
  expect_equal(response, alone, tolerance = 1e-8, ignore_attr = TRUE)
  # after a few steps of the search, an observation of the Weibull family has the density 0, so that its deviance
  # residual is not finite
  for (type in c(if (labels[k] != "weibull") "deviance", "pearson", "response", "quantile")) {
    expect_true(all(is.finite(residuals(fit, type))), info = paste(labels[k], type))
  }
  table <- gp_cv(fit)
  expect_true(all(is.finite(table$log_density)))
  again <- suppressWarnings(simulate(fit, 2, seed = 1), classes = "kernops_weights_ignored")
  repeated <- kernops:::family_response(fit$family, again[[1]], made$w, 1:30, NULL)
  expect_length(repeated$y, 30)
  expect_output(print(fit), "(Intercept)", fixed = TRUE)
  expect_true(all(is.finite(family(fit)$variance(fitted(fit)))))
})
