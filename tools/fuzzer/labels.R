# Labels, times and units: the fit and the new data differ in class, type, level set, encoding, time zone or unit. A
# column of labels is one of several representations of the same distinct values. The oracle is a fit in which the
# numbers 1, 2, 3, ... of the distinct values are the labels.

# Each kind: distinct values, and functions that write equal values in another way.
kinds <- list(
  multiples = list(values = c(1e5, 2e5, 3e5, 4e5), ways = list(identity, as.integer)),
  near = list(values = 1e17 + c(0, 16, 32, 48), ways = list(identity)),
  fractions = list(values = c(0.1 + 0.2, 0.3, 1 / 3, 0.333333333333333), ways = list(identity)),
  times = list(values = origin + 3600 * (0:3),
               ways = list(identity, \(x) in_zone(x, "America/New_York"), \(x) in_zone(x, "Asia/Kolkata"), as.POSIXlt)),
  moments = list(values = origin + c(0.1, 0.3, 0.6, 0.8), ways = list(identity, \(x) in_zone(x, "Asia/Tokyo"))),
  dates = list(values = as.Date("2024-02-28") + 0:3, ways = list(identity)),
  durations = list(values = as.difftime(c(60, 90, 120, 180), units = "mins"),
                   ways = list(identity, \(x) `units<-`(x, "hours"), \(x) `units<-`(x, "secs"))),
  strings = list(values = c("1:2", "1", "2:1", "a b"), ways = list(identity, factor, \(x) factor(x, rev(unique(x))))),
  umlauts = list(values = c("\u00e4", "\u00f6", "a", "\u00df"), ways = list(identity, latin1, \(x) factor(latin1(x)))),
  factors = list(values = factor(c("lo", "mid", "hi", "top"), c("lo", "mid", "hi", "top")),
                 ways = list(identity, as.character, \(x) factor(x, rev(levels(x))), droplevels, ordered)),
  truths = list(values = c(TRUE, FALSE), ways = list(identity))
)

observations <- function(values) {
  n <- 40
  label <- rep(seq_along(values), length.out = n)
  d <- data.frame(x = stats::runif(n), label = label, other = rep(1:2, each = n / 2), z = 5 * label + stats::rnorm(n))
  d$g <- values[label]
  d
}

field <- exponential(0.1, 0.3) + nugget(0.1)
with_effect <- \(effect) \(d) gp(z ~ 1, d, ~ x, field + random_effect(effect, variance = 20), estimate = "none")
models <- list(
  group = \(d) gp(z ~ 1, d, ~ x, exponential(20, 0.3) + nugget(0.1), group = ~ g, estimate = "none"),
  intercept = with_effect(~ 1 | g),
  crossed = with_effect(~ 1 | other:g),
  reversed = with_effect(~ 1 | g:other),
  slope = with_effect(~ 0 + x | g)
)

one_label <- function() {
  kind <- pick(names(kinds))
  values <- kinds[[kind]]$values
  d <- observations(values)
  d$g <- pick(kinds[[kind]]$ways)(d$g)
  plain <- transform(d, g = label)
  new <- d[sample(nrow(d), sample(3, 1)), ]
  plain_new <- transform(new, g = label)
  new$g <- pick(kinds[[kind]]$ways)(values[new$label])
  model <- pick(names(models))
  label <- sprintf("%s of %s, %s with %s", model, kind, class(d$g)[[1]], class(new$g)[[1]])
  compare(label, \() predict(models[[model]](d), new), \() predict(models[[model]](plain), plain_new),
          may_refuse = !identical(class(d$g), class(new$g)) || inherits(new$g, "POSIXlt"))
  other <- pick(kinds)$values[1]
  if (!comparable_classes(d$g, other)) {
    new <- new[1, ]
    new$g <- other # not transform(), which would evaluate `other` as the column of `new`
    must_refuse(sprintf("%s of %s with %s", model, class(d$g)[[1]], class(other)[[1]]),
                \() predict(models[[model]](d), new))
  }
}

class_of_values <- function(x) {
  if (is.factor(x) || is.character(x)) "text" else if (inherits(x, c("POSIXt", "Date"))) "time" else
    if (inherits(x, "difftime")) "duration" else if (is.logical(x)) "truth" else "number"
}
# TRUE may match 1, and a date may match an instant; for such pairs of classes, an error is also correct
comparable_classes <- function(a, b) {
  kinds <- c(class_of_values(a), class_of_values(b))
  kinds[[1]] == kinds[[2]] || setequal(kinds, c("truth", "number"))
}

# Tests that predictions do not depend on the class or the unit of a coordinate or covariate. The fit and the new data
# may have different representations: dates or times, durations in hours or minutes, lengths in km or m. New data of
# another kind, such as lengths instead of dates, must be an error.
measures <- list(
  day = list(\(u) as.Date("2024-01-01") + u, \(u) as.POSIXct("2024-01-01", tz = "UTC") + 86400 * u,
             \(u) in_zone(as.POSIXct("2024-01-01", tz = "UTC") + 86400 * u, "America/New_York")),
  duration = list(\(u) as.difftime(u, units = "hours"), \(u) as.difftime(60 * u, units = "mins"),
                  \(u) as.difftime(u / 24, units = "days"), \(u) as.difftime(3600 * u, units = "secs")),
  length = if (requireNamespace("units", quietly = TRUE)) list(
    \(u) units::set_units(u, "km", mode = "standard"), \(u) units::set_units(1000 * u, "m", mode = "standard")),
  number = list(identity, as.integer)
)
measures <- Filter(length, measures)
places <- list(trend = list(z ~ t, ~ x), coordinate = list(z ~ 1, ~ t), both = list(z ~ t, ~ t))

one_measure <- function() {
  kind <- pick(names(measures))
  n <- 30
  d <- data.frame(x = stats::runif(n), u = sample(0:40, n, TRUE), other = 1:2)
  d$z <- d$u / 10 + stats::rnorm(n, sd = 0.3)
  new <- data.frame(x = stats::runif(3), u = c(3, 17, 40), other = 1)
  place <- pick(names(places))
  formulas <- places[[place]]
  written <- pick(measures[[kind]])
  known <- exponential(1, 3) + nugget(0.1)
  fit <- \(t) gp(formulas[[1]], transform(d, t = t(u)), formulas[[2]], known, estimate = "none")
  way <- pick(measures[[kind]])
  label <- sprintf("%s of %s", place, kind)
  compare(label, \() predict(fit(written), transform(new, t = way(u))),
          \() predict(fit(written), transform(new, t = written(u))), may_refuse = TRUE)
  other <- pick(setdiff(names(measures), kind))
  new$t <- pick(measures[[other]])(new$u)
  must_refuse(sprintf("%s of %s with %s", place, kind, other), \() predict(fit(written), new))
}

run_part <- function() while (there_is_time()) if (stats::runif(1) < 0.6) one_label() else one_measure()
