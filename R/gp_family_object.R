# family() of fits: objects of class `family`, from which other packages take links, means, variances and deviances.

#' @importFrom stats family
#' @export
family.gp <- function(object, ...) stats::gaussian()

# The object is a family for gp(), too.
#' @export
family.gp_family_fit <- function(object, ...) {
  family <- object$family
  structure(c(family, stats_functions(family, object$dispersion)), class = c("gp_family", "family"))
}

# The elements of a `family` of package stats, see make.link() and glm(). `dispersion` has the parameters of the family.
stats_functions <- function(family, dispersion) {
  density <- family$density
  link <- stats::make.link(family$link)
  c(list(family = family_title(family$name, dispersion)), link[c("linkfun", "linkinv", "mu.eta", "valideta")], list(
    variance = function(mu) density$variance(mu, 1, dispersion),
    dev.resids = function(y, mu, wt) density$deviance(y, mu, wt, dispersion),
    validmu = mean_check(family$link)
  ))
}

# Names of families as packages stats and MASS write them.
family_title <- function(name, dispersion) {
  if (name != "negative_binomial") return(name)
  paste0("Negative Binomial(", format(signif(dispersion[["theta"]], 4)), ")")
}

# The means that a link has.
mean_check <- function(link) {
  range <- inverse_link(c(-Inf, Inf), link)
  function(mu) all(is.finite(mu)) && all(mu > range[[1]] & mu < range[[2]])
}
