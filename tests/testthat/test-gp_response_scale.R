# Fits in other packages: the scale of marginal means, of tables and of simulated responses, against glm().

# A fit with nearly no field, so that the trend agrees with glm().
without_field <- function(formula, data, ..., field = exponential(1e-10, 0.3)) {
  fit <- gp(formula, data, ~ a + b, field, estimate = "none", ...)
  fit$call$data <- substitute(data) # emmeans searches the data for variables of an offset
  fit
}
plain <- local({
  d <- family_data(80)
  withr::with_seed(2, transform(d, g = factor(rep(c("p", "q", "r", "q"), 20)), hours = runif(80, 1, 3)))
})
peers <- list(
  logit = list(cbind(k, 5 - k) ~ g + w, binomial()), probit = list(cbind(k, 5 - k) ~ g + w, binomial("probit")),
  cloglog = list(present ~ g, binomial("cloglog")), counts = list(count ~ g + w + offset(log(hours)), poisson()),
  sizes = list(size ~ g * w, Gamma("log"))
)
each_peer <- function(body) for (name in names(peers)) {
  peer <- peers[[name]]
  fixed <- if (name == "sizes") gp_family_with_shape(3) else peer[[2]]
  body(name, without_field(peer[[1]], plain, family = fixed),
       glm(peer[[1]], peer[[2]], plain, control = list(epsilon = 1e-13)))
}
gp_family_with_shape <- function(shape) {
  family <- kernops:::as_family(Gamma("log"))
  family$parameters <- kernops:::new_family("Gamma", list(shape = shape))$parameters
  family
}

test_that("marginal means of a family are on the scale of the response, as for glm()", {
  skip_if_not_installed("emmeans")
  each_peer(function(name, fit, peer) {
    for (type in c("link", "response")) {
      ours <- as.data.frame(suppressMessages(emmeans::emmeans(fit, "g", type = type)))
      theirs <- as.data.frame(suppressMessages(emmeans::emmeans(peer, "g", type = type)))
      expect_equal(names(ours)[2], names(theirs)[2], info = name)
      expect_equal(ours[[2]], theirs[[2]], tolerance = 1e-5, info = name)
      # standard errors differ for other links, for which observed and expected information differ
      if (name %in% c("logit", "counts")) expect_equal(ours$SE, theirs$SE, tolerance = 1e-4, info = name)
    }
    pairs_of <- \(x) as.data.frame(pairs(suppressMessages(emmeans::emmeans(x, "g")), type = "response"))
    expect_equal(names(pairs_of(fit))[2], names(pairs_of(peer))[2], info = name)
    expect_equal(pairs_of(fit)[[2]], pairs_of(peer)[[2]], tolerance = 1e-4, info = name)
  })
})

test_that("marginal means of negative binomial counts have the names that MASS gives", {
  skip_if_not_installed("emmeans")
  skip_if_not_installed("MASS")
  peer <- MASS::glm.nb(count ~ g, plain)
  fit <- without_field(count ~ g, plain, family = negative_binomial(peer$theta))
  ours <- as.data.frame(emmeans::emmeans(fit, "g", type = "response"))
  theirs <- as.data.frame(emmeans::emmeans(peer, "g", type = "response"))
  expect_identical(names(ours)[2], names(theirs)[2])
  expect_equal(ours$response, theirs$response, tolerance = 1e-5)
  expect_match(family(fit)$family, "^Negative Binomial\\(")
})

test_that("marginal means of a transformed response are transformed back", {
  skip_if_not_installed("emmeans")
  for (lambda in c(0, 0.5, 1, -0.3)) {
    fit <- without_field(size ~ g, plain, transform = lambda, field = exponential(1e-10, 0.3) + nugget(0.5))
    plain$t <- if (lambda == 0) log(plain$size) else (plain$size^lambda - 1) / lambda
    means <- tapply(plain$t, plain$g, mean)
    back <- if (lambda == 0) exp(means) else (lambda * means + 1)^(1 / lambda)
    ours <- as.data.frame(emmeans::emmeans(fit, "g", type = "response"))
    expect_equal(ours$response, as.vector(back), tolerance = 1e-6)
    slope <- if (lambda == 0) back else (lambda * means + 1)^(1 / lambda - 1)
    expect_equal(ours$SE, as.vector(slope * sqrt(0.5 / table(plain$g))), tolerance = 1e-6)
    expect_equal(as.data.frame(emmeans::emmeans(fit, "g"))$emmean, as.vector(means), tolerance = 1e-6)
  }
})

test_that("tidy() exponentiates coefficients and their limits, but not standard errors", {
  skip_if_not_installed("generics")
  each_peer(function(name, fit, peer) {
    if (name %in% c("probit", "cloglog")) {
      return(expect_warning(generics::tidy(fit, exponentiate = TRUE), class = "kernops_no_log_link"))
    }
    table <- generics::tidy(fit, conf.int = TRUE, exponentiate = TRUE)
    plain_table <- generics::tidy(fit, conf.int = TRUE)
    trend <- table$effect == "trend"
    expect_equal(table$estimate[trend], exp(unname(coef(peer))), tolerance = 1e-5, info = name)
    expect_equal(table$conf.high[trend], exp(plain_table$conf.high[trend]), info = name)
    expect_identical(table$std.error, plain_table$std.error)
    expect_identical(table[!trend, ], plain_table[!trend, ])
  })
  gaussian <- without_field(y ~ w, plain, field = exponential(1, 0.3) + nugget(1))
  expect_warning(table <- generics::tidy(gaussian, exponentiate = TRUE), class = "kernops_warning")
  expect_equal(table$estimate[1:2], unname(exp(coef(gaussian))))
  logged <- without_field(size ~ w, plain, field = exponential(1, 0.3) + nugget(1), transform = "log")
  expect_silent(generics::tidy(logged, exponentiate = TRUE))
})

test_that("family() agrees with glm()", {
  eta <- seq(-2, 2, 0.5)
  each_peer(function(name, fit, peer) {
    ours <- family(fit)
    theirs <- family(peer)
    expect_s3_class(ours, "family")
    expect_identical(ours[c("family", "link")], theirs[c("family", "link")])
    expect_equal(ours$linkinv(eta), theirs$linkinv(eta), info = name)
    mu <- theirs$linkinv(eta)
    expect_equal(ours$linkfun(mu), eta, info = name)
    expect_equal(ours$mu.eta(eta), theirs$mu.eta(eta), info = name)
    expect_true(ours$validmu(mu) && !ours$validmu(-1), info = name)
    y <- if (theirs$family == "binomial") rep(c(0, 0.4, 1), 3) else rep(c(1, 3, 8), 3)
    expect_equal(ours$dev.resids(y, mu, rep(2, 9)), theirs$dev.resids(y, mu, rep(2, 9)), info = name)
    if (name != "sizes") expect_equal(ours$variance(mu), theirs$variance(mu), info = name)
    expect_equal(coef(without_field(peers[[name]][[1]], plain, family = ours)), coef(fit), info = name)
  })
  gaussian <- without_field(y ~ w, plain, field = exponential(1, 0.3) + nugget(1))
  expect_identical(family(gaussian)$family, "gaussian")
  student <- family(without_field(y ~ w, plain, family = student(5, 0.5)))
  expect_equal(student$variance(0), 0.25 * 5 / 3)
  expect_true(student$validmu(-1))
})

test_that("simulate() draws new responses of a family in the class of the response, as for glm()", {
  d <- transform(plain, f = factor(ifelse(present == 1, "yes", "no")), share = k / 5)
  responses <- list(count = poisson(), f = binomial(), present = binomial(), `cbind(k, 5 - k)` = binomial(),
                    share = binomial(), size = gp_family_with_shape(3), y = student(4, 0.3))
  for (name in names(responses)) {
    formula <- reformulate("w", str2lang(name))
    weights <- if (name == "share") rep(5, 80)
    fit <- without_field(formula, d, family = responses[[name]], weights = weights)
    drawn <- simulate(fit, 2, seed = 1)
    expect_s3_class(drawn, "data.frame", exact = TRUE)
    expect_named(drawn, c("sim_1", "sim_2"))
    expect_identical(rownames(drawn), rownames(model.frame(fit)))
    expect_identical(attr(drawn, "seed"), attr(simulate(lm(y ~ w, d), 2, seed = 1), "seed"))
    given <- model.response(model.frame(fit))
    whole <- if (name == "present") "numeric" else class(given)[1]
    expect_identical(class(drawn$sim_1)[1], whole, info = name)
    expect_identical(levels(drawn$sim_1), levels(given))
    expect_identical(colnames(drawn$sim_1), colnames(given))
    if (name == "cbind(k, 5 - k)") expect_equal(rowSums(drawn$sim_1), rep(5, 80))
    if (name == "share") expect_true(all((5 * drawn$sim_1) %in% 0:5))
    refitted <- gp(update(formula, drawn$sim_1 ~ .), d, ~ a + b, exponential(1e-10, 0.3), family = family(fit),
                   estimate = "none", weights = weights)
    expect_true(all(is.finite(coef(refitted))))
  }
})

test_that("new responses have the moments of the model, given the data and for a new field", {
  d <- family_data(12)
  fit <- gp(count ~ w, d, ~ a + b, matern(3/2, 0.5, 0.3), family = poisson(), estimate = "none")
  drawn <- as.matrix(simulate(fit, 6000, seed = 3))
  theirs <- predict(fit, se.fit = TRUE, interval = "prediction")
  expect_equal(unname(rowMeans(drawn)), theirs$fit, tolerance = 0.03)
  expect_equal(unname(apply(drawn, 1, sd)), theirs$se.fit, tolerance = 0.06)
  # simulations without the data: the mean of exp(eta) for eta of variance 0.5
  free <- as.matrix(simulate(fit, 20000, seed = 4, conditional = FALSE))
  expect_equal(unname(rowMeans(free)), unname(exp(model.matrix(fit) %*% coef(fit) + 0.25)[, 1]), tolerance = 0.05)
  link <- simulate(fit, 2, seed = 5, noise = FALSE)
  expect_true(is.matrix(link))
  expect_equal(simulate(fit, 2, seed = 5, type = "response"), exp(link))
  expect_identical(simulate(fit, 2, seed = 5, type = "field"), link)
})

test_that("new responses of Gaussian observations have the noise variances of the observations", {
  d <- data.frame(x = c(1, 2, 5), z = c(1, 2, 0))
  weights <- c(1, 4, 100)
  fit <- gp(z ~ 0, d, ~ x, exponential(1e-8, 1) + nugget(9), estimate = "none", weights = weights)
  drawn <- simulate(fit, 4000, seed = 1, noise = TRUE)
  expect_s3_class(drawn, "data.frame", exact = TRUE)
  expect_equal(apply(drawn, 1, sd), 3 / sqrt(weights), tolerance = 0.05, ignore_attr = TRUE)
  known <- gp(z ~ 0, d, ~ x, exponential(1e-8, 1), estimate = "none", known = list(noise = c(1, 4, 9)))
  expect_equal(apply(simulate(known, 4000, seed = 2, noise = TRUE), 1, sd), 1:3, tolerance = 0.05, ignore_attr = TRUE)
  expect_true(is.matrix(simulate(fit, 2, type = "field")))
  expect_true(is.matrix(simulate(fit, 2, noise = FALSE)))
  expect_identical(simulate(fit, 2, seed = 3), simulate(fit, 2, seed = 3, noise = TRUE))
  set.seed(9)
  state <- .Random.seed
  expect_identical(attr(simulate(fit, 1, noise = TRUE), "seed"), state)
})

test_that("simulate() draws new Gaussian responses by default, as for lm(), and reports this default once", {
  withr::local_options(rlib_message_verbosity = NULL)
  d <- plain[1:30, ]
  peer <- simulate(lm(y ~ w, d), 2, seed = 1)
  fit <- without_field(y ~ w, d, field = exponential(1e-8, 0.3) + nugget(0.25), known = list(beta = coef(lm(y ~ w, d))))
  rlang::reset_message_verbosity("kernops_new_responses")
  expect_message(drawn <- simulate(fit, 4000, seed = 1), "field", class = "kernops_new_responses")
  expect_no_message(simulate(fit, 1))
  expect_identical(attributes(drawn[1:2])[c("names", "class", "row.names")],
                   attributes(peer)[c("names", "class", "row.names")])
  expect_identical(attr(drawn, "seed"), attr(peer, "seed"))
  expect_equal(rowMeans(drawn), fitted(lm(y ~ w, d)), tolerance = 0.02)
  expect_equal(unname(apply(drawn, 1, sd)), rep(0.5, 30), tolerance = 0.05)
  rlang::reset_message_verbosity("kernops_new_responses")
  expect_no_message(simulate(fit, 1, seed = 1, newdata = d[1:2, ]))
  for (type in c("link", "response")) expect_error(simulate(fit, type = type), class = "kernops_input_error")
})

test_that("new responses are NA for omitted rows if residuals are NA", {
  gaps <- transform(plain, count = replace(count, 3, NA), present = replace(present, 5, NA))
  for (formula in list(count ~ w, factor(present) ~ w, cbind(present, 1 - present) ~ w)) {
    family <- if (identical(formula, count ~ w)) poisson() else binomial()
    fit <- without_field(formula, gaps, family = family, na.action = na.exclude)
    drawn <- simulate(fit, 1, seed = 1)
    expect_identical(nrow(drawn), 80L)
    expect_identical(unname(which(is.na(as.matrix(drawn)[, 1]))), unname(which(is.na(residuals(fit)))))
    expect_identical(nrow(simulate(without_field(formula, gaps, family = family, na.action = na.omit), 1)), 79L)
  }
})

test_that("new responses can be drawn from posterior draws", {
  fit <- gp(count ~ 1, plain, ~ a + b, exponential(), family = poisson(),
            prior = list(range = pc_range(0.1), variance = pc_sd(3)))
  drawn <- simulate(suppressWarnings(gp_posterior(fit, 5)), 3, seed = 1)
  expect_named(drawn, paste0("sim_", 1:3))
  expect_true(is.integer(drawn$sim_3))
  fit <- gp(y ~ 1, plain, ~ a + b, exponential() + nugget(),
            prior = list(range = pc_range(0.1), variance = pc_sd(3), nugget = pc_sd(1)))
  drawn <- suppressMessages(simulate(suppressWarnings(gp_posterior(fit, 5)), 3, seed = 1))
  expect_named(drawn, paste0("sim_", 1:3))
})

test_that("a warning says that prior weights of counts are ignored, as by glm()", {
  fit <- without_field(count ~ 1, plain, family = poisson(), weights = rep(2, 80))
  expect_warning(simulate(fit, 1, seed = 1), class = "kernops_weights_ignored")
})

test_mistakes("kernops_input_error", alist(
  `argument that tidy() does not have` = generics::tidy(without_field(present ~ 1, plain, family = binomial()),
                                                        quick = TRUE),
  `effects that tidy() does not have` = generics::tidy(without_field(present ~ 1, plain, family = binomial()),
                                                       effects = "fixed"),
  `exponentiate in words` = generics::tidy(without_field(present ~ 1, plain, family = binomial()),
                                            exponentiate = "yes"),
  `argument that glance() does not have` = generics::glance(without_field(present ~ 1, plain, family = binomial()), 5)
), needs = "generics")
