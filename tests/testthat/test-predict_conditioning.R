# Properties that the process given the data must have, for every method of conditioning, and the lifetime of results
# that predictions store in the fit.

case <- withr::with_seed(1, {
  case <- data.frame(a = runif(90), b = runif(90))
  field <- sin(5 * case$a) + case$b
  transform(case, z = field + rnorm(90, sd = 0.2), w = cos(4 * case$b) + rnorm(90, sd = 0.2),
            count = rpois(90, exp(field)))
})
new <- withr::with_seed(2, data.frame(a = runif(7), b = runif(7)))
few <- gp_control(neighbours = 12)
of <- matern(3/2, 1, 0.3) + nugget(0.05)
fit_by <- \(method, formula = z ~ a, k = of, ...) {
  gp(formula, case, ~ a + b, k, method, "none", ..., control = few, backend = "auto")
}
two <- lmc(matern(3/2, range = 0.3), nugget(), sills = list(matrix(c(1, 0.4, 0.4, 0.8), 2), c(0.05, 0.06)))
with_joint <- \(fit, joint) {
  fit$vecchia$joint <- joint
  fit
}
everywhere <- list(local = FALSE, nmax = Inf, maxdist = Inf)
by_nearest <- list(local = TRUE, nmax = Inf, maxdist = Inf)
kinds <- list(
  exact = list(fit_by("exact"), everywhere), iterative = list(fit_by("iterative"), everywhere),
  "nearest errors" = list(fit_by("exact"), by_nearest),
  nearest = list(with_joint(fit_by("vecchia"), FALSE), everywhere),
  joint = list(with_joint(fit_by("vecchia"), TRUE), everywhere),
  "joint, observed exactly" = list(with_joint(fit_by("vecchia", k = matern(3/2, 1, 0.3)), TRUE), everywhere),
  field = list(with_joint(fit_by("vecchia", count ~ 1, family = poisson()), FALSE), everywhere),
  "joint field" = list(with_joint(fit_by("vecchia", count ~ 1, family = poisson()), TRUE), everywhere),
  "local trend" = list(fit_by("exact"), replace(everywhere, "nmax", 20)),
  "local, of counts" = list(fit_by("exact", count ~ 1, family = poisson()), replace(everywhere, "nmax", 20)),
  "several, joint" = list(with_joint(fit_by("vecchia", cbind(z, w) ~ 1, two), TRUE), everywhere),
  "several, nearest" = list(with_joint(fit_by("vecchia", cbind(z, w) ~ 1, two), FALSE), everywhere)
)
conditioning <- \(kind) kernops:::conditioning_for(kind[[1]], kind[[2]])
targets_at <- \(kind, ...) kernops:::targets_of(kind[[1]], kernops:::new_points(kind[[1]], new, NULL, ...))

for (name in names(kinds)) {
  kind <- kinds[[name]]
  test_that(paste0("means, moments and errors are consistent: ", name), {
    posterior <- conditioning(kind)
    points <- targets_at(kind)
    moments <- posterior$moments(points)
    means <- posterior$means(points)
    errors <- posterior$errors(points)
    expect_equal(means$trend + means$process, moments$trend + moments$process, tolerance = 1e-10)
    expect_equal(diag(errors), moments$variance, tolerance = 1e-5)
    expect_equal(errors, t(errors), tolerance = 1e-10)
    expect_gt(min(eigen(errors, TRUE, TRUE)$values), -1e-8)
    some <- c(2L, 5L)
    # a joint distribution depends on the other points that are predicted
    expect_equal(posterior$errors_among(points)(some), errors[some, some], tolerance = 1e-6)
    expect_identical(length(posterior$moments(kernops:::some_targets(points, integer()))$process), 0L)
  })
  test_that(paste0("a mean over a block is the mean of its nodes: ", name), {
    blocks <- targets_at(kind, block = c(0.1, 0.2))
    given <- conditioning(kind)
    nodes <- with(blocks, list(x = x[of, , drop = FALSE], n = length(of), u = u, of = seq_along(of),
                               weight = rep(1, length(of)), centres = centres[of, , drop = FALSE]))
    mean_of <- \(x) rowsum(as.matrix(x) * blocks$weight, blocks$of)
    at_nodes <- given$errors(nodes)
    at_blocks <- given$moments(blocks)
    sums <- mean_of(t(mean_of(at_nodes)))
    expect_equal(at_blocks$process, as.vector(mean_of(given$means(nodes)$process)), tolerance = 1e-6)
    expect_equal(at_blocks$variance, unname(diag(sums)), tolerance = 1e-4)
    expect_equal(unname(given$errors(blocks)), unname(sums), tolerance = 1e-4)
  })
}

test_that("the mean over a block uses all observations, whichever method computes the standard error", {
  fit <- fit_by("exact")
  at <- \(...) predict(fit, new, se.fit = TRUE, interval = "confidence", block = c(0.1, 0.2), ...)
  expect_identical(at(se = "local")$fit, at()$fit)
  expect_false(identical(at(se = "local")$se.fit, at()$se.fit))
})

test_that("the posterior of the field is computed once, and recomputed when the fit changes", {
  times <- 0
  system <- kernops:::gaussian_system
  withr::defer(utils::assignInNamespace("gaussian_system", system, "kernops"))
  utils::assignInNamespace("gaussian_system", function(object) {
    times <<- times + 1
    system(object)
  }, "kernops")
  fit <- with_joint(fit_by("vecchia"), TRUE)
  fit$cell <- kernops:::new_cell()
  times <- 0
  predicted <- \(fit, ...) predict(fit, new, se.fit = TRUE, interval = "confidence", ...)
  first <- predicted(fit, cov = TRUE)
  expect_identical(predicted(fit, control = list(neighbours = 14))$fit == first$fit$fit, rep(FALSE, 7))
  expect_identical(predicted(fit), first$fit)
  expect_identical(times, 1)
  # a fit with other parameters or other data does not use the stored result
  other <- with_joint(fit_by("vecchia", k = matern(3/2, 2, 0.2) + nugget(0.1)), TRUE)
  changed <- fit
  changed[c("theta", "beta", "state")] <- other[c("theta", "beta", "state")]
  expect_equal(predicted(changed), predicted(other), tolerance = 1e-12)
  expect_false(isTRUE(all.equal(predicted(changed), first$fit)))
  less <- with_joint(gp(z ~ a, case[-1, ], ~ a + b, of, "vecchia", "none", control = few), TRUE)
  changed[c("data", "parts", "vecchia", "center")] <- less[c("data", "parts", "vecchia", "center")]
  changed[c("theta", "beta", "state")] <- less[c("theta", "beta", "state")]
  expect_equal(predicted(changed), predicted(less), tolerance = 1e-12)
})

test_that("a fit is saved without results of predictions, and gives the same predictions after it is read", {
  fit <- with_joint(fit_by("vecchia"), TRUE)
  size <- length(serialize(fit, NULL))
  first <- predict(fit, new, se.fit = TRUE, interval = "confidence")
  expect_lt(length(serialize(fit, NULL)), size + 2000)
  file <- withr::local_tempfile()
  saveRDS(fit, file)
  again <- readRDS(file)
  for (time in 1:2) expect_identical(predict(again, new, se.fit = TRUE, interval = "confidence"), first)
  counts <- fit_by("vecchia", count ~ 1, family = poisson())
  first <- predict(counts, new, se.fit = TRUE)
  saveRDS(counts, file)
  expect_identical(predict(readRDS(file), new, se.fit = TRUE), first)
})
