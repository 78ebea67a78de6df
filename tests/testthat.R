library(testthat)
library(kernops)

test_check("kernops")
