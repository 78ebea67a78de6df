# Densities of families and their derivatives: against plain R at each response, and differences of high order.

cases <- oracle_densities()
labels <- make.unique(names(cases), " ")

family_of <- function(name, case) {
  kernops:::new_family(name, link = case$link %||% kernops:::family_table()[[name]]$links[[1]])
}

# Each response with each weight and linear predictor.
grid_of <- function(case, eta) expand.grid(y = case$y, w = case$w, eta = eta)
terms_at <- function(family, grid, phi, eta = grid$eta) {
  kernops:::density_terms(family, grid$y, grid$w, eta, phi)
}
expect_near <- function(actual, expected, tolerance) {
  expect_lt(max(abs(actual - expected) / (1e-3 + abs(expected))), tolerance)
}
# The derivatives of f in each entry of x, from differences whose error is of the order of steps to the power of 8.
each_slope <- function(f, x) {
  widths <- 0.05 / 2^(0:3)
  slopes <- lapply(widths, \(by) (f(x + by) - f(x - by)) / (2 * by))
  for (order in 1:3) slopes <- Map(\(wide, narrow) narrow + (narrow - wide) / (4^order - 1), slopes[-length(slopes)],
                                   slopes[-1])
  slopes[[1]]
}

for (k in seq_along(cases)) test_that(paste("the density and its derivatives are those of plain R:", labels[k]), {
  case <- cases[[k]]
  family <- family_of(names(cases)[k], case)
  phi <- case$phi
  grid <- grid_of(case, c(-3, -0.4, 0.3, 2))
  log_density <- \(eta, phi) case$log_density(grid$y, grid$w, eta, phi)
  terms <- terms_at(family, grid, phi)
  expect_near(terms$value, log_density(grid$eta, phi), 1e-10)
  expect_near(terms$slope, each_slope(\(eta) log_density(eta, phi), grid$eta), 1e-7)
  if (is.null(case$weight)) {
    expect_near(terms$weight, -each_slope(\(eta) terms_at(family, grid, phi, eta)$slope, grid$eta), 1e-8)
    expect_gte(min(terms$weight), 0)
  } else expect_near(terms$weight, case$weight(grid$w, grid$eta, phi), 1e-10)
  expect_near(terms$bend, each_slope(\(eta) terms_at(family, grid, phi, eta)$weight, grid$eta), 1e-8)
  if (!length(phi)) return()
  by <- kernops:::density_dispersion(family, grid$y, grid$w, grid$eta, phi)
  for (p in seq_along(phi)) {
    moved <- \(name) each_slope(\(x) terms_at(family, grid, replace(phi, p, x))[[name]], phi[[p]])
    expect_near(by$value[, p], each_slope(\(x) log_density(grid$eta, replace(phi, p, x)), phi[[p]]), 1e-7)
    expect_near(by$slope[, p], moved("slope"), 1e-8)
    expect_near(by$weight[, p], moved("weight"), 1e-8)
  }
})

for (k in seq_along(cases)) test_that(paste("the density is exact far from the response:", labels[k]), {
  case <- cases[[k]]
  family <- family_of(names(cases)[k], case)
  grid <- grid_of(case, c(-700, -30, 30, 700))
  terms <- terms_at(family, grid, case$phi)
  expected <- with(grid, case$log_density(y, w, eta, case$phi))
  known <- is.finite(expected)
  expect_near(terms$value[known], expected[known], 1e-10)
  for (name in c("slope", "weight", "bend")) expect_true(all(is.finite(terms[[name]])))
})

test_that("counts of 1e9 lose no digits", {
  eta <- log(1e9) + c(-1e-4, 0, 1e-5)
  at <- \(family, y, w, eta, phi = numeric()) kernops:::density_terms(family, y, w, eta, phi)$value
  expect_equal(at(kernops:::as_family(poisson()), 1e9, 1, eta), dpois(1e9, exp(eta), log = TRUE), tolerance = 1e-10)
  for (theta in c(0.3, 50, 1e9)) {
    expect_equal(at(negative_binomial(), 1e9, 1, eta, c(theta = theta)),
                 dnbinom(1e9, theta, mu = exp(eta), log = TRUE), tolerance = 1e-10)
  }
  share <- c(-1e-5, 0, 1e-4)
  expect_equal(at(kernops:::as_family(binomial()), 0.5, 1e9, share), dbinom(5e8, 1e9, plogis(share), log = TRUE),
               tolerance = 1e-10)
  expect_equal(at(kernops:::as_family(Gamma("log")), 1e9, 1, eta, c(shape = 1e7)),
               dgamma(1e9, 1e7, 1e7 / exp(eta), log = TRUE), tolerance = 1e-10)
})
