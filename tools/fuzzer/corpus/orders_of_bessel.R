# Recurrences of Bessel functions took as many steps as the requested order, however large it was.
of <- \(f) keops_kernel(sprintf("Sum_Reduction(%s, 1)", f), "x = Vi(1)")
calls <- c("SphericalBesselJ(x, 1e9)", "BesselJ(x, 1e9)", "BesselKOrder(x, 2, 1e9)", "Polygamma(x, 1e9)")
all(vapply(calls, \(f) refuses(of(f)), NA)) && is.finite(log(of("BesselK(1e6, x)")(list(0.6627434e6))))
