# Progress bars, in interactive sessions.

# Of one computation: shown once it has run for 3 seconds. Within with_bar() it is part of that bar.
progress_bar <- function(what = "Reducing") {
  if (!rlang::is_interactive()) return(NULL)
  if (!is.null(the$bar)) {
    solving <- what == "Solving"
    return(function(fraction) say_progress(detail = if (solving) paste0(", solving ", round(100 * fraction), " %")))
  }
  started <- Sys.time()
  bar <- NULL
  frame <- parent.frame()
  function(fraction) {
    if (is.null(bar) && Sys.time() - started > 3) {
      bar <<- cli::cli_progress_bar(what, total = 1, .envir = frame)
    }
    if (!is.null(bar)) cli::cli_progress_update(set = fraction, id = bar, .envir = frame)
  }
}

# One bar for all of `code`, which moves it by say_progress().
with_bar <- function(what, code, wanted = TRUE) {
  if (!wanted || !rlang::is_interactive() || !is.null(the$bar)) return(code)
  the$bar <- long_bar(what, environment())
  on.exit(the$bar <- NULL)
  code
}

# Each stays until the next one is said, `detail` until the next step.
say_progress <- function(step = NULL, fraction = NULL, detail = NULL) {
  if (!is.null(the$bar)) the$bar(step, fraction, detail)
}

long_bar <- function(what, frame) {
  words <- c("", "")
  done <- 0
  bar <- cli::cli_progress_bar(what, total = 1, .envir = frame, clear = TRUE, extra = list(words = ""),
                               format = paste("{cli::pb_name}{cli::pb_bar} {cli::pb_elapsed}, {cli::pb_eta_str}",
                                              "{cli::pb_extra$words}"))
  function(step = NULL, fraction = NULL, detail = NULL) {
    if (!is.null(step)) words <<- c(step, "")
    if (!is.null(detail)) words[[2]] <<- detail
    done <<- min(0.99, max(done, fraction))
    cli::cli_progress_update(set = done, extra = list(words = paste(words, collapse = "")), id = bar, .envir = frame)
  }
}
