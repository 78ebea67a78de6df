#' Gaussian process regression and kriging
#'
#' Fits a Gaussian process with a linear trend: \eqn{y = X\beta + f(u) + noise}, where the covariance of f is
#' [matern()], another of the [covariance_functions], or a user-defined formula. The covariance parameters are estimated
#' by (restricted) maximum likelihood with exact gradients, the trend by generalised least squares.
#'
#' @section Kriging:
#' `y ~ 1` is ordinary kriging, covariates give universal kriging, and `y ~ 0` with `known = list(beta = m)` is simple
#' kriging with the known mean m. [nugget()] is the noise variance of the observations: [predict()][predict.gp] predicts
#' either a new observation, with its noise (`interval = "prediction"`), or the field without noise (`"confidence"`). If
#' the discontinuity of the variogram is not due to measurement errors, use [microscale()] in place of the nugget: the
#' discontinuity is then part of the field, and predictions at observed points equal the observations.
#'
#' @section Many observations:
#' `method = "vecchia"` is the approximation of Vecchia (1988): observations are ordered, and the density of each
#' observation is conditional on its m nearest neighbours among the previous observations. Nearest means most
#' correlated: see [gp_neighbours()]. For a covariance with a user-defined formula, neighbours are ranked by the
#' correlation itself: among all earlier observations if there are at most 2000 observations, otherwise among the 4 m
#' earlier observations at the smallest distances. Each evaluation of the likelihood takes time proportional to n m^3
#' and memory proportional to n m. The gradient is exact, and the search uses the expected information (Guinness 2021).
#' The approximation is good if near observations screen off distant observations, as they do for covariances that
#' decrease with the distance, in few dimensions. If the estimated ranges change which observations are nearest, the
#' neighbours are computed again and the search continues. The trend is estimated by generalised least squares with the
#' approximate covariance matrix. `print()` shows the number of neighbours, the ordering, and by how much the
#' log-likelihood at the estimates would change if the number of neighbours were doubled. With more than 100,000
#' observations, this change is estimated from a sample of 100,000 observations.
#'
#' Predictions are local kriging: the field at a new point is conditioned on its nearest observations. The default is 2
#' m observations; this number is doubled, up to 240, as long as doubling decreases the standard errors at 200 sites of
#' the region by more than half a per cent. Noisy observations and gaps in the data require more observations. With
#' `estimate = "none"`, predictions are local kriging with a given covariance.
#'
#' @section Smooth fields and many inputs:
#' Vecchia's approximation converges slowly in the number of neighbours where the field is smooth or has many
#' coordinates. `method = "vif"` (Vecchia-inducing-points full-scale approximation; Gyger, Furrer and Sigrist 2025)
#' divides the covariance into a low-rank part and a residual, \eqn{k(x, y) = v(x)'v(y) + r(x, y)}. With \eqn{v(x) =
#' L^{-1} k(Z, x)} and \eqn{L L' = k(Z, Z)}, the low-rank part is the part of the field that the inducing points Z
#' determine (`inducing` of [gp_control()] is the number of inducing points). Vecchia's approximation is applied to the
#' residual covariance r plus the noise. The inducing points are the first observations of a maximum-minimum distance
#' ordering in the coordinates that [gp_neighbours()] describes. The inducing points are chosen again whenever the
#' neighbours are computed again. Each evaluation of the likelihood takes time proportional to n m^3 + n m^2 k + n k^2
#' for k inducing points, and memory proportional to n (m + k). The gradient is exact, and standard errors of parameters
#' come from the average information. Predictions condition the low-rank part on all observations, and the residual on
#' the nearest 2 m observations. The number 2 m is doubled, up to 240, as long as doubling changes predictions at 200
#' sites by more than the tolerance (see [gp_control()]). With all observations as neighbours, or as inducing points,
#' the fit equals the fit of `method = "exact"`. The method computes in float64 on the CPU, even if there is a GPU, and
#' is for one or several Gaussian responses. `group`, weights, known noise, several observations at a location and
#' priors work as in the other methods. `"vif"` is not available with a `family`.
#'
#' @section Choice of the method:
#' `method = "auto"` uses `"vecchia"` for more than `exact_limit` observations if the following conditions hold: the
#' correlation decreases with the distance (no term of the covariance is only a [linear()], [constant()], [periodic()]
#' or user-defined covariance), there are at most 10 coordinates, and `float32` is not requested. Observations are
#' counted as distinct locations; with a family, the limit is a quarter of `exact_limit`. If a condition fails, `"auto"`
#' uses `"exact"` for up to `exact_limit` observations and `"iterative"` for more. With `"vecchia"`, only the field is
#' approximated: random effects and smooths are treated exactly. The precision matrix of many coefficients has a sparse
#' Cholesky factor if the observations of each neighbourhood belong to few levels, as for an effect of 10,000 sites. If
#' the observations of a level are scattered over the whole domain, systems with this matrix are solved by conjugate
#' gradients, and its determinant is estimated by stochastic Lanczos quadrature (Ubaru, Chen and Saad 2017) with the
#' same random vectors for all parameters. `summary()` shows the Monte Carlo error of the log-likelihood, and an error
#' above 0.05 gives a warning. With a `family`, conjugate gradients are used for 1,000 or more scattered levels. In this
#' case the determinant is the product of the determinants of the field's factor and of the Schur complement of the
#' levels. An approximation of the Schur complement at the estimates serves as a control variate, which reduces the
#' Monte Carlo error. Each standard error of a prediction requires the solution of a linear system by conjugate
#' gradients.
#'
#' For a Gaussian response with four or more coordinates, or with a smooth term, `method = "auto"` compares candidates
#' at the optimum of a subset. Smooth terms are [matern()] with a smoothness that is estimated or at least 5/2,
#' [squared_exponential()] and [rational_quadratic()]. The candidates are `"vecchia"` with the default number of
#' neighbours, with twice and four times as many, up to 120, and `"vif"`. The first candidate is used whose loss, the
#' decrease of the log-likelihood divided by the number of observations, is at most `neighbour_tol` (see
#' [gp_control()]). If no candidate has such a small loss, a slower candidate replaces a faster candidate only if it
#' halves the loss. The loss is the larger one of two estimates: the difference from the exact log-likelihood of 1500
#' observations, and the expected difference. The expected difference is the mean of log(s / s480) over 100
#' observations, where s is the conditional standard deviation of an observation given its neighbours, and s480 the
#' conditional standard deviation given 480 neighbours. The expected difference depends on the spacing of all
#' observations: if the noise is much smaller than the variance of a smooth field, more observations in the same region
#' require more neighbours. `print()` names the method and the number of neighbours. A number of neighbours that the
#' user gives is kept, and with `backend = "cuda"` there is no comparison. `"vif"` uses about 80 bytes of memory for
#' each pair of an observation and an inducing point, and is a candidate for up to 2e8 / `inducing` observations (one
#' million by default).
#'
#' @section Transformations:
#' With `transform`, covariance and trend describe the transformed response (lognormal and trans-Gaussian kriging); the
#' response must be positive. The log-likelihood refers to the response itself, with the Jacobian of the transformation,
#' so that `AIC()` can compare transformations with each other and with no transformation. [predict()][predict.gp]
#' returns predictions of the response. The predicted mean is unbiased: it is the mean of the back-transformed normal
#' distribution with mean \eqn{\hat y} and variance \eqn{\sigma^2 - 2 m}, with the kriging variance \eqn{\sigma^2} and
#' the Lagrange multiplier m of the trend; for the logarithm, \eqn{\exp(\hat y + \sigma^2 / 2 - m)} (Cressie 1993,
#' section 3.2.2). With `interval = "prediction"`, predictions are for a new observation: \eqn{\sigma^2} contains the
#' nugget, which also raises the mean. For a negative Box-Cox parameter, the mean is approximated by an expansion of
#' second order. Quantiles and limits of intervals are computed on the transformed scale and transformed back. The mean
#' over a `block` is the average of the unbiased means in the block. The standard error of this mean and `cov` refer to
#' the response given the data; limits and probabilities come from 4,000 draws of the field within the block.
#' `fitted()`, `residuals()`, `type = "link"` of [predict()][predict.gp], [gp_cv()] and plots are on the transformed
#' scale.
#'
#' @section Replicates:
#' With `group`, the fields of different groups, such as days, are independent and have the same parameters
#' (replicates). All groups share the trend; to give each group a separate constant, add the grouping factor to the
#' formula. With a known trend, the log-likelihood is the sum of the log-likelihoods of the groups. The exact method
#' factorises the covariance matrix of each group: with g groups of equal size, the time is proportional to n^3 / g^2
#' and the memory to n^2 / g. `method = "auto"` is exact if the squared numbers of observations of the groups add up to
#' less than the square of `exact_limit`. Neighbours, for `"vecchia"` and in local kriging, belong to the same group.
#' Predictions require the group of each new point. For a group without observations, the prediction is the trend, with
#' the variance of the field. An intrinsic model needs a constant for each group in the trend.
#'
#' @section Derivatives:
#' With `derivatives`, the observations are the values of the response and of its derivatives, for example derivatives
#' computed by an adjoint model or by automatic differentiation. A row of the data with g derivatives counts as 1 + g
#' observations (gradient-enhanced kriging; Morris, Mitchell and Ylvisaker 1993). The covariances of derivatives are
#' symbolic derivatives of the covariance of the field. The gradient of the likelihood is also symbolic; the derivatives
#' of the trend are central differences of sixth order. A derivative may be missing in some rows; derivatives in rows
#' without a response are not used, with a warning. The nugget is the noise variance of values. The noise variance of
#' derivatives is `known$derivative_noise`, 0 by default; a small positive value keeps the covariance matrices of many
#' derivatives of a smooth field from being singular. `nobs()` counts all observations.
#'
#' The field must be differentiable: [squared_exponential()], [matern()] with a smoothness above 1 (with `matern(NA)`
#' the estimate is above 1), [gneiting()] with smoothness above 1 and the fixed power 2, [rational_quadratic()],
#' [wendland()], [periodic()], [cosine()], [wave()], [linear()], [constant()], user-defined formulas that are smooth
#' where both points are equal, and sums and products of these. Derivatives require the exact method and coordinates
#' that are variables, not expressions. `predict(fit, new, derivative = "x")` predicts derivatives, even if the fit has
#' no observed derivatives.
#'
#' @section Averages:
#' With `averages = ~ block`, an observation is the mean of the field over several points, its nodes. All rows of the
#' data with the same value of `block` are the nodes of one observation, for example the cells of a grid within a
#' district, or the points along a line. `averages = weight ~ block` gives the weights of the nodes; the observation is
#' then the weighted sum, such as an integral by a quadrature rule. The trend and the offset are averaged in the same
#' way. All nodes of an observation must have the same response, `weights` and known noise. A row with a missing `block`
#' is an observation at a point; a missing value of any other variable is an error. Let K be the covariance matrix of
#' the field at the nodes, and let each row of A contain the weights of an observation. The covariance matrix of the
#' observations is A K A' plus the noise of each observation, the nugget.
#'
#' `predict(fit, new)` predicts the field at points, even if all observations are averages (Kyriakidis 2004);
#' `predict(fit)` predicts the observed averages, and the arguments `block` and `sums` of [predict()][predict.gp] are
#' for averages that were not observed. `nobs()` counts averages. Results for observations are in the order in which the
#' first nodes of the observations occur in the data. Averages require the exact method: the time grows with the square
#' of the number of nodes and the third power of the number of observations.
#'
#' @section Several observations at a location:
#' If there are at most 0.6 times as many distinct locations as observations, the exact method replaces the observations
#' at each location by one row: their weighted mean and the variation within the location. This replacement is exact,
#' even with weights, known noise and covariates that differ within a location; the time of a likelihood depends on the
#' number of locations. With known noise and a nugget, each location has one row for each distinct pair of noise
#' variance and weight. `method = "auto"` counts these rows instead of the observations.
#'
#' @section Tables that do not fit into memory:
#' `data` may be a table that [gp_table()] describes: a table in a database, a table of dbplyr or Arrow, a CSV or
#' Parquet file, an HDF5 matrix, or a function that reads chunks. The table is read once, and its rows are saved in the
#' work directory (`workdir` of [gp_control()]). The first pass over the rows draws a sample of 65,536 rows, which
#' determines the design of the trend: `scale(x)` and the knots of a spline refer to this sample, but the levels of
#' factors are the levels in all rows. The second pass, over the saved rows, sorts the rows into cells, which are boxes
#' of a k-d tree with about 65,536 rows each. Each cell is stored as files in the work directory. The files take about
#' 250 bytes for each row with 30 neighbours.
#'
#' The fit is Vecchia's approximation with an ordering that depends on the cells alone. Each cell has a maximum-minimum
#' distance ordering. The first 1024 points of each cell come first, in a common maximum-minimum distance ordering; all
#' other points follow by their distance from earlier points of their cell, the largest first. Neighbours are found
#' among the points of the cell, the points near its box, and the points that come first in the common ordering. These
#' points contain the nearest earlier points, except near gaps in the data. The likelihood, its gradient and its
#' information are sums over cells in a fixed order, and do not depend on `memory`. With package future,
#' neighbours, likelihoods and predictions are distributed over the processes of `future::plan()`; without a plan, over
#' the daemons of `mirai::daemons()`. The processes may run on this machine or on other machines that can read the work
#' directory; for example, one process for each GPU. Each process keeps the data of its cells in memory. Results have
#' the same digits for any number of processes, and the cells of a process that dies are computed again. The search
#' first maximises the likelihood of some 12,000 observations, then the likelihood of an eighth of the cells (at most 32
#' cells), and finally the likelihood of all cells. Distances are scaled by the given parameters or, if several ranges
#' or an anisotropy are estimated, by estimates from 20,000 rows; neighbours are not computed again after the search.
#'
#' On the simulated tables of `bench/tables.R` the log-likelihood differs by less than 0.001 for each observation from
#' the log-likelihood with a maximum-minimum distance ordering of all points. With a random ordering the difference is
#' larger.
#'
#' [predict()][predict.gp] predicts new points cell by cell, and accepts tables and maps larger than memory. Means over
#' blocks and zones, sums, covariances, [simulate()][simulate.gp] at new points and [gp_exceedance()] use the joint
#' distribution of new points given the observations around them. A fit of a table has one Gaussian response with a
#' trend, `weights`, known noise, priors and a `transform` with a given parameter, by ML or REML, or with given
#' parameters. Groups, random effects, smooths, families, `transform = "boxcox"` and several responses are errors.
#' Methods that need all observations at once, such as [gp_cv()] and [certify()], are errors, too. Rows with missing
#' values are omitted, or are an error with `na.fail`. A fit needs the files in its work directory: without `workdir`, a
#' saved fit cannot predict in another session.
#'
#' @section Spatial objects:
#' `data` and the `newdata` of [predict()][predict.gp] and [simulate()][simulate.gp] may be points of sf (`sf`, `sfc`),
#' terra (`SpatVector`) and sp (`SpatialPoints`), or maps of stars, terra (`SpatRaster`) and sp (`SpatialPixels`,
#' `SpatialGrid`). The attributes, or the layers of a map, are the variables. The coordinates of maps and sp objects are
#' also variables, with the names that they have in the object, such as `x` and `y`. Each function with an argument
#' `newdata` returns an object of the class of `newdata`, with its results as attributes or layers. Cells of a map in
#' which all layers are missing are not predicted. Maps that do not fit in memory are predicted by windows of rows, see
#' [predict_maps].
#'
#' The trend may have the coordinates as variables, `z ~ X + Y` with sf and `z ~ x + y` with terra, if no column has the
#' same name; with sf and terra, a dot in the formula stands for all columns, without the coordinates. Coordinates of sf
#' are X, Y and, in a projected reference system, Z where points have it: `sf::st_zm()` drops Z. Heights in addition to
#' longitude and latitude are an error. A measure M is not a coordinate and is ignored. Each feature must have one
#' point: a `MULTIPOINT` of several points is an error, `sf::st_cast(x, "POINT")` separates them. Empty points are
#' missing. A stars map has two dimensions, x and y, in any order; its grid may be regular, rectilinear, rotated or
#' curvilinear. The value of a third dimension of length 1, such as a time, is a variable; a longer third dimension is
#' an error.
#'
#' If the reference system has longitude and latitude, the covariance uses great-circle distances in km, except if its
#' argument `distance` is given; a message of class `kernops_great_circle` reports this. Ranges are then in km. A term
#' with anisotropy or a range for each coordinate uses distances in degrees, with a warning. `newdata` with a reference
#' system that differs from the reference system of `data` is an error.
#'
#' @param formula the response and its trend, as in [lm()]. `cbind(a, b)` are several responses, for cokriging: see
#'   [lmc()]. Terms such as `(1 | site)` are random effects, and terms such as `s(x)` and `te(x, z)` are smooths of
#'   package mgcv: see [random_effect()] and [smooth_effect()].
#' @param data a data frame, or points or a map of package sf, stars, terra or sp: see the section about spatial
#'   objects; or a table that is read in chunks, such as the path of a file or a result of [gp_table()].
#' @param coords the coordinates: a one-sided formula such as `~ x + y`, names of columns of `data` such as `c("x",
#'   "y")`, or a matrix with one row for each observation and any number of columns. `coords` are not needed for spatial
#'   objects, which contain coordinates, or if no term of the covariance is a field. If `coords` are not needed, a
#'   covariance in this position is used as `covariance`, as in `gp(z ~ 1, points, matern(3/2) + nugget())`. In a
#'   formula, `scale(x)` uses the mean and the standard deviation of the fitted data, also at new points. In a formula
#'   or a data frame, dates, times and durations (`Date`, `POSIXct`, `difftime`) are numbers of days, and columns of
#'   class units are numbers in their unit: see the section about classes of new data in [predict()][predict.gp].
#' @param covariance a covariance such as `matern(3/2) + nugget()`; see [covariance_functions]. `nugget()` alone is the
#'   null model: the trend with independent errors. For several responses, a linear model of coregionalisation, [lmc()];
#'   default: `lmc(matern(3/2), nugget())`. A variogram model of gstat is converted by [as_gp()].
#' @param method `"exact"` factorises the n x n covariance matrix (8 n^2 bytes); `"iterative"` solves linear systems by
#'   preconditioned conjugate gradients, with memory proportional to n; `"vecchia"` is an approximation by nearest
#'   neighbours, for millions of observations; `"vif"` adds a low-rank part to `"vecchia"`, for smooth fields and for
#'   four or more coordinates. `"auto"` is exact for up to `control$exact_limit` observations; for more observations,
#'   see the section about the choice of the method.
#' @param estimate `"ML"`, the default except if the covariance is intrinsic or there is a `prior`; `"REML"` (the
#'   likelihood of error contrasts of unit length, Harville 1974: the value of package nlme plus half the logarithm of
#'   det(X'X)); or `"none"`: the covariance is used as given, with a value for every parameter.
#' @param known a list of known quantities. `beta`: the coefficients of the trend, by name or in order (one number, the
#'   mean, with `y ~ 0`). `noise`: the noise variance of each observation, as numbers or as a formula such as `~ sd^2`
#'   in variables of `data`. `derivative_noise`: the noise variance of `derivatives`.
#' @param weights positive numbers, or an expression in variables of `data` as in [lm()]. The nugget of an observation
#'   is divided by its weight. Without a nugget, weights are an error.
#' @param subset the observations to be used: an expression in variables of `data` as in [lm()], or numbers of rows.
#' @param transform `NULL`; or `"log"`, the parameter of a Box-Cox transformation, \eqn{(y^\lambda - 1) / \lambda}, or
#'   `"boxcox"`, which estimates the parameter between -2 and 3: the transformed response is a Gaussian process.
#'   `coef(fit, "transform")` returns the parameter. See the section about transformations.
#' @param precision as in [keops_kernel()], for the iterative method; the exact method uses float64. `"float32"` is
#'   suitable if the variance of the field is not much larger than the variance of the noise: if the ratio of these
#'   variances exceeds about 1e6 divided by the number of observations, rounding errors hide the optimal variance and
#'   range. If rounding errors would change the log-likelihood by more than 0.5, the fit uses `"float64"` instead and
#'   reports this (a message of class `kernops_rounding`). For `"vecchia"` on a GPU, `"float32"` is the precision of the
#'   covariances of each observation and its neighbours and of the results computed from these covariances, also in
#'   predictions; sums over observations are float64. With this precision, the noise variance must be more than about
#'   1e-5 times the variance of the field. On the CPU `"vecchia"` always computes in float64.
#' @param backend `"cuda"`: the whole fit runs on a GPU, the first GPU of the option `kernops.device`. Coordinates are
#'   copied to this GPU once, and the exact method factorises the covariance matrix on this GPU, which requires cuSOLVER
#'   of the CUDA toolkit. The sums of `"vecchia"` are split over all GPUs of the option; the first GPU finds neighbours.
#'   `"cpu"`: the CPU. `"auto"`: a GPU, if there is one, for computations that are large enough; otherwise the CPU. With
#'   a `family`, only `"vecchia"` uses a GPU: see [gp_families].
#' @param na.action how missing values are treated; default: `getOption("na.action")`. A row of several responses is
#'   missing if all its responses are missing.
#' @param control a result of [gp_control()], or a list of some of its arguments.
#' @param family the distribution of the response given the linear predictor, as in [glm()]: [gp_families] lists the
#'   families besides `gaussian()`, such as `binomial()` and `poisson()`. With a `family`, the default covariance is
#'   [matern()] without a nugget, and `method = "vecchia"` approximates the field, not the observations.
#' @param group the group of each observation, for independent fields with common parameters: a one-sided formula such
#'   as `~ day`, or a variable of `data`. `~ day:site` has a group for each combination. Groups are compared by value,
#'   not by printed text: times that differ by a fraction of a second are two groups. See the section about replicates.
#' @param prior prior distributions of covariance parameters: a list such as `list(range = pc_range(0.5, p = 0.05),
#'   variance = pc_sd(2, p = 0.01))`, see [gp_priors]. With a prior, the estimates are the mode of the posterior;
#'   [gp_posterior()] draws from this posterior.
#' @param zi,dispersion one-sided formulas such as `~ x`: linear predictors of the probability of zeros (`zi`) and of
#'   the dispersion parameter of the `family` (`dispersion`), which then depend on covariates. By default both
#'   parameters are constants. For a Gaussian response, `dispersion` is the predictor of the logarithm of the standard
#'   deviation of the noise, in place of a [nugget()]; it may contain smooths, as in `~ s(x, y)`. See the section about
#'   linear predictors in [gp_family()].
#' @param predictors a list of one-sided formulas for other parameters of the family, by their names: `list(power = ~
#'   x)`.
#' @param derivatives observed derivatives of the response with respect to coordinates: a list of formulas such as
#'   `list(dy_dx ~ x, dy_dz ~ z)`, with a column of `data` for each derivative. See the section about derivatives.
#' @param averages observations that are averages of the field: a formula such as `~ block`, or `weight ~ block` for
#'   weighted sums. Rows with the same value of `block` are the nodes of an observation. See the section about averages.
#' @param responses `NULL` for one response; `"independent"` fits each column of a matrix of responses separately;
#'   `"common"` fits all columns with the same ranges and the same ratio of variances: see [gp_responses].
#' @param ... arguments of [gp_control()] by their names, in place of `control`, as in `gp(z ~ 1, d, ~ x, progress =
#'   FALSE)`.
#'
#' @return An object of class `gp`, with the usual methods: `summary()`, `coef()`, `vcov()`, `confint()`, `fitted()`,
#'   `residuals()`, `logLik()`, [predict()][predict.gp], [simulate()][simulate.gp], `update()`, [plot()][plot.gp]; the
#'   methods of broom ([gp_broom]) and emmeans, for marginal means of the trend; and [gp_cv()]. Users may read its list
#'   elements `covariance` (with the estimated values), `beta`, `loglik` and `search`. With `responses`, an object of
#'   class [gp_responses].
#'
#' @section Errors and warnings:
#' Class `kernops_input_error` for invalid arguments, such as duplicate locations without a nugget, a constant response,
#' or a trend with collinear columns; the message gives the rows or names. Class `kernops_singular_error` if the
#' covariance matrix is not positive definite, `kernops_memory_error` if it is too large for the GPU,
#' `kernops_cuda_error` if a GPU or cuSOLVER is requested but not found.
#'
#' Warnings have the class
#'   * `kernops_not_converged` if the search stopped early; in addition `kernops_near_singular` if the search ended
#'     where covariance matrices become singular, and `kernops_rounding` if float32 rounding hides the optimum;
#'   * `kernops_at_bound` if a range ended at a bound of the search. Such a parameter has no standard error; the
#'     standard errors of all other parameters are conditional on the value at the bound;
#'   * `kernops_degenerate` if a range is below the spacing of the points or the nugget is estimated as zero;
#'   * `kernops_copies` if observations are duplicated, including the response.
#'
#' If the variance of a term of a sum is estimated as zero, a message of class `kernops_vanished` names this term.
#'
#' @section Estimation:
#' The likelihood of covariance parameters often has several local maxima. Starting values fill the parameter space
#' evenly; for periods they are the peaks of the periodogram. The likelihood of at most `subset` observations (see
#' [gp_control()]) is computed at all starting values. Searches begin from the best `starts` of these values, and from
#' points on lines through the optimum: longer and shorter ranges, larger and smaller nuggets, other angles and periods.
#' If there are more than `subset` observations, the optimum of the subset and its competing optima are the starting
#' values for all observations. The iterative method uses a subset of 4000 observations (on a GPU, of 10,000 to 40,000)
#' if there are at least eight times as many observations: it searches first with this subset, then with a fifth of all
#' observations, and finally with all observations. If parameter values are given, the search starts from these values.
#' The search ends with Newton steps that use the average information (Gilmour et al. 1995). The search stops when a
#' step would increase the log-likelihood by less than a limit. For the exact method the limit is 1e-8, or 1e-5 for more
#' than `subset` observations; for all other methods the limit is `gain` of [gp_control()]. `summary()` lists other
#' local optima within two units of log-likelihood.
#'
#' @section Saved fits:
#' A saved fit does not contain the factor of the covariance matrix of the exact method. This factor is computed again
#' when it is first needed. A fit made on a GPU may be read on another machine. Data that were stored on the GPU are
#' computed again when they are needed, on the CPU if there is no GPU; a message of class `kernops_no_gpu` then reports
#' this.
#'
#' @references
#' Box, G. E. P. and Cox, D. R. (1964) An analysis of transformations. *Journal of the Royal Statistical Society, Series
#' B* 26, 211-252.
#'
#' Cressie, N. A. C. (1993) *Statistics for Spatial Data*. Revised edition. Wiley.
#'
#' Guinness, J. (2021) Gaussian process learning via Fisher scoring of Vecchia's approximation. *Statistics and
#' Computing* 31, 25.
#'
#' Gilmour, A. R., Thompson, R. and Cullis, B. R. (1995) Average information REML: an efficient algorithm for variance
#' parameter estimation in linear mixed models. *Biometrics* 51(4), 1440-1450.
#'
#' Harville, D. A. (1974) Bayesian inference for variance components using only error contrasts. *Biometrika* 61,
#' 383-385.
#'
#' Kyriakidis, P. C. (2004) A geostatistical framework for area-to-point spatial interpolation. *Geographical Analysis*
#' 36(3), 259-289.
#'
#' Morris, M. D., Mitchell, T. J. and Ylvisaker, D. (1993) Bayesian design and analysis of computer experiments: use of
#' derivatives in surface prediction. *Technometrics* 35(3), 243-255.
#'
#' Rasmussen, C. E. and Williams, C. K. I. (2006) *Gaussian Processes for Machine Learning*. MIT Press.
#'
#' Vecchia, A. V. (1988) Estimation and model identification for continuous spatial processes. *Journal of the Royal
#' Statistical Society, Series B* 50(2), 297-312.
#'
#' Gyger, T., Furrer, R. and Sigrist, F. (2025) Vecchia-inducing-points full-scale approximations for Gaussian
#' processes. arXiv preprint.
#'
#' @seealso [predict()][predict.gp], [simulate()][simulate.gp], [plot()][plot.gp] and the [other methods][gp_methods];
#'   [covariance_functions], and [lmc()] for cokriging; [gp_control()] for settings, [gp_cv()] for
#'   cross-validation, [gp_propose()] for the next observations, [gp_variogram()] for the empirical variogram;
#'   [kernel_solve()] for a kernel whose parameters are known. `vignette("kriging", "kernops")`,
#'   `vignette("large-kriging", "kernops")` and `vignette("gaussian-processes", "kernops")`.
#' @examples
#' set.seed(1)
#' x <- seq(0, 10, length.out = 60)
#' y <- sin(x) + rnorm(60, sd = 0.1)
#' fit <- gp(y ~ 1, coords = ~ x, covariance = matern(5/2) + nugget())
#' fit
#' predict(fit, data.frame(x = c(2.5, 12)), interval = "prediction")
#' # an approximation for many observations
#' update(fit, method = "vecchia", control = gp_control(neighbours = 10))
#' update(fit, method = "vif", control = gp_control(neighbours = 10, inducing = 20))
#' # independent fields of two days with common parameters
#' day <- rep(1:2, 30)
#' gp(y ~ 1, data.frame(x, y, day), ~ x, group = ~ day)
#' # coordinates that are dates; some of the observations
#' days <- data.frame(when = as.Date("2024-01-01") + 0:59, y)
#' begin <- gp(y ~ 1, days, ~ when, matern(3/2) + nugget(), subset = when < "2024-02-01")
#' predict(begin, data.frame(when = as.Date("2024-02-03")), se.fit = TRUE)
#' # lognormal kriging: the mean is not the back-transformed mean of the logarithm
#' positive <- gp(exp(y) ~ 1, coords = ~ x, transform = "log")
#' predict(positive, data.frame(x = 2.5), interval = "prediction", probs = 0.5)
#' # an estimated power; means of 1 to 4 measurements
#' gp(exp(y) ~ 1, coords = ~ x, transform = "boxcox")
#' gp(y ~ 1, coords = ~ x, weights = rep(1:4, 15))
#' # values and derivatives at six points
#' few <- data.frame(x = 0:5, y = sin(0:5), slope = cos(0:5))
#' sine <- gp(y ~ 1, few, ~ x, squared_exponential(), derivatives = list(slope ~ x))
#' predict(sine, data.frame(x = 2.5), se.fit = TRUE)
#' predict(sine, data.frame(x = 2.5), derivative = "x", se.fit = TRUE)
#' # means over three intervals, and a value at a point
#' nodes <- data.frame(x = c(seq(0.25, 5.75, 0.5), 6.5), part = c(rep(c("a", "b", "c"), each = 4), NA))
#' nodes$y <- ifelse(is.na(nodes$part), sin(6.5), ave(sin(nodes$x), nodes$part))
#' blocks <- gp(y ~ 1, nodes, ~ x, squared_exponential(1, 1.5), averages = ~ part, estimate = "none")
#' predict(blocks, data.frame(x = 2.5), se.fit = TRUE)
#' # noise whose variance depends on a covariate
#' depth <- runif(60)
#' noisy <- gp(y + depth^2 * rnorm(60) ~ 1, coords = ~ x, covariance = matern(5/2),
#'             dispersion = ~ depth)
#' predict(noisy, data.frame(x = 2.5, depth = c(0.1, 0.9)), interval = "prediction")
#' # a noise field: the noise grows with x
#' if (requireNamespace("mgcv", quietly = TRUE)) {
#'   gp(y + x / 10 * rnorm(60) ~ 1, coords = ~ x, covariance = matern(5/2), dispersion = ~ s(x))
#' }
#' @export
# long: the checks of many arguments, one after another
gp <- function(formula, data = NULL, coords = NULL, covariance = matern(3/2) + nugget(),
               method = c("auto", "exact", "iterative", "vecchia", "vif"), estimate = c("ML", "REML", "none"),
               known = list(), weights = NULL, subset = NULL, transform = NULL, precision = c("float64", "float32"),
               backend = c("auto", "cpu", "cuda"), na.action = getOption("na.action"), control = list(...),
               family = stats::gaussian(), group = NULL, prior = NULL, zi = NULL, dispersion = NULL,
               predictors = NULL, responses = NULL, derivatives = NULL, averages = NULL, ...) {
  call <- environment()
  clock <- new_clock()
  method <- check_choice(method, "method", c("auto", "exact", "iterative", "vecchia", "vif"))
  by_default <- missing(estimate)
  estimate <- check_choice(estimate, "estimate", c("ML", "REML", "none"))
  how <- list(method = method, precision = check_precision(precision), backend = check_backend(backend))
  many <- many_responses(responses, formula, data, call)
  if (!is.null(many)) {
    formula <- many$formula
    data <- many$data
  }
  family <- with_predictors(as_family(family), predictors, zi, dispersion, call)
  if (is_model_of_covariance(coords)) {
    if (!missing(covariance)) {
      stop_kernops("input", c("The third argument of {.fn gp} is {.arg coords}, not a covariance.",
                              i = "Name the arguments that follow it: {.code covariance = }, {.code method = }."))
    }
    covariance <- coords
    coords <- NULL
  }
  covariance <- if (missing(covariance)) default_covariance(formula, family) else {
    covariance_argument(covariance, family)
  }
  covariance <- without_free_nugget(covariance, family)
  if (by_default && (any_intrinsic(covariance) || length(prior) && is.null(family))) estimate <- "REML"
  known <- known %||% list()
  check_known(known)
  check_several_settings(covariance, family, transform, known, method, call)
  check_predictor_settings(family, method, estimate, known, transform, call)
  check_derivatives(derivatives, family, covariance, transform, method, call)
  if (!is.null(family)) check_family_settings(method, estimate, known, transform, call)
  if (missing(control)) check_settings_of_gp(list(...), call) else if (...length()) {
    stop_kernops("input", "Settings can be given by {.arg control} or by their names, not by both.")
  }
  how$control <- as_control(control)
  if (is_table(data)) {
    chosen <- list(weights = rlang::enquo(weights), subset = rlang::enquo(subset), group = rlang::enquo(group))
    refuse_functionals(derivatives, averages, "a table that is read in chunks", call)
    check_table_settings(chosen, family, how, call)
    values <- list(weights = chosen$weights, noise = noise_quosure(known$noise), na.action = na.action,
                   transform = transform_of_table(transform, call))
    fit <- with_bar("Fitting", shown = how$control$progress == "bar", {
      with_clock(clock, "search", with_trees(
        fit_table(data, formula, covariance, coords, values, known, how, estimate, prior, call)
      ))
    })
    fit$cost <- cost_table(clock)
    fit[c("call", "formula")] <- list(match.call(), formula)
    return(fit)
  }
  source <- data_source(spatial_parts(data))
  arguments <- list(weights = within_data(rlang::enquo(weights), source$data, call),
                    subset = within_data(rlang::enquo(subset), source$data, call),
                    noise = noise_values(known$noise, source$data, call),
                    group = group_column(rlang::enquo(group), source$data, call), na.action = na.action,
                    derivatives = derivatives, derivative_noise = known$derivative_noise, averages = averages)
  check_averages(averages, derivatives, family, covariance, transform, method, arguments$group, call)
  if (!is.null(many)) {
    refuse_functionals(derivatives, averages, "{.arg responses}", call)
    check_responses_settings(list(family = family, known = known, transform = transform, prior = prior,
                                  group = arguments$group), method, estimate, how$control, call)
    fit <- with_bar("Fitting", shown = how$control$progress == "bar", {
      with_trees(fit_responses(many, covariance, source, coords, arguments, how, estimate, call))
    })
    fit["call"] <- list(match.call())
    return(fit)
  }
  problem <- with_clock(clock, "data", {
    data_and_model(formula, covariance, source, coords, arguments, method, family, call)
  })
  parts <- problem$parts
  model <- problem$model
  known$noise <- arguments$noise
  known$beta <- known_coefficients(known$beta, colnames(parts$x), call)
  model$prior <- priors_of(prior, model, estimate, call)
  how$compared <- how$method == "auto" && is.null(family) && may_need_inducing_points(model) &&
    !is_lmc(model$covariance) && how$backend != "cuda"
  how$method <- settled_method(how, parts, model, estimate, family, call)
  how$reml <- estimate == "REML" || model$intrinsic
  transform <- as_transform(transform, estimate, how$method, parts, prior, call)
  with_bar("Fitting", shown = how$control$progress == "bar", {
    fit <- with_clock(clock, "search", with_trees(if (is.null(family)) {
      fit_gaussian(parts, model, known, how, estimate, transform, call)
    } else fit_family(parts, model, known, how, estimate, family, call)))
  })
  fit$cost <- cost_table(clock)
  fit[c("call", "formula")] <- list(match.call(), formula)
  fit$na.action <- parts$na.action
  fit
}

# The covariance of a fit from the argument of gp(); the default depends on the family.
covariance_argument <- function(covariance, family, call = caller_env()) {
  if (inherits(covariance, c("variogramModel", "gstat"))) covariance <- as_gp(covariance)
  if (!is_covariance(covariance)) {
    stop_kernops("input", "{.arg covariance} must be a covariance, such as {.code matern(3/2) + nugget()}.",
                 call = call)
  }
  if (is.null(family) || !any_intrinsic(covariance)) return(covariance)
  stop_kernops("input", "Intrinsic models, such as {.fn power_law}, are for Gaussian observations.", call = call)
}

is_model_of_covariance <- function(x) is_covariance(x) || inherits(x, c("variogramModel", "gstat"))

# Replaces the dot in a formula by the columns of spatial data, without their coordinates.
without_dot <- function(formula, source) {
  if (!length(source$added) || !inherits(formula, "formula") || !"." %in% all.vars(formula)) return(formula)
  columns <- source$data[setdiff(names(source$data), source$added)]
  stats::formula(stats::terms(formula, data = columns, allowDotAsName = FALSE))
}

# Removes the response from the coordinates of the data. In `Y ~ 1` with points of sf, the response Y is not the
# coordinate Y.
without_response <- function(source, formula) {
  if (!inherits(formula, "formula") || length(formula) < 3) return(source)
  lost <- setdiff(intersect(source$added, all.vars(formula[[2]])), all.vars(formula[[3]]))
  source$data[lost] <- NULL
  source
}

# The observations, a result of gp_data(), and the model of their covariance. `arguments` is a list of arguments of gp()
# with a value for each observation.
data_and_model <- function(formula, covariance, source, coords, arguments, method, family, call) {
  if (!is.null(arguments$group)) check_grouped(covariance, call)
  formula <- without_dot(formula, source)
  source <- without_response(source, formula)
  effects <- with_effects(formula, covariance, source$data, call)
  covariance <- effects$covariance
  check_effects(covariance, call)
  coords <- named_coordinates(coords, source$data)
  parts <- gp_data(effects$formula, source, coords, arguments, family, is_lmc(covariance),
                   seen_columns(covariance, arguments$group, predictor_columns(family)), needs_coordinates(covariance),
                   call)
  if (is_lmc(covariance)) {
    covariance <- with_variables(covariance, parts$layout$names, call)
    parts <- without_idle_trend(parts, covariance)
  }
  d <- ncol(parts$u)
  with_slopes <- !is.null(arguments$derivatives)
  if (with_slopes) parts <- with_derivatives(parts, arguments$derivatives, arguments$derivative_noise, source, call)
  if (!is.null(arguments$averages)) parts <- with_averages(parts, arguments$averages, source, call)
  if (parts$long_lat) covariance <- on_the_globe(covariance, d)
  covariance <- placed(covariance, d, parts$columns, !is.null(arguments$group), call)
  if (!is.null(arguments$weights) && !"nugget" %in% leaf_labels(covariance) && is.null(family)) {
    stop_kernops("input", c("{.arg weights} divide the nugget variance, but the covariance has no nugget.",
                            i = "Add {.fn nugget} to the covariance, or give the noise variances by
                                 {.code known = list(noise = )}."), call = call)
  }
  model <- covariance_model(covariance, d, colnames(parts$u), call, beside = ncol(parts$z))
  check_averaged_model(parts$layout, model, call)
  list(parts = parts, model = if (with_slopes) with_functionals(model, call) else model)
}

# The method of a fit; with `method = "auto"`, the method depends on the data.
settled_method <- function(how, parts, model, estimate, family, call) {
  method <- if (how$method != "auto") how$method else if (is_functional(model, parts$layout)) "exact" else
    chosen_method(parts, model, how$precision, how$control, family)
  if (method == "vif") check_vif(model, family, how$backend, call)
  # for lmc() with too many observations for the exact method, Vecchia's approximation is the only method
  if (is_lmc(model$covariance) && method == "iterative") method <- "vecchia"
  if (!is.null(family)) check_family_method(method, length(parts$y), how$backend, call)
  if (method == "iterative" && estimate != "none" && how$control$probes == 0) {
    stop_kernops("input", "{.code gp_control(probes = 0)} requires {.code estimate = \"none\"}.", call = call)
  }
  method
}

default_covariance <- function(formula, family) {
  response <- if (inherits(formula, "formula") && length(formula) == 3) formula[[2]]
  if (!is.null(family)) return(matern(3/2))
  if (is.call(response) && identical(response[[1]], quote(cbind))) return(lmc(matern(3/2), nugget()))
  matern(3/2) + nugget()
}

fit_gaussian <- function(parts, model, known, how, estimate, transform, call) {
  problem_of <- function(parts) {
    with_locations(prepare_problem(parts, model, known, estimate, call), how$method)
  }
  if (isTRUE(transform$estimated)) transform$lambda <- estimated_lambda(parts, problem_of, how, call)
  if (!is.null(transform)) parts <- transformed(parts, transform$lambda)
  problem <- problem_of(parts)
  likelihood <- likelihood_for(problem$data, problem$model, how)
  search <- estimate_covariance(problem, likelihood, how, estimate, call)
  how$precision <- search$precision %||% how$precision
  how <- with_settings(how, search$settings)
  fit <- with_enough_neighbours(search, likelihood, function(search) {
    fitted_parts(finish_fit(problem, likelihood, search, call), search, how, parts, known, estimate)
  })
  fit$loglik <- fit$loglik + (parts$jacobian %||% 0)
  fit$df <- fit$df + isTRUE(transform$estimated)
  fit$transform <- transform
  if (estimate != "none") {
    warn_about_search(fit$search, how$control, length(problem$model$functional) > 0)
    warn_about_fit(fit)
    tell_vanished(fit)
  }
  warn_about_neighbours(fit)
  fit
}

# Completes a fit with the parts that predictions need.
fitted_parts <- function(fit, search, how, parts, known, estimate, class = NULL) {
  search$resume <- NULL
  structure(c(fit, list(search = search, how = how, parts = parts, method = how$method, estimate = estimate,
                        known = known)), class = c(class, "gp"))
}

check_known <- function(known, call = caller_env()) {
  if (!is.list(known) || !all(names(known) %in% c("beta", "noise", "derivative_noise")) ||
        (length(known) && is.null(names(known)))) {
    stop_kernops("input", "{.arg known} must be a list with elements {.val beta}, {.val noise} or
                           {.val derivative_noise}.", call = call)
  }
  if (!is.null(known$beta) && !(is.numeric(known$beta) && all(is.finite(known$beta)))) {
    stop_kernops("input", "{.code known$beta} must be finite numbers.", call = call)
  }
}

# The user's coefficients, in the order of the trend.
known_coefficients <- function(beta, columns, call) {
  if (!length(columns)) return(if (length(beta)) unname(beta))
  if (is.null(names(beta)) || length(beta) != length(columns)) return(beta)
  if (setequal(names(beta), columns)) return(unname(beta[columns]))
  stop_kernops("input", "{.code known$beta} must have the names of the trend columns, {.code {columns}}, or no
                         names.", call = call)
}
