# Responses in blocks, and in groups of responses that were observed at the same points.

# The indices of the responses in each block; the values of a block take about 30 MB.
response_blocks <- function(responses, count = length(responses$names)) {
  width <- max(16, min(4096, floor(4e6 / responses$n)))
  split(seq_len(count), ceiling(seq_len(count) / width))
}

# The responses of a block in groups with the same observations. A group is a list of `columns`, `sets`, and the result
# of standard_responses(). The result also has `problem`: for each response, the reason why it has no fit, or NA if it
# has a fit.
grouped_responses <- function(task, responses, columns, parts, call) {
  y <- response_block(responses, columns, parts$rows) - parts$offset
  check_finite_responses(y, responses$names[columns], call)
  gaps <- is.na(y)
  problem <- rep(NA_character_, length(columns))
  groups <- lapply(columns_by_gaps(gaps), function(of) {
    rows <- which(!gaps[, of[[1]]])
    sets <- if (length(rows)) task$sets_of(rows)
    if (is.null(sets)) {
      problem[of] <<- if (length(rows)) "few" else "missing"
      return(NULL)
    }
    standard <- standard_responses(y[rows, of, drop = FALSE], sets)
    problem[of[standard$constant]] <<- "constant"
    good <- !standard$constant
    if (!any(good)) return(NULL)
    list(columns = columns[of[good]], sets = sets, y = standard$y[, good, drop = FALSE], sd = standard$sd[good],
         beta = standard$beta[, good, drop = FALSE])
  })
  list(groups = Filter(Negate(is.null), unname(groups)), problem = problem)
}

# A list with an element for each pattern of missing values: the indices of the columns with this pattern.
columns_by_gaps <- function(gaps) {
  pattern <- rep("", ncol(gaps))
  some <- which(colSums(gaps) > 0)
  pattern[some] <- apply(gaps[, some, drop = FALSE], 2, function(gap) paste(which(gap), collapse = " "))
  split(seq_along(pattern), pattern)
}

check_finite_responses <- function(y, names, call) {
  bad <- names[colSums(is.infinite(y)) > 0]
  if (length(bad)) {
    stop_kernops("input", "Responses must be finite or missing: see {.code {bad}}.", call = call)
  }
  size <- max(abs(y), 0, na.rm = TRUE)
  if (size > magnitude_limits[[2]]) check_magnitude(cbind(size), "the responses", call)
}
