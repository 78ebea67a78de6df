# broom's generics, from package generics, are registered when that is loaded.

tidy.gp <- function(x, conf.int = FALSE, conf.level = 0.95, effects = c("trend", "covariance"), ...) {
  table <- do.call(rbind, lapply(effects, function(effect) {
    estimate <- coef.gp(x, effect)
    se <- if (effect == "trend") sqrt(diag(vcov.gp(x))) else NA_real_
    data.frame(effect = rep(effect, length(estimate)), term = names(estimate), estimate = unname(estimate),
               std.error = rep_len(unname(se), length(estimate)))
  }))
  if (!conf.int) return(table)
  limits <- confint.gp(x, level = conf.level, type = if (length(effects) == 2) "both" else effects)
  cbind(table, conf.low = unname(limits[match(table$term, rownames(limits)), 1]),
        conf.high = unname(limits[match(table$term, rownames(limits)), 2]))
}

glance.gp <- function(x, ...) {
  data.frame(nobs = nobs.gp(x), logLik = x$loglik, AIC = stats::AIC(x), BIC = stats::BIC(x), df = x$df,
             nugget = nugget_of(x), method = x$method, estimate = x$estimate)
}

augment.gp <- function(x, newdata = NULL, ...) {
  table <- predict.gp(x, newdata, se.fit = TRUE)
  if (!is.null(newdata)) return(data.frame(newdata, .fitted = table$fit, .se.fit = table$se.fit))
  data.frame(x$parts$frame[attr(x$parts$terms, "term.labels")], .response = x$parts$y,
             .fitted = table$fit, .se.fit = table$se.fit, .resid = x$parts$y - table$fit)
}

register_broom <- function() {
  register <- function(...) for (generic in c("tidy", "glance", "augment")) {
    registerS3method(generic, "gp", get(paste0(generic, ".gp")), envir = asNamespace("generics"))
  }
  if (isNamespaceLoaded("generics")) register()
  setHook(packageEvent("generics", "onLoad"), register)
}
