# The limits of 2e9 distance classes filled the memory; 1e300 classes raised an error of seq().
refuses(gp_variogram(diag(3), 1:3, breaks = 2e9)) && refuses(gp_variogram(diag(3), 1:3, breaks = 1e300))
