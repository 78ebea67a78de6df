# How leaves are made, joined and printed.

# `formula` may speak of {q}, the squared distance over the squared range. `spectrum` draws frequencies (gp_spectrum.R),
# given the parameters and `constants`. `screens`: whether the correlation decreases with the distance. `intrinsic`:
# whether `formula` is a variogram.
stationary <- function(label, formula, parameters, ard = FALSE, angle = NULL, ratio = NULL, distance = NULL,
                       dims = NULL, fixed = character(), ..., time = NULL, speed = NULL, about = NULL,
                       most_dims = Inf, spectrum = NULL, constants = list(), unit_range = FALSE, screens = TRUE,
                       intrinsic = FALSE, call = caller_env()) {
  if (...length()) {
    known <- c(setdiff(names(formals(label)), "..."), "ard",
               if (!unit_range) c("angle", "ratio", "distance", "time", "speed"), "dims", "fixed")
    stop_further_arguments(paste0("{.fn ", label, "}"), list(...), known, call)
  }
  check_flag(ard, "ard", call)
  if (ard && !"range" %in% names(parameters)) {
    stop_kernops("input", "{.fn {label}} has no {.arg range}: {.arg ard} is not possible.", call = call)
  }
  if (!is.null(distance)) check_choice(distance, "distance", c("euclidean", "great_circle"), call)
  great_circle <- identical(distance, "great_circle")
  anisotropic <- !is.null(angle) || !is.null(ratio)
  if (anisotropic && (ard || length(parameters$range) > 1 || great_circle)) {
    stop_kernops("input", "{.arg angle} and {.arg ratio} require a single {.arg range} and Euclidean distance.",
                 call = call)
  }
  if (anisotropic) parameters <- c(parameters, anisotropy(angle, ratio, call))
  if (great_circle && (ard || length(parameters$range) > 1)) {
    stop_kernops("input", "Great-circle distance requires a single {.arg range}.", call = call)
  }
  if (!is.null(time) || !is.null(speed)) {
    check_time(time, parameters, ard || anisotropic || !is.null(distance), call)
    parameters <- c(parameters, list(speed = speed))
  }
  leaf <- new_leaf(label, formula, parameters, fixed, dims, about = about, call = call)
  leaf$ard <- ard || length(parameters$range) > 1
  leaf$time <- time
  leaf$geometry <- if (anisotropic) "anisotropic" else if (!is.null(time)) "space_time" else
    if (unit_range) "none" else distance %||% "euclidean"
  leaf$distance <- distance  # what the user chose, if anything
  leaf$translation_invariant <- !great_circle  # not where coordinates are angles
  leaf[c("most_dims", "spectrum", "constants", "unit_range", "screens", "intrinsic")] <-
    list(most_dims, spectrum, constants, unit_range, screens, intrinsic)
  leaf
}

check_time <- function(time, parameters, other, call) {
  if (is.null(time)) stop_kernops("input", "{.arg speed} needs {.arg time}, the number of a coordinate.", call = call)
  check_number(time, "time", least = 1, whole = TRUE, call = call)
  if (!other && "range" %in% names(parameters) && length(parameters$range) <= 1) return(invisible())
  stop_kernops("input", "{.arg time} requires a single {.arg range}, without {.arg ard}, {.arg angle}, {.arg ratio} and
                         {.arg distance}.", call = call)
}

# One angle and ratio in the plane, three angles and two ratios in space.
anisotropy <- function(angle, ratio, call) {
  in_space <- length(angle) == 3 || length(ratio) == 2
  given <- list(angle = angle %||% rep(0, if (in_space) 3 else 1), ratio = ratio %||% rep(0.5, if (in_space) 2 else 1))
  if (identical(lengths(given, use.names = FALSE), if (in_space) 3:2 else c(1L, 1L))) return(given)
  stop_kernops("input", "Anisotropy needs one {.arg angle} and one {.arg ratio} in 2-D, three angles and two ratios in
                         3-D.", call = call)
}

new_leaf <- function(label, formula, parameters, fixed = character(), dims = NULL, translation_invariant = TRUE,
                     about = NULL, own = FALSE, call = caller_env()) {
  check_subset(fixed, "fixed", names(parameters), call)
  for (name in names(parameters)) check_parameter(parameters[[name]], name, own, call)
  if (length(lacking <- fixed[vapply(parameters[fixed], is.null, NA)])) {
    stop_kernops("input", "{.arg {lacking}} must have a value if it is fixed.", call = call)
  }
  if (!is.null(dims) && !(is.numeric(dims) && length(dims) && all(is.finite(dims) & dims >= 1 & dims == floor(dims)) &&
                          !anyDuplicated(dims))) {
    stop_kernops("input", "{.arg dims} must contain coordinate numbers, counted from 1, such as {.code 1:2}.",
                 call = call)
  }
  structure(list(kind = "leaf", label = label, formula = formula, parameters = parameters, fixed = unique(fixed),
                 dims = dims, translation_invariant = translation_invariant, about = about, ard = FALSE,
                 geometry = "none", most_dims = Inf, positive = NULL, own = own,
                 unit_range = FALSE, screens = FALSE, intrinsic = FALSE), class = "kernops_covariance")
}

check_parameter <- function(x, name, own, call) {
  if (is.null(x)) return()
  if (!is.numeric(x) || !length(x) || !all(is.finite(x))) {
    stop_kernops("input", "{.arg {name}} must be finite and numeric, or {.code NULL} to be estimated.", call = call)
  }
  if (own || name == "center") return()
  if (length(x) > 1 && !name %in% c("range", "angle", "ratio")) {
    stop_kernops("input", "{.arg {name}} must be one number, not {length(x)}.", call = call)
  }
  if (name == "ratio" && any(x > 1)) {
    stop_kernops("input", "{.arg ratio} must be at most 1, not {.val {x}}: {.arg angle} is the direction of the
                           longest range.",
                 call = call)
  }
  if (name != "angle") check_positive(x, name, call)
}

check_positive <- function(x, name, call = caller_env()) {
  if (!all(x > 0)) stop_kernops("input", "{.arg {name}} must be positive, not {.val {x}}.", call = call)
}

check_subset <- function(x, name, choices, call = caller_env()) {
  if (is.null(x) || (is.character(x) && all(x %in% choices))) return(invisible())
  if (is.character(x)) x <- setdiff(x, choices)
  stop_kernops("input", paste0("{.arg {name}} must be among {.val {choices}}, not ", shown(x), "."), call = call)
}

format_leaf <- function(x) {
  given <- Filter(Negate(is.null), x$parameters)
  if (x$label == "linear" && identical(given$center, 0)) given$center <- NULL
  values <- vapply(given, function(v) {
    text <- signif(v, 4)
    if (length(v) > 1) paste0("c(", toString(text), ")") else paste(text)
  }, "")
  marks <- ifelse(names(given) %in% setdiff(x$fixed, "center"), " (fixed)", "")
  open <- "nu" %in% names(x$parameters) && is.null(given$nu)
  shown <- c(if (x$own) deparse(x$formula), x$about, if (open) "nu = NA",
             if (length(given)) paste0(names(given), " = ", values, marks),
             if (x$ard && is.null(given$range)) "ard = TRUE",
             if (x$geometry == "great_circle") "great circle",
             if (!is.null(x$time)) paste0("time = ", x$time),
             if (!is.null(x$dims) && !isTRUE(x$placed) && !length(x$sees))
               paste0("dims = ", paste(x$dims, collapse = ",")))
  if (length(x$sees) && !length(shown)) return(x$label)
  paste0(x$label, "(", toString(shown), ")")
}
