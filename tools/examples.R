# Applies the examples of CONTRIBUTING.md: `Rscript tools/examples.R apply CONTRIBUTING.md COPY SCRIPTS` edits the files
# of COPY and writes the R code of each example to SCRIPTS/use-N.R. An indented block of CONTRIBUTING.md names a file.
# In this block, the line above the lines marked + is the context line. The lines marked + are added below the first
# line of the file that begins like the context line.

given <- commandArgs(TRUE)
lines <- readLines(given[[2]])
copy <- given[[3]]
scripts <- given[[4]]
lines <- lines[-seq_len(match("## Examples", lines))]

# the lines of a file, with `added` below the first line that begins like `context`
insert <- function(content, context, added, file) {
  if (is.null(context)) return(c(content, added))
  position <- which(startsWith(content, context))
  if (!length(position)) stop(file, " has no line that begins as: ", context, call. = FALSE)
  append(content, added, position[[1]])
}

apply_edits <- function(block) {
  file <- context <- NULL
  added <- character()
  flush <- function() {
    if (!length(added)) return()
    path <- file.path(copy, file)
    dir.create(dirname(path), recursive = TRUE, showWarnings = FALSE)
    content <- if (file.exists(path)) readLines(path) else character()
    writeLines(insert(content, context, added, file), path)
    added <<- character()
  }
  for (line in sub("^ {4}", "", block)) {
    if (startsWith(line, "+")) {
      added <- c(added, substring(line, 2))
    } else {
      flush()
      if (startsWith(line, " ")) context <- sub("\\s+$", "", substring(line, 2)) else {
        file <- line
        context <- NULL
      }
    }
  }
  flush()
}

indented <- startsWith(lines, "    ")
runs <- rle(indented)
ends <- cumsum(runs$lengths)
for (k in which(runs$values)) apply_edits(lines[seq(ends[[k]] - runs$lengths[[k]] + 1, ends[[k]])])

fences <- grep("^```", lines)
unlink(list.files(scripts, "^use-", full.names = TRUE))
for (k in seq(1, length(fences), 2)) {
  code <- lines[seq(fences[[k]] + 1, fences[[k + 1]] - 1)]
  writeLines(c("library(kernops)", code), file.path(scripts, sprintf("use-%d.R", (k + 1) / 2)))
}
