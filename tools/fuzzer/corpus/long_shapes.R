# Shapes of a million numbers were written into formulas that took minutes to scan.
x <- Vi(diag(2))
refuses(tensordot(x, x, 1:1e6, 2, 1, 1)) && refuses(kron(x, x, rep(1, 1e6), 2)) && refuses(lazy_op("Elem", x, 1e12))
