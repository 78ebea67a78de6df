# Converts the response of a family to numbers: y and the weights of the observations. For binomial data, the weights
# are the numbers of trials.

family_response <- function(family, y, weights, rows, call) {
  stop_response <- function(..., bad = NULL) {
    if (!is.null(bad)) bad <- rows[which(bad)]
    more <- if (length(bad)) c(x = "See {cli::qty(length(bad))}row{?s} {bad}.")
    env <- rlang::env(bad = bad, y = y, name = family_label(family$name))
    stop_kernops("input", c(..., more), call = call, envir = env)
  }
  kind <- family$density$response
  if (kind == "binomial") return(binomial_response(y, weights, stop_response))
  if (kind == "ordered") return(list(y = ordered_response(y, stop_response), weights = weights))
  censored <- NULL
  if (kind == "time" && NCOL(y) == 2) {
    censored <- censored_times(y, stop_response)
    y <- y[, 1]
  }
  if (NCOL(y) > 1) stop_response("The response of {.code {name}} must be one variable, not {ncol(y)}.")
  if (!is.numeric(y)) stop_response("The response of {.code {name}} must be numeric, not {.cls {class(y)[[1]]}}.")
  y <- as.double(y)
  domain <- response_domains[[kind]]
  bad <- is.finite(y) & !domain$contains(y)
  if (any(bad)) stop_response(domain$rule, bad = bad)
  list(y = y, weights = weights, censored = censored)
}

# For each kind of response: `contains`, which tests for allowed numbers; the rule in words; and `start`, which computes
# starting values for the linear predictor, after the response is moved away from the ends of its range.
response_domains <- list(
  real = list(contains = is.finite, start = identity),
  count = list(contains = function(y) y >= 0 & y == round(y), rule = "Counts must be whole numbers, at least 0.",
               start = function(y) log(y + 0.5)),
  positive_count = list(contains = function(y) y >= 1 & y == round(y), start = log,
                        rule = "The response of {.code {name}} must be whole numbers, at least 1."),
  positive = list(contains = function(y) y > 0, rule = "The response of {.code {name}} must be positive.", start = log),
  nonnegative = list(contains = function(y) y >= 0, rule = "The response of {.code {name}} must be at least 0.",
                     start = function(y) log(ifelse(y > 0, y, mean(y) / 2))),
  time = list(contains = function(y) y > 0, rule = "The response of {.code {name}} must be positive.",
              start = function(y) log(abs(y))),
  share = list(contains = function(y) y > 0 & y < 1, rule = "The response of {.code {name}} must be between 0 and 1.",
               start = stats::qlogis),
  ordered = list(start = function(y) stats::qlogis((rank(y) - 0.5) / length(y)))
)

# TRUE for censored times, in a response (time, status) like the result of survival::Surv() with right censoring.
censored_times <- function(y, stop_response) {
  type <- attr(y, "type") %||% "right"
  if (type != "right" || !all(y[, 2] %in% c(0, 1, NA))) {
    stop_response("Times may be censored on the right: the response of {.code {name}} must be {.code Surv(time,
                   status)} or {.code cbind(time, status)}, with a status of 1 for an event and 0 for a censored
                   time.")
  }
  as.vector(y[, 2]) == 0
}

# The index of the class of each observation among the observed classes.
ordered_response <- function(y, stop_response) {
  if (!is.factor(y) && !(is.numeric(y) && NCOL(y) == 1 && all(y == round(y), na.rm = TRUE))) {
    stop_response("The response of {.code {name}} must be an ordered factor, or whole numbers, not
                   {.cls {class(y)[[1]]}}.")
  }
  classes <- if (is.factor(y)) droplevels(y) else factor(y)
  if (nlevels(classes) < 2) stop_response("The response of {.code {name}} must have at least 2 classes.")
  as.numeric(classes)
}

working_response <- function(family, y, w) {
  kind <- family$density$response
  if (kind == "binomial") return(link_of((w * y + 0.5) / (w + 1), family$link))
  response_domains[[kind]]$start(y)
}

binomial_response <- function(y, weights, stop_response) {
  if (is.factor(y)) {
    if (nlevels(y) != 2) {
      stop_response("A factor as the response of {.code {name}} must have 2 levels, not {nlevels(y)}.")
    }
    y <- as.integer(y) - 1
  }
  if (!is.numeric(y) && !is.logical(y)) {
    stop_response("The response of {.code {name}} must be 0 and 1, proportions, a factor with 2 levels or
                   {.code cbind(successes, failures)}, not {.cls {class(y)[[1]]}}.")
  }
  if (NCOL(y) > 2) {
    stop_response("The response of {.code {name}} must be {.code cbind(successes, failures)}, not {ncol(y)} columns.")
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
    stop_response("The response of {.code {name}} must be between 0 and 1.", bad = bad,
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
