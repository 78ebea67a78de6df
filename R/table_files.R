# The files in the work directory of a table. A file has its name only when it is complete, so that an interrupted fit
# can continue from the existing files.

# Creates a store, which is a directory below `workdir` for the fit with the key `key`. Without a `workdir`, the store
# is a temporary directory below `parent`, which is removed when the last reference to the store is gone.
new_store <- function(workdir, key, call = caller_env(), parent = workdir %||% tempdir()) {
  kept <- !is.null(workdir)
  path <- file.path(parent, paste0("kernops-", substr(rlang::hash(key), 1, 16)))
  if (!kept) path <- tempfile("kernops-", parent)
  if (!dir.create(path, recursive = TRUE, showWarnings = FALSE) && !dir.exists(path)) {
    stop_kernops("disk", "The work directory {.file {path}} cannot be made.", call = call)
  }
  store <- list2env(list(path = normalizePath(path), kept = kept), parent = emptyenv())
  if (!kept) reg.finalizer(store, remove_store, onexit = TRUE)
  store
}

remove_store <- function(store) unlink(store$path, recursive = TRUE)

in_store <- function(store, ...) file.path(store$path, paste0(...))

# Returns the result of compute(), and writes it to the store, so that a fit with the same key reads the result instead.
stage_of <- function(store, name, compute) {
  path <- in_store(store, name)
  if (file.exists(path)) return(read_object(path))
  result <- compute()
  write_object(path, result)
  result
}

write_object <- function(path, x) {
  write_bytes(partial_path(path), serialize(x, NULL, xdr = FALSE), append = FALSE)
  finish_file(path)
}

read_object <- function(path) {
  check_file(path)
  unserialize(readBin(path, "raw", file.size(path)))
}

check_file <- function(path) {
  if (file.exists(path)) return(invisible())
  stop_kernops("disk", c("The work directory of the fit lacks the file {.file {path}}.",
                         i = "Fits keep their observations in files of {.code gp_control(workdir = )}: a temporary
                              directory lasts as long as the session of R."))
}

# The name of a file until it is complete.
partial_path <- function(path) paste0(path, ".part")

finish_file <- function(path) {
  if (!file.rename(partial_path(path), path)) stop_disk(path)
}

# append_rows() appends the rows of a matrix to a file, and write_rows() replaces the file. read_rows() reads all rows
# of such a file, or `count` rows after the first `skip` rows.
append_rows <- function(path, rows) write_bytes(path, bytes_of_rows(rows), append = TRUE)
write_rows <- function(path, rows) write_bytes(path, bytes_of_rows(rows), append = FALSE)
bytes_of_rows <- function(rows) writeBin(as.vector(t(rows)), raw())

read_rows <- function(path, names, skip = 0, count = Inf) {
  check_file(path)
  width <- length(names)
  con <- file(path, "rb")
  on.exit(close(con))
  if (skip > 0) seek(con, 8 * width * skip)
  count <- min(count, file.size(path) / (8 * width) - skip)
  matrix(readBin(con, "double", count * width), ncol = width, byrow = TRUE, dimnames = list(NULL, names))
}

# Writes bytes and checks the size of the file. The check is necessary because R may report a full disk only when the
# file is closed, or not at all.
write_bytes <- function(path, bytes, append) {
  force(bytes) # evaluated here, so that an error in this computation is not reported as an error of the disk
  before <- if (append && file.exists(path)) file.size(path) else 0
  tryCatch(put_bytes(path, bytes, if (append) "ab" else "wb"), error = function(e) stop_disk(path, e),
           warning = function(w) stop_disk(path, w))
  if (!identical(file.size(path), before + length(bytes))) stop_disk(path)
}

put_bytes <- function(path, bytes, mode) {
  con <- file(path, mode)
  on.exit(close(con))
  writeBin(bytes, con)
}

stop_disk <- function(path, parent = NULL) {
  stop_kernops("disk", c("The file {.file {path}} cannot be written: the disk may be full.",
                         i = "{.code gp_control(workdir = )} takes a directory with more space."), parent = parent)
}
