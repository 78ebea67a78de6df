# Run by tools/demo: kriging of a volcano, then times of sums over 1e5 x 1e5 pairs.

library(kernops)
source("bench/scalar.R")

# ---- Kriging: R's volcano, 87 x 61 heights on a 10 m grid, from 1000 noisy samples ----

cli::cli_h1("Kriging Maunga Whau (datasets::volcano) from 1000 noisy samples")
set.seed(1)
north <- 10 * seq_len(nrow(volcano))
west <- 10 * seq_len(ncol(volcano))
grid <- as.matrix(expand.grid(north = north, west = west))
truth <- c(volcano)

noise <- 1  # metres
sampled <- sample(length(truth), 1000)
measured <- truth[sampled] + rnorm(1000, sd = noise)

# A Gaussian process with noise and a Matern 3/2 covariance. Fields with this covariance are once differentiable, which
# is roughly true of terrain. All parameters are estimated.
samples <- data.frame(height = measured, grid[sampled, ])
time <- seconds(fit <- gp(height ~ 1, samples, ~ north + west, matern(3/2) + nugget()), runs = 1)
cli::cli_alert_success("likelihood maximised in {round(time, 2)} s")
print(fit)

rmse <- function(a, b) sqrt(mean((a - b)^2))
time <- seconds(map <- predict(fit, as.data.frame(grid), interval = "confidence"), runs = 1)
map$heights <- map$fit
cli::cli_alert_success("{nrow(grid)} grid points with their 95 % intervals in {round(time, 2)} s")
inside <- (map$lwr <= truth & truth <= map$upr)[-sampled]
error <- rmse(map$heights[-sampled], truth[-sampled])
correlation <- cor(map$heights[-sampled], truth[-sampled])
cli::cli_alert_success(paste(
  "on the {nrow(grid) - length(sampled)} points left out: RMSE {round(error, 2)} m,",
  "correlation {round(correlation, 4)}, {round(100 * mean(inside), 1)} % inside their intervals"
))

# ---- The picture ----

span <- range(truth, measured, map$heights)
heights <- list(range = span, colours = hcl.colors(64, "viridis"), label = "height (m)")
off <- max(abs(map$heights - truth))
misses <- list(range = c(-off, off), colours = hcl.colors(64, "Blue-Red 3"), label = "kriged - truth (m)")

panel <- function(values, scale, title) {
  image(
    north, west, matrix(values, length(north)), col = scale$colours, zlim = scale$range, asp = 1, las = 1,
    xlab = "metres north", ylab = "metres west", main = title
  )
}

bar <- function(scale) {
  steps <- seq(scale$range[1], scale$range[2], length.out = length(scale$colours))
  image(steps, 1, matrix(steps), col = scale$colours, xlab = scale$label, ylab = "", yaxt = "n")
}

dir.create("demo", showWarnings = FALSE)
png("demo/volcano.png", 1800, 1580, res = 180)
layout(matrix(1:6, 3, byrow = TRUE), heights = c(6, 6, 1.7))
par(mar = c(3.2, 3.6, 2, 0.8), mgp = c(2.2, 0.6, 0), cex.main = 1.1)
panel(truth, heights, "Truth: 5307 points")
panel(replace(NA * truth, sampled, measured), heights, "1000 samples, noise 1 m")
panel(map$heights, heights, "Kriged from the samples")
panel(map$heights - truth, misses, "Error")
par(mar = c(3.4, 3.6, 0.6, 0.8))
bar(heights)
bar(misses)
invisible(dev.off())
cli::cli_alert_success("picture: {.file demo/volcano.png}")

# ---- Zinc near the river Meuse: universal kriging with the distance to the river ----

if (requireNamespace("sp", quietly = TRUE)) {
  cli::cli_h1("Zinc in the flood plain of the Meuse (sp::meuse), 155 samples, 3103 grid points")
  data("meuse", "meuse.grid", package = "sp")
  time <- seconds(zinc <- gp(log(zinc) ~ sqrt(dist), meuse, ~ x + y, exponential() + nugget(), estimate = "REML"),
                  runs = 1)
  print(summary(zinc))
  score <- summary(gp_cv(zinc))
  cli::cli_alert_success(paste("fitted in {round(time, 2)} s; leave-one-out: RMSE {round(score$rmse, 3)} of log(zinc),",
                               "{round(100 * score$coverage)} % within their 95 % intervals"))
  maps <- predict(zinc, meuse.grid, se.fit = TRUE, interval = "prediction")
  eastings <- sort(unique(meuse.grid$x))
  northings <- sort(unique(meuse.grid$y))
  on_grid <- function(values) {
    z <- matrix(NA, length(eastings), length(northings))
    z[cbind(match(meuse.grid$x, eastings), match(meuse.grid$y, northings))] <- values
    z
  }
  png("demo/meuse.png", 1800, 1500, res = 180)
  layout(matrix(1:4, 2, byrow = TRUE), heights = c(8, 1.7))
  par(mar = c(3.2, 3.6, 2, 0.8), mgp = c(2.2, 0.6, 0), cex.main = 1.1)
  shown <- list(list(values = maps$fit, label = "log(zinc / ppm)", title = "Kriged"),
                list(values = maps$se.fit, label = "standard error of log(zinc)", title = "Standard error"))
  for (part in shown) {
    image(eastings / 1000, northings / 1000, on_grid(part$values), col = hcl.colors(64, "viridis"), asp = 1, las = 1,
          xlab = "easting (km)", ylab = "northing (km)", main = part$title)
    points(meuse$x / 1000, meuse$y / 1000, pch = 16, cex = 0.4)
  }
  par(mar = c(3.4, 3.6, 0.6, 0.8))
  for (part in shown) bar(list(range = range(part$values), colours = hcl.colors(64, "viridis"), label = part$label))
  invisible(dev.off())
  cli::cli_alert_success("picture: {.file demo/meuse.png}")
}

# ---- Speed: v_i = sum over j of exp(-s |x_i - y_j|^2) b_j, and its gradient with respect to x ----

n <- 1e5L
cli::cli_h1("Gaussian sum over {n} x {n} pairs of points in 3 dimensions")
scalar_compile("bench/scalar.cpp")
s <- 0.5
x <- matrix(runif(3 * n), n)
y <- matrix(runif(3 * n), n)
b <- matrix(rnorm(n))
some <- 1:1000  # the scalar loop is timed on these rows of x

gauss <- keops_kernel(
  "Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 1)", c("s = Pm(1)", "x = Vi(3)", "y = Vj(3)", "b = Vj(1)")
)
gradient <- keops_grad(gauss, "x")

compare <- function(name, loop, ours) {
  time <- seconds(value <- ours(), runs = 1)
  loop_time <- seconds(expected <- scalar_run(loop, x[some, ], y, b, s), runs = 3) * n / length(some)
  stopifnot(all.equal(c(value[some, ]), c(expected), tolerance = 1e-8))
  speed <- function(time) format(n^2 / time / 1e9, digits = 2, nsmall = 2)
  cli::cli_alert_success(paste(
    "{name}: {round(time, 1)} s, {speed(time)} Gpairs/s;",
    "scalar C++ loop on one core {speed(loop_time)} Gpairs/s, so {round(loop_time / time, 1)} times as fast"
  ))
}
compare("sum", "scalar_gauss", function() gauss(list(s = s, x = x, y = y, b = b)))
eta <- matrix(1, n)  # the incoming gradient, here that of sum(v)
compare("gradient", "scalar_gauss_grad", function() gradient(list(s = s, x = x, y = y, b = b, eta = eta)))
cli::cli_alert_info("the kernel matrix would take {8 * n^2 / 1e9} GB, the data take {8 * 7 * n / 1e6} MB")
