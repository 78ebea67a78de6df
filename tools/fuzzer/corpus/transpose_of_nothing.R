# tcrossprod() transposed its second argument before checking it. If this argument was a function, t() raised an error.
K <- Vi(1:3) - Vj(1:2)
all(vapply(list(sum, function(...) 1, new.env(), ~ q, quote(f(x)), quote(zz)), \(y) refuses(tcrossprod(K, y)), NA))
