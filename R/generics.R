# Generic functions of other packages with methods for fits; kernops exports these generics, so that users need not
# attach the other packages.

#' @importFrom generics tidy
#' @export
generics::tidy

#' @importFrom generics glance
#' @export
generics::glance

#' @importFrom generics augment
#' @export
generics::augment

#' @importFrom nlme ranef
#' @export
nlme::ranef

#' @importFrom nlme fixef
#' @export
nlme::fixef
