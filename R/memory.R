# Shortage of memory in R code: R's error about memory has no class, and its text is in the language of the session.

# Evaluates the body of a function that users call; see zzz.R. The handler leaves `code` before stop_memory() raises the
# error, so that the memory of the functions that `code` called is already free. All other errors are passed on.
report_shortage <- function(code) {
  bytes <- NULL
  on.exit(if (!is.null(bytes)) stop_memory(bytes))
  delayedAssign("leave", return(NULL))
  withCallingHandlers(code, error = function(e) {
    bytes <<- missing_bytes(e)
    if (!is.null(bytes)) leave
  })
}

# The number of bytes that R could not allocate; NA if the error does not contain this number; NULL for any other error.
missing_bytes <- function(error) {
  if (inherits(error, "rlang_error")) return(NULL)
  message <- conditionMessage(error)
  for (k in seq_along(shortage_messages)) {
    pattern <- message_pattern(names(shortage_messages)[[k]])
    if (!grepl(pattern, message)) next
    size <- as.numeric(sub(",", ".", sub(paste0(".*", pattern, ".*"), "\\1", message), fixed = TRUE))
    return(size * shortage_messages[[k]])
  }
}

# A regular expression that matches a message of R, in the language of the session, with numbers in place of C formats.
message_pattern <- function(text) {
  text <- gsub("([][(){}.?*+^$|\\])", "\\\\\\1", gettext(text, domain = "R"))
  gsub("%[0-9\\]*[.]?[0-9]*l*[fdu]", "([0-9.,]+)", text)
}

# R's messages about a shortage of memory, including those of other versions of R, and the units of the numbers of bytes
# in these messages.
shortage_messages <- c(
  "cannot allocate vector of size %0.f Kb" = 2^10, "cannot allocate vector of size %0.1f Kb" = 2^10,
  "cannot allocate vector of size %0.1f Mb" = 2^20, "cannot allocate vector of size %0.1f Gb" = 2^30,
  "cannot allocate vector of size %0.1f Tb" = 2^40, "cannot allocate vector of length %lld" = NA,
  "cannot allocate memory block of size %0.f Tb" = NA, "cannot allocate memory block of size %0.1f Tb" = NA,
  "memory exhausted (limit reached?)" = NA, "vector memory limit of %0.1f Gb reached, see mem.maxVSize()" = NA,
  "could not allocate memory (%u Mb) in C function 'R_AllocStringBuffer'" = NA,
  "'R_Calloc' could not allocate memory (%.0f of %u bytes)" = NA, "'Calloc' could not allocate memory" = NA,
  "'R_Realloc' could not re-allocate memory (%.0f bytes)" = NA, "'Realloc' could not re-allocate memory" = NA,
  "Failed to realloc working memory" = NA, "Failed to realloc working memory %d*8bytes (xsub in dradix), radix=%d" = NA,
  "Failed to realloc working memory %d*8bytes (xsub in iradix), radix=%d" = NA
)
