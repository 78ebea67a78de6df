# Classes come first: methods are set when the files are read, in the order of their names.

#' @importFrom methods new setClass setMethod is signature callGeneric show Ops Math Summary Complex
NULL

# size counts numbers; a complex entry has two.
setClass("LazyTensor", slots = c(formula = "character", variables = "list", size = "integer"))
setClass("ComplexLazyTensor", contains = "LazyTensor")
