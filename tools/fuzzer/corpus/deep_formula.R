# Passes over a formula were recursive, and overflowed the stack if the formula was deep.
build <- \(text) keops_kernel(sprintf("Sum_Reduction(%s, 1)", text), c("x = Vi(1)", "y = Vj(1)"))
ends <- \(text) tryCatch(is.function(build(text)), kernops_formula_error = \(e) TRUE)
around <- \(left, right) all(vapply(c(500, 1990, 1e5), \(n) ends(paste0(strrep(left, n), "x*y", strrep(right, n))), NA))
all(mapply(around, c("(", "[", "-", "Sin(", "Grad(", rep("", 4)),
           c(")", "]", "", ")", ", x, x)", "+x", "*y", "^y", "<y")))
