# The same as search_from(), by quasi-Newton steps (BFGS) that begin with the average information. If the gradient is
# estimated and there is no value, a step is accepted unless the directional derivative at its end points back. At the
# end, the values there and at the start are estimated, and the start is returned if it is clearly better. Stops when a
# step would increase the log-likelihood by less than control$gain, or by less than the rounding error. The result has
# the `information` of all free parameters at the optimum.
# long: one loop, whose steps share all that the search remembers
information_search <- function(theta, likelihood, model, profile, control) {
  parameters <- model$parameters
  free <- estimated <- !parameters$fixed
  if (profile) free[model$scale[[1]]] <- FALSE
  free <- which(free)
  some <- parameters[free, ]
  low <- to_search(some, some$lower)
  high <- to_search(some, some$upper)
  evaluations <- 0L
  latest <- NULL
  visit <- function(s, below = Inf) { # a value that is not below that needs no gradient
    theta[free] <- from_search(some, s)
    state <- likelihood(theta)
    evaluations <<- evaluations + 1L
    latest <<- s
    if (identical(state$value, Inf)) return(NULL)
    slope <- search_slope(parameters, theta)
    if (!is.na(state$value) && state$value >= below) return(list(state = state))
    gradient <- state$gradient()
    steepness <- (gradient * slope)[free]
    if (!all(is.finite(steepness))) return(NULL) # singular but for rounding
    scaled <- function(information, of) (information * tcrossprod(slope))[of, of, drop = FALSE]
    list(s = s, theta = theta, state = state, slope = slope, gradient = steepness,
         information = function(profiled, of) scaled(state$information(profiled), of),
         curvature = function() {
           positive_definite(scaled(state$information(profile) + root_curvature(model, theta, gradient), free))
         })
  }
  at <- NULL
  regular_start(to_search(some, theta[free]), some, function(s) !is.null(at <<- visit(s)))
  if (is.null(at)) return(list(theta = theta, value = Inf, convergence = 1L, message = "singular at the start",
                               iterations = 0L, evaluations = 1L))
  scaled <- function(at) {
    if (profile) at$theta[model$scale] <- at$theta[model$scale] * at$state$scale
    at$theta
  }
  start <- list(s = at$s, theta = scaled(at))
  early <- TRUE
  lifted <- FALSE
  loss <- NULL
  message <- "maximum number of steps reached"
  curvature <- at$curvature()
  learnt <- 0 # steps since then
  tries <- 0
  reach <- 1
  first_gain <- 2 * control$gain
  for (iteration in seq_len(control$maxit)) {
    if (tries < 3 && length(bound <- onto_a_bound(at, some, low, high))) {
      tries <- tries + 1
      trial <- visit(bound, at$state$value)
      if (isTRUE(trial$state$value < at$state$value)) {
        at <- trial
        curvature <- at$curvature()
        next
      }
    }
    move <- newton_step(at$gradient, curvature, at$s, low, high, reach)
    gain <- -sum(at$gradient * move) / 4
    first_gain <- max(first_gain, gain)
    say_progress(fraction = log(first_gain / gain) / log(first_gain / control$gain))
    enough <- max(control$gain, at$state$rounding, 10 * at$state$resolution)
    raised <- if (gain < enough && !lifted) {
      off_the_floor(at, model, free, profile) %||% grown_sills(at, model, free, visit, enough)
    }
    if (length(raised)) {
      lifted <- TRUE
      at <- visit(raised) %||% at
      curvature <- at$curvature()
      next
    }
    if (gain < enough && is.null(loss) && isTRUE(at$state$rounding < allowed_loss) && length(free)) {
      loss <- probe_loss(at, free, profile)
      number <- min(most_probes, ceiling(at$state$probes * loss / allowed_loss))
      loss <- loss * at$state$probes / max(number, at$state$probes)
      more <- number > at$state$probes
      if (more) at$state$draw_probes(number)
      if (at$state$sharpen() || more) {
        at <- visit(at$s)
        next
      }
    }
    if (gain < enough) {
      message <- paste("a step would increase the log-likelihood by less than", signif(enough, 2))
      early <- FALSE
      break
    }
    found <- NULL
    singular <- FALSE
    for (half in 0:4) {
      trial <- visit(pmin(pmax(at$s + move / 2^half, low), high), at$state$value)
      if (is.null(trial)) {
        singular <- TRUE
        next
      }
      lower <- trial$state$value < at$state$value
      # no value: accept a step unless the derivative at its end points back at least as steeply
      if (is.na(lower)) lower <- sum(trial$gradient * move) < -sum(at$gradient * move)
      if (lower) {
        found <- trial
        break
      }
    }
    # what steps said of the second derivatives may mislead in a bent valley, and a coarse gradient anywhere
    if (is.null(found) && (if (is.na(at$state$value)) !singular && at$state$sharpen() else learnt > 0)) {
      at <- visit(at$s)
      curvature <- at$curvature()
      learnt <- 0
      reach <- 1
      next
    }
    if (is.null(found)) {
      guessed <- is.na(at$state$value)
      message <- paste0("no better step found", if (singular) " before the matrix is singular",
                        if (guessed) better_slopes)
      early <- gain > if (guessed) 0.5 else 0.01 # less is nothing to the estimate, or may be rounding
      break
    }
    # where each likelihood takes long, whole steps along a ridge are followed by longer ones
    reach <- if (half == 0 && is.na(at$state$value) && max(abs(move)) > 0.99 * reach) min(2 * reach, 4) else 1
    curvature <- bfgs(curvature, found$s - at$s, found$gradient - at$gradient)
    learnt <- learnt + 1
    at <- found
  }
  positive <- with_signs(model, at$theta)
  if (!identical(latest, at$s) || any(positive != at$theta)) at <- visit(to_search(some, positive[free]))
  if (is.na(at$state$value) && clearly_worse(at$state$estimate, scaled(at), start$theta)) {
    message <- paste0("the steps decreased the likelihood", better_slopes)
    early <- TRUE
    at <- visit(start$s)
  }
  list(theta = scaled(at), value = at$state$value, convergence = as.integer(early), message = message,
       gain = gain, iterations = iteration, evaluations = evaluations, information = at$information(FALSE, estimated),
       probe_loss = loss, rounding = at$state$rounding)
}

# How much log-likelihood an optimum by these probes is below the true one, on average. At the end of a search that is
# to be at most `allowed_loss`, and as many probes are drawn as that takes.
probe_loss <- function(at, free, profile) {
  noise <- (at$state$noise() * tcrossprod(at$slope))[free, free, drop = FALSE]
  sum(diag(solve(positive_definite(at$information(profile, free)), noise))) / 4
}
allowed_loss <- 0.1
most_probes <- 128

# On the log scale of the search, the derivatives with respect to a nearly zero variance are nearly zero, wherever the
# optimum is. Such variances are raised to a hundredth of the total if the derivative with respect to the variance
# itself indicates a clear improvement, and the information says that their logarithms are hardly known.
off_the_floor <- function(at, model, free, profile) {
  some <- model$parameters[free, ]
  if (!any(some$kind == "variance")) return(NULL)
  variance <- at$theta[free]
  enough <- 0.01 * total_variance(model, at$theta)
  down <- -at$gradient - 2 * (at$state$rounding %||% 0)
  low <- some$kind == "variance" & variance < enough / 10 & down * enough / variance > 1
  if (any(low)) low <- low & diag(at$information(profile, free)) < 1
  if (any(low)) replace(at$s, low, log(enough))
}

# On its way to zero, the logarithm of a variance would go ever slower, and so would that of the range of a coordinate
# without an effect, on its way to infinity. NULL where no parameter is on its way to a bound.
onto_a_bound <- function(at, some, low, high) {
  near <- some$kind == "variance" & at$gradient > 0 & at$s > low & at$s < low + log(100)
  far <- some$kind == "range" & at$gradient < 0 & at$s < high & at$s > high - log(5e3)
  far[far] <- some$coordinate[far] > 0
  if (any(near | far) && !is.na(at$state$value)) ifelse(near, low, ifelse(far, high, at$s))
}

better_slopes <- " (more `probes` of gp_control() give more accurate gradients)"

# Whether the log-likelihood at `end` is less than at `start` by more than one plus the uncertainty of the probes.
clearly_worse <- function(estimate, end, start) {
  if (identical(end, start)) return(FALSE)
  before <- estimate(start)
  after <- estimate(end)
  isTRUE(after$value - before$value > 2 + 3 * sqrt(sum(before$logdet_error^2, after$logdet_error^2)))
}

# The BFGS update of the second derivatives for a step `s` that changed the gradient by `y`.
bfgs <- function(h, s, y) {
  hs <- h %*% s
  if (sum(s * y) <= 1e-6 * sum(s * hs)) return(h)
  h - tcrossprod(hs) / sum(s * hs) + tcrossprod(y) / sum(s * y)
}

# Average information may bend the wrong way, or hardly, along ridges: no step would lead down, or all of it would go
# along the ridge. Such directions are taken to bend a little, also where nothing bends: the scaled likelihood of noise
# does not depend on a variance if ranges are below all distances. BFGS keeps what is positive definite.
positive_definite <- function(h) {
  if (!length(h)) return(h)
  e <- eigen(h, symmetric = TRUE)
  # a step of one then changes the likelihood by some tenths: more would be damped, along ridges of many observations
  bends <- pmax(e$values, min(1e-3 * max(abs(e$values)), 0.1), 1e-12)
  e$vectors %*% (bends * t(e$vectors))
}

# At most a factor e in any parameter, or exp(reach); those at a bound that would leave it stay. A parameter that would
# pass its bound goes to it, and the others to their best values there: along a ridge, what is beside that is far off.
newton_step <- function(gradient, information, s, low, high, reach = 1) {
  held <- (s <= low & gradient > 0) | (s >= high & gradient < 0)
  diag(information) <- diag(information) + 1e-6 * max(0, diag(information)[!held]) + 1e-12
  move <- numeric(length(s))
  while (!all(held)) {
    slope <- gradient + information[, held, drop = FALSE] %*% move[held]
    move[!held] <- -solve(information[!held, !held, drop = FALSE], slope[!held])
    short <- move / max(1, abs(move) / reach)
    room <- ifelse(short < 0, low - s, high - s)
    passed <- ifelse(held, 0, abs(short) / pmax(abs(room), 1e-12))
    if (all(passed <= 1)) return(short)
    first <- which.max(passed)
    move[[first]] <- room[[first]]
    held[[first]] <- TRUE
  }
  move / max(1, abs(move) / reach)
}
