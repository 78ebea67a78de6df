# Generic functions of other packages with methods for fits; kernops exports them, so that their packages need not be
# attached.

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
