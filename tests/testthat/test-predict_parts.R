# Parts of predictions, against dense matrices in plain R.

parts_case <- function(n) {
  d <- data.frame(a = runif(n), b = runif(n), z = rnorm(n), year = sample(2001:2006, n, TRUE),
                  site = sample(letters[1:5], n, TRUE))
  transform(d, y = 1 + z + sin(5 * a) + (site == "b") + rnorm(n, sd = 0.2))
}
# The covariances of each term between these rows.
terms_of <- function(d) {
  h <- as.matrix(dist(d[c("a", "b")]))
  list(exponential = 2 * exp(-h / 0.4), `(1 | site)` = 0.7 * outer(d$site, d$site, "=="),
       `svc(z) * matern` = 0.5 * exp(-h / 0.8) * tcrossprod(d$z),
       `ar1(year)` = 0.4 * exp(-abs(outer(d$year, d$year, "-")) / 2))
}
all_terms <- \() exponential(2, 0.4) + random_effect(~ 1 | site, 0.7) + svc(~ z, matern(1/2, 0.5, 0.8)) +
  ar1(~ year, 0.4, 2) + nugget(0.1)

# The mean and the variance of the selected parts at the last rows, given y at the first rows.
oracle_parts <- function(d, new, kept) {
  n <- nrow(d)
  terms <- terms_of(rbind(d, new))
  seen <- seq_len(n)
  K <- Reduce(`+`, terms)[seen, seen] + diag(0.1, n)
  part <- Reduce(`+`, terms[setdiff(kept, "trend")], matrix(0, n + nrow(new), n + nrow(new)))
  X <- cbind(1, d$z)
  X0 <- if ("trend" %in% kept) cbind(1, new$z) else matrix(0, nrow(new), 2)
  k <- part[seen, -seen, drop = FALSE]
  information <- crossprod(X, solve(K, X))
  beta <- solve(information, crossprod(X, solve(K, d$y)))
  gap <- X0 - crossprod(k, solve(K, X))
  list(mean = drop(X0 %*% beta + crossprod(k, solve(K, d$y - X %*% beta))),
       variance = diag(part)[-seen] - colSums(k * solve(K, k)) + rowSums(gap * t(solve(information, t(gap)))))
}

test_that("the means and variances of parts agree with dense matrices, by each method", {
  withr::local_seed(1)
  d <- parts_case(60)
  new <- parts_case(7)
  new[1, ] <- d[1, ]
  names <- c("trend", names(terms_of(d)))
  for (method in c("exact", "iterative", "vecchia")) {
    fit <- gp(y ~ z, d, ~ a + b, all_terms(), method, estimate = "none", probes = 0, cg_tol = 1e-11, neighbours = 59)
    for (kept in c(as.list(names), list(names[-1], names[c(1, 2, 4)]))) {
      expected <- oracle_parts(d, new, kept)
      ours <- predict(fit, new, se.fit = TRUE, interval = "confidence", terms = kept)
      info <- paste(method, toString(kept))
      expect_equal(unname(ours$fit), unname(expected$mean), tolerance = 1e-6, info = info)
      expect_equal(unname(ours$se.fit^2), unname(expected$variance), tolerance = 1e-5, info = info)
      excluded <- predict(fit, new, se.fit = TRUE, interval = "confidence", exclude = setdiff(names, kept))
      expect_identical(excluded, ours)
    }
  }
})

test_that("parts add up to the prediction, with smooths, known trends, offsets and observations as new data", {
  skip_if_not_installed("mgcv")
  withr::local_seed(2)
  d <- transform(parts_case(80), w = runif(80))
  fit <- gp(y ~ z + s(w) + (1 | site) + offset(a), d, ~ a + b, exponential() + nugget())
  names <- c("trend", "exponential", "s(w)", "(1 | site)")
  one <- vapply(names, \(name) unname(predict(fit, d, terms = name)), numeric(80))
  expect_equal(rowSums(one), unname(predict(fit, d)), tolerance = 1e-8)
  expect_equal(unname(predict(fit, terms = "s(w)")), one[, "s(w)"], tolerance = 1e-8)
  expect_lt(abs(mean(one[, "s(w)"])), 1e-6) # smooths are centred
  known <- gp(y ~ z, d, ~ a + b, exponential(1, 0.3) + nugget(0.1), known = list(beta = c(1, 2)), estimate = "none")
  expect_equal(unname(predict(known, d, terms = "trend")), 1 + 2 * d$z)
  expect_equal(predict(known, d, exclude = "trend"), predict(known, d) - predict(known, d, terms = "trend"),
               tolerance = 1e-8)
  total <- predict(fit, d, terms = "exponential", sums = rep(1, 80), se.fit = TRUE, interval = "confidence")
  expect_equal(total$fit, sum(one[, "exponential"]), tolerance = 1e-8)
})

test_that("the field is the sum of all terms of coordinates", {
  withr::local_seed(5)
  d <- parts_case(40)
  fit <- gp(y ~ z, d, ~ a + b, all_terms(), estimate = "none")
  fields <- c("exponential", "svc(z) * matern")
  effects <- c("(1 | site)", "ar1(year)")
  expect_identical(predict(fit, d, terms = "field", se.fit = TRUE), predict(fit, d, terms = fields, se.fit = TRUE))
  expect_identical(predict(fit, d, exclude = c("field", "trend")), predict(fit, d, terms = effects))
  expect_identical(predict(fit, d, terms = c("trend", effects)), predict(fit, d, exclude = "field"))
  alone <- gp(y ~ z, d, ~ a + b, random_effect(~ 1 | site, 0.7) + nugget(0.1), estimate = "none")
  expect_snapshot(error = TRUE, predict(alone, d, terms = "field"))
})

test_that("parts of families are predicted on the scales of predictor and response, also with few neighbours", {
  withr::local_seed(3)
  d <- parts_case(70)
  d$count <- rpois(70, exp(1 + sin(5 * d$a)))
  fit <- gp(count ~ z, d, ~ a + b, exponential(0.5, 0.3) + svc(~ z, exponential(0.2, 0.5)), family = poisson(),
            estimate = "none")
  near <- update(fit, method = "vecchia", neighbours = 69)
  names <- c("trend", "exponential", "svc(z) * exponential")
  for (object in list(fit, near)) {
    one <- vapply(names, \(name) unname(predict(object, d[1:5, ], type = "link", terms = name)), numeric(5))
    expect_equal(rowSums(one), unname(predict(object, d[1:5, ], type = "link")), tolerance = 1e-6)
  }
  link <- predict(fit, d[1:5, ], type = "link", exclude = names[[3]], se.fit = TRUE)
  response <- predict(fit, d[1:5, ], exclude = names[[3]])
  expect_equal(unname(response), unname(exp(link$fit + link$se.fit^2 / 2)), tolerance = 1e-8)
  expect_equal(predict(near, d[1:5, ], type = "link", exclude = names[[3]], se.fit = TRUE)$se.fit, link$se.fit,
               tolerance = 1e-3)
})

test_that("parts that a fit does not have are refused", {
  withr::local_seed(4)
  d <- parts_case(30)
  fit <- gp(y ~ z, d, ~ a, exponential(1, 0.3) + nugget(0.1), estimate = "none")
  expect_snapshot(error = TRUE, {
    predict(fit, d, terms = "matern")
    predict(fit, d, exclude = 1)
  })
})
