# A valid call of each exported function; arguments.R replaces the arguments one by one.

x <- matrix(stats::runif(20), 10)
d <- data.frame(u = x[, 1], v = x[, 2], z = stats::rnorm(10))
op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", c("x = Vi(2)", "y = Vj(2)", "b = Vj(1)"))
input <- list(x = x, y = x, b = d$z)
K <- exp(-sqdist(Vi(x), Vj(x)))
p <- Vi(x, name = "p")
f <- sqdist(p, Vj(x, name = "q"))
known <- matern(3/2, 1, 1) + nugget(0.1)
classes <- gp_variogram(x, d$z, breaks = c(0, 0.1, 0.3, 1, 2, 3))
fit <- gp(z ~ 1, d, ~ u + v, known, "exact", "none")
whole <- do.call(gp, list(z ~ 1, d, ~ u + v, known, "exact", "none")) # the call that the fit stores contains the data
likely <- list(range = lognormal(), variance = lognormal(), nugget = lognormal())
drawn <- gp_posterior(gp(z ~ 1, d, ~ u + v, known, prior = likely), n = 20)
g <- rep(1:2, 5)
many <- gp(cbind(z, z^2) ~ 1, d, ~ u + v, matern() + nugget(), responses = "independent", null_draws = 20)
clusters <- cluster_ranges_centroids(x, sort(g))$ranges
vgm <- structure(data.frame(model = factor("Exp"), psill = 1, range = 1, kappa = 0.5, ang1 = 0, ang2 = 0, ang3 = 0,
                            anis1 = 1, anis2 = 1), class = c("variogramModel", "data.frame"))
A <- list(offsets = c(0, 2, 3), columns = c(0, 1, 2), values = 1:3)

operators <- list(
  keops_kernel = list(formula = "Sum_Reduction(x, 1)", args = "x = Vi(2)", precision = "float64", backend = "cpu",
                      device = 0L, sum_scheme = "auto"),
  lookup_terms = list(table = x, i = c(1, 2), j = c(2, 1)),
  keops_grad = list(op = op, var = "x"), keops_source = list(op = op), keops_formula = list(x = K),
  keops_objective = list(K = f, p, reduction = "Sum"), LazyTensor = list(x = x, index = "i", name = "x"),
  Vi = list(x = x, name = "x"), Vj = list(x = x), Pm = list(x = 1:3),
  Vij = list(x = x, name = "A"), gpu_matrix = list(x = x),
  kernel_solve = list(op = op, var = "b", input = input, lambda = 1, tol = 1e-6, maxit = 10, method = "cg"),
  kernel_solve_grad = list(fit = kernel_solve(op, "b", input, 1), eta = d$z, var = "b"),
  kernel_preconditioner = list(op = op, var = "b", input = input, lambda = 1),
  kernel_interpolation = list(x = x, y = d$z, kernel = matern(3/2, 1, 1), lambda = 0.1),
  grid_cluster = list(x = x, size = 0.1), sort_clusters = list(x = x, labels = g),
  cluster_ranges_centroids = list(x = x, labels = sort(g), weights = rep(1, 10)),
  with_ranges = list(x = K, ranges = NULL),
  from_matrix = list(ranges_i = clusters, ranges_j = clusters, keep = matrix(TRUE, 2, 2)),
  swap_axes = list(ranges = from_matrix(clusters, clusters, matrix(TRUE, 2, 2))), with_kernops = list(1, threads = 1),
  local_kernops = list(threads = 1)
)

processes <- list(
  gp = list(formula = z ~ 1, data = d, coords = ~ u + v, covariance = known, method = "exact", estimate = "none"),
  gp_control = lapply(formals(gp_control), eval, asNamespace("kernops")), as_gp = list(model = vgm, fixed = TRUE),
  as_vgm = list(object = known),
  pc_range = list(lower = 1, p = 0.1), pc_sd = list(upper = 1, p = 0.1), lognormal = list(meanlog = 0, sdlog = 1),
  gp_posterior = list(fit = drawn$fit, n = 4, seed = 1), predict.gp_posterior = list(drawn, newdata = d, level = 0.9),
  simulate.gp_posterior = list(drawn, nsim = 2, seed = 1, newdata = d),
  gp_table = list(x = d), gp_neighbours = list(coords = x, m = 2, ordering = "maxmin", seed = 1),
  gp_exceedance = list(object = fit, newdata = d, above = 0.5, areas = 1, level = 0.9, nsim = 5, seed = 1),
  certify = list(object = fit, sites = 5, level = 0.99, probes = 4, seed = 1),
  gp_cv = list(object = fit, folds = 3, seed = 1), gp_variogram = list(x = x, y = d$z, breaks = c(0, 0.1, 0.3, 1)),
  predict.gp = list(object = fit, newdata = d, se.fit = TRUE, interval = "none", terms = "trend",
                    what = "fit", derivative = NULL),
  as.data.frame.gp_responses = list(many, adjust = "BH"), "[.gp_responses" = list(many, i = 2),
  predict.gp_responses = list(object = many, newdata = d, responses = 1, se.fit = TRUE, interval = "prediction"),
  update.gp = list(whole, newdata = d[1, ], refit = FALSE),
  gp_propose = list(fit, lower = c(0, 0), upper = c(1, 1), criterion = "ucb", batch = 2, minimise = TRUE, starts = 1,
                    candidates = 5, seed = 1),
  simulate.gp = list(object = fit, nsim = 2, seed = 1, newdata = d), coef.gp = list(fit, type = "both"),
  confint.gp = list(fit, parm = 1, level = 0.9), residuals.gp = list(fit, type = "pearson"),
  tidy.gp = list(fit, conf.int = TRUE, conf.level = 0.9, effects = "trend", exponentiate = FALSE),
  augment.gp = list(fit, newdata = d), extractAIC.gp = list(fit, scale = 0, k = 2),
  matern = list(nu = 1.5, variance = 1, range = 1), periodic = list(variance = 1, range = 1, period = 1),
  exponential = list(variance = 1, range = 1), spherical = list(variance = 1, range = 1), wendland = list(1, 1),
  squared_exponential = list(variance = 1, range = 1), rational_quadratic = list(1, range = 1, shape = 1),
  circular = list(variance = 1, range = 1), pentaspherical = list(variance = 1, range = 1), triangular = list(1, 1),
  wave = list(variance = 1, range = 1), cosine = list(variance = 1, period = 1), microscale = list(variance = 1),
  powered_exponential = list(variance = 1, range = 1, power = 1.5), power_law = list(variance = 1, power = 1.5),
  logarithmic = list(variance = 1, range = 1), negative_binomial = list(theta = 1), student = list(df = 4, scale = 1),
  tweedie = list(power = 1.5, dispersion = 1),
  fit_variogram = list(variogram = classes, covariance = known),
  gp_indicator = list(formula = z ~ 1, data = d, coords = ~ u + v, cuts = 0, covariance = known),
  lmc = list(matern(3/2, range = 1), sills = list(diag(2)), fixed = FALSE, cross_nugget = TRUE),
  gp_family = list(name = "tobit", left = 0),
  likelihood = list(formula = "-Square((y - eta) / s) - Log(s)", parameters = list(s = 1), y = "real",
                    link = "identity", fixed = "s"),
  svc = list(effect = ~ u, covariance = matern()),
  gneiting = list(nu = 0.5, variance = 1, range = 1, speed = 1, power = 1, interaction = 0.5, time = 3),
  ar1 = list(effect = ~ u, variance = 1, range = 2, fixed = "range"),
  random_walk = list(effect = ~ u, variance = 1, fixed = "variance"),
  random_effect = list(effect = ~ 1 | u, variance = 1, fixed = "variance"),
  smooth_effect = list(effect = ~ s(u, k = 4), variance = 1, fixed = "variance"),
  nugget = list(variance = 1), linear = list(variance = 1), constant = list(variance = 1, fixed = "variance"),
  covariance = list(formula = "s * Exp(-SqDist(x, y))", parameters = list(s = 1))
)

segments <- list(
  seg_reduce = list(x = d$z, g = g, op = "quantile", probs = 0.5, type = 7, nth = 1),
  seg_softmax = list(x = d$z, g = g), seg_grad = list(op = "sum"),
  seg_scan = list(x = d$z, g = g, op = "sum", exclusive = FALSE, reverse = FALSE, na.rm = FALSE),
  seg_sort = list(x = d$z, g = g, decreasing = FALSE, na.last = TRUE), seg_top = list(x = d$z, k = 2, g = g),
  seg_roll = list(x = d$z, width = 3, g = g, op = "max", by = 1:10, align = "left", partial = TRUE, na.rm = FALSE),
  seg_transform = list(x = d$z, op = "lag", g = g, n = 1, fill = 0, na.rm = TRUE),
  seg_cov = list(x = d$z, y = d$u, g = g), seg_cor = list(x = d$z, y = d$u, g = g, na.rm = TRUE),
  seg_slope = list(x = d$z, y = d$u, g = g, weights = rep(1, 10)),
  seg_order = list(x = d$z, g = g, decreasing = TRUE), seg_rank = list(x = d$z, g = g, ties = "min"),
  seg_logsumexp = list(x = d$z, g = g), seg_op = list(formula = "a + b"), seg_plan = list(lengths = c(4, 6)),
  reduce_by_key = list(keys = g, x = d$z, op = "sum"), softmax = list(x = x), axis_grad = list(op = "sum"),
  axis_reduce = list(x = array(1:24, 2:4), dims = c(1, 3), op = "max"), axis_plan = list(dim = 2:4, dims = 2),
  spmv = list(A = A, v = c(1, 2, 3), mul = "*", add = "+"), spmv_plan = list(A = A)
)

window <- cbind(c(-9, 9), c(-9, 9)) # contains all points
mixture <- mixture_model(x, 1)
ridge <- kernel_ridge(x, d$z)
components <- kernel_pca(x)
tasks <- list(
  knn = list(x = x, y = x, k = 2, radius = 1, method = "tree"),
  knn_graph = list(near = knn(x, k = 2), mutual = TRUE, weights = "one"),
  neighbours_within = list(x = x, radius = 0.3, y = x, count = FALSE),
  kmeans_large = list(x = x, centers = 2, iter.max = 50, nstart = 1, weights = rep(1, 10), seeding = "++",
                      batch = NULL),
  kernel_sum = list(kernel = "Exp(-SqDist(x, y))", x = x, y = x, b = rep(1, 10), tol = 1e-3),
  kde = list(x = x, at = x, bandwidth = "scott", weights = rep(1, 10), log = FALSE, gradient = TRUE),
  energy_test = list(x = x[1:5, ], y = x[6:10, ], permutations = 9),
  mmd_test = list(x = x[1:5, ], y = x[6:10, ], permutations = 9, sd = 1),
  morans_i = list(x = x, values = d$z, radius = 0.4, power = 0, standardise = TRUE, alternative = "less",
                  permutations = 9),
  ripley_k = list(x = x, window = window, y = x, r = c(0.1, 0.2), correction = "isotropic"),
  pair_correlation = list(x = x, window = window, y = x, r = c(0.1, 0.2), correction = "translation", bandwidth = 0.1),
  mixture_model = list(x = x, k = 2, covariance = "diagonal", equal = FALSE, weights = rep(1, 10), start = NULL,
                       nstart = 1, tol = 1e-4, iter.max = 20),
  predict.kernops_mixture = list(mixture, newdata = x, type = "probability"),
  distance_correlation = list(x = x, y = d$z, permutations = 9),
  hsic_test = list(x = x, y = d$z, permutations = 9, sd = c(1, 1)),
  sinkhorn = list(x = x, y = x[1:5, ], epsilon = 0.1, weights_x = rep(1, 10), weights_y = rep(2, 5), cost = "distance",
                  rho = 1, debiased = TRUE, gradient = TRUE, scaling = 0.5, tol = 1e-3, iter.max = 20),
  kernel_ridge = list(x = x, y = d$z, width = c(0.5, 1), lambda = 0.1, kernel = "matern32", centre = TRUE, folds = 2,
                      tol = 1e-4),
  predict.kernops_ridge = list(ridge, newdata = x), predict.kernops_pca = list(components, newdata = x),
  kernel_pca = list(x = x, k = 2, width = 1, kernel = "exponential"),
  spectral_embedding = list(x = x, k = 2, width = 1, kernel = "matern52", neighbours = NULL)
)

# symbolic matrices: operations of one, two and more arguments, and reductions
of_one <- c("exp1j", "imag2complex", "inv", "norm2", "normalize", "real2complex", "relu", "rsqrt", "sinxdivx",
            "sqnorm2", "square", "unit_step", "xlogx")
of_two <- c("sqdist", "matvecmult", "vecmatmult", "tensorprod", "concat", "weightedsqnorm")
reduced <- c("argmax", "argmin", "logsumexp", "max_argmax", "max_reduction", "min_argmin", "min_reduction",
             "sum_reduction")
extreme <- c("Kmax", "Kmin", "Kmin_argKmin", "argKmax", "argKmin")
each <- \(names, arguments) sapply(names, \(name) arguments, simplify = FALSE)
symbolic <- c(
  each(of_one, list(x = Vi(x))), each(of_two, list(Vi(x), Vj(x))), each(reduced, list(x = K, index = "j")),
  each(c("colSums", "rowSums", "colMeans", "rowMeans"), list(x = K)), each("crossprod", list(K, x)),
  each("tcrossprod", list(K, t(x))), each("atan2", list(y = K, x = K)), each(extreme, list(x = K, K = 2, index = "j")),
  list(
    lazy_op = list(name = "Exp", K), lazy_reduce = list(x = K, reduction = "Sum", index = "j"),
    sumsoftmaxweight = list(x = K, index = "j", weights = Vj(x)), bspline = list(knots = 1:5, x = K, order = 2),
    clamp = list(x = K, a = 0, b = 1), mod = list(x = K, n = 2, offset = 0), if_else = list(f = K, a = 1, b = 2),
    elem = list(x = Vi(x), m = 1), elemT = list(x = K, m = 1, n = 2), extract = list(x = Vi(x), m = 1, d = 1),
    extractT = list(x = K, m = 1, n = 2), one_hot = list(x = K, n = 3), softdtw = list(Vi(x), Vj(x), gamma = 1),
    kron = list(Vi(x), Vj(x), dim_x = 2, dim_y = 2), weightedsqdist = list(Vi(x), Vj(x), s = 1),
    tensordot = list(Vi(x), Vj(x), dim_x = 2, dim_y = 2, sum_x = 1, sum_y = 1),
    divergence = list(f = p * p, var = p), laplacian = list(f = f, var = p),
    grad = list(f = f, eta = 1, var = p), grad_matrix = list(f = f, var = p),
    hvp = list(f = f, var = p, u = Vi(x)), jvp = list(f = f, var = p, u = Vi(x))
  )
)
calls <- c(operators, processes, segments, tasks, symbolic)
