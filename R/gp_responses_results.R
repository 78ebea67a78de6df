# The results of fits of many responses. The results of each group of responses are stored separately.

empty_fits <- function(task, responses, parts) {
  count <- length(responses$names)
  numbers <- rep(NA_real_, count)
  parameters <- task$model$parameters$name
  list(theta = matrix(NA_real_, length(parameters), count, dimnames = list(parameters, responses$names)),
       beta = matrix(NA_real_, ncol(parts$x), count, dimnames = list(colnames(parts$x), responses$names)),
       loglik = numbers, statistic = numbers, n_used = rep(0L, count), evaluations = numbers,
       converged = rep(NA, count), problem = rep(NA_character_, count))
}

# Adds the results of a group to the fits; `estimates` are the parameters of standardised responses.
with_fits <- function(fits, task, group, estimates) {
  columns <- group$columns
  sets <- group$sets
  independent <- !all(is.na(estimates$evaluations))
  null <- null_fits(task, group)
  # the model without a field is a special case, so the fit without a field replaces a fit whose search ended at a lower
  # likelihood
  none <- independent & !(estimates$value < null$value - 1e-7) %in% TRUE
  estimates$theta[, none] <- null$theta
  for (name in c("value", "scale")) estimates[[name]][none] <- null[[name]][none]
  estimates$coefficients[, none] <- null$coefficients[, none]
  degrees <- sets$n - if (task$reml) nrow(group$beta) else 0
  scaled <- task$model$scale
  variances <- rep(estimates$scale * group$sd^2, each = length(scaled))
  estimates$theta[scaled, ] <- estimates$theta[scaled, , drop = FALSE] * variances
  fits$theta[, columns] <- estimates$theta
  fits$beta[, columns] <- group$beta + if (nrow(group$beta)) {
    backsolve(sets$trend$r, estimates$coefficients * rep(group$sd, each = nrow(group$beta)))
  } else 0
  fits$loglik[columns] <- -estimates$value / 2 - degrees * log(group$sd)
  if (independent) fits$statistic[columns] <- pmax(null$value - estimates$value, 0) * !none
  fits$n_used[columns] <- sets$n
  fits$evaluations[columns] <- estimates$evaluations
  fits$converged[columns] <- none | estimates$converged == 1
  fits
}

# The fits without a field: the errors of the observations are independent.
null_fits <- function(task, group) {
  s <- task$starts$s[, 1]
  s[[task$parameters$first]] <- 0
  theta <- response_theta(task$parameters, s)
  c(profiled_products(task$held(group)$products(theta), group$sets$n, task$reml), list(theta = theta))
}
