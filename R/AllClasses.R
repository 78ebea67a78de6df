# Classes come first: methods are set when the files are read, in the order of their names.

#' @importFrom methods new setClass setMethod is signature callGeneric show Ops Math Summary Complex
NULL

# size counts numbers; a complex entry has two. truth: whether numbers are those of a condition, 0 and 1.
setClass("LazyTensor", slots = c(formula = "character", variables = "list", size = "integer", truth = "logical"),
         prototype = list(truth = FALSE))
setClass("ComplexLazyTensor", contains = "LazyTensor")
