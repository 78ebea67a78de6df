wrong <- list(
  NULL, NA, NaN, Inf, -1, 0, 0.5, 1e300, .Machine$integer.max, 1:1e5, integer(), "a", "", c("a", "b"), TRUE, list(),
  list(list(1)), sum, function(...) 1, new.env(), Sys.Date(), factor(c("a", "b")), 1i, as.raw(1), matrix(0, 0, 0),
  array(1, c(2, 2, 2)), ~ q, quote(f(x)), quote(zz), data.frame(a = 1), structure(1, class = "integer64")
)
# Replaces each argument of a valid call (calls.R) in turn by an invalid value.
run_part <- function() {
  calls <- local({source("tools/fuzzer/calls.R", local = TRUE); calls})
  functions <- sapply(names(calls), utils::getFromNamespace, "kernops")
  takes <- \(name) is.function(get(name)) && length(formals(args(get(name)))) > 0
  of_others <- \(name) environmentName(environment(get(name))) %in% c("generics", "nlme")
  of_group <- c("Complex", "Math", "Ops", "Summary", "cbind2", "rbind2", "show")
  exports <- Filter(\(name) takes(name) && !of_others(name), ls("package:kernops"))
  for (name in setdiff(exports, c(names(calls), of_group))) report(name, " is not called")
  for (name in names(calls)) {
    error <- error_of(\() do.call(functions[[name]], calls[[name]]))
    if (!is.null(error) && !inherits(error, "kernops_cuda_error")) report(name, ": ", conditionMessage(error))
  }
  # the first argument of a method is kept, because it selects the method
  is_method <- \(name) grepl("[.](gp(_responses)?|kernops_[a-z]+)$", name) || exists(name, baseenv())
  for (name in sample(names(calls))) for (argument in seq_along(calls[[name]])) for (value in wrong) {
    if (argument == 1 && is_method(name)) next
    # with more than 1e4 points, the products over all pairs would take minutes
    if (name %in% c("spectral_embedding", "kernel_pca") && length(value) > 1e4) next
    if (!there_is_time()) return()
    used <- replace(calls[[name]], argument, list(value))
    label <- paste0(name, "(", c(names(used)[argument], argument)[[1]], " = ", substr(deparse1(value), 1, 30), ")")
    attack(label, \() do.call(functions[[name]], used, quote = TRUE))
  }
}
