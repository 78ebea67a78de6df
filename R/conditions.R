# All errors of the package: the functions stop_*() raise conditions of class kernops_error and a subclass.

#' @importFrom rlang abort caller_env %||%
NULL

stop_kernops <- function(kind, message, call = NULL, ..., envir = parent.frame()) {
  call <- if (is.environment(call)) without_data(rlang::frame_call(call)) else call %||% users_call()
  message <- gsub("\\{([A-Za-z][^{}]*)\\}", "{shortly(\\1)}", message)
  cli::cli_abort(message, class = c(paste0("kernops_", kind, "_error"), "kernops_error"), call = call, ...,
                 .envir = envir)
}

# The part of a user's value that a message quotes: a long vector is shortened, because cli shows only some of its
# values but formats all of them.
shortly <- function(x) {
  if (!is.atomic(x)) return(x)
  if (length(x) > 50) x <- x[c(1:25, length(x) - 24:0)]
  if (is.character(x)) x[] <- short_text(x)
  x
}

# Converts text to UTF-8. In invalid text, each byte that is not part of a valid character becomes its hexadecimal
# number, such as <ff>.
readable_text <- function(x) {
  if (any(Encoding(x) == "bytes")) Encoding(x) <- "UTF-8"
  x <- enc2utf8(x)
  unreadable <- !validUTF8(x)
  x[unreadable] <- iconv(x[unreadable], "UTF-8", "UTF-8", sub = "byte")
  x
}

# Shortens texts of more than `max_chars` characters to their first `max_chars` characters and dots.
short_text <- function(x, max_chars = 100) {
  x <- readable_text(x)
  long <- nchar(x) > max_chars
  x[long] <- paste0(substr(x[long], 1, max_chars), "...")
  x
}

# Shortens the text between backticks in messages of C++, because these messages quote values of the user.
short_quotes <- function(message) {
  parts <- strsplit(paste0(utf8(message), " "), "`", fixed = TRUE)[[1]]
  quoted <- seq_along(parts) %% 2 == 0
  if (any(quoted)) parts[quoted] <- short_text(parts[quoted])
  sub(" $", "", gsub("(\\S{120})\\S+", "\\1...", paste(parts, collapse = "`"), perl = TRUE))
}

# C++ code calls this function to raise an error; `message` is plain text, without markup of cli.
stop_input <- function(kind, message) {
  abort(short_quotes(message), class = c(paste0("kernops_", kind, "_error"), "kernops_error"), call = users_call())
}

# The function that the user called: the last function of this package on the call stack whose caller is outside the
# package.
users_call <- function() {
  before <- seq_len(sys.parent() - 1)
  frames <- sys.frames()
  from <- sys.parents()[before]
  ours <- vapply(frames[before], function(frame) identical(topenv(frame), topenv()), NA)
  applied <- vapply(sys.calls()[before], function(call) identical(call[[1]], quote(FUN)), NA) # calls made by lapply()
  entries <- which(ours & !c(FALSE, ours)[from + 1] & !applied)
  if (length(entries)) without_data(sys.call(entries[[length(entries)]]))
}

# Calls by S4 and do.call() contain the values of arguments, which may be large; only names and single numbers are kept.
without_data <- function(call) {
  if (!is.call(call) || !is.symbol(call[[1]])) return(NULL)
  short <- function(x) if (is.language(x) || is.atomic(x) && length(x) == 1 && !is.object(x)) x else quote(...)
  as.call(lapply(call, short))
}

# A number of bytes, such as "1.6 GB".
size_text <- function(bytes) format(structure(bytes, class = "object_size"), units = "auto", standard = "SI")

# `bytes` is the size of the object that did not fit into memory, if the size is known.
stop_memory <- function(bytes = NA) {
  size <- if (!is.na(bytes)) size_text(bytes)
  stop_input("memory", paste0("there is not enough memory for this computation",
                              if (!is.null(size)) paste0(": R could not allocate ", size)))
}

# Stops if `bytes` cannot be allocated.
check_memory <- function(bytes) if (!memory_holds(bytes)) stop_memory(bytes)

# Checks that `x` is one of the choices. The vector of all choices, which is the default, means the first choice.
check_choice <- function(x, name, choices, call = caller_env(), what = "{.arg {name}}") {
  if (identical(x, choices)) return(choices[[1]])
  if (is.character(x) && length(x) == 1 && x %in% choices) return(x)
  choices <- cli::cli_vec(choices, list("vec-trunc" = Inf)) # show all
  stop_kernops("input", paste0(what, " must be one of {.or {.val {choices}}}, not ", shown(x), "."), call = call)
}

# The markup that shows a value `x` in a message: the value, or its type if the value cannot be shown.
shown <- function(x, name = deparse1(substitute(x))) {
  sprintf(if (is.atomic(x) && length(x) && !inherits(x, "integer64")) "{.val {%s}}" else "{.obj_type_friendly {%s}}",
          name)
}

check_flag <- function(x, name, call = caller_env()) {
  if (is.logical(x) && length(x) == 1 && !is.na(x)) return(x)
  stop_kernops("input", paste0("{.arg {name}} must be TRUE or FALSE, not ", shown(x), "."), call = call)
}

# Raises an error about `arguments` in dots that no function uses. `what` may contain markup of cli.
stop_further_arguments <- function(what, arguments, known = NULL, call = caller_env()) {
  names <- setdiff(names(arguments), "")
  similar <- unique(unlist(lapply(names, similar_name, known)))
  if (length(known)) known <- cli::cli_vec(known, list("vec-trunc" = Inf)) # show all
  stop_kernops("input", call = call, c(
    paste(what, if (length(names)) "has no argument {.arg {names}}." else "has too many arguments."),
    i = if (length(similar)) "Did you mean {.or {.arg {similar}}}?" else if (length(known)) {
      "Available arguments: {.arg {known}}."
    }
  ))
}

# Stops if there are `arguments` in the dots of `method`, a name such as "coef.gp". `what` is the name of the method in
# the message. Arguments whose names are in `ignored` are allowed, because callers in other packages pass them.
refuse_arguments <- function(method, arguments, what = paste0("{.fn ", sub(of_class, "", method), "}"),
                             ignored = character(), call = caller_env()) {
  of_class <- "[.](gp(_[a-z]+)?|LazyTensor|gpu_matrix)$"
  arguments <- arguments[!(names(arguments) %||% character(length(arguments))) %in% ignored]
  takes <- setdiff(names(formals(get(method, mode = "function"))), c("object", "x", "fit", "model", "A", "..."))
  if (length(arguments)) stop_further_arguments(what, arguments, takes, call)
}

# Stops if `arguments`, the contents of dots, have a name that is neither one of the `known` names nor an abbreviation
# of one of them.
check_further_arguments <- function(what, arguments, known, call = caller_env()) {
  names <- setdiff(names(arguments), "")
  unknown <- is.na(pmatch(names, known, duplicates.ok = TRUE))
  if (any(unknown)) stop_further_arguments(what, arguments[names[unknown]], known, call)
}

# Raises an error about the formula `text`. A caret in the message marks byte `position`, counted from 0; with -1, there
# is no caret. `unknown` is a name in the formula that does not exist, for which a similar name is suggested.
stop_formula <- function(message, position, unknown, text) {
  text <- utf8(text)
  abort(c(short_quotes(message), if (position >= 0) caret(text, position), suggestion(unknown)),
        class = c("kernops_formula_error", "kernops_error"), call = users_call())
}

# Shows a part of a long formula around the position. The width of the part is measured in display columns, because some
# characters occupy two columns.
caret <- function(text, position, window = 76) {
  begins <- which(bitwAnd(as.integer(charToRaw(text)), 0xc0L) != 0x80L) - 1L # the bytes at which characters begin
  place <- sum(begins < position)
  first <- max(1, place - 2 * window)
  letters <- strsplit(gsub("[\t\r\n]", " ", substr(text, first, place + 2 * window)), "")[[1]]
  before <- first - 1 + seq_along(letters) <= place
  width <- nchar(letters, type = "width")
  column <- cumsum(width)
  from <- max(0, min(sum(width[before]) - window %/% 2, sum(width) + 1 - window))
  seen <- column > from & column <= from + window
  c(" " = paste(letters[seen], collapse = ""), " " = paste0(strrep(" ", sum(width[seen & before])), "^"))
}

# Marks text that C++ created from a formula as UTF-8.
utf8 <- function(text) `Encoding<-`(text, "UTF-8")

# The operation or reduction with the most similar name.
suggestion <- function(unknown) {
  known <- c(ops_table()$name, paste0(reductions_table()$name, "_Reduction"), "Grad", "Let")
  similar <- similar_name(unknown, known)
  if (!is.null(similar)) c(i = paste0("Did you mean `", similar, "`?"))
}

# The most similar known name; NULL if more than a third of the characters differ, where the suffix `_Reduction` is not
# counted among the characters. Swapping two letters counts as one change.
similar_name <- function(unknown, known) {
  if (!length(known) || !nzchar(unknown) || nchar(unknown, "bytes") > 60) return(NULL)
  distance <- as.vector(utils::adist(unknown, known, ignore.case = TRUE))
  letters <- function(x) vapply(strsplit(tolower(x), ""), \(x) paste(sort(x), collapse = ""), "")
  distance <- distance - (distance == 2 & letters(known) == letters(unknown))
  if (min(distance) > max(1, nchar(sub("_reduction$", "", unknown, ignore.case = TRUE)) %/% 3)) return(NULL)
  known[which.min(distance)]
}

check_seed <- function(seed, call = caller_env()) {
  largest <- .Machine$integer.max
  if (!is.null(seed)) check_number(seed, "seed", least = -largest, whole = TRUE, most = largest, call = call)
}
