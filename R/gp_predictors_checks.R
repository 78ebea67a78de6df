# Stops for predictors that a family or a setting of gp() does not support.

check_predictors <- function(predictors, call) {
  named <- is.list(predictors) && all(nzchar(names(predictors) %||% rep("", length(predictors))))
  if (is.null(predictors) || named && !anyDuplicated(names(predictors))) return(as.list(predictors))
  stop_kernops("input", "{.arg predictors} must be a list of formulas with the names of parameters, such as
                         {.code list(theta = ~ x)}.", call = call)
}

check_predictor <- function(family, name, formula, call) {
  names <- names(family$density$parameters)
  label <- family_label(family$name)
  value <- family$parameters$value[family$parameters$name == name]
  env <- rlang::env(name = name, names = names, formula = formula, label = label, value = value)
  refuse <- function(wrong, ...) if (wrong) stop_kernops("input", c(...), call = call, envir = env)
  refuse(!is.null(family$density$of_classes), "The parameters of {.code {label}} have no predictors: the trend shifts
                                               all cut points.")
  refuse(!name %in% names, "{.code {label}} has no parameter {.val {name}}.",
         i = if (length(names)) "Its parameters are {.val {names}}.")
  refuse(any(!is.na(value)),
         "{.code {name}} has the value {value} and a predictor: remove one of them.")
  refuse(!inherits(formula, "formula") || length(formula) != 2,
         "The predictor of {.code {name}} must be a one-sided formula such as {.code ~ x}.")
  parts <- split_effects(formula[[2]])
  smooths <- vapply(parts$effects, is_smooth, NA)
  refuse(!all(smooths) || length(smooths) && family$name != "gaussian",
         "The predictor of {.code {name}} must have fixed coefficients: random effects and smooths are for the
          {.arg formula}, and smooths for the {.arg dispersion} of a Gaussian response.",
         i = "{.code splines::ns(x, 4)} is a smooth function with fixed coefficients.")
  check_no_effects(parts$rest, call)
  refuse("." %in% all.vars(formula), "The predictor of {.code {name}} must name its variables, without {.code .}.")
  if (length(smooths)) formula <- stats::as.formula(call("~", parts$rest %||% 1), environment(formula))
  terms <- tryCatch(stats::terms(formula), error = function(e) NULL)
  refuse(is.null(terms), "The predictor of {.code {name}}, {.code {deparse1(formula)}}, is not a formula of a linear
                          model.")
  refuse(length(attr(terms, "offset")) > 0, "The predictor of {.code {name}} must not have an {.fn offset}.")
}

# Stops for settings that do not support predictors. For a Gaussian response with a predictor of the noise, this
# function also refuses the settings that check_family_settings() refuses for other families.
check_predictor_settings <- function(family, method, estimate, known, transform, call) {
  if (is.null(family$predictors)) return(invisible())
  if (estimate == "none") {
    stop_kernops("input", "{.code estimate = \"none\"} cannot be combined with predictors, whose coefficients are
                           estimated.", call = call)
  }
  if (family$name != "gaussian") return(invisible())
  refused <- c(if (!is.null(transform)) "transform", if (!is.null(known$noise)) "known$noise",
               if (estimate == "REML") "estimate = \"REML\"",
               if (!method %in% c("auto", "exact", "vecchia")) paste0("method = \"", method, "\""))
  if (!length(refused)) return(invisible())
  stop_kernops("input", c("{.arg dispersion} of a Gaussian response is not available with {.code {refused}}.",
                          i = "Such a response is fitted by maximum likelihood and {.code method = \"exact\"} or
                               {.val vecchia}."), call = call)
}
