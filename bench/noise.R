# R_LIBS=.lib Rscript bench/noise.R [points] [seeds]
#
# Noisy data: predictions of the field by Vecchia's approximation with the default numbers of neighbours, compared with
# the exact method. A field of Matern 3/2 with variance 1 and range 0.1 on the unit square is observed with the noise
# variances 5 and 0.05 (signal-to-noise ratios of 0.2 and 20), and predicted at 500 new points with the true covariance
# and the true noise variance. Columns: the number of neighbours; the root mean square error of the exact method against
# the simulated field; the root mean square error of the approximation, divided by that of the exact method; the mean,
# the minimum and the maximum of the standard errors of the approximation, divided by those of the exact method.

library(kernops)
sizes <- as.integer(c(commandArgs(TRUE), 4000, 5)[1:2])

field <- function(n, noise, seed) withr::with_seed(seed, {
  u <- matrix(runif(2 * (n + 500)), ncol = 2, dimnames = list(NULL, c("a", "b")))
  h <- sqrt(3) * as.matrix(dist(u)) / 0.1
  f <- as.vector(crossprod(chol((1 + h) * exp(-h) + diag(1e-8, nrow(u))), rnorm(nrow(u))))
  data.frame(u, f, z = f + rnorm(nrow(u), sd = sqrt(noise)), new = seq_len(nrow(u)) > n)
})

compare <- function(noise, seed) {
  case <- field(sizes[[1]], noise, seed)
  by <- \(method) {
    fit <- gp(z ~ 1, case[!case$new, ], ~ a + b, matern(3/2, 1, 0.1) + nugget(noise), method, "none")
    list(at = predict(fit, case[case$new, ], se.fit = TRUE, interval = "confidence"), local = fit$vecchia$local)
  }
  exact <- by("exact")$at
  vecchia <- by("vecchia")
  rmse <- \(at) sqrt(mean((at$fit - case$f[case$new])^2))
  errors <- vecchia$at$se.fit / exact$se.fit
  data.frame(noise, seed, neighbours = vecchia$local, RMSE = rmse(exact),
             "RMSE by sets / exact" = rmse(vecchia$at) / rmse(exact), "standard errors: mean ratio" = mean(errors),
             least = min(errors), most = max(errors), check.names = FALSE)
}

cases <- expand.grid(seed = seq_len(sizes[[2]]), noise = c(5, 0.05))
print(do.call(rbind, Map(compare, cases$noise, cases$seed)), digits = 4, row.names = FALSE)
