# Functions that mask functions of other packages. A call without a LazyTensor is forwarded to the masked function.

# The first function with the given name on the search path, except in kernops and in the global environment.
masked <- function(name) {
  for (place in setdiff(search(), c(".GlobalEnv", "package:kernops"))) {
    if (exists(name, place, mode = "function", inherits = FALSE)) return(get(name, place, mode = "function"))
  }
}

belongs_elsewhere <- function(name, ...) {
  !any(vapply(list(...), is_lazy, NA)) && !is.null(masked(name))
}

# Evaluates the call as the user wrote it, because some arguments are names of columns. The first argument has already
# been evaluated and is passed as a value.
hand_on <- function(name, call, first, value, frame = parent.frame(2)) {
  other <- masked(name)
  if (is.null(other)) stop_kernops("input", "{.fn {name}} requires the argument {.arg {first}}.", call = call)
  here <- new.env(parent = frame)
  call[[1]] <- other
  labels <- rlang::names2(as.list(call))
  position <- c(which(labels == first), which(labels == "" & seq_along(labels) > 1))[1]
  if (!missing(value) && !is.na(position) && !"data" %in% labels) {
    here$.first <- value
    call[[position]] <- quote(.first)
  }
  eval(call, here)
}
