# Progress bars, in interactive sessions. A bar is closed at the end of the frame for which it was created, and never
# moves backwards.

# The progress bar of one computation, which is shown after some seconds. Within with_bar(), no second bar is shown: the
# computation then updates the bar of with_bar().
progress_bar <- function(what = "Reducing", after = 3) {
  if (!shows_progress()) return(NULL)
  forwards <- rising()
  if (!is.null(the$bar)) {
    solving <- what == "Solving"
    return(function(fraction) {
      say_progress(detail = if (solving) paste0(", solving ", round(100 * forwards(fraction)), " %"))
    })
  }
  started <- Sys.time()
  bar <- NULL
  frame <- parent.frame()
  function(fraction) {
    done <- forwards(fraction)
    if (is.null(bar) && Sys.time() - started > after) {
      bar <<- long_bar(what, frame)
    }
    if (!is.null(bar)) bar(fraction = done)
  }
}

shows_progress <- function() rlang::is_interactive() && !(kernops_option("progress", TRUE) %in% c("FALSE", "none"))

# Returns a function that returns the largest of all fractions with which it was called. Fractions may decrease, because
# a solver may restart and a residual may grow. The result is below 1, because cli removes a bar at 1, and a later
# update would be an error.
rising <- function() {
  done <- 0
  function(fraction) done <<- min(0.99, max(done, fraction[is.finite(fraction)]))
}

# Shows one bar while `code` is evaluated; `code` updates the bar by say_progress(). The bar belongs to the frame of
# with_bar(), so that cli closes the bar when with_bar() ends.
with_bar <- function(what, code, shown = TRUE) {
  if (!shown || !shows_progress() || !is.null(the$bar)) return(code)
  on.exit(the$bar <- NULL, add = TRUE)
  the$bar <- long_bar(what, environment())
  code
}

# Shows the arguments in the current bar. A `step` or a `fraction` stays until a later call replaces it, and a `detail`
# stays until the next call with a detail or a step.
say_progress <- function(step = NULL, fraction = NULL, detail = NULL) {
  if (!is.null(the$bar)) the$bar(step, fraction, detail)
}

# Evaluates `code`. The fractions 0 to 1 that `code` reports are converted to the fractions `from` to `to` of the bar.
part_of_bar <- function(from, to, code) {
  whole <- the$bar
  if (is.null(whole) || from == 0 && to == 1) return(code)
  on.exit(the$bar <- whole)
  the$bar <- function(step = NULL, fraction = NULL, detail = NULL) {
    whole(NULL, if (length(fraction)) from + (to - from) * fraction, if (is.null(step)) detail else paste0(", ", step))
  }
  code
}

long_bar <- function(what, frame) {
  words <- c("", "")
  forwards <- rising()
  bar <- cli::cli_progress_bar(what, total = 1, .envir = frame, clear = TRUE, extra = list(words = ""),
                               format = paste("{cli::pb_name}{cli::pb_bar} {cli::pb_elapsed}, {cli::pb_eta_str}",
                                              "{cli::pb_extra$words}"))
  function(step = NULL, fraction = NULL, detail = NULL) {
    if (!is.null(step)) words <<- c(step, "")
    if (!is.null(detail)) words[[2]] <<- detail
    cli::cli_progress_update(set = forwards(fraction), extra = list(words = paste(words, collapse = "")), id = bar,
                             .envir = frame)
  }
}
