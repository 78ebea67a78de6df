# Printed fits, and their summaries.

#' @export
print.gp <- function(x, ...) {
  words <- paste0("<gp> ", deparse1(x$formula), ", ", counted(nobs.gp(x), "observation"), variable_words(x),
                  if (x$model$d > 0) paste(" at points of", counted(x$model$d, "coordinate")))
  cat(strwrap(words, exdent = 5), sep = "\n")
  cat_labelled("covariance", term_words(x$covariance), " +")
  if (is_lmc(x$model$covariance)) cat_labelled("sills", sill_words(x), ",")
  if (!is.null(group_of(x$model))) cli::cat_line("  groups          ", group_words(x))
  if (length(x$beta)) cat_labelled("trend", paste(names(x$beta), signif(x$beta, 4), sep = " = "), ",")
  if (!is.null(x$transform)) cli::cat_line("  transform       ", transform_words(x$transform))
  cli::cat_line("  log-likelihood  ", likelihood_text(x$loglik), " (", x$estimate, ", ", x$method, ")")
  if (has_neighbours(x)) cat_labelled("neighbours", neighbour_words(x$vecchia), ",")
  if (has_neighbours(x) || !is.null(x$certificate)) {
    words <- if (is.null(x$certificate)) approximation_words(x) else {
      c(certificate_words(x$certificate), approximation_advice(x, x$certificate$verdict))
    }
    cat_labelled("approximation", words, ",")
  }
  invisible(x)
}

variable_words <- function(x) if (is_lmc(x$model$covariance)) paste0(" of ", length(response_names(x)), " variables")

group_words <- function(x) {
  group <- x$parts$columns[[group_of(x$model) - x$model$d]]
  paste0(length(group$levels), " (", deparse1(group$formula[[2]]), "), independent fields")
}

counted <- function(n, what) paste0(n, " ", what, if (n != 1) "s")

# Prints items after a label, on as many lines as the width of the console requires.
cat_labelled <- function(label, items, between) {
  ends <- rep(c(between, ""), c(length(items) - 1, 1))
  cat(paste0(items, ends), fill = TRUE, labels = c(format(paste0("  ", label), width = 17), rep(strrep(" ", 17), 99)))
}

#' @rdname gp_methods
#' @export
summary.gp <- function(object, cost = FALSE, ...) {
  no_further("summary", ...)
  check_flag(cost, "cost")
  se <- sqrt(diag(vcov(object)))
  errors <- covariance_errors(object)
  off <- some_residuals(object)
  # for several variables, `quantiles` has a row for each variable
  quantiles <- if (is.matrix(off)) t(apply(off, 2, stats::quantile, na.rm = TRUE, names = FALSE)) else {
    stats::quantile(off, na.rm = TRUE, names = FALSE)
  }
  structure(list(fit = object, coefficients = wald_table(object$beta, se), errors = errors, number = sum(!is.na(off)),
                 predictors = predictor_tables(object, errors), residuals = quantiles, edf = smooth_edf(object),
                 confounded = confounded_terms(object),
                 cost = if (cost) object$cost), class = "summary.gp")
}

wald_table <- function(estimate, se) {
  cbind(Estimate = estimate, `Std. Error` = se, `z value` = estimate / se,
        `Pr(>|z|)` = 2 * stats::pnorm(-abs(estimate / se)))
}

# The residuals of an evenly spaced sample of observations, because local kriging of a million observations would take
# minutes.
some_residuals <- function(object, max_rows = 20000) {
  if (inherits(object, "gp_blocks")) return(residuals_of_heads(object))
  n <- nobs.gp(object)
  if (!has_neighbours(object) || n <= max_rows || is_lmc(object$model$covariance)) return(residuals(object))
  some <- round(seq(1, n, length.out = max_rows))
  points <- some_points(new_points(object, NULL, NULL), some)
  mean <- predicted_mean(object, points)
  if (is.null(object$family)) return(object$parts$y[some] - mean)
  object <- with_phi_of(object, points$u)
  family_residuals(object, object$response$y[some], mean_of(object, mean), object$parts$weights[some], "deviance")
}

#' @export
print.summary.gp <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  fit <- x$fit
  cli::cat_line("Gaussian process: ", deparse1(fit$formula))
  cli::cat_line(counted(nobs.gp(fit), "observation"), variable_words(fit),
                if (fit$model$d > 0) paste0(", ", counted(fit$model$d, "coordinate")),
                if (length(fit$na.action)) paste0(", ", length(fit$na.action), " with missing values removed"))
  if (!is.null(fit$transform)) cli::cat_line("Transformation of the response: ", transform_words(fit$transform))
  if (!is.null(fit$family)) cli::cat_line("\nFamily: ", fit$family$name, ", link ", fit$family$link)
  cli::cat_line("\nCovariance: ", format(fit$model$covariance))
  if (!is.null(group_of(fit$model))) cli::cat_line("Groups: ", group_words(fit))
  p <- if (is.null(fit$family)) fit$model$parameters else subset(fit$outer$parameters, kind != "trend")
  table <- data.frame(value = signif(coef(fit, "covariance"), digits), row.names = p$name)
  if (!all(is.na(x$errors))) table$`Std. Error` <- signif(x$errors, digits)
  table$` ` <- ifelse(p$fixed, "fixed", ifelse(p$name %in% fit$search$at_bound, "at bound", ""))
  print(table[!p$name %in% unlist(lapply(x$predictors, rownames)), , drop = FALSE])
  print_priors(fit)
  print_trend(x, digits)
  print_predictors(x$predictors, fit, digits)
  print_edf(x$edf, digits)
  print_confounded(x$confounded)
  sample <- if (x$number < nobs.gp(fit)) paste0(" (", x$number, " of them)")
  kind <- if (is.null(fit$family)) "Residuals" else "Deviance residuals"
  cli::cat_line("\n", kind, " of the fitted field", sample, ":")
  words <- c("Min", "1Q", "Median", "3Q", "Max")
  shown <- signif(x$residuals, digits)
  print(if (is.matrix(shown)) `colnames<-`(shown, words) else stats::setNames(shown, words))
  cli::cat_line("\n", if (fit$estimate == "REML") "REML log" else "Log", "-likelihood ", likelihood_text(fit$loglik),
                " on ", counted(fit$df, "parameter"), ", AIC ", likelihood_text(stats::AIC(fit)))
  cat(strwrap(paste0("Method: ", fit$method, search_words(fit$search)), exdent = 2), sep = "\n")
  words <- c(likelihood_words(fit), weight_words(fit))
  if (length(words)) cat(strwrap(words, exdent = 2), sep = "\n")
  if (has_neighbours(fit)) {
    cat_labelled("Neighbours", neighbour_words(fit$vecchia), ",")
    cat_labelled("Approximation", approximation_table(fit), ",")
  }
  print_rivals(fit)
  print_cost(x$cost)
  invisible(x)
}

print_trend <- function(x, digits) {
  cli::cat_line("\nTrend:")
  known <- x$fit$known$beta
  if (nrow(x$coefficients)) stats::printCoefmat(x$coefficients, digits = digits) else {
    cli::cat_line(if (is.null(known)) "none" else paste("known, beta =", toString(known)))
  }
}

print_edf <- function(edf, digits) {
  if (!length(edf)) return(invisible())
  words <- paste(names(edf), signif(edf, digits), sep = " = ", collapse = ", ")
  cli::cat_line("\nEffective degrees of freedom: ", words)
}

print_priors <- function(fit) {
  if (!length(priors <- fit$model$prior)) return(invisible())
  cli::cat_line("Mode of the posterior, with the priors")
  names <- fit$model$parameters$name[vapply(priors, function(each) each$row, 0L)]
  cli::cat_line("  ", format(names), "  ", vapply(priors, function(each) format(each$prior), ""))
}

search_words <- function(search) {
  if (is.null(search$iterations)) return(", covariance as given")
  likelihoods <- counted(search$evaluations[[1]], "likelihood")
  paste0(", ", counted(search$iterations, "step"), " (", likelihoods, ") after a search over starting values: ",
         search$message)
}

# Prints other optima whose log-likelihood is within two units of the largest log-likelihood.
print_rivals <- function(fit) {
  for (rival in fit$search$rivals) {
    what <- if (length(fit$model$prior)) "log posterior density" else "log-likelihood"
    cat_labelled("Other optimum", c(paste(what, likelihood_text(-rival$value / 2)), paste(
      fit$model$parameters$name, "=", signif(reported(fit$model, rival$theta), 4))[!fit$model$parameters$fixed]), ",")
  }
}

likelihood_text <- function(x) formatC(x, digits = 3, format = "f")

likelihood_words <- function(fit) {
  error <- fit$state$logdet_error
  if (is.null(error)) return(NULL)
  paste0("Monte Carlo error of the log-likelihood: ", format(error / 2, digits = 2))
}

# The text in summary() about the weights of the Laplace approximation. The weights are expected values if the terms of
# the density have an element `curvature`, which contains the negative observed second derivatives.
weight_words <- function(fit) {
  if (is.null(fit$latent$terms$curvature)) return(NULL)
  "Weights of the Laplace approximation: expected instead of observed second derivatives of the log density"
}
