# Options, and the corresponding environment variables, that determine where computations run.

kernops_option <- function(name, default = NULL) {
  twins <- option_twins[[name]]
  value <- getOption(twins[[1]])
  if (!is.null(value)) return(value)
  value <- Sys.getenv(twins[[2]])
  if (nzchar(value)) value else default
}

# The names of the option and the environment variable of each setting. The table of these names is created once,
# because each call of an operator reads several settings.
option_names <- c("backend", "device", "precision", "threads", "isa", "tile", "cache_dir", "dense_entries",
                  "progress")
option_twins <- sapply(option_names, function(name) {
  c(paste0("kernops.", name), paste0("KERNOPS_", toupper(name)))
}, simplify = FALSE)

threads <- function() as.integer(min(counting_option("threads", default_threads()), 1024))

# The number of values that operations on segments process per chunk of work; 0 for the default number.
segment_tile <- function() min(counting_option("tile", 0), 2^30)

counting_option <- function(name, default) {
  asked <- kernops_option(name)
  if (is.null(asked)) return(default)
  n <- if (is.atomic(asked)) suppressWarnings(as.numeric(asked)) else NA
  if (length(n) == 1 && !is.na(n) && n >= 1 && n == floor(n)) return(n)
  stop_kernops("input", paste0("The option {.code kernops.{name}} must be a positive whole number, not ",
                               shown(asked), "."))
}

# The instruction set of the CPU; "" for the best available.
isa <- function() {
  asked <- kernops_option("isa", "")
  if (identical(asked, "") || is.character(asked) && length(asked) == 1 && asked %in% cpu_isas()) return(asked)
  stop_kernops("input", c(paste0("The option {.code kernops.isa} must be an instruction set of this machine, not ",
                                 shown(asked), "."),
                          i = "{.run kernops::kernops_sitrep()} lists them."))
}

# The number of cores, reduced to OpenMP's thread limit if one is set, and to at most two under R CMD check.
default_threads <- function() {
  if (is.null(the$cores)) the$cores <- available_cores()
  set <- Sys.getenv(c("OMP_THREAD_LIMIT", "_R_CHECK_LIMIT_CORES_"), names = FALSE)
  if (!any(nzchar(set))) return(the$cores) # evaluated at every call
  limit <- if (nzchar(set[[1]])) suppressWarnings(as.integer(set[[1]])) else NA
  checking <- tolower(set[[2]]) %in% c("true", "warn")
  max(1L, min(the$cores, limit, if (checking) 2L, na.rm = TRUE))
}

# The number of cores that this process may use: all cores of the machine, unless the system allows fewer. Linux limits
# a process by a list of allowed cores, and by the quota of CPU time of a container (cgroup, versions 2 and 1).
available_cores <- function(root = "/") {
  fields <- function(path, ...) {
    tryCatch(suppressWarnings(scan(file.path(root, path), "", quiet = TRUE, ...)), error = function(e) character())
  }
  status <- fields("proc/self/status", sep = "\n")
  ranges <- sub(".*:\\s*", "", grep("^Cpus_allowed_list:", status, value = TRUE))
  ends <- lapply(strsplit(as.character(unlist(strsplit(ranges, ","))), "-"), as.integer)
  allowed <- sum(vapply(ends, function(range) range[[length(range)]] - range[[1]] + 1L, 0L))
  folder <- "sys/fs/cgroup"
  quota <- fields(file.path(folder, "cpu.max"))
  if (!length(quota)) {
    quota <- unlist(lapply(file.path(folder, "cpu", c("cpu.cfs_quota_us", "cpu.cfs_period_us")), fields))
  }
  quota <- suppressWarnings(as.numeric(quota))
  share <- if (length(quota) == 2) ceiling(quota[[1]] / quota[[2]])
  counts <- c(parallel::detectCores(), allowed, share)
  as.integer(max(1, min(Inf, counts[which(counts > 0)])))
}

# Evaluates code in one of `count` processes that share the cores of a machine. Without this division, each process
# would use as many threads as there are cores. A number of threads that the user has set is kept.
sharing_cores <- function(count, code) {
  if (is.null(kernops_option("threads"))) {
    before <- options(kernops.threads = max(1L, threads() %/% as.integer(count)))
    on.exit(options(before))
  }
  code
}

the <- new.env(parent = emptyenv())

# Checks and returns a backend. `device` has the indices of the GPUs that the backends "cuda" and "auto" would use.
check_backend <- function(backend, device = check_device(NULL), call = caller_env()) {
  backend <- check_setting(backend, "backend", backend_choices(), call, default = c("auto", "cpu", "cuda"))
  named <- backend == "auto" && !identical(device, 0L) && !nzchar(cuda_problem(integer()))
  if (backend == "cuda" || named) check_gpu(device, call)
  backend
}

backend_choices <- function() the$backends <- the$backends %||% c("auto", rev(backend_names()))

check_gpu <- function(device = 0L, call = caller_env()) {
  if (nzchar(problem <- cuda_problem(device))) {
    stop_kernops("cuda", c("The CUDA backend cannot be used: {problem}.",
                           i = "{.run kernops::kernops_sitrep()} gives details; {.code backend = \"cpu\"} always
                                works."), call = call)
  }
}

# The GPU for computations on a single GPU.
first_device <- function() {
  if (identical(kernops_option("device", 0L), 0L)) 0L else check_device(NULL)[[1]] # evaluated at every call
}

# The indices of the GPUs to use, counted from 0 as the driver counts them. By default, the indices come from the option
# or from the environment variable, whose value is a text such as "0:3" or "0,2".
check_device <- function(device, call = caller_env()) {
  what <- if (is.null(device)) "The option {.code kernops.device}" else "{.arg device}"
  if (is.null(device)) device <- kernops_option("device", 0L)
  numbers <- if (is.character(device)) device_numbers(device) else device
  whole <- is.numeric(numbers) && length(numbers) > 0 && all(is.finite(numbers)) &&
    all(numbers == floor(numbers) & numbers >= 0 & numbers < most_devices)
  if (whole && !anyDuplicated(numbers)) return(as.integer(numbers))
  stop_kernops("input", c(paste(what, "must contain distinct GPU numbers, counted from 0, such as {.code 0:3}."),
                          x = if (length(device)) paste0("It is ", shown(device), ".")), call = call)
}

most_devices <- 1e6

device_numbers <- function(text) {
  if (length(text) != 1 || !grepl("^ *[0-9]+( *[,:] *[0-9]+)* *$", text)) return(NA)
  bounds <- strsplit(strsplit(text, ",")[[1]], ":")
  unlist(lapply(bounds, function(bound) {
    ends <- as.numeric(bound[c(1, length(bound))])
    if (all(ends < most_devices)) ends[[1]]:ends[[2]] else NA
  }))
}

# Most functions compute in float64 or float32; formulas and GPU matrices pass more precisions as `choices`.
check_precision <- function(precision, choices = c("float64", "float32"), call = caller_env()) {
  check_setting(precision, "precision", choices, call)
}

# Checks an argument; if the argument is the vector of all choices, which is the default, the option determines the
# value.
check_setting <- function(value, name, choices, call, default = choices) {
  if (!identical(value, default)) return(check_choice(value, name, choices, call))
  check_choice(kernops_option(name, choices), name, choices, call, what = "The option {.code kernops.{name}}")
}

# TRUE if computations with a checked backend may run on a GPU.
may_use_gpu <- function(backend) backend == "cuda" || backend == "auto" && !nzchar(cuda_problem(integer()))

# The backend of a fit, or "cpu" if the fit was made on a GPU and this machine has no usable GPU.
usable_backend <- function(backend) {
  if (backend != "cuda" || !nzchar(problem <- cuda_problem(first_device()))) return(backend)
  cli::cli_inform(c(i = "This fit was made on a GPU, which cannot be used here ({problem}): the CPU is used instead."),
                  class = "kernops_no_gpu")
  "cpu"
}
