# Classes are defined first: files are read in the order of their names, and the other files set methods for these
# classes.

#' @importFrom methods cbind2 rbind2 new setClass setMethod is signature callGeneric show Ops Math Summary Complex
NULL

# `size`: the length of a value; a complex entry has two numbers. `truth`: TRUE if values are conditions, 0 or 1.
# `ranges`: the pairs that are combined; NULL for all pairs. `parts`: the texts of subformulas, named by the tokens that
# the formula and later parts use. `points`: see lazy_points.R.
setClass("LazyTensor",
         slots = c(formula = "character", variables = "list", size = "integer", truth = "logical", ranges = "ANY",
                   parts = "character", points = "list"),
         prototype = list(truth = FALSE, ranges = NULL))
setClass("ComplexLazyTensor", contains = "LazyTensor")
