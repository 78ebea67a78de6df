# The seconds that each part of a fit takes, for summary(cost = TRUE). At any time, a clock counts the time of one part.

fit_parts <- c(reading = "reading of the table", sorting = "sorting into cells", ordering = "ordering of cells",
               data = "data and bases", neighbours = "neighbours", start = "start from typical observations",
               field = "field", mode = "mode and posterior", effects = "effects and smooths", trend = "trend",
               search = "search and the rest")

new_clock <- function() {
  none <- numeric(length(fit_parts))
  list2env(list(part = NULL, since = 0, seconds = stats::setNames(none, names(fit_parts)),
                calls = stats::setNames(none, names(fit_parts))))
}

# Evaluates `code` and adds its time to a part, except the time of other parts within `code`.
timed <- function(part, code) {
  clock <- the$clock
  if (is.null(clock)) return(code)
  clock$calls[[part]] <- clock$calls[[part]] + 1
  before <- switch_part(clock, part)
  on.exit(switch_part(clock, before))
  code
}

# Switches the clock to a part and returns the previous part. Without a part, the clock stops.
switch_part <- function(clock, part) {
  now <- as.numeric(Sys.time())
  before <- clock$part
  if (!is.null(before)) clock$seconds[[before]] <- clock$seconds[[before]] + now - clock$since
  clock$part <- part
  clock$since <- now
  before
}

with_clock <- function(clock, part, code) {
  outer <- the$clock
  on.exit(the$clock <- outer)
  the$clock <- clock
  timed(part, code)
}

# A version of the function f that adds the time of its calls to a part.
timed_function <- function(part, f) {
  force(f)
  function(...) timed(part, f(...))
}

cost_table <- function(clock) {
  table <- data.frame(seconds = clock$seconds, share = clock$seconds / max(sum(clock$seconds), 1e-9),
                      calls = clock$calls, row.names = fit_parts)
  table[clock$calls > 0, ]
}

print_cost <- function(table) {
  if (is.null(table)) return(invisible())
  cli::cat_line("\nSeconds of the fit by part, ", signif(sum(table$seconds), 3), " in all:")
  print(data.frame(seconds = sprintf("%.2f", table$seconds), share = sprintf("%.0f %%", 100 * table$share),
                   calls = table$calls, row.names = format(row.names(table))))
}
