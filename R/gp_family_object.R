# The method family() for fits returns objects of class `family`, from which other packages read links, means, variances
# and deviances.

#' @importFrom stats family
#' @export
family.gp <- function(object, ...) {
  no_further("family", ...)
  stats::gaussian()
}

# The object can also be used as the argument `family` of gp().
#' @export
family.gp_family_fit <- function(object, ...) {
  no_further("family", ...)
  family <- object$family
  structure(c(family, stats_functions(family, object$phi)), class = c("gp_family", "family"))
}

# The elements of a `family` object of package stats, see make.link() and glm(). `phi` contains the parameters of the
# density. If parameters have predictors, the functions apply only to the observations of the fit.
stats_functions <- function(family, phi) {
  density <- family$density
  link <- stats::make.link(family$link)
  c(list(family = family_title(family$name, phi)), link[c("linkfun", "linkinv", "mu.eta", "valideta")], list(
    variance = function(mu) density$variance(check_observed(mu, phi), 1, phi),
    dev.resids = function(y, mu, wt) density$deviance(y, check_observed(mu, phi), wt, phi),
    validmu = mean_check(family$link)
  ))
}

check_observed <- function(mu, phi) {
  n <- max(lengths(phi), 1)
  if (n == 1 || length(mu) == n) return(mu)
  stop_kernops("input", "The variance depends on covariates: the functions of this family take the means of the {n}
                         observations of the fit, not {length(mu)}.", call = NULL)
}

# The names of families in the style of packages stats and MASS.
family_title <- function(name, phi) {
  if (name != "negative_binomial") return(name)
  theta <- phi[["theta"]]
  paste0("Negative Binomial", if (length(theta) == 1) paste0("(", format(signif(theta, 4)), ")"))
}

# A function that checks whether means are in the range of the inverse link.
mean_check <- function(link) {
  range <- inverse_link(c(-Inf, Inf), link)
  function(mu) all(is.finite(mu)) && all(mu > range[[1]] & mu < range[[2]])
}
