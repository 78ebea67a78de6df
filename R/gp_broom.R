# broom's generics, from package generics, are registered when that is loaded.

tidy.gp <- function(x, conf.int = FALSE, conf.level = 0.95, effects = c("trend", "covariance"), ...) {
  table <- do.call(rbind, lapply(effects, function(effect) {
    estimate <- coef.gp(x, effect)
    se <- if (effect == "trend") sqrt(diag(vcov.gp(x))) else covariance_errors(x)
    part <- data.frame(effect = rep(effect, length(estimate)), term = names(estimate), estimate = unname(estimate),
                       std.error = unname(se))
    if (!conf.int) return(part)
    limits <- confint.gp(x, level = conf.level, type = effect)
    at <- match(part$term, rownames(limits))
    cbind(part, conf.low = limits[at, 1], conf.high = limits[at, 2], row.names = NULL)
  }))
  as_table(table)
}

glance.gp <- function(x, ...) {
  as_table(data.frame(nobs = nobs.gp(x), logLik = x$loglik, AIC = stats::AIC(x), BIC = stats::BIC(x), df = x$df,
                      nugget = nugget_of(x), method = x$method, estimate = x$estimate))
}

augment.gp <- function(x, newdata = NULL, ...) {
  if (is.null(newdata)) return(augment_fitted(x))
  table <- as.data.frame(predict.gp(x, newdata, se.fit = TRUE, interval = "none"))
  if (is.numeric(newdata)) {
    newdata <- one_or_many_points(newdata, x$model$d)
    colnames(newdata) <- colnames(newdata) %||% colnames(x$parts$u)
    newdata <- as.data.frame(newdata)
  }
  newdata[[".fitted"]] <- table$fit
  newdata[[".se.fit"]] <- table$se.fit
  if (identical(class(newdata), "data.frame")) as_table(newdata) else newdata
}

# The variables of the formula by their names there, and the coordinates that are not among them.
augment_fitted <- function(x) {
  points <- new_points(x, NULL, NULL)
  terms <- predicted_terms(x, points)
  fit <- rowSums(terms)
  frame <- x$parts$frame
  frame <- frame[setdiff(names(frame), c("(coords)", "(noise)", "(weights)"))]
  u <- as.data.frame(x$parts$u)
  as_table(data.frame(frame, u[setdiff(names(u), names(frame))], .fitted = fit,
                      .se.fit = sqrt(field_variance(x, points, terms$process)), .resid = x$parts$y - fit,
                      check.names = FALSE))
}

# A tibble, as of broom's own, where that package is there.
as_table <- function(x) if (requireNamespace("tibble", quietly = TRUE)) tibble::as_tibble(x) else x

register_broom <- function() {
  register <- function(...) for (generic in c("tidy", "glance", "augment")) {
    registerS3method(generic, "gp", get(paste0(generic, ".gp")), envir = asNamespace("generics"))
  }
  if (isNamespaceLoaded("generics")) register()
  setHook(packageEvent("generics", "onLoad"), register)
}
