# R reads the files of the package in the order of their names. This file defines the classes first, because other files
# set methods for these classes.

#' @importFrom methods cbind2 rbind2 new setClass setMethod is signature callGeneric show Ops Math Summary Complex
NULL

# `size`: the number of entries of a value; a complex entry counts as two. `truth`: TRUE if values are conditions, 0 or
# 1. `ranges`: the pairs of points to combine; NULL for all pairs. `parts`: the texts of subformulas, named by the
# tokens that stand for these subformulas in the formula and in later parts. `points`: see lazy_points.R.
setClass("LazyTensor",
         slots = c(formula = "character", variables = "list", size = "integer", truth = "logical", ranges = "ANY",
                   parts = "character", points = "list"),
         prototype = list(truth = FALSE, ranges = NULL))
setClass("ComplexLazyTensor", contains = "LazyTensor")
