# Fits of several variables: cokriging against gstat, estimates, and the methods of fits.

expect_cokriged <- function(ours, theirs, variables, tolerance = 1e-8) {
  # if a variable has no neighbours at a point, gstat predicts none of the variables at this point
  some <- stats::complete.cases(theirs)
  expect_gt(mean(some), 0.7)
  equal <- function(a, b) expect_equal(a[some], b[some], tolerance = tolerance)
  for (name in variables) {
    equal(ours[[paste0(name, ".fit")]], theirs[[paste0(name, ".pred")]])
    equal(ours[[paste0(name, ".se.fit")]]^2, theirs[[paste0(name, ".var")]])
  }
  for (column in grep("^cov", names(theirs), value = TRUE)) equal(ours[[column]], theirs[[column]])
}
cokriged <- function(fit, newdata, ...) {
  predict(fit, newdata, se.fit = TRUE, interval = "confidence", cov = "variables", ...)
}
data_of_sp <- function(name) {
  skip_if_not_installed("gstat")
  skip_if_not_installed("sp")
  home <- new.env()
  utils::data(list = name, package = if (name == "jura") "gstat" else "sp", envir = home)
  home
}
# A linear model of coregionalisation with random matrices.
gstat_lmc <- function(g, ranges, white = "Nug") {
  p <- length(g$data)
  sills <- withr::with_seed(3, lapply(1:3, function(k) crossprod(matrix(rnorm(p * p), p))))
  for (i in seq_len(p)) for (j in seq_len(i)) {
    terms <- gstat::vgm(sills[[1]][i, j], "Exp", ranges[[1]])
    terms <- gstat::vgm(sills[[2]][i, j], "Sph", ranges[[2]], add.to = terms)
    terms <- gstat::vgm(sills[[3]][i, j], white, 0, add.to = terms)
    g <- gstat::gstat(g, id = names(g$data)[unique(c(j, i))], model = terms)
  }
  g
}

test_that("ordinary, universal and simple cokriging of meuse agree with gstat, if variables have different locations", {
  home <- data_of_sp("meuse")
  seen <- home$meuse
  new <- rbind(transform(seen[seq(1, 155, by = 8), ], x = x + 31, y = y - 17), seen[c(3, 120), ])
  partly <- transform(seen, lead = replace(lead, 101:155, NA))
  for (trend in c("1", "sqrt(dist)")) {
    rhs <- stats::as.formula(paste("log(zinc) ~", trend))
    g <- gstat::gstat(id = "zinc", formula = rhs, locations = ~ x + y, data = seen)
    rhs <- stats::as.formula(paste("log(lead) ~", trend))
    g <- gstat_lmc(gstat::gstat(g, id = "lead", formula = rhs, locations = ~ x + y, data = seen[1:100, ]), c(300, 900))
    formula <- stats::as.formula(paste("cbind(zinc = log(zinc), lead = log(lead)) ~", trend))
    fit <- gp(formula, partly, ~ x + y, g, estimate = "none")
    expect_cokriged(cokriged(fit, new), predict(g, new, debug.level = 0), c("zinc", "lead"))
  }
  errors <- gstat_lmc(g, c(300, 900), "Err")
  fit <- update(fit, covariance = errors)
  expect_cokriged(cokriged(fit, new), predict(errors, new, debug.level = 0), c("zinc", "lead"))
  # means over blocks contain neither measurement errors nor the nugget
  away <- new[1:4, ]
  for (model in list(g, errors)) {
    ours <- cokriged(update(fit, covariance = model), away, block = c(100, 60))
    expect_cokriged(ours, predict(model, away, block = c(100, 60), debug.level = 0), c("zinc", "lead"), 1e-6)
  }
  # the covariance is converted back to gstat
  expect_equal(as_vgm(fit)[names(g$model)], errors$model, ignore_attr = TRUE)
  expect_equal(as_vgm(as_gp(g)), g$model[names(as_vgm(fit))], ignore_attr = TRUE)
  beta <- c(6, -1, 5, -2)
  g$data$zinc$beta <- beta[1:2]
  g$data$lead$beta <- beta[3:4]
  fit <- update(fit, covariance = g, known = list(beta = beta))
  expect_cokriged(cokriged(fit, new), predict(g, new, debug.level = 0), c("zinc", "lead"))
})

# The linear model of coregionalisation for some of the variables.
lmc_of <- function(g, some) {
  all <- as_gp(g)
  sills <- lapply(kernops:::lmc_terms(all), function(term) term$parts[[1]]$sills[some, some])
  lmc(exponential(range = 0.2), spherical(range = 1.3), microscale(), sills = sills[c(1, 2, 3)])
}

test_that("cokriging of jura agrees with gstat, with all or with the nearest observations of each variable", {
  home <- data_of_sp("jura")
  new <- home$jura.val[seq(1, 100, by = 7), c("Xloc", "Yloc")] + 0.013
  columns <- c("Xloc", "Yloc", "Cd", "Ni", "Zn")
  seen <- rbind(home$jura.pred[columns], transform(home$jura.val[columns], Cd = NA))
  seen <- seen[seq(1, 359, by = 2), ]
  g <- gstat::gstat(id = "Cd", formula = Cd ~ 1, locations = ~ Xloc + Yloc, data = seen[!is.na(seen$Cd), ])
  g <- gstat::gstat(g, id = "Ni", formula = Ni ~ 1, locations = ~ Xloc + Yloc, data = seen)
  g <- gstat::gstat(g, id = "Zn", formula = Zn ~ 1, locations = ~ Xloc + Yloc, data = seen)
  g <- gstat_lmc(g, c(0.2, 1.3))
  fit <- gp(cbind(Cd, Ni, Zn) ~ 1, seen, ~ Xloc + Yloc, g, estimate = "none")
  expect_cokriged(cokriged(fit, new), predict(g, new, debug.level = 0), c("Cd", "Ni", "Zn"))
  for (limits in list(list(nmax = 8), list(maxdist = 0.5))) {
    near <- g
    for (name in names(g$data)) near$data[[name]][names(limits)] <- limits
    ours <- do.call(cokriged, c(list(fit, new), limits))
    expect_cokriged(ours, predict(near, new, debug.level = 0), c("Cd", "Ni", "Zn"))
  }
  # a variable without neighbours is predicted from the other variables
  few <- is.na(ours$Cd.fit)
  expect_identical(sum(few), 1L)
  others <- gp(cbind(Ni, Zn) ~ 1, seen, ~ Xloc + Yloc, lmc_of(g, 2:3), estimate = "none")
  expect_equal(ours[few, grep("Cd", names(ours), invert = TRUE)], cokriged(others, new[few, ], maxdist = 0.5),
               tolerance = 1e-8)
})

# Two variables at different locations, in very different units.
seen <- withr::with_seed(91, {
  d <- data.frame(a = runif(60), b = runif(60))
  h <- as.matrix(dist(d))
  field <- t(chol(exp(-h / 0.3))) %*% matrix(rnorm(120), 60)
  cbind(d, p = field[, 1] + rnorm(60, sd = 0.3), q = 500 * (field[, 1] + field[, 2]) + 1e4 + rnorm(60, sd = 100))
})
seen$p[1:15] <- NA
seen$q[20:25] <- NA
fit <- gp(cbind(p, q) ~ 1, seen, ~ a + b, lmc(exponential(), nugget()))
new <- withr::with_seed(92, data.frame(a = runif(5), b = runif(5)))

test_that("with known means, a variable without neighbours is predicted from the other variables", {
  B <- matrix(c(1, 400, 400, 4e5), 2)
  known <- gp(cbind(p, q) ~ 0, seen, ~ a + b, lmc(exponential(range = 0.3), nugget(), sills = list(B, c(0.1, 1e4))),
              estimate = "none", known = list(beta = c(0, 1e4)))
  # a point at an observation of q that is far from the observations of p
  apart <- as.matrix(dist(seen[c("a", "b")]))
  far <- which.max(apply(apart[1:15, !is.na(seen$p)], 1, min))
  place <- seen[far, c("a", "b")] + 0.003
  gaps <- sqrt((seen$a - place$a)^2 + (seen$b - place$b)^2)
  limit <- 0.999 * min(gaps[!is.na(seen$p)])
  near <- gaps < limit & !is.na(seen$q)
  h <- as.matrix(dist(rbind(seen[near, c("a", "b")], place)))
  last <- nrow(h)
  K <- B[2, 2] * exp(-h[-last, -last, drop = FALSE] / 0.3) + diag(1e4, last - 1)
  k <- outer(exp(-h[-last, last] / 0.3), B[, 2])
  ours <- predict(known, place, se.fit = TRUE, interval = "confidence", maxdist = limit)
  expect_equal(c(ours$p.fit, ours$q.fit), c(0, 1e4) + as.vector(crossprod(k, solve(K, seen$q[near] - 1e4))),
               tolerance = 1e-8)
  expect_equal(c(ours$p.se.fit, ours$q.se.fit)^2, diag(B) - diag(crossprod(k, solve(K, k))), tolerance = 1e-8)
})

# The log-likelihood as a function of sills and a range, by dense matrices.
cells <- which(!is.na(seen[c("p", "q")]), arr.ind = TRUE)
log_likelihood <- function(s11, s12, s22, range, n1, n2) {
  h <- as.matrix(dist(seen[cells[, 1], c("a", "b")]))
  K <- matrix(c(s11, s12, s12, s22), 2)[cells[, 2], cells[, 2]] * exp(-h / range) + diag(c(n1, n2)[cells[, 2]])
  -oracle_likelihood(K, as.matrix(seen[c("p", "q")])[cells], outer(cells[, 2], 1:2, "==") + 0)$value / 2
}

test_that("estimates maximise the likelihood, and standard errors follow from its curvature", {
  estimates <- coef(fit, "covariance")
  expect_named(estimates, c("exponential.sill.p", "exponential.sill.p.q", "exponential.sill.q", "exponential.range",
                            "nugget.sill.p", "nugget.sill.q"))
  unit <- abs(unname(estimates))
  value <- function(s) do.call(log_likelihood, unname(as.list(s * unit)))
  expect_equal(value(sign(estimates)), as.numeric(logLik(fit)), tolerance = 1e-10)
  slope <- vapply(1:6, function(k) {
    step <- replace(numeric(6), k, 1e-4)
    (value(sign(estimates) + step) - value(sign(estimates) - step)) / 2e-4
  }, 0)
  expect_lt(max(abs(slope)), 1e-3)
  theirs <- solve(-optimHess(sign(estimates), value)) * outer(unit, unit)
  expect_equal(unname(vcov(fit, "covariance")), unname(theirs), tolerance = 1e-3)
  expect_equal(attr(logLik(fit), "df"), 8)
  limits <- confint(fit, type = "covariance")
  expect_equal(unname(limits["exponential.sill.p.q", ]), estimates[[2]] + qnorm(c(0.025, 0.975)) * sqrt(theirs[2, 2]),
               tolerance = 1e-3)
  expect_true(all(limits[-2, ] > 0))
})

test_that("a warning names nuggets that are zero, and predictions at no points are empty", {
  smooth <- transform(seen, q = sin(3 * a) + b)
  expect_warning(gp(cbind(p, q) ~ 1, smooth, ~ a + b, lmc(exponential(), nugget())), class = "kernops_degenerate",
                 "nugget of \"q\"")
  expect_identical(dim(predict(fit, new[0, ], se.fit = TRUE, interval = "none", cov = "variables")), c(0L, 5L))
})

test_that("the exact method and Vecchia agree, and a search from distant starting values finds the same optimum", {
  near <- update(fit, method = "vecchia", control = gp_control(neighbours = 98, starts = 1))
  expect_equal(logLik(near), logLik(fit), tolerance = 1e-4)
  far <- update(fit, covariance = lmc(exponential(range = 3), nugget(), sills = list(diag(c(0.01, 1e7)), c(3, 1))),
                control = gp_control(starts = 1))
  expect_equal(coef(far, "covariance"), coef(fit, "covariance"), tolerance = 1e-4)
  held <- update(fit, covariance = lmc(exponential(), nugget(), sills = list(NULL, c(0.1, 1e4)), fixed = TRUE),
                 control = gp_control(starts = 1))
  expect_equal(unname(coef(held, "covariance")[5:6]), c(0.1, 1e4))
  expect_equal(attr(logLik(held), "df"), 6)
  expect_lt(logLik(held), logLik(fit))
})

test_that("more starts never give a worse optimum of a model with several structures", {
  home <- data_of_sp("meuse")
  few <- home$meuse[seq(4, 155, by = 5), ]
  found <- vapply(c(2, 4), function(starts) {
    suppressWarnings(gp(cbind(log(copper), log(cadmium)) ~ 1, few, ~ x + y,
                        lmc(exponential(), spherical(), nugget()),
                        control = gp_control(starts = starts, subset = 40)))$loglik
  }, 0)
  expect_gt(found[[2]], found[[1]] - 1e-4)
})

test_that("a search from singular matrices finds the optimum, although derivatives are 0 at singular matrices", {
  for (start in list(matrix(0, 2, 2), matrix(c(1, 500, 500, 500^2), 2), matrix(c(0, 0, 0, 500^2), 2))) {
    again <- update(fit, covariance = lmc(exponential(range = 0.3), nugget(), sills = list(start, c(0.1, 1e5))),
                    control = gp_control(starts = 1))
    expect_equal(coef(again, "covariance"), coef(fit, "covariance"), tolerance = 1e-3)
    expect_equal(logLik(again), logLik(fit), tolerance = 1e-8)
  }
  # in pure noise, the field has the variance 0
  noise <- withr::with_seed(5, transform(seen, p = rnorm(60), q = rnorm(60)))
  alone <- gp(cbind(p, q) ~ 1, noise, ~ a + b, lmc(exponential(range = 0.3, fixed = "range"), nugget()))
  by_hand <- sum(vapply(noise[c("p", "q")], function(y) as.numeric(logLik(lm(y ~ 1))), 0))
  expect_gte(as.numeric(logLik(alone)), by_hand - 1e-6)
})

test_that("cross-validation leaves out single values, or all values of a row", {
  cv <- gp_cv(fit)
  expect_equal(cv$observed, as.matrix(seen[c("p", "q")])[cells])
  for (k in c(3, 70)) {
    without <- seen
    without[cells[k, 1], c("p", "q")[cells[k, 2]]] <- NA
    again <- predict(update(fit, data = without, covariance = fit$covariance, estimate = "none"),
                     seen[cells[k, 1], ], se.fit = TRUE, interval = "prediction")
    name <- c("p", "q")[cells[k, 2]]
    expect_equal(c(cv$fit[k], cv$se.fit[k]), unlist(again[paste0(name, c(".fit", ".se.fit"))], use.names = FALSE),
                 tolerance = 1e-8)
  }
  folded <- gp_cv(fit, folds = rep(1:4, 15))
  out <- rep(1:4, 15) == 2
  again <- predict(update(fit, data = seen[!out, ], covariance = fit$covariance, estimate = "none"), seen[out, ])
  expect_equal(folded$fit[folded$fold == 2], as.matrix(again)[!is.na(seen[out, c("p", "q")])], tolerance = 1e-8)
  expect_identical(summary(cv)$n, c(45L, 54L))
})

test_that("fitted values and residuals are matrices, and draws have the moments of predictions", {
  expect_identical(dim(fitted(fit)), c(60L, 2L))
  expect_equal(fitted(fit) + residuals(fit), as.matrix(seen[c("p", "q")]), ignore_attr = TRUE)
  expect_identical(is.na(residuals(fit)), is.na(as.matrix(seen[c("p", "q")])), ignore_attr = TRUE)
  theirs <- predict(fit, new, se.fit = TRUE, interval = "prediction", cov = "variables")
  draws <- simulate(fit, 4000, seed = 1, newdata = new, noise = TRUE)
  expect_identical(colnames(draws)[c(1, 8000)], c("p.sim1", "q.sim4000"))
  for (k in 1:5) {
    both <- cbind(draws[k, 1:4000], draws[k, 4001:8000])
    sd <- unlist(theirs[k, c("p.se.fit", "q.se.fit")])
    expect_lt(max(abs(colMeans(both) - unlist(theirs[k, c("p.fit", "q.fit")])) / sd), 4 / sqrt(4000))
    expect_lt(max(abs(cov(both) / outer(sd, sd) - c(1, rep(theirs$cov.p.q[k] / prod(sd), 2), 1))), 0.08)
  }
})

test_that("fits of several variables accept spatial objects and missing values, and can be saved and tabulated", {
  skip_if_not_installed("sf")
  skip_if_not_installed("generics")
  again <- unserialize(serialize(fit, NULL))
  expect_equal(predict(again, new), predict(fit, new))
  points <- sf::st_as_sf(seen, coords = c("a", "b"))
  mapped <- update(fit, data = points, coords = NULL)
  predicted <- predict(mapped, sf::st_as_sf(rbind(new, new), coords = c("a", "b")), se.fit = TRUE, interval = "none")
  expect_s3_class(predicted, "sf")
  expect_named(predicted, c("p.fit", "p.se.fit", "q.fit", "q.se.fit", "geometry"))
  kept <- gp(cbind(p, q) ~ 1, transform(seen, a = replace(a, 3, NA)), ~ a + b, fit$covariance, estimate = "none",
             na.action = na.exclude)
  expect_identical(which(is.na(fitted(kept)[, "q"])), c(`3` = 3L))
  lacking <- rbind(new, NA)
  expect_equal(predict(fit, lacking)$q, c(predict(fit, new)$q, NA))
  expect_identical(dim(predict(fit, lacking, cov = TRUE)$cov), c(12L, 12L))
  expect_equal(generics::tidy(fit, effects = "covariance")$estimate, unname(coef(fit, "covariance")))
  expect_output(print(fit), "of 2 variables")
  expect_output(print(summary(fit)), "exponential.sill.p.q")
  expect_output(print(fit$covariance), "sills of exponential")
})

test_that("the drawn variograms agree with the model", {
  found <- kernops:::variograms_of_each(fit)
  one <- found$model[found$model$id == "p.q" & found$model$number == 1, ]
  by <- coef(fit, "covariance")
  expect_equal(one$gamma, by[["exponential.sill.p.q"]] * (1 - exp(-one$dist / by[["exponential.range"]])))
  expect_setequal(found$empirical$id, c("p", "p.q", "q"))
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  expect_silent(plot(fit))
})

test_mistakes("kernops_error", alist(
  `a structure with a variance` = lmc(exponential(2, 0.3), nugget()),
  `a nugget in a structure` = lmc(exponential() + nugget()),
  `a sum with others` = lmc(exponential()) + nugget(),
  `no structures` = lmc(),
  `two nuggets` = lmc(exponential(), nugget(), nugget()),
  `sills that are not definite` = lmc(exponential(), sills = list(matrix(c(1, 2, 2, 1), 2))),
  `sills of three variables` = gp(cbind(p, q) ~ 1, seen, ~ a + b, lmc(exponential(), sills = list(diag(3)))),
  `sills of something else` = lmc(exponential(), sills = list(gaussian = diag(2))),
  `one response` = gp(p ~ 1, seen, ~ a + b, lmc(exponential(), nugget())),
  `several responses of one covariance` = gp(cbind(p, q) ~ 1, seen, ~ a + b, exponential() + nugget()),
  `the iterative method` = update(fit, method = "iterative"),
  `a transformation` = update(fit, transform = "log"),
  `dims of no coordinate` = update(fit, covariance = lmc(exponential(dims = 3), nugget())),
  `a variable without values` = update(fit, data = transform(seen, q = NA_real_)),
  `a constant variable` = update(fit, data = transform(seen, q = 1)),
  `a place twice, without a nugget` = gp(cbind(p, q) ~ 1, seen[c(50, 50:60), ], ~ a + b, lmc(exponential())),
  `nugget and microscale` = update(fit, covariance = lmc(exponential(), nugget(), microscale())),
  `profile intervals` = confint(fit, method = "profile"),
  `covariances of one variable` = predict(gp(q ~ 1, seen, ~ a + b, exponential(1, 1), estimate = "none"),
                                          cov = "variables"),
  `a variogram` = fit_variogram(gp_variogram(seen[c("a", "b")], runif(60)), lmc(exponential()))
))
