# Methods for generic functions of other packages that have the same names as functions of kernops. With these methods,
# a call reaches the function of kernops even if another package is attached later and masks this function.

# Registers S4 methods for generics of terra when terra is loaded. The methods are stored in an environment in which the
# generic functions and the class are visible.
register_in_terra <- function(...) {
  methods_of <- new.env(parent = asNamespace("terra"))
  assign(methods::classMetaName("LazyTensor"), methods::getClass("LazyTensor"), methods_of)
  methods::setMethod("clamp", "LazyTensor", function(x, ...) clamp(x, ...), methods_of)
  methods::setMethod("extract", "LazyTensor", function(x, y, ...) {
    if (missing(y)) extract(x, ...) else extract(x, y, ...)
  }, methods_of)
}

when_loaded <- function(package, register) {
  if (isNamespaceLoaded(package)) register()
  setHook(packageEvent(package, "onLoad"), register)
}

#' @exportS3Method tidyr::extract
extract.LazyTensor <- function(data, ...) extract(data, ...)
