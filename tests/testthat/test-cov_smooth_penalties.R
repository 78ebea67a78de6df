# Smooths with several penalties, against mgcv and dense matrices in plain R.

skip_if_not_installed("mgcv")

hills <- local({
  withr::local_seed(61)
  d <- transform(smooth_case(90), x = runif(90), h = rnorm(90), g = sample(letters[1:4], 90, TRUE),
                 o = factor(sample(1:3, 90, TRUE), ordered = TRUE))
  eta <- sin(6 * d$x) * d$w + cos(5 * d$x + match(d$g, letters)) / 2
  transform(d, y = eta + rnorm(90, sd = 0.2), k = rpois(90, exp(eta)))
})
new_hills <- data.frame(a = c(0.2, 0.7, 0.4), b = c(0.3, 0.6, 0.1), w = c(0.5, 1, -2), x = c(0.1, 0.55, 0.8),
                        h = c(1, -1, 0), g = c("c", "a", "b"), o = c(2, 1, 3))

# A list of the covariance matrix X S^- Z' of the random part between the points d and e, and the unpenalised columns at
# e. S is the sum of the penalties, each divided by its variance. Points whose level of `g` is "z" are outside of the
# basis.
penalised_part <- function(smooth, variance, d, e) {
  as_data <- \(data) transform(data, g = factor(g, letters[1:4]), o = factor(o))
  made <- mgcv::smoothCon(smooth, as_data(hills), absorb.cons = TRUE, modCon = 2)[[1]]
  split <- eigen(Reduce(`+`, made$S), symmetric = TRUE)
  random <- split$values > 1e-9 * split$values[[1]]
  U <- split$vectors[, random, drop = FALSE]
  S <- Reduce(`+`, Map(`/`, made$S, variance))
  X <- lapply(list(d, e), \(data) mgcv::PredictMat(made, as_data(data)))
  list(K = X[[1]] %*% U %*% solve(t(U) %*% S %*% U, t(X[[2]] %*% U)), X = X[[2]] %*% split$vectors[, !random])
}
hill_smooths <- list(
  list(~ te(x, w, k = 4), c(0.3, 2)), list(~ s(h, bs = "ad", k = 12, m = 3), c(0.1, 1, 10)),
  list(~ t2(a, b, k = 4), c(1, 0.5, 2)), list(~ s(w, g, bs = "fs", k = 4), c(0.3, 1, 0.2))
)
given_hills <- function(smooths = hill_smooths) {
  Reduce(`+`, lapply(smooths, \(one) smooth_effect(one[[1]], one[[2]])), matern(3/2, 0.5, 0.4))
}
hills_model <- function(d, e, smooths = hill_smooths) {
  parts <- lapply(smooths, \(one) penalised_part(eval(one[[1]][[2]], asNamespace("mgcv")), one[[2]], d, e))
  h <- sqrt(3) * sqrt(outer(d$a, e$a, `-`)^2 + outer(d$b, e$b, `-`)^2) / 0.4
  list(K = Reduce(`+`, lapply(parts, `[[`, "K"), 0.5 * (1 + h) * exp(-h)),
       X = do.call(cbind, c(list(rep(1, nrow(e))), lapply(parts, `[[`, "X"))))
}

# The effective degrees of freedom. The warning that a variance of 0 or Inf has no standard error is suppressed.
edf_of <- \(fit) suppressWarnings(summary(fit)$edf, classes = "kernops_no_standard_error")

test_that("additive models agree with mgcv::gam()", {
  d <- transform(hills, g = factor(g))
  formulas <- list(y ~ te(x, w), y ~ ti(x) + ti(w) + ti(x, w, k = 4), y ~ te(x, w, a, k = 3),
                   y ~ s(x, bs = "ad", k = 12, m = 2), z ~ s(a, bs = "ad", k = 15, m = 3),
                   y ~ s(x, bs = "bs", m = c(3, 2)),
                   y ~ s(x, g, bs = "fs", k = 5), y ~ te(x, g, bs = c("cr", "re"), k = c(5, 4)),
                   y ~ s(x, k = 5) + s(x, g, bs = "sz", xt = "cr", k = 5),
                   y ~ te(x, w, k = 4, by = h), y ~ g + te(x, w, k = 4, by = g), y ~ o + te(x, w, k = 3, by = o),
                   y ~ w + s(x, h, g, bs = "fs", k = 5))
  for (formula in formulas) {
    fit <- suppressMessages(gp(formula, d, covariance = nugget()), classes = "kernops_vanished")
    peer <- mgcv::gam(formula, data = d, method = "ML")
    expect_equal(fit$loglik, -as.vector(peer$gcv.ubre), tolerance = 1e-5, info = deparse1(formula))
    expect_equal(as.vector(fitted(fit)), as.vector(fitted(peer)), tolerance = 5e-3, info = deparse1(formula))
    expect_equal(unname(predict(fit, d[1:9, ])), as.vector(predict(peer, d[1:9, ])), tolerance = 5e-3)
    edf <- edf_of(fit)
    expect_equal(unname(edf), as.vector(summary(peer)$edf), tolerance = 5e-3, info = deparse1(formula))
    expect_identical(names(edf), vapply(peer$smooth, `[[`, "", "label"))
  }
})

test_that("restricted likelihoods, penalised null spaces and t2() agree with mgcv::gam()", {
  d <- transform(hills, g = factor(g))
  compare <- function(formula, theirs = formula, ...) {
    fit <- gp(formula, d, covariance = nugget(), estimate = "REML")
    peer <- mgcv::gam(theirs, data = d, method = "REML", ...)
    gap <- as.numeric(determinant(crossprod(model.matrix(fit)))$modulus) / 2
    expect_equal(as.vector(fitted(fit)), as.vector(fitted(peer)), tolerance = 5e-3)
    expect_equal(unname(edf_of(fit)), as.vector(summary(peer)$edf), tolerance = 5e-3)
    expect_equal(fit$loglik - gap, -as.vector(peer$gcv.ubre), tolerance = 1e-5)
  }
  compare(y ~ te(x, w, k = 4))
  compare(y ~ s(x, select = TRUE) + te(w, h, k = 4, select = TRUE), y ~ s(x) + te(w, h, k = 4), select = TRUE)
  fit <- gp(y ~ t2(x, w, k = 4), d, covariance = nugget(), estimate = "REML")
  peer <- mgcv::gam(y ~ t2(x, w, k = 4), data = d, method = "REML")
  expect_equal(as.vector(fitted(fit)), as.vector(fitted(peer)), tolerance = 5e-3)
  expect_equal(unname(coef(fit, "covariance")[-1]), unname(peer$sig2 / peer$sp), tolerance = 0.02)
})

test_that("with a field, all methods agree with dense algebra for smooths", {
  known <- hills_model(hills, hills)
  K <- known$K + diag(0.05, 90)
  new <- hills_model(hills, new_hills)
  expected <- oracle_kriging(K, new$K, diag(hills_model(new_hills, new_hills)$K), hills$y, known$X, new$X)
  expect_kriging_by(c("exact", "iterative", "vecchia"), y ~ 1, hills, ~ a + b, given_hills() + nugget(0.05), new_hills,
                    expected)
  for (method in c("exact", "vecchia")) {
    fit <- gp(y ~ 1, hills, ~ a + b, given_hills() + nugget(0.05), method, "none", neighbours = 89)
    theta <- unname(fit$theta)
    for (reml in c(TRUE, FALSE)) {
      likelihood <- kernops:::likelihood_for(fit$data, fit$model, replace(fit$how, "reml", reml))
      expect_equal(likelihood$evaluate(theta)$value, oracle_likelihood(K, hills$y, known$X, reml)$value,
                   tolerance = 1e-9)
      expect_profile_slope(likelihood, theta)
    }
  }
})

test_that("the iterative gradient and the information agree with the exact method", {
  fits <- lapply(c("exact", "iterative", "vecchia"), \(method) {
    gp(y ~ 1, hills, ~ a + b, given_hills() + nugget(0.05), method, "none", cg_tol = 1e-10, probes = 2000,
       neighbours = 89)
  })
  states <- lapply(fits, \(fit) {
    kernops:::likelihood_for(fit$data, fit$model, replace(fit$how, "reml", FALSE))$evaluate(unname(fit$theta), TRUE)
  })
  slopes <- lapply(states, \(state) state$gradient())
  expect_equal(slopes[[2]], slopes[[1]], tolerance = 0.02)
  expect_equal(states[[3]]$information(), states[[1]]$information(), tolerance = 2e-3)
})

test_that("likelihoods of families and their derivatives agree with the dense Laplace approximation", {
  smooths <- hill_smooths[c(1, 4)]
  known <- hills_model(hills, hills, smooths)
  fits <- lapply(c("exact", "vecchia"), \(method) {
    gp(k ~ 1, hills, ~ a + b, given_hills(smooths), method, "none", family = poisson(), neighbours = 89)
  })
  for (fit in fits) {
    density <- \(eta) dpois(hills$k, exp(eta), log = TRUE)
    expected <- oracle_laplace(known$K, as.vector(known$X %*% coef(fit)), density)
    expect_equal(fit$loglik, -expected$value / 2, tolerance = 1e-6)
    likelihood <- kernops:::likelihood_for(fit$response, fit$outer, fit$how)
    theta <- fit$outer_theta
    likelihood$evaluate(theta)
    slope <- central_difference(\(t) likelihood$evaluate(t)$value, theta, 1e-4)
    expect_close(matrix(likelihood$evaluate(theta, search = TRUE)$gradient(), 1), slope, tolerance = 1e-5,
                 scale = max(abs(slope)))
  }
  links <- lapply(fits, predict, new_hills, se.fit = TRUE, interval = "confidence", type = "link")
  expect_equal(links[[2]], links[[1]], tolerance = 1e-5)
  expect_equal(summary(fits[[2]])$edf, summary(fits[[1]])$edf, tolerance = 1e-5)
})

test_that("predicted parts agree with fits of the smooths alone, also for new levels of random smooths", {
  new <- transform(new_hills, g = c("c", "z", "y"))
  for (method in c("exact", "vecchia")) {
    fit <- gp(y ~ 1, hills, ~ a + b, given_hills() + nugget(0.05), method, "none", neighbours = 89)
    parts <- lapply(c("trend", "te(x,w)", "s(h)", "t2(a,b)", "s(w,g)", "matern"), \(part) {
      predict(fit, new, terms = part, se.fit = TRUE, interval = "confidence")
    })
    expect_equal(Reduce(`+`, lapply(parts, `[[`, "fit")), unname(predict(fit, new)), tolerance = 1e-9)
    expect_equal(as.vector(parts[[5]]$fit)[2:3], c(0, 0))
    unseen <- penalised_part(mgcv::s(w, g, bs = "fs", k = 4), c(0.3, 1, 0.2), transform(new, g = "a"),
                             transform(new, g = "a"))$K
    expect_equal(as.vector(parts[[5]]$se.fit)[2:3], sqrt(diag(unseen))[2:3], tolerance = 1e-6)
    expect_equal(predict(fit, new, exclude = c("trend", "te(x,w)", "s(h)", "t2(a,b)", "matern")), parts[[5]]$fit,
                 ignore_attr = TRUE)
  }
})

test_that("draws have the covariance of the model, also at many points", {
  K <- hills_model(new_hills, new_hills)$K
  for (limit in c(1e4, 1)) {
    fit <- gp(y ~ 1, hills, ~ a + b, given_hills() + nugget(0.05), estimate = "none", known = list(beta = numeric(8)),
              exact_limit = limit, method = "exact")
    draws <- simulate(fit, 4000, seed = 1, newdata = new_hills, conditional = FALSE)
    expect_lt(max(abs(cov(t(draws)) - K)), 0.1 * max(K))
  }
})

test_that("update() keeps the covariance of a fit, and the parts and variances of the fit have names", {
  d <- transform(hills, g = factor(g))
  fit <- suppressMessages(gp(y ~ w + te(x, a, k = 4) + s(x, g, bs = "fs", k = 4), d, covariance = nugget()))
  expect_identical(names(coef(fit, "covariance")),
                   c("nugget.variance", paste0("te(x,a).variance", 1:2), paste0("s(x,g).variance", 1:3)))
  again <- update(fit, covariance = fit$covariance, estimate = "none")
  expect_equal(again$loglik, fit$loglik, tolerance = 1e-8)
  expect_equal(predict(again, new_hills), predict(fit, new_hills), tolerance = 1e-6)
  held <- update(fit, covariance = nugget() + smooth_effect(~ te(x, a, k = 4), c(0.1, 0.2), fixed = "variance"))
  expect_equal(unname(coef(held, "covariance")[c("te(x,a).variance1", "te(x,a).variance2")]), c(0.1, 0.2))
})

test_that("the regions of a map are the levels of a Markov random field", {
  regions <- c("north", "east", "south", "west", "far")
  near <- stats::setNames(list(2L, c(1L, 3L), c(2L, 4L), c(3L, 5L), 4L), regions)
  d <- transform(hills, r = factor(regions[1 + floor(5 * a)], regions))
  d$y <- d$y + as.integer(d$r)^2 / 8
  fit <- gp(y ~ s(r, bs = "mrf", xt = list(nb = near)), d, covariance = nugget(), estimate = "REML")
  peer <- mgcv::gam(y ~ s(r, bs = "mrf", xt = list(nb = near)), data = d, method = "REML")
  expect_equal(as.vector(fitted(fit)), as.vector(fitted(peer)), tolerance = 1e-3)
  everywhere <- data.frame(r = c(regions, "elsewhere"))
  expect_equal(unname(predict(fit, everywhere))[1:5], as.vector(predict(peer, everywhere[1:5, , drop = FALSE])),
               tolerance = 1e-3)
  expect_identical(unname(is.na(predict(fit, everywhere))), rep(c(FALSE, TRUE), c(5, 1)))
})

test_that("one of several variables may have a smooth with several penalties", {
  structures <- lmc(matern(3/2, range = 0.4), nugget(), sills = list(matrix(c(1, 0.3, 0.3, 0.8), 2), c(0.1, 0.2)))
  part <- penalised_part(mgcv::te(x, w, k = 4), c(0.3, 2), hills, hills)
  K <- kronecker(matrix(c(1, 0.3, 0.3, 0.8), 2), covariance_of(hills[c("a", "b")], 1, 0.4, tau = 0)) +
    diag(rep(c(0.1, 0.2), each = 90))
  K[91:180, 91:180] <- K[91:180, 91:180] + part$K
  X <- cbind(rep(1:0, each = 90), rep(0:1, each = 90), rbind(0 * part$X, part$X))
  expected <- oracle_likelihood(K, c(hills$y, hills$z), X)
  for (method in c("exact", "vecchia")) {
    fit <- gp(cbind(y, z) ~ 1, hills, ~ a + b, structures + smooth_effect(z ~ te(x, w, k = 4), c(0.3, 2)), method,
              "none", neighbours = 179)
    expect_equal(fit$loglik, -expected$value / 2, tolerance = 1e-8)
  }
})

test_that("smooths of levels that sum to zero agree with dense algebra", {
  smooths <- list(list(~ s(g, x, bs = "sz", k = 5), c(0.3, 2, 0.1, 0.7)))
  known <- hills_model(hills, hills, smooths)
  K <- known$K + diag(0.05, 90)
  new <- hills_model(hills, new_hills, smooths)
  prior <- hills_model(new_hills, new_hills, smooths)$K
  covariance <- given_hills(smooths) + nugget(0.05)
  expected <- oracle_kriging(K, new$K, diag(prior), hills$y, known$X, new$X)
  expect_kriging_by(c("exact", "iterative", "vecchia"), y ~ 1, hills, ~ a + b, covariance, new_hills, expected)
  edf <- lapply(c("exact", "vecchia"), \(method) {
    fit <- gp(y ~ 1, hills, ~ a + b, covariance, method, "none", neighbours = 89)
    theta <- unname(fit$theta)
    likelihood <- kernops:::likelihood_for(fit$data, fit$model, replace(fit$how, "reml", TRUE))
    expect_equal(likelihood$evaluate(theta)$value, oracle_likelihood(K, hills$y, known$X, TRUE)$value, tolerance = 1e-9)
    expect_profile_slope(likelihood, theta)
    summary(fit)$edf
  })
  expect_equal(edf[[2]], edf[[1]], tolerance = 1e-6)
  fit <- gp(k ~ 1, hills, ~ a + b, given_hills(smooths), "vecchia", "none", family = poisson(), neighbours = 89)
  mean <- as.vector(model.matrix(fit) %*% coef(fit))
  mode <- oracle_laplace(known$K, mean, \(eta) dpois(hills$k, exp(eta), log = TRUE))
  expect_equal(fit$loglik, -mode$value / 2, tolerance = 1e-6)
  fit <- gp(y ~ 1, hills, ~ a + b, covariance, "exact", "none", known = list(beta = numeric(7)), exact_limit = 1)
  draws <- simulate(fit, 4000, seed = 1, newdata = new_hills, conditional = FALSE)
  expect_lt(max(abs(cov(t(draws)) - prior)), 0.1 * max(prior))
})

test_that("smooths omit unpenalised functions that the trend contains", {
  part <- list(penalised_part(mgcv::s(x, k = 5), 0.5, hills, hills),
               penalised_part(mgcv::te(x, w, k = 4), c(0.3, 2), hills, hills))
  K <- part[[1]]$K + part[[2]]$K + diag(0.05, 90)
  X <- cbind(1, part[[1]]$X, part[[2]]$X)
  X <- qr.Q(qr(X))[, seq_len(qr(X)$rank)]
  expect_identical(ncol(X), 4L)
  covariance <- smooth_effect(~ s(x, k = 5), 0.5) + smooth_effect(~ te(x, w, k = 4), c(0.3, 2)) + nugget(0.05)
  for (method in c("exact", "vecchia")) {
    fit <- gp(y ~ 1, hills, covariance = covariance, method = method, estimate = "none")
    expect_identical(names(coef(fit)), c("(Intercept)", "s(x).1", "te(x,w).1", "te(x,w).2"))
    expect_equal(fit$loglik, -oracle_likelihood(K, hills$y, X)$value / 2, tolerance = 1e-10)
    parts <- lapply(c("trend", "s(x)", "te(x,w)"), \(part) predict(fit, new_hills, terms = part))
    expect_equal(Reduce(`+`, parts), predict(fit, new_hills), tolerance = 1e-10)
    last <- gp(y ~ x, hills, covariance = covariance, method = method, estimate = "none")
    expect_identical(names(coef(last)), c("(Intercept)", "x", "te(x,w).1", "te(x,w).2"))
    expect_equal(predict(last, new_hills), predict(fit, new_hills), tolerance = 1e-8)
  }
})

test_that("a penalty whose variance is estimated as zero is reported", {
  told <- \(code) {
    tryCatch({
      code
      ""
    }, kernops_vanished = conditionMessage)
  }
  expect_match(told(gp(y ~ te(x, w, k = 4), hills, covariance = nugget(), estimate = "REML")),
               "te(x,w).variance2` is estimated as zero: its smooth has only functions", fixed = TRUE)
  expect_match(told(gp(y ~ s(x, select = TRUE) + te(w, h, k = 4, select = TRUE), hills, covariance = nugget(),
                       estimate = "REML")), "`s(x).variance2` and `te(w,h).variance2` are", fixed = TRUE)
  expect_identical(told(gp(y ~ te(x, w, k = 5), transform(hills, y = y + cos(3 * w)), covariance = nugget())), "")
})

test_that("the smooths of the levels of a factor share their design columns, and the methods agree", {
  covariance <- matern(3/2, 0.5, 0.4) + nugget(0.05)
  formula <- y ~ g + te(x, w, k = 3, by = g) + s(h, k = 4, by = o)
  values <- function(fit) Map(\(leaf, k) {
    replace(leaf, "parameters", list(lapply(leaf$parameters, \(v) k + seq_along(v) / 5)))
  }, kernops:::leaves_of(fit$covariance), seq_along(kernops:::leaves_of(fit$covariance)))
  first <- suppressWarnings(suppressMessages(gp(formula, hills, ~ a + b, covariance, "exact", maxit = 1)))
  known <- Reduce(\(a, b) kernops:::join("+", a, b), unname(values(first)))
  fits <- lapply(c("exact", "iterative", "vecchia", "vif"), \(method) {
    gp(formula, hills, ~ a + b, known, method, "none", neighbours = 89, inducing = 10, cg_tol = 1e-11)
  })
  new <- transform(new_hills, o = factor(o, ordered = TRUE))
  for (fit in fits[-1]) {
    for (part in list(NULL, "te(x,w):gc", "s(h):o3")) {
      ours <- lapply(list(fits[[1]], fit), predict, new, terms = part, se.fit = TRUE, interval = "confidence")
      expect_equal(ours[[2]], ours[[1]], tolerance = 1e-5)
    }
    if (fit$method != "iterative") expect_equal(fit$loglik, fits[[1]]$loglik, tolerance = 1e-8)
  }
  expect_equal(summary(fits[[3]])$edf, summary(fits[[1]])$edf, tolerance = 1e-6)
  data <- fits[[3]]$data
  effects <- kernops:::effects_of(fits[[3]]$model, data$u)
  entries <- kernops:::effect_entries(effects, unname(fits[[3]]$theta), data$u)
  expect_length(effects, 6)
  expect_identical(nrow(entries$columns), effects[[1]]$size + effects[[6]]$size)
  known <- values(first)[vapply(values(first), `[[`, "", "label") != "nugget"]
  counts <- lapply(c("exact", "vecchia"), \(method) {
    gp(k ~ g + te(x, w, k = 3, by = g) + s(h, k = 4, by = o), hills, ~ a + b,
       Reduce(\(a, b) kernops:::join("+", a, b), unname(known)), method, "none", family = poisson(), neighbours = 89)
  })
  expect_equal(counts[[2]]$loglik, counts[[1]]$loglik, tolerance = 1e-7)
})

test_that("a large basis does not exceed the largest number of constants in a formula", {
  withr::local_seed(79)
  shares <- matrix(runif(3000), 2)
  x <- matrix(rnorm(4500), 3)
  text <- kernops:::penalties_kernel$text("theta", "x", "y", shares, FALSE)
  kernel <- keops_kernel(paste0("Sum_Reduction(", text, ", 1)"), c("theta = Pm(2)", "x = Vi(1500)", "y = Vj(1500)"))
  expect_equal(kernel(list(c(0.5, 2), x, x)), cbind(rowSums(x %*% (t(x) / colSums(shares / c(0.5, 2))))),
               tolerance = 1e-12)
})
