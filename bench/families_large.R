# Families with many observations (method = "vecchia"), compared with the exact method at n = 2000, and with the
# simulated field at n = 1e5. Fits of more than 1e5 observations are compared with the field only.
#
#   Rscript bench/families_large.R [n] [seeds] [backend] [family]
#   Rscript bench/families_large.R 1e6 1 cuda poisson

library(kernops)

given <- suppressWarnings(as.numeric(commandArgs(TRUE)))
n <- c(given[1], 1e5)[[1 + is.na(given[1])]]
seeds <- seq_len(c(given[2], 2)[[1 + is.na(given[2])]])
backend <- c(commandArgs(TRUE)[3], "auto")[[1 + is.na(commandArgs(TRUE)[3])]]
families <- list(
  binary = list(binomial(), \(eta) rbinom(length(eta), 1, plogis(eta))),
  poisson = list(poisson(), \(eta) rpois(length(eta), exp(eta))),
  negative_binomial = list(negative_binomial(), \(eta) rnbinom(length(eta), size = 2, mu = exp(eta)))
)
if (length(given) > 3) families <- families[commandArgs(TRUE)[4]]

# A field with mean -0.5 and variance 1; the last 2000 points are held out.
simulated <- function(n, range, family, seed) {
  set.seed(seed)
  d <- data.frame(x = runif(n + 2000), y = runif(n + 2000))
  prior <- gp(rep(0, 50) ~ 0, d[1:50, ], ~ x + y, matern(3/2, 1, range), estimate = "none", method = "vecchia",
              neighbours = 40)
  d$eta <- simulate(prior, 1, seed = seed, newdata = d, conditional = FALSE)[, 1] - 0.5
  transform(d, z = family[[2]](eta))
}

# Peak memory in GB.
peak <- function() {
  line <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024^2
}

fitted <- function(d, family, ...) {
  old <- seq_len(nrow(d) - 2000)
  time <- system.time(fit <- gp(z ~ 1, d[old, ], ~ x + y, family = family[[1]], ...))
  cat(sprintf("%.0f s\n", time[["elapsed"]]), file = stderr())
  taken <- system.time(link <- predict(fit, d[-old, ], se.fit = TRUE, interval = "confidence", type = "link"))
  list(fit = fit, seconds = time[["elapsed"]], cpu = sum(time[1:2]), link = link, prediction = taken[["elapsed"]])
}

if (n <= 1e5) cat("n = 2000, range 0.1: differences from the exact method in its standard errors\n")
if (n <= 1e5) for (name in names(families)) for (seed in seeds) {
  d <- simulated(2000, 0.1, families[[name]], seed)
  exact <- fitted(d, families[[name]], method = "exact")
  se <- sqrt(diag(vcov(exact$fit, "both")))
  for (m in c(10, 20, 40)) {
    near <- fitted(d, families[[name]], method = "vecchia", neighbours = m)
    off <- (coef(near$fit, "both") - coef(exact$fit, "both")) / se
    cat(sprintf("%-18s %d  m %d  log-likelihood %+.2f  parameters %s  predictions %.3f  seconds %.1f and %.1f\n", name,
                seed, m, near$fit$loglik - exact$fit$loglik, toString(sprintf("%+.2f", off)),
                sqrt(mean((near$link$fit - exact$link$fit)^2)) / mean(exact$link$se.fit), near$seconds, exact$seconds))
  }
}

cat("n =", n, ", range 0.05\n")
for (name in names(families)) for (seed in seeds) {
  d <- simulated(n, 0.05, families[[name]], seed)
  near <- fitted(d, families[[name]], method = "vecchia", backend = backend)
  truth <- utils::tail(d$eta, 2000)
  table <- cbind(coef(near$fit, "both"), sqrt(diag(vcov(near$fit, "both"))))
  cat(sprintf("%-18s %d  seconds %.0f (CPU %.0f), predictions %.1f  %s  ", name, seed, near$seconds, near$cpu,
              near$prediction, toString(sprintf("%s %.3f (%.3f)", rownames(table), table[, 1], table[, 2]))))
  cat(sprintf("RMSE %.3f  mean se %.3f  coverage %.3f  peak memory %.1f GB\n", sqrt(mean((near$link$fit - truth)^2)),
              mean(near$link$se.fit), mean(truth >= near$link$lwr & truth <= near$link$upr), peak()))
}
