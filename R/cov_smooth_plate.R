# Thin-plate regression splines (Wood 2003) of many observations. mgcv constructs a basis, and the formula engine of
# this package evaluates the functions of the basis, because mgcv would compute the radial functions of all observations
# and up to 2000 knots in one thread. The functions below are methods of generics of mgcv, so that mgcv applies its own
# constraints and scales.

# The specification of a smooth. For many observations, the specification gets the class of the methods below, so that
# the formula engine evaluates the basis. Smooths in which all functions are penalised, `m = c(2, 0)`, keep their class,
# and mgcv evaluates their basis.
with_plate_functions <- function(spec, count) {
  fast <- count > few_of_plate && identical(class(spec), "tp.smooth.spec") && !isTRUE(spec$p.order[2] == 0)
  if (fast) structure(spec, class = c("kernops_plate.smooth.spec", class(spec))) else spec
}
few_of_plate <- 2000

# The basis that mgcv constructs from its knots alone. The constructor gets the knots as data, moved such that their
# mean is the mean of the observations, because the polynomials depend on the mean of the data. As in mgcv, functions
# have a mean square of 1.
#' @exportS3Method mgcv::smooth.construct
smooth.construct.kernops_plate.smooth.spec <- function(object, data, knots) { # nolint: object_length_linter.
  class(object) <- class(object)[-1]
  values <- values_of_terms(object, data)
  means <- colMeans(values)
  chosen <- plate_knots(t(t(values) - means), object$xt)
  around <- function(centre) stats::setNames(as.data.frame(t(t(chosen) + centre)), object$term)
  made <- mgcv::smooth.construct(object, around(means - colMeans(chosen)), around(means))
  class(made) <- c("kernops_plate", class(made))
  functions <- plate_functions(made, values)
  scale <- sqrt(colMeans(functions^2))
  made$X <- functions / rep(scale, each = nrow(functions))
  made$UZ <- made$UZ / rep(scale, each = nrow(made$UZ))
  made$S <- lapply(made$S, function(S) S / outer(scale, scale))
  made
}

#' @exportS3Method mgcv::Predict.matrix
Predict.matrix.kernops_plate <- function(object, data) plate_functions(object, values_of_terms(object, data))

# A matrix with a column for each variable of a smooth.
values_of_terms <- function(smooth, data) unname(do.call(cbind, lapply(data[smooth$term], as.numeric)))

# The knots that mgcv would use: the distinct values, or a random sample of the distinct values if there are too many.
plate_knots <- function(values, settings) {
  distinct <- mgcv::uniquecombs(values, TRUE)
  count <- settings$max.knots %||% 2000
  if (nrow(distinct) > count) {
    distinct <- distinct[with_seed(settings$seed %||% 1, sample(nrow(distinct), count)), , drop = FALSE]
  }
  matrix(distinct, ncol = ncol(values))
}

# The functions of a basis at points: sums of radial functions around the knots, plus polynomials. To compute the
# polynomials alone, mgcv gets a single knot with weight 0.
plate_functions <- function(smooth, values) {
  d <- smooth$dim
  of_knots <- seq_len(nrow(smooth$Xu))
  radial <- radial_function(d, plate_order(d, nrow(smooth$UZ) - length(of_knots)))
  declared <- sprintf(c("x = Vi(%d)", "y = Vj(%d)", "b = Vj(%d)"), c(d, d, ncol(smooth$UZ)))
  formula <- code_text("Sum_Reduction(", radial$formula, " * b, 1)")
  sums <- recent_operator(formula, declared, "auto", "float64", "cpu")(
    list(x = t(t(values) - as.numeric(smooth$shift)), y = smooth$Xu, b = smooth$UZ[of_knots, , drop = FALSE])
  )
  weights <- rbind(0, smooth$UZ[-of_knots, , drop = FALSE])
  polynomials <- replace(smooth, c("Xu", "UZ"), list(smooth$Xu[1, , drop = FALSE], weights))
  class(polynomials) <- class(polynomials)[-1]
  radial$constant * sums + mgcv::Predict.matrix(polynomials, stats::setNames(as.data.frame(values), smooth$term))
}

# The order m of the derivatives in the penalty, from the number of polynomials of degree below m in d variables.
plate_order <- function(d, polynomials) {
  orders <- 1:100
  orders[[match(polynomials, choose(orders + d - 1, d))]]
}

# The radial function of thin-plate splines in r with r^2 = q: a constant times r^(2 m - d), in even dimensions times
# log r.
radial_function <- function(d, m) {
  q <- "SqDist(x, y)"
  if (d %% 2 == 0) {
    sign <- (-1)^(m + 1 + d / 2)
    return(list(formula = sprintf("Pow(%s, %d) * XLogX(%s)", q, m - d / 2 - 1, q),
                constant = sign / (2^(2 * m) * pi^(d / 2) * factorial(m - 1) * factorial(m - d / 2))))
  }
  list(formula = sprintf("Pow(%s, %d) * Sqrt(%s)", q, m - (d + 1) / 2, q),
       constant = gamma(d / 2 - m) / (2^(2 * m) * pi^(d / 2) * factorial(m - 1)))
}
