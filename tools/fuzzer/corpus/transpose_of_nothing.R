# tcrossprod() transposed its second argument before anything looked at it: functions ended in an error of t().
K <- Vi(1:3) - Vj(1:2)
all(vapply(list(sum, function(...) 1, new.env(), ~ q, quote(f(x)), quote(zz)), \(y) refuses(tcrossprod(K, y)), NA))
