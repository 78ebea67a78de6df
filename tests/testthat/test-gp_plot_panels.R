# Maps and curves of quantiles, probabilities, variables and parts, against predictions; the layout of panels.

seen <- withr::with_seed(101, smooth_case(60, noise = 0.3))
fit <- gp(z ~ 1, seen, ~ a + b, given(), estimate = "none")
withr::local_pdf(NULL)
map_of <- \(object, n, mask = FALSE, which = "field") {
  kernops:::panels_of(object, which, n, 0.95, mask, NULL, list())[[1]]
}

test_that("quantiles and probabilities agree with the normal distribution of the field", {
  grid <- expand.grid(map_of(fit, 100)$axes) |> stats::setNames(c("a", "b"))
  moments <- predict(fit, grid, se.fit = TRUE, interval = "none")
  expect_equal(as.vector(map_of(fit, 100, which = "q0.9")$z), moments$fit + qnorm(0.9) * moments$se.fit)
  above <- map_of(fit, 100, which = "above0.5")
  expect_equal(as.vector(above$z), pnorm((moments$fit - 0.5) / moments$se.fit))
  expect_identical(above[c("title", "legend")], list(title = "Probability that z exceeds 0.5", legend = "probability"))
  curve <- gp(z ~ 1, seen, ~ a, given(), estimate = "none")
  panel <- map_of(curve, 20, which = "q0.1")
  expect_identical(panel$title, "Quantile 0.1 of z")
  band <- kernops:::panels_of(curve, "field", 20, 0.9, FALSE, NULL, list())[[1]]
  expect_identical(band$title, "Field and 90% band")
  expect_identical(kernops:::names_of_panels(c("q0.10", "above1e3"), curve, NULL, FALSE), c("q0.1", "above1000"))
  moments <- predict(curve, data.frame(a = panel$curves$x), se.fit = TRUE, interval = "none")
  expect_equal(panel$curves$fit, moments$fit - qnorm(0.9) * moments$se.fit)
  logged <- gp(exp(z) ~ 1, seen, ~ a + b, given(), estimate = "none", transform = "log")
  expect_equal(map_of(logged, 100, which = "above2")$z, map_of(fit, 100, which = paste0("above", log(2)))$z,
               tolerance = 1e-6)
  expect_identical(map_of(logged, 100)$title, "Field of log(exp(z))")
})

test_that("each variable has a map, over its observations and at new data", {
  two <- transform(seen, y = a + z / 2)
  two$y[1:20] <- NA
  both <- gp(cbind(z, y) ~ 1, two, ~ a + b, estimate = "none",
             covariance = lmc(matern(3/2, range = 0.3), nugget(), sills = list(diag(2) + 0.5, diag(0.1, 2))))
  panels <- kernops:::panels_of(both, c("field", "q0.2"), 100, 0.95, FALSE, NULL, list())
  expect_identical(vapply(panels, `[[`, "", "title"),
                   c("Field of z", "Field of y", "Quantile 0.2 of z", "Quantile 0.2 of y"))
  grid <- expand.grid(panels[[1]]$axes) |> stats::setNames(c("a", "b"))
  moments <- predict(both, grid, se.fit = TRUE, interval = "none")
  expect_equal(as.vector(panels[[2]]$z), moments$y.fit)
  expect_equal(as.vector(panels[[3]]$z), moments$z.fit + qnorm(0.2) * moments$z.se.fit)
  expect_identical(lapply(panels[1:2], \(panel) nrow(panel$points)), list(60L, 40L))
  new <- kernops:::panels_of(both, "above0.5", NULL, 0.95, TRUE, grid, list())
  expect_equal(as.vector(new[[2]]$z), pnorm((moments$y.fit - 0.5) / moments$y.se.fit))
  curves <- gp(cbind(z, y) ~ 1, two, ~ a, estimate = "none",
               covariance = lmc(matern(3/2, range = 0.3), nugget(), sills = list(diag(2) + 0.5, diag(0.1, 2))))
  panel <- kernops:::panels_of(curves, "field", 10, 0.9, FALSE, NULL, list())[[2]]
  expect_equal(panel$curves$upr, predict(curves, panel$curves["x"] |> stats::setNames("a"), level = 0.9,
                                         interval = "confidence")$y.upr)
  expect_identical(plot(both, c("variogram", "field", "se"), n = 100), both)
})

test_that("a map of chosen terms, such as a spatially varying coefficient, shows the predictions of these terms", {
  fit <- gp(z ~ w, seen, ~ a + b, svc(~ w, exponential(0.5, 0.4)) + given(), estimate = "none")
  new <- transform(expand.grid(a = 1:4 / 4, b = 1:5 / 5), w = 1)
  part <- kernops:::with_shown_parts(fit, "svc(w) * exponential", NULL)
  panel <- kernops:::panels_of(part, "se", NULL, 0.95, TRUE, new, list())[[1]]
  expect_identical(panel$title, "Standard errors of the field: svc(w) * exponential")
  expected <- predict(fit, new, se.fit = TRUE, interval = "none", terms = "svc(w) * exponential")
  expect_equal(as.vector(panel$z), expected$se.fit)
  expect_identical(kernops:::words_of_parts(kernops:::with_shown_parts(fit, NULL, "trend")), ": without trend")
  expect_identical(plot(fit, newdata = new, exclude = "trend"), fit)
  expect_error(plot(fit, newdata = new, terms = "matern52"), class = "kernops_input_error")
})

test_that("panels fill the page", {
  for (count in 1:12) for (shape in c(0.3, 1, 3)) {
    numbers <- kernops:::page_matrix(count, shape)
    expect_setequal(numbers, seq_len(count))
    # each panel is a rectangle
    for (k in seq_len(count)) {
      on_page <- which(numbers == k, arr.ind = TRUE)
      expect_identical(nrow(on_page), as.integer(prod(apply(on_page, 2, \(v) diff(range(v)) + 1))))
    }
  }
  expect_equal(kernops:::page_matrix(3, 0.4), matrix(1:3, 1))
  expect_equal(kernops:::page_matrix(2, 1.6), matrix(1:2, 2))
  expect_identical(kernops:::page_matrix(30), kernops:::page_matrix(12))
  expect_equal(kernops:::triangle_of_pairs(6), rbind(c(1, 0, 0), c(2, 3, 0), c(4, 5, 6)))
})
