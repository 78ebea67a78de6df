# Methods for generic functions of other packages with the same names as functions of kernops: a call reaches kernops
# even if such a package is attached later and masks it.

# S4 methods of terra, set when terra is loaded; they are stored in an environment that sees the generic functions and
# the class.
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
