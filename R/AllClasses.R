# Classes come first: methods are set when the files are read, in the order of their names.

#' @importFrom methods cbind2 rbind2 new setClass setMethod is signature callGeneric show Ops Math Summary Complex
NULL

# size counts numbers; a complex entry has two. truth: whether numbers are those of a condition, 0 and 1. ranges: the
# pairs that there are, NULL for all. parts: texts that the formula and later parts refer to, by their tokens. points:
# see lazy_points.R.
setClass("LazyTensor",
         slots = c(formula = "character", variables = "list", size = "integer", truth = "logical", ranges = "ANY",
                   parts = "character", points = "list"),
         prototype = list(truth = FALSE, ranges = NULL))
setClass("ComplexLazyTensor", contains = "LazyTensor")
