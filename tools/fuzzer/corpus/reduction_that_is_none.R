# A function or an environment as the name of a reduction was pasted into a formula.
p <- Vi(matrix(1:4, 2))
K <- sqdist(p, Vj(diag(2)))
all(vapply(list(sum, new.env(), list(1), NULL), \(name) refuses(keops_objective(K, p, reduction = name)), NA))
