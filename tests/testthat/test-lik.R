# The contract of R/lik.R, tested for all likelihoods by the same code: gradients against central differences, and the
# results of optional functions.

d <- family_data(60)
likelihood_of <- function(fit, ...) {
  data <- fit$response %||% fit$data
  how <- utils::modifyList(fit$how, list(...))
  list(likelihood = kernops:::likelihood_for(data, fit$outer %||% fit$model, how),
       theta = unname(fit$outer_theta %||% fit$theta), n = length(data$y))
}
field <- matern(3/2, 1.1, 0.4) + nugget(0.2)
gaussian_fit <- \(method, ...) gp(y ~ w, d, ~ a + b, field, method, "none", ...)
# Laplace's approximation with a dense factor runs on the CPU only.
family_fit <- \(method) gp(count ~ w, d, ~ a + b, field, method, "none", family = poisson(),
                           backend = if (method == "exact") "cpu" else "auto")
likelihoods <- list(
  exact = \() likelihood_of(gaussian_fit("exact")),
  # a preconditioner of full rank, with which the value has no Monte Carlo error
  iterative = \() {
    likelihood_of(gaussian_fit("iterative", control = gp_control(rank = 60, cg_tol = 1e-11, probes = 64)))
  },
  vecchia = \() likelihood_of(gaussian_fit("vecchia", control = gp_control(neighbours = 8))),
  laplace = \() likelihood_of(family_fit("exact")),
  laplace_vecchia = \() likelihood_of(family_fit("vecchia"))
)

functions_of <- \(f) setdiff(names(formals(f)), c("dense", "costly", "has_value", "rounding", "resolution", "probes",
                                                  "results"))

for (name in names(likelihoods)) {
  test_that(paste(name, "has all functions of the contract"), {
    case <- likelihoods[[name]]()
    likelihood <- case$likelihood
    expect_s3_class(likelihood, "gp_likelihood")
    for (verb in functions_of(kernops:::new_likelihood)) expect_type(likelihood[[verb]], "closure")
    expect_identical(c(likelihood$dense, likelihood$costly), c(grepl("exact|laplace$", name), name == "iterative"))
    for (search in c(FALSE, TRUE)) {
      state <- likelihood$evaluate(case$theta, search = search)
      expect_s3_class(state, "gp_likelihood_state")
      for (verb in functions_of(kernops:::new_state)) expect_type(state[[verb]], "closure")
      expect_identical(state$has_value, !(search && likelihood$costly))
      expect_identical(is.finite(state$value), state$has_value)
      expect_type(c(state$rounding, state$resolution, state$probes), "double")
      expect_type(state$sharpen(), "logical")
      expect_silent(state$warn())
      expect_identical(state$probes > 0, !state$has_value)
    }
    expect_equal(state$estimate(case$theta)$value, likelihood$value(case$theta), tolerance = 1e-9)
    expect_false(kernops:::is_singular(state))
  })

  test_that(paste(name, "has the gradient of its value, and a definite information"), {
    case <- likelihoods[[name]]()
    likelihood <- case$likelihood
    theta <- 1.1 * case$theta
    differences <- as.vector(central_difference(\(factor) likelihood$value(factor * theta), rep(1, length(theta))))
    state <- likelihood$evaluate(theta, search = TRUE)
    gradient <- unname(state$gradient()) * theta
    error <- if (state$probes > 0) 4 * theta * sqrt(diag(state$noise())) else 1e-6 * max(abs(differences))
    expect_true(all(abs(gradient - differences) <= error))
    information <- unname(state$information())
    expect_equal(information, t(information), tolerance = 1e-10)
    expect_gt(min(eigen(information, symmetric = TRUE, only.values = TRUE)$values), 0)
  })

  test_that(paste(name, "can change its number of neighbours, or has none"), {
    case <- likelihoods[[name]]()
    likelihood <- case$likelihood
    state <- likelihood$evaluate(case$theta)
    count <- likelihood$count()
    before <- likelihood$value(case$theta)
    expect_false(likelihood$outdated(case$theta))
    likelihood$regroup(case$theta)
    likelihood$use(3L)
    expect_identical(abs(likelihood$value(case$theta) - before) < 1e-6, count == 0)
    likelihood$use(Inf)
    expect_equal(likelihood$value(case$theta), before, tolerance = 1e-9)
    change <- likelihood$doubled(case$theta, state)
    kept <- likelihood$kept_neighbours(case$theta)
    expect_identical(is.null(change), count == 0)
    expect_identical(is.null(kept), count == 0)
    expect_identical(is.null(likelihood$kept_factor()), !likelihood$dense)
    likelihood$double()
    expect_identical(likelihood$count(), min(2L * count, 59L))
    if (count > 0) {
      expect_equal((before - likelihood$value(case$theta)) / 2, change$loglik, tolerance = 1e-6)
      after <- likelihood$evaluate(case$theta)
      expect_equal(after$gradient() - state$gradient(), change$gradient, tolerance = 1e-5)
    }
    expect_identical(likelihood$subset_sizes(), c(dense = 0, same = 0))
    expect_identical(likelihood$sufficient_precision(case$theta, "float64"), "float64")
  })
}

test_that("the error for a singular matrix names a row", {
  twice <- rbind(d, d[7, ])
  fit <- gaussian_fit("exact")
  fit$data$u[9, ] <- fit$data$u[7, ]
  state <- likelihood_of(fit)$likelihood$evaluate(replace(unname(fit$theta), 3, 0), search = TRUE)
  expect_true(kernops:::is_singular(state))
  expect_true(state$bad %in% c(7, 9))
  expect_false(state$only_rounded())
  expect_true(state$has_value)
})

test_that("a likelihood with an unknown function, or without a required function, is an error", {
  expect_error(kernops:::new_likelihood(identity, invert = identity), "unused argument")
  expect_error(kernops:::new_state(list(value = 1), gradient = identity), "\"information\" is missing")
})
