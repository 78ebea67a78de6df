# The help page of the covariance functions, which are in the files of cov_kernels*.R.

#' Covariance functions
#'
#' Covariance functions of a Gaussian process, for [gp()]. Covariances can be added and multiplied: `matern(3/2) +
#' nugget()`, `matern(5/2, dims = 1:2) * exponential(dims = 3)`.
#'
#' In the table, h is the distance of two points, v the variance and r the range:
#'
#' | function | covariance | |
#' |---|---|---|
#' | `squared_exponential()` | v exp(-h^2 / (2 r^2)) | Gaussian covariance, very smooth |
#' | `exponential()` | v exp(-h / r) | Matern with nu = 1/2 |
#' | `matern(nu)` | Matern, with h sqrt(2 nu) / r | as in Rasmussen and Williams (2006) |
#' | `rational_quadratic()` | v (1 + h^2 / (2 shape r^2))^-shape | a mixture of ranges |
#' | `periodic()` | v exp(-2 sum sin^2(pi (x - y) / period) / r^2) | |
#' | `spherical()` | v (1 - 1.5 h / r + 0.5 (h / r)^3), 0 from r on | up to 3 dimensions |
#' | `wendland()` | v (1 - h / r)^4 (4 h / r + 1), 0 from r on | up to 3 dimensions, smooth |
#' | `linear()` | v (x - center) . (y - center) | linear trends |
#' | `powered_exponential()` | v exp(-(h / r)^power) | 0 < power <= 2; also called stable |
#' | `circular()` | v (1 - 2 (q sqrt(1 - q^2) + asin(q)) / pi), q = h / r, 0 from r on | up to 2 dimensions |
#' | `pentaspherical()` | v (1 - 15 q / 8 + 5 q^3 / 4 - 3 q^5 / 8), q = h / r, 0 from r on | up to 5 dimensions |
#' | `triangular()` | v (1 - h / r), 0 from r on | one dimension |
#' | `wave()` | v sin(h / r) / (h / r) | hole effect, up to 3 dimensions |
#' | `cosine()` | v cos(2 pi h / period) | one dimension |
#' | `power_law()` | variogram v h^power, 0 < power < 2 | intrinsic |
#' | `logarithmic()` | variogram v log(1 + h / r) | intrinsic |
#' | `constant()` | v | an unknown mean |
#' | `microscale()` | v at the same location, else 0 | variation of the field at short distances |
#' | `nugget()` | v for an observation with itself, else 0 | noise of the observations |
#'
#' A covariance can be multiplied by a number: `2 * matern()`. In a product only one factor has a free variance, since
#' only the product of the variances is identified. The variances of the other factors are fixed at 1, or at the given
#' value. If a factor with a fixed variance is a sum, the variance of its first term is fixed, and the variances of its
#' other terms are still estimated.
#'
#' @section Space and time:
#' With coordinates 1 and 2 in space and 3 in time, the usual models are
#'   * separable: `exponential(dims = 1:2) * matern(dims = 3)`;
#'   * product-sum: `exponential(dims = 1:2) * matern(dims = 3) + exponential(dims = 1:2) + matern(dims = 3)`;
#'   * metric: `exponential(time = 3)`;
#'   * sum-metric: `exponential(dims = 1:2) + matern(dims = 3) + spherical(time = 3)`.
#'
#' Each part has its own variance and ranges. [gneiting()] is not separable: the range in space depends on the distance
#' in time. Other non-separable models can be written as user-defined formulas: see the examples.
#'
#' @section Intrinsic models:
#' Intrinsic models have an unbounded variogram and no covariance: only differences of the field have a variance.
#' Therefore the trend must contain a constant, the coefficients of the trend are unknown, and the likelihood is the
#' likelihood of contrasts (`estimate = "REML"`). Where a prior variance is needed, as in unconditional simulation, the
#' field is set to 0 at a point outside of the data. Intrinsic models can be added to other covariances, and multiplied
#' by numbers.
#'
#' @section The two parts of a nugget:
#' The discontinuity of a variogram at the origin is the sum of two variances. `nugget()` is the variance of measurement
#' errors (`"Err"` in gstat); `microscale()` is the variance of the variation of the field at distances shorter than the
#' distances between the observations (`"Nug"` in gstat). Away from the observations, the predicted means are the same
#' with `nugget()` and with `microscale()`. The field of a fit, to which `interval = "confidence"` of
#' [predict()][predict.gp] refers, contains the microscale variation, but not the errors: at an observation,
#' `microscale()` predicts the observed value, with a standard error of 0, and `nugget()` smooths the observed value. A
#' new observation, `interval = "prediction"`, contains the microscale variation and the errors; means over blocks
#' contain neither the microscale variation nor the errors. Both variances can be estimated together only if some
#' locations have several observations. If no location has several observations, use one of the two functions, or give a
#' value for one variance, such as the variance of the errors of a laboratory, `nugget(0.01, fixed = "variance")`.
#'
#' @section Name of the Gaussian covariance:
#' The function is called `squared_exponential()`, not `gaussian()`, because a function of that name would break
#' `glm(family = "gaussian")`.
#'
#' @param variance,range,shape,period,power the parameters, positive numbers in the units of the data. With `NULL`,
#'   [gp()] chooses the starting value; a number is the starting value. If several variances scale the whole covariance,
#'   only their ratios are used as starting values, and the scale is estimated from the response. A range for each
#'   coordinate (a vector, or `ard = TRUE`) gives each coordinate its own scale (automatic relevance determination).
#' @param nu smoothness of the Matern covariance, above 0 and at most 50; 1/2, 3/2 and 5/2 have closed forms, which are
#'   faster than the Bessel functions of other values. With `NA`, [gp()] estimates the smoothness, between 0.1 and 20,
#'   with the exact gradient; the name of this parameter is `matern.nu`. The smoothness is identified by pairs of
#'   observations at distances that are short compared with the range; with a nugget, the standard error of the
#'   smoothness is large, as `confint(method = "profile")` shows.
#' @param center a fixed point, one number or one for each coordinate.
#' @param ... for all functions but `linear`, `constant`, `microscale` and `nugget`:
#'   * `ard`: whether each coordinate has its own range;
#'   * `angle`, `ratio`: anisotropy of 2-D coordinates, as in gstat. The range is longest in the direction `angle`, in
#'     degrees clockwise from the second coordinate (north); the range across that direction is `ratio` (at most 1)
#'     times the longest range. In 3-D, they are the angles p, q, r and the ratios s, t of `gstat::vgm(anis = )`: the
#'     direction of the longest range is p clockwise from north and rises by q; r rotates the two other axes about this
#'     direction, and the ranges of these axes are s and t times the longest range (Deutsch and Journel 1998, section
#'     II.3);
#'   * `time`, `speed`: the number of the coordinate that is time, and the number of units of space that equal one unit
#'     of time (the space-time anisotropy): the distance is sqrt(|space|^2 + (speed time)^2). See the section about
#'     space and time;
#'   * `distance`: `"euclidean"`, or `"great_circle"` for longitude and latitude in degrees. The great-circle distance
#'     is the length of the chord through the Earth, in km, for which all these covariances are valid. Default:
#'     `"great_circle"` for the spatial objects of [gp()] whose reference system has longitude and latitude, otherwise
#'     `"euclidean"`;
#'   * `dims` and `fixed`.
#' @param dims numbers of the coordinates used; default: all.
#' @param fixed names of the parameters that [gp()] keeps at their given values, such as `"range"`.
#' @param formula a string in the language of [keops_kernel()], in the points `x` and `y` and the named parameters.
#'   User-defined formulas are evaluated at the original coordinates. For all other covariances the coordinates are
#'   centred, which preserves digits in float32.
#' @param parameters a named list of numbers: the starting values of the parameters. A formula without parameters is
#'   used as `1 * covariance(formula)`.
#' @param positive names of the parameters that must stay positive; these parameters are optimised on a log scale.
#'
#' @return An object of class `kernops_covariance`.
#' @section Errors: class `kernops_input_error` for invalid parameters.
#'
#' @references
#' Chiles, J.-P. and Delfiner, P. (2012) *Geostatistics: Modeling Spatial Uncertainty*. 2nd edition, Wiley.
#'
#' Deutsch, C. V. and Journel, A. G. (1998) *GSLIB: Geostatistical Software Library and User's Guide*. 2nd edition,
#' Oxford University Press.
#'
#' Gneiting, T. (2002) Nonseparable, stationary covariance functions for space-time data. *Journal of the American
#' Statistical Association* 97, 590-600.
#'
#' Rasmussen, C. E. and Williams, C. K. I. (2006) *Gaussian Processes for Machine Learning*. MIT Press.
#'
#' Wendland, H. (1995) Piecewise polynomial, positive definite and compactly supported radial functions of minimal
#' degree.
#' *Advances in Computational Mathematics* 4, 389-396.
#'
#' @seealso [gp()], which estimates the parameters; [kernel_interpolation()], which uses given parameters; [as_gp()] for
#'   variogram models of gstat; [keops_ops()] for the language of `covariance()`.
#' @examples
#' matern(5/2) + nugget()
#' matern(NA)
#' exponential() + microscale() + nugget(0.01, fixed = "variance")
#' # gstat's "Bes" and "Wav"
#' matern(1) + wave()
#' circular(1, 0.5) + pentaspherical(1, 0.8) + powered_exponential(1, 0.3, power = 1.2)
#' triangular(1, 2) + cosine(0.5, period = 7) # along a line
#' # nested structures, each with an anisotropy
#' spherical(angle = 30, ratio = 0.5) + exponential(angle = 120, ratio = 0.3) + nugget()
#' matern(3/2, variance = 2, range = c(10, 50)) + constant() + nugget(0.1, fixed = "variance")
#' exponential(1, 100, angle = c(30, 10, 0), ratio = c(0.5, 0.2))
#' own <- covariance("s * Exp(-Norm2(x - y) / l)", list(s = 1, l = 0.3))
#' own
#' # the same covariance as exponential(), with the same estimates
#' u <- seq(0, 1, 0.02)
#' noise <- nugget(0.01, fixed = "variance")
#' by <- function(k) gp(sin(6 * u) ~ 1, coords = ~ u, covariance = k + noise)
#' c(own = logLik(by(own)), exponential = logLik(by(exponential())))
#' # intrinsic models have only a variogram: a straight line, as for a random walk, or a curve
#' # whose slope decreases
#' set.seed(1)
#' walk <- cumsum(rnorm(51))
#' gp(walk ~ 1, coords = ~ u, covariance = power_law())
#' noisy <- walk + rnorm(51)
#' gp(noisy ~ 1, coords = ~ u, covariance = power_law(power = 1, fixed = "power") + nugget())
#' gp(noisy ~ 1, coords = ~ u, covariance = logarithmic() + nugget())
#' # space and time, the third coordinate: product-sum and sum-metric models, and a periodic field
#' exponential(dims = 1:2) * exponential(dims = 3) + exponential(dims = 1:2) + exponential(dims = 3)
#' exponential(dims = 1:2) + exponential(dims = 3) + exponential(time = 3)
#' exponential(dims = 1:2) * periodic(dims = 3)
#' # a covariance of space and time by Gneiting (2002): s = 0 is separable, s = 1 is not
#' covariance("v / (1 + Square(Elem(x, 2) - Elem(y, 2)) / Square(rt)) *
#'   Exp(-Norm2(Extract(x, 0, 2) - Extract(y, 0, 2)) / r *
#'       Powf(1 + Square(Elem(x, 2) - Elem(y, 2)) / Square(rt), -s / 2))",
#'   list(v = 1, r = 0.3, rt = 2, s = 0.5))
#' # a sum-metric field with known parameters, and their estimates
#' # (`speed` is the space-time anisotropy)
#' set.seed(3)
#' d <- data.frame(x = runif(100), y = runif(100), t = runif(100, 0, 5))
#' space <- as.matrix(dist(d[c("x", "y")]))
#' time <- as.matrix(dist(d$t))
#' K <- exp(-space / 0.3) + exp(-time / 2) + exp(-sqrt(space^2 + (0.2 * time)^2) / 0.5)
#' d$z <- drop(rnorm(100) %*% chol(K)) + rnorm(100, sd = 0.3)
#' parts <- exponential(dims = 1:2) + exponential(dims = 3) + exponential(time = 3)
#' gp(z ~ 1, d, ~ x + y + t, parts + nugget(),
#'    starts = 1)
#' # not stationary: the standard deviation of the field is exp(c / 2 + a depth), where depth is a
#' # covariate and the third coordinate
#' d$depth <- d$x^2
#' d$z <- exp(d$depth) * drop(rnorm(100) %*% chol(exp(-space / 0.3))) + rnorm(100, sd = 0.3)
#' gp(z ~ 1, d, ~ x + y + depth,
#'    covariance(paste("Exp(c + a * (Elem(x, 2) + Elem(y, 2))",
#'                     "- Norm2(Extract(x, 0, 2) - Extract(y, 0, 2)) / r)"),
#'               list(c = 0, a = 0.1, r = 0.5), positive = "r") + nugget(), starts = 1)
#' @aliases Ops.kernops_covariance
#' @name covariance_functions
NULL
