# Functions that check arguments of segmented reductions and of reductions along axes: the values, the weights, and the
# result of an empty segment.

# Checks that x is a matrix or a vector; an array with one dimension is a vector.
check_values <- function(x, backend = "auto", call = caller_env(), name = "x") {
  if (backend == "cpu" && is_gpu_matrix(x)) {
    stop_kernops("input", c("The backend {.val cpu} cannot read a {.cls gpu_matrix}: {.arg {name}}.",
                            i = "The backend {.val auto} runs where the data are; {.fn as.matrix} copies them back."),
                 call = call)
  }
  if (!is_plain(x) && !is_gpu_matrix(x)) {
    stop_kernops("input", c(paste("{.arg {name}} must be a vector or matrix of numbers or logicals,",
                                  "not {.obj_type_friendly {x}}."),
                            i = if (is.data.frame(x)) "{.fn as.matrix} converts it."), call = call)
  }
  check_two_dims(x, name, call)
  if (length(dim(x)) == 1) c(x) else x
}

check_two_dims <- function(x, name, call) {
  if (length(dim(x)) <= 2) return(invisible())
  stop_kernops("dim", "{.arg {name}} must be a vector or matrix, not an array of {length(dim(x))} dimensions.",
               call = call)
}

# TRUE for numbers or logicals of R without a class that gives the bits another meaning, such as integer64.
is_plain <- function(x) {
  (is.numeric(x) || is.logical(x)) && !inherits(x, c("factor", "integer64", "Date", "POSIXct", "difftime"))
}

is_plain_numeric <- function(x) is.numeric(x) && is_plain(x)

joins_bits <- function(op) !inherits(op, "seg_op") && startsWith(op, "bit_")

check_bits <- function(op, x, call = caller_env()) {
  if (!joins_bits(op) || is.integer(x) || is.logical(x) || is_classed(x)) return(invisible())
  stop_kernops("input", "The operation {.val {op}} requires integers, not {.obj_type_friendly {x}}.", call = call)
}

check_one <- function(x, name, call = caller_env()) {
  if (is_plain(x) && length(x) == 1) return(as.numeric(x))
  stop_kernops("input", paste0("{.arg {name}} must be one number, not ", shown(x), "."), call = call)
}

check_weights <- function(w, x, op, call) {
  takes <- with(segment_ops(), name[weights])
  if (inherits(op, "seg_op")) op <- op$formula
  if (!op %in% takes) {
    stop_kernops("input", "{.arg weights} is available for the operations {.val {takes}}, not for {.val {op}}.",
                 call = call)
  }
  w <- check_weight_numbers(w, x, call)
  negative <- if (op %in% c("var", "sd", "logsumexp")) which(w < 0)
  if (length(negative)) {
    stop_kernops("input", "{.arg weights} must not be negative here; element {negative[[1]]} is {w[[negative[[1]]]]}.",
                 call = call)
  }
  w
}

check_weight_numbers <- function(w, x, call) {
  if (!is_plain(w)) {
    stop_kernops("input", "{.arg weights} must be numeric, not {.obj_type_friendly {w}}.", call = call)
  }
  if (length(w) != value_count(x)) {
    stop_kernops("input", call = call, "{.arg weights} must have one number for each of the {value_count(x)} value{?s},
                                        not {length(w)}.")
  }
  as.numeric(w)
}
