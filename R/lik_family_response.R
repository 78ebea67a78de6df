# The response of a family as numbers: y, and the weights of the observations, of which those of binomial data are the
# numbers of trials.

family_response <- function(family, y, weights, rows, call) {
  stop_response <- function(..., bad = NULL) {
    if (!is.null(bad)) bad <- rows[which(bad)]
    more <- if (length(bad)) c(x = "See {cli::qty(length(bad))}row{?s} {bad}.")
    stop_kernops("input", c(..., more), call = call, envir = rlang::env(bad = bad, y = y, name = family$name))
  }
  kind <- family$density$response
  if (kind == "binomial") return(binomial_response(y, weights, stop_response))
  if (NCOL(y) > 1) stop_response("The response of {.fn {name}} must be one variable, not {ncol(y)}.")
  if (!is.numeric(y)) stop_response("The response of {.fn {name}} must be numeric, not {.cls {class(y)[[1]]}}.")
  y <- as.double(y)
  domain <- response_domains[[kind]]
  bad <- is.finite(y) & !domain$contains(y)
  if (any(bad)) stop_response(domain$rule, bad = bad)
  list(y = y, weights = weights)
}

# The numbers that a response may be, the rule in words, and the response on the scale of the linear predictor, away from
# its ends: where a search begins.
response_domains <- list(
  real = list(contains = is.finite, start = identity),
  count = list(contains = function(y) y >= 0 & y == round(y), rule = "Counts must be whole numbers, at least 0.",
               start = function(y) log(y + 0.5)),
  positive = list(contains = function(y) y > 0, rule = "The response of {.fn {name}} must be positive.", start = log)
)

working_response <- function(family, y, w) {
  kind <- family$density$response
  if (kind == "binomial") return(link_of((w * y + 0.5) / (w + 1), family$link))
  response_domains[[kind]]$start(y)
}

binomial_response <- function(y, weights, stop_response) {
  if (is.factor(y)) {
    if (nlevels(y) != 2) {
      stop_response("A factor as the response of {.fn binomial} must have 2 levels, not {nlevels(y)}.")
    }
    y <- as.integer(y) - 1
  }
  if (!is.numeric(y) && !is.logical(y)) {
    stop_response("The response of {.fn binomial} must be 0 and 1, proportions, a factor with 2 levels or
                   {.code cbind(successes, failures)}, not {.cls {class(y)[[1]]}}.")
  }
  if (NCOL(y) > 2) {
    stop_response("The response of {.fn binomial} must be {.code cbind(successes, failures)}, not {ncol(y)} columns.")
  }
  if (NCOL(y) == 2) {
    bad <- rowSums(is.finite(y) & (y < 0 | y != round(y))) > 0
    if (any(bad)) stop_response("Successes and failures must be whole numbers, at least 0.", bad = bad)
    trials <- as.vector(rowSums(y))
    if (any(trials == 0, na.rm = TRUE)) {
      stop_response("Each observation must have trials: successes or failures.", bad = trials == 0)
    }
    return(list(y = as.vector(y[, 1]) / trials, weights = trials * (weights %||% 1)))
  }
  y <- as.double(y)
  bad <- is.finite(y) & (y < 0 | y > 1)
  if (any(bad)) {
    stop_response("The response of {.fn binomial} must be between 0 and 1.", bad = bad,
                  i = "Numbers of successes go with those of failures, as {.code cbind(successes, failures)}.")
  }
  trials <- weights %||% rep(1, length(y))
  bad <- is.finite(y) & abs(trials * y - round(trials * y)) > 1e-6 * pmax(1, trials)
  if (any(bad)) {
    stop_response(if (is.null(weights)) "Proportions need the numbers of trials as {.arg weights}." else
      "Proportions times their {.arg weights}, the numbers of trials, must be whole numbers.", bad = bad)
  }
  list(y = y, weights = trials)
}
