# The prior density of the parameters of a model, and likelihoods that include this density.

# The priors of parameters: a list with an element for each parameter that has a prior. An element has the row of the
# parameter in the table of parameters, and the prior.
priors_of <- function(prior, model, estimate, call) {
  if (!length(prior)) return(NULL)
  check_prior_list(prior, model, estimate, call)
  parameters <- model$parameters
  full <- names(prior) %in% parameters$name
  chosen <- integer() # for each row, the index of its prior; full names come last and replace short names
  for (k in order(full)) {
    rows <- prior_rows(names(prior)[[k]], parameters, call)
    chosen[as.character(rows)] <- k
  }
  unname(Map(function(row, k) list(row = row, prior = placed_prior(prior[[k]], row, model, call)),
             as.integer(names(chosen)), chosen))
}

check_prior_list <- function(prior, model, estimate, call) {
  good <- is.list(prior) && !inherits(prior, "kernops_prior") && all(vapply(prior, inherits, NA, "kernops_prior"))
  if (!good || length(names(prior)) != length(prior) || anyDuplicated(names(prior))) {
    stop_kernops("input", c("{.arg prior} must be a list of priors with different names of parameters, such as
                             {.code list(range = pc_range(0.5))}.", i = "See {.fn pc_range}."), call = call)
  }
  if (estimate == "none") {
    stop_kernops("input", "{.arg prior} is for estimated parameters: it cannot be used with
                           {.code estimate = \"none\"}.", call = call)
  }
  if (is_lmc(model$covariance)) {
    stop_kernops("input", "{.arg prior} is for fits of one variable.", call = call)
  }
}

# The rows of the estimated parameters to which a name of a prior refers.
prior_rows <- function(name, parameters, call) {
  of_nugget <- parameters$label == "nugget"
  behind_dot <- sub("^[^.]*[.]", "", parameters$name)
  named <- parameters$name == name
  short <- if (name == "nugget") of_nugget else !of_nugget & (behind_dot == name | parameters$kind == name)
  rows <- which(if (any(named)) named else short)
  free <- rows[!parameters$fixed[rows]]
  if (length(free)) return(free)
  known <- parameters$name[!parameters$fixed]
  stop_kernops("input", c(
    paste("The {.arg prior} of {.val {name}} is that of", if (length(rows)) "a fixed parameter." else "no parameter."),
    i = if (length(known)) "The covariance has the estimated {cli::qty(length(known))}parameter{?s} {.val {known}}."
  ), call = call)
}

# Completes a prior: for a range, computes the `rate`, which depends on the number of dimensions.
placed_prior <- function(prior, row, model, call) {
  row <- model$parameters[row, ]
  leaf <- leaf_at(model$covariance, row$leaf)
  fits <- switch(prior$kind, pc_range = row$kind == "range" && leaf$geometry$lengths, pc_sd = row$kind == "variance",
                 row$log)
  if (!fits) {
    needs <- switch(prior$kind, pc_range = "a range", pc_sd = "a variance", "a positive number")
    stop_kernops("input", "{.fn {prior$kind}} is the prior of {needs}, which {.val {row$name}} is not.", call = call)
  }
  if (prior$kind != "pc_range") return(prior)
  d <- if (row$coordinate > 0) 1 else length(setdiff(leaf_dims(leaf, model$d), leaf$geometry$time))
  new_prior("pc_range", lower = prior$lower, p = prior$p, d = d, rate = -log(prior$p) * prior$lower^(d / 2))
}

# The log density of the logarithm s of a parameter, and the first two derivatives of this log density. The log density
# is concave for every kind of prior.
prior_terms <- function(prior, s) {
  switch(prior$kind, pc_range = {
    half <- prior$d / 2
    tail <- prior$rate * exp(-half * s)
    c(log(half * prior$rate) - half * s - tail, half * (tail - 1), -half^2 * tail)
  }, pc_sd = {
    tail <- prior$rate * exp(s / 2)
    c(log(prior$rate / 2) + s / 2 - tail, (1 - tail) / 2, -tail / 4)
  }, lognormal = {
    z <- (s - prior$meanlog) / prior$sdlog
    c(stats::dnorm(z, log = TRUE) - log(prior$sdlog), -z / prior$sdlog, -1 / prior$sdlog^2)
  })
}

# An interval of values that contains most of the prior mass of a parameter; the bounds of a search must include this
# interval.
prior_limits <- function(model, n) {
  prior <- Find(function(each) each$row == n, model$prior)$prior
  if (is.null(prior)) return(NULL)
  switch(prior$kind, pc_range = prior$lower, pc_sd = prior$upper^2,
         lognormal = exp(prior$meanlog + c(-4, 4) * prior$sdlog))
}

# A list for the deviance, -2 times the log density: its `value` and its `gradient` at theta, and `bend`, a nonnegative
# definite matrix in place of the second derivatives. As in a likelihood, derivatives are with respect to theta. A
# derivative with respect to theta, multiplied by theta, is the derivative with respect to the logarithm of theta.
prior_deviance <- function(model, theta) {
  none <- numeric(length(theta))
  total <- list(value = 0, gradient = none, bend = diag(none, length(none)))
  for (each in model$prior) {
    value <- theta[[each$row]]
    terms <- -2 * prior_terms(each$prior, log(value))
    total$value <- total$value + terms[[1]]
    total$gradient[[each$row]] <- terms[[2]] / value
    total$bend[[each$row, each$row]] <- terms[[3]] / value^2
  }
  rows <- model$penalty$rows
  if (is.null(rows)) return(total)
  penalty <- penalty_deviance(model$penalty, theta)
  total$value <- total$value + penalty$value
  total$gradient[rows] <- total$gradient[rows] + penalty$gradient
  total$bend[rows, rows] <- total$bend[rows, rows] + penalty$bend
  total
}

# A likelihood multiplied by the prior density, so that values and derivatives belong to the posterior density.
with_prior <- function(likelihood, model) {
  if (!length(model$prior) && is.null(model$penalty)) return(likelihood)
  posterior <- function(state, theta) {
    if (is_singular(state)) return(state)
    prior <- prior_deviance(model, theta)
    plain <- state[c("gradient", "information", "estimate")]
    state$value <- state$value + prior$value
    state$gradient <- function() plain$gradient() + prior$gradient
    state$information <- function(...) plain$information(...) + prior$bend
    state$estimate <- function(theta) posterior(plain$estimate(theta), theta)
    state
  }
  evaluate <- function(theta, ...) posterior(likelihood$evaluate(theta, ...), theta)
  doubled <- function(theta, state) {
    prior <- prior_deviance(model, theta)
    plain <- list(value = state$value - prior$value, gradient = function() state$gradient() - prior$gradient)
    likelihood$doubled(theta, utils::modifyList(state, plain))
  }
  optional <- likelihood[setdiff(names(likelihood), c("evaluate", "value", "doubled"))]
  do.call(new_likelihood, c(list(evaluate, doubled = doubled), optional))
}

# The log-likelihood without the prior, from a state whose value includes the prior.
plain_loglik <- function(state, model, theta) -(state$value - prior_deviance(model, theta)$value) / 2
