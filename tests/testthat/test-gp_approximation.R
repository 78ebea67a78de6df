# The changes that a fit reports for twice as many neighbours, against separate fits with twice as many neighbours; fits
# with `neighbours = "auto"`, against exact fits.

plane <- function(n, noise = 0.05, range = 0.2, seed = 1, nu = 1.5) {
  withr::local_seed(seed)
  u <- matrix(runif(2 * n), n, dimnames = list(NULL, c("a", "b")))
  h <- sqrt(2 * nu) * unname(as.matrix(dist(u))) / range
  R <- if (nu == 1.5) (1 + h) * exp(-h) else (1 + h + h^2 / 3) * exp(-h)
  data.frame(u, x = rnorm(n), z = 3 + drop(crossprod(chol(R + diag(noise, n)), rnorm(n))))
}
field <- matern(3/2, 1, 0.2) + nugget(0.05)
vecchia <- \(d, ..., m = 8, formula = z ~ 1) gp(formula, d, ~ a + b, ..., method = "vecchia", neighbours = m)
changes <- \(fit) fit$vecchia$changes
sites_of <- function(count) withr::with_seed(9, data.frame(a = runif(count), b = runif(count), x = 0))

test_that("the reported change of the log-likelihood is the difference from a fit with twice as many neighbours", {
  d <- plane(500)
  for (formula in c(z ~ 0, z ~ 1, z ~ x)) {
    one <- \(m) vecchia(d, field, m = m, estimate = "none", formula = formula)
    expect_equal(changes(one(8))[["loglik"]], one(16)$loglik - one(8)$loglik, tolerance = 1e-8)
    expect_true(is.na(changes(one(8))[["estimates"]]))
  }
})

test_that("the predicted change of estimates agrees with the estimates of a fit with twice as many neighbours", {
  d <- plane(700)
  for (estimate in c("ML", "REML")) {
    one <- \(m) vecchia(d, matern(3/2) + nugget(), m = m, estimate = estimate)
    few <- one(8)
    more <- one(16)
    se <- sqrt(diag(vcov(few, "covariance")))
    moved <- abs(log(more$theta / few$theta)) / pmax(se / few$theta, 0.1)
    expect_equal(changes(few)[["estimates"]], max(moved), tolerance = 0.4)
  }
})

test_that("reported changes of predictions agree with a new fit with twice as many neighbours", {
  d <- plane(600)
  few <- vecchia(d, matern(3/2) + nugget(), m = 8)
  more <- vecchia(d, matern(3/2) + nugget(), m = 16)
  new <- sites_of(400)
  by <- \(fit) predict(fit, new, se.fit = TRUE, interval = "confidence")
  off <- sqrt(mean(((by(more)$fit - by(few)$fit) / by(more)$se.fit)^2))
  expect_equal(changes(few)[["predictions"]], off, tolerance = 0.5)
  expect_equal(changes(few)[["se"]], sqrt(mean(log(by(more)$se.fit / by(few)$se.fit)^2)), tolerance = 0.6)
})

test_that("\"auto\" doubles the neighbours until fits and predictions are near those of the exact method", {
  for (case in list(plane(600), plane(600, 0.5), plane(600, 0.01, 0.4, nu = 2.5))) {
    of <- if (identical(case, plane(600, 0.01, 0.4, nu = 2.5))) matern(5/2) else matern(3/2)
    fit <- suppressWarnings(vecchia(case, of + nugget(), m = "auto"))
    exact <- suppressWarnings(gp(z ~ 1, case, ~ a + b, of + nugget(), "exact"))
    expect_true(kernops:::approximation_verdict(fit) %in% c("exact", "good"))
    expect_lt(abs(fit$loglik - exact$loglik), 2)
    expect_lt(max(abs(log(fit$theta / exact$theta)) / sqrt(diag(kernops:::covariance_vcov(exact)))), 1)
    by <- \(fit) predict(fit, sites_of(200), se.fit = TRUE, interval = "confidence")
    expect_lt(sqrt(mean(((by(fit)$fit - by(exact)$fit) / by(exact)$se.fit)^2)), 0.2)
    expect_lt(sqrt(mean(log(by(fit)$se.fit / by(exact)$se.fit)^2)), 0.08)
  }
})

test_that("a smaller tolerance uses more neighbours, up to all of them", {
  d <- plane(300)
  count <- \(tol, ...) vecchia(d, field, m = "auto", estimate = "none", neighbour_tol = tol, neighbour_limit = 1000)
  counts <- vapply(c(1, 1e-3, 1e-9), \(tol) count(tol)$vecchia$m, 0)
  expect_true(all(diff(counts) >= 0))
  expect_identical(counts[[3]], 299)
  all <- count(1e-9)
  expect_identical(kernops:::approximation_verdict(all), "exact")
  expect_output(print(all), "approximation   none: all observations are neighbours")
  expect_equal(all$loglik, gp(z ~ 1, d, ~ a + b, field, "exact", "none")$loglik, tolerance = 1e-10)
})

test_that("the change with twice the neighbours is reported for counts, groups, lmc(), weights and transformations", {
  d <- plane(400)
  d$count <- withr::with_seed(1, rpois(400, exp(d$z / 3)))
  d$group <- rep(1:2, 200)
  d$second <- d$z + withr::with_seed(2, rnorm(400))
  counts <- \(...) gp(count ~ 1, d, ~ a + b, ..., method = "vecchia", family = poisson())
  fits <- list(counts(matern(3/2), neighbours = 8),
               vecchia(d, field, group = ~ group, estimate = "none"), vecchia(d, field, weights = rep(1:4, 100)),
               vecchia(d, field, formula = exp(z) ~ 1, transform = "log"),
               vecchia(d, lmc(matern(3/2), nugget()), formula = cbind(z, second) ~ 1))
  for (fit in fits) {
    known <- setdiff(names(changes(fit)), if (fit$estimate == "none") "estimates")
    expect_true(all(is.finite(changes(fit)[known])))
    expect_output(print(fit), "approximation   (good|fair|poor): .* with twice as many")
  }
  gain <- counts(fits[[1]]$covariance, neighbours = 16)$loglik - fits[[1]]$loglik
  expect_lt(abs(changes(fits[[1]])[["loglik"]] - gain), 1)
  auto <- suppressWarnings(counts(matern(3/2), neighbours = "auto", neighbour_tol = 1e-4))
  expect_gt(auto$vecchia$m, 20)
})

with_auto <- function(how) {
  how$control$neighbours <- "auto"
  how
}

test_that("a warning reports that the default number of neighbours is too small for many observations", {
  d <- plane(200)
  fit <- vecchia(d, matern(5/2, 2, 0.5) + nugget(1e-4), m = 3, estimate = "none")
  expect_silent(kernops:::warn_about_neighbours(fit))
  fit$how$control["neighbours"] <- list(NULL)
  expect_silent(kernops:::warn_about_neighbours(fit))
  fit$vecchia$changes[] <- c(1e-9, 1e-9, 1e-9, 0.5)
  fit$parts$y <- fit$data$y <- numeric(3e4) # the check uses only the number of observations
  expect_warning(kernops:::warn_about_neighbours(fit), "by 3 neighbours is poor: standard errors change by 50 %",
                 class = "kernops_neighbours")
  fit$vecchia$changes[] <- 1e-9
  expect_silent(kernops:::warn_about_neighbours(fit))
})

test_that("print(), summary() and glance() report a bad approximation", {
  withr::local_seed(3)
  x <- matrix(runif(8 * 400), 400, dimnames = list(NULL, letters[1:8]))
  d <- data.frame(x, z = sin(3 * x[, 1]) + x[, 2]^2 + x[, 3] * x[, 4] + rnorm(400, sd = 0.01))
  fit <- gp(z ~ 1, d, reformulate(letters[1:8]), matern(7/2, 20, 4) + nugget(1e-4), "vecchia", "none", neighbours = 15)
  expect_output(print(fit), "approximation   poor: (log-likelihood|predictions|standard errors)")
  expect_output(print(summary(fit)), "Approximation   poor: log-likelihood")
  advice <- "`neighbours = \"auto\"` increases the number of neighbours"
  expect_output(print(fit), advice, fixed = TRUE)
  expect_output(print(summary(fit)), advice, fixed = TRUE)
  expect_no_match(utils::capture.output(print(replace(fit, "how", list(with_auto(fit$how))))), advice, fixed = TRUE)
  table <- glance.gp(fit)
  expect_identical(table$approximation, "poor")
  more <- update(fit, neighbours = 30)
  expect_equal(table$change.logLik, more$loglik - fit$loglik, tolerance = 1e-6)
  expect_gt(table$change.prediction, 0.1)
  fit$certificate <- certify(fit, sites = 5)
  expect_output(print(fit), "approximation   poor, log-likelihood")
  expect_identical(anyDuplicated(names(glance.gp(fit))), 0L)
  exact <- gp(z ~ 1, d, reformulate(letters[1:8]), fit$covariance, "exact", "none")
  expect_false("approximation" %in% names(glance.gp(exact)))
})

test_that("if the limit of neighbours is too small for the tolerance, a warning names a better method", {
  d <- plane(300)
  short <- \(...) vecchia(d, field, m = "auto", estimate = "none", neighbour_tol = 1e-7, ...)
  expect_warning(fit <- short(neighbour_limit = 70), class = "kernops_neighbours")
  expect_identical(fit$vecchia$m, 60L)
  expect_warning(short(neighbour_limit = 130), "method = \"exact\".*neighbour_limit = 240", class = "kernops_warning")
  expect_warning(short(exact_limit = 100, neighbour_limit = 70), "method = \"iterative\"", class = "kernops_neighbours")
  expect_silent(vecchia(d, field, m = 5, estimate = "none", neighbour_tol = 1e-7))
  expect_error(gp_control(neighbour_limit = 0), class = "kernops_input_error")
})

test_that("new points get more neighbours if more neighbours change the predictions", {
  # observations without noise are values of the field, on which predictions are conditioned
  few <- vecchia(plane(800, 1e-8, nu = 2.5), matern(5/2, 1, 0.2), m = 5, estimate = "none", formula = z ~ 0)
  expect_gt(few$vecchia$new, 10)
  none <- vecchia(plane(800, 1e-8, nu = 2.5), matern(5/2, 1, 0.2), m = 5, estimate = "none", formula = z ~ 0,
                  neighbour_tol = 1)
  expect_identical(none$vecchia$new, none$vecchia$local)
})

test_that("predictions from the observations near the sites equal predictions from all observations", {
  case <- withr::with_seed(3, data.frame(a = runif(5000), b = runif(5000), z = rnorm(5000)))
  fit <- gp(z ~ a, case, ~ a + b, exponential(1, 0.2), "vecchia", "none", control = gp_control(neighbours = 10))
  fit$vecchia$new <- 40L
  sites <- kernops:::certified_sites(fit, 4)
  some <- kernops:::near_sites(fit, sites)
  expect_lt(length(some$data$y), 2000)
  expect_equal(kernops:::field_moments(some, sites), kernops:::field_moments(fit, sites), tolerance = 1e-12)
  many <- kernops:::certified_sites(fit, 20)
  all <- kernops:::near_sites(fit, many)
  expect_length(all$data$y, 5000)
  expect_identical(kernops:::field_moments(all, many), kernops:::field_moments(fit, many))
})

# Replaces an object of the package until the test ends.
local_value <- function(name, value, frame = parent.frame()) {
  kept <- get(name, asNamespace("kernops"))
  withr::defer(utils::assignInNamespace(name, kept, "kernops"), frame)
  utils::assignInNamespace(name, value, "kernops")
}

# Dense kriging with a known mean.
oracle_kriging <- function(d, sites, range, noise) {
  of <- \(x, y) {
    h <- sqrt(5) * sqrt(outer(x$a, y$a, "-")^2 + outer(x$b, y$b, "-")^2) / range
    (1 + h + h^2 / 3) * exp(-h)
  }
  weights <- solve(of(d, d) + diag(noise, nrow(d)), of(d, sites))
  list(mean = drop(crossprod(weights, d$z)), se = sqrt(1 - colSums(weights * of(d, sites))))
}

test_that("predictions are conditioned on values of the field if noisy observations do not suffice", {
  local_value("few_latent", 900)
  d <- plane(1500, 1, 0.4, nu = 2.5)
  d$z <- d$z - 3
  sites <- sites_of(100)
  exact <- oracle_kriging(d, sites, 0.4, 1)
  fit <- \(...) vecchia(d, matern(5/2, 1, 0.4) + nugget(1), m = 30, estimate = "none", formula = z ~ 0, ...)
  off <- \(fit) {
    p <- predict(fit, sites, se.fit = TRUE, interval = "confidence")
    sqrt(c(mean = mean(((p$fit - exact$mean) / exact$se)^2), se = mean(log(p$se.fit / exact$se)^2)))
  }
  latent <- fit()
  expect_identical(latent$vecchia[c("field", "new")], list(field = 25L, new = 60L))
  tolerant <- fit(neighbour_tol = 1)
  expect_null(tolerant$vecchia$field)
  expect_true(all(off(latent) < c(0.4, 0.6) * off(tolerant)))
  # predictions are conditioned on the observations if these have no noise, or are too many for predictions by cells
  expect_null(vecchia(d, matern(5/2, 1, 0.4), m = 30, estimate = "none", formula = z ~ 0,
                      known = list(noise = rep(c(0, 0.5), 750)))$vecchia$field)
  local_value("most_latent", 1000)
  expect_true(predicts_by_cells(fit()))
  replaced_locally(may_have_cells = function(object) FALSE)
  expect_null(fit()$vecchia$field)
})

test_that("values of the field are used only if their predictions change less with twice as many neighbours", {
  local_value("few_latent", 900)
  d <- plane(1200, 0.5)
  rough <- vecchia(d, exponential(1, 0.2) + nugget(0.01), m = 30, estimate = "none")
  expect_null(rough$vecchia$field)
  local_value("with_latent_field", \(object) {
    object$vecchia[c("field", "new")] <- list(1L, 2L)
    object
  })
  poor <- vecchia(d, matern(5/2, 1, 0.2) + nugget(0.5), m = 5, estimate = "none")
  expect_null(poor$vecchia$field)
})

test_that("sites between observations have trend columns of their coordinates, and covariates of the nearest point", {
  data <- withr::with_seed(1, data.frame(a = runif(100), b = runif(100), w = rnorm(100), z = rnorm(100)))
  fit <- gp(z ~ a + I(a * b) + w + poly(b, 2), data, ~ a + b, exponential(1, 0.3) + nugget(0.1), "vecchia", "none")
  sites <- kernops:::certified_sites(fit, 40)
  u <- sweep(unname(sites$u), 2, fit$center, "+")
  expect_equal(unname(sites$x[, "a"]), u[, 1])
  expect_equal(unname(sites$x[, "I(a * b)"]), u[, 1] * u[, 2])
  expect_equal(unname(sites$x[, 5:6]), unname(predict(poly(data$b, 2), u[, 2])[, 1:2]), tolerance = 1e-6)
  nearest <- apply(u, 1, \(at) which.min((data$a - at[[1]])^2 + (data$b - at[[2]])^2))
  near <- abs(sites$x[, "w"] - data$w[nearest]) < 1e-12 # may be FALSE if two observations are equally near to the site
  expect_gt(mean(near), 0.45)
  few <- gp(z ~ a, data[1:10, ], ~ a + b, exponential(1, 0.3) + nugget(0.1), "vecchia", "none")
  expect_true(all(kernops:::certified_sites(few, 6)$x[, "a"] %in% data$a[1:10]))
})
