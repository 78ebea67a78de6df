# Simulation-based calibration of fits with a family (Talts et al. 2018): parameters are drawn from their priors, and
# data are simulated given these parameters. If the posterior is right, the rank of each true value among posterior
# draws is uniform. For each family, the script simulates `count` data sets and prints two numbers for the variance and
# the range of the field and for the linear predictor at a new location: the p-value of the chi-square test of the ranks
# in 8 classes of equal probability, and the mean rank divided by the largest possible rank.
#
#   Rscript bench/ranks.R [count] [families]

library(kernops)

arguments <- commandArgs(TRUE)
count <- if (length(arguments)) as.integer(arguments[[1]]) else 200L
n <- 30
draws <- 39
priors <- list(variance = lognormal(0, 0.5), range = lognormal(log(1.5), 0.5))
families <- list(
  poisson = list(poisson(), \(eta) rpois(length(eta), exp(eta))),
  binary = list(binomial(), \(eta) rbinom(length(eta), 1, plogis(eta))),
  trials = list(binomial(), \(eta) rbinom(length(eta), 5, plogis(eta)) / 5, 5),
  negative_binomial = list(negative_binomial(3), \(eta) rnbinom(length(eta), size = 3, mu = exp(eta))),
  Gamma = list(Gamma("log"), \(eta) rgamma(length(eta), 3, 3 / exp(eta))), # the shape is estimated by the fit
  student = list(student(4, 0.3), \(eta) eta + 0.3 * rt(length(eta), 4))
)

ranks <- function(family) {
  repeat {
    x <- runif(n + 1, 0, 10)
    truth <- exp(c(rnorm(1, 0, 0.5), rnorm(1, log(1.5), 0.5)))
    h <- sqrt(3) * as.matrix(dist(x)) / truth[2]
    root <- t(chol(truth[1] * (1 + h) * exp(-h) + diag(1e-9, n + 1)))
    eta <- 0.5 + as.vector(root %*% rnorm(n + 1))
    d <- data.frame(x, y = family[[2]](eta))
    old <- seq_len(n)
    if (any(d$y[old] != d$y[1])) break # nothing can be estimated from constant data
  }
  suppressWarnings({ # seed NULL: a fixed seed would repeat the same errors in the draws of all data sets
    fit <- gp(y ~ 0, d[old, ], ~ x, matern(3/2), family = family[[1]], known = list(beta = 0.5), prior = priors,
              weights = rep(c(family[-(1:2)], 1)[[1]], n))
    posterior <- gp_posterior(fit, draws, NULL)
    field <- simulate(posterior, draws, NULL, d[n + 1, ])
  })
  c(colSums(as.data.frame(posterior) < rep(truth, each = draws)), sum(field < eta[n + 1]))
}

p_value <- function(rank) chisq.test(tabulate(rank %/% ((draws + 1) / 8) + 1, 8))$p.value

for (name in if (length(arguments) > 1) arguments[-1] else names(families)) {
  set.seed(match(name, names(families)))
  found <- replicate(count, ranks(families[[name]]))
  words <- sprintf("p %.3f, mean %.3f", apply(found, 1, p_value), rowMeans(found) / draws)
  cat(sprintf("%-18s %s\n", name, paste(c("variance", "range", "predictor"), words, collapse = "   ")))
}
