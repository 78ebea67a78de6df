# Fits with each family of the table: the Laplace approximation against plain R, and all methods of fits.

withr::local_options(kernops.backend = "auto")  # families are fitted on the CPU
cases <- oracle_densities()
labels <- density_labels(cases)
d <- family_data(30)
u <- as.matrix(d[c("a", "b")])
field <- matern(3/2, 0.8, 0.4) + nugget(0.1)

# Responses drawn from the family, as users give them: y are those of the density.
drawn <- function(case, family) withr::with_seed(2, {
  eta <- 0.3 + sin(5 * d$a) + 0.3 * d$w
  kind <- family$density$response
  w <- if (kind == "binomial") 5 else rep(1:2, 15)
  y <- family$density$draw(eta, w, case$phi, family$link)
  if (kind == "time") y <- ifelse(y > 2, -2, y)
  list(y = y, w = rep_len(w, 30), response = switch(kind, time = cbind(abs(y), y > 0), ordered = factor(y), y))
})

fit_of <- function(k, ...) {
  family <- family_of(names(cases)[k], cases[[k]], known = TRUE)
  data <- drawn(cases[[k]], family)
  frame <- d
  frame$response <- data$response
  frame$w_prior <- data$w
  list(data = data, fit = gp(response ~ w, frame, ~ a + b, field, family = family, weights = w_prior,
                             estimate = "none", ...))
}

for (k in seq_along(cases)) test_that(paste("likelihood and gradient are those of plain R:", labels[k]), {
  case <- cases[[k]]
  made <- fit_of(k)
  fit <- made$fit
  count <- length(case$phi)
  value <- function(theta) {
    phi <- stats::setNames(theta[3 + seq_len(count)], names(case$phi))
    mean <- as.vector(fit$response$basis %*% theta[-seq_len(3 + count)])
    density <- \(eta) case$log_density(made$data$y, made$data$w, eta, phi)
    weight <- if (!is.null(case$weight)) \(eta) case$weight(made$data$w, eta, phi)
    oracle_laplace(covariance_of(u, theta[1], theta[2], theta[3]), mean, density, weight)$value
  }
  expect_equal(-2 * fit$loglik, value(fit$outer_theta), tolerance = 1e-7)
  likelihood <- kernops:::likelihood_for(fit$response, fit$outer, fit$how)
  away <- fit$outer_theta * 1.05
  state <- likelihood$evaluate(away)
  slope <- state$gradient()
  differences <- vapply(seq_along(away), function(k) {
    step <- replace(numeric(length(away)), k, 1e-4 * max(1, abs(away[[k]])))
    (likelihood$value(away + step) - likelihood$value(away - step)) / (2 * max(step))
  }, 0)
  expect_equal(unname(slope), differences, tolerance = 1e-5)
  expect_equal(state$value, value(away), tolerance = 1e-7)
})

for (k in seq_along(cases)) test_that(paste("methods of fits work:", labels[k]), {
  made <- fit_of(k)
  fit <- made$fit
  density <- fit$family$density
  new <- data.frame(a = c(0.2, 0.9), b = c(0.3, 0.6), w = c(0, 1))
  response <- predict(fit, new, se.fit = TRUE, interval = "prediction", above = 1)
  expect_true(all(is.finite(unlist(response))))
  expect_true(all(response$lwr <= response$upr))
  whole <- predict(fit, new, interval = "confidence", above = response$fit[[1]])
  expect_true(all(whole$lwr <= whole$upr))
  for (type in c("deviance", "pearson", "response", "quantile")) expect_true(all(is.finite(residuals(fit, type))))
  table <- gp_cv(fit)
  expect_true(all(is.finite(table$log_density)))
  again <- suppressWarnings(simulate(fit, 2, seed = 1), classes = "kernops_weights_ignored")
  expect_identical(dim(again), c(30L, 2L))
  repeated <- kernops:::family_response(fit$family, again[[1]], made$data$w, 1:30, NULL)
  expect_length(repeated$y, 30)
  expect_output(print(summary(fit)), fit$family$name)
  expect_true(all(is.finite(family(fit)$variance(fitted(fit)))))
})

for (k in which(!vapply(cases, \(case) is.null(case$weight), NA))) {
  test_that(paste("Vecchia's approximation with all neighbours is the dense one:", labels[k]), {
    state_by <- function(method, theta, ...) {
      fit <- fit_of(k, method = method, ...)$fit
      kernops:::likelihood_for(fit$response, fit$outer, fit$how)$evaluate(theta %||% (1.1 * fit$outer_theta))
    }
    near <- state_by("vecchia", NULL, neighbours = 29)
    theta <- c(near$field, near$phi, near$beta)
    # the variances of the places are larger by 1e-9 of them
    dense <- state_by("exact", replace(theta, 3, theta[[3]] + 1e-9 * theta[[1]]))
    expected <- dense$gradient()
    expected[[1]] <- expected[[1]] + 1e-9 * expected[[3]]
    expect_equal(near$value, dense$value, tolerance = 1e-9)
    expect_equal(unname(near$gradient()), unname(expected), tolerance = 1e-7)
    expect_lt(near$steps, 30)
  })
}
