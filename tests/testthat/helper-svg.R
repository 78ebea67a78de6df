# The bounding boxes of all texts of a plot, in points of the device; svglite draws the plot.
svg_texts <- function(draw, width = 9, height = 7) {
  file <- tempfile(fileext = ".svg")
  svglite::svglite(file, width, height)
  tryCatch(draw(), finally = grDevices::dev.off())
  lines <- grep("<text", readLines(file), value = TRUE)
  get <- function(pattern) as.numeric(sub(paste0(".*", pattern, ".*"), "\\1", lines))
  number <- "(-?[0-9.]+)"
  turned <- grepl("rotate(-90)", lines, fixed = TRUE)
  long <- get(paste0("textLength='", number, "px"))
  high <- get(paste0("font-size: ", number, "px")) * 0.75
  spot <- function(axis) {
    straight <- sub(sprintf(".*<text x='%1$s' y='%1$s'.*", number), axis, lines)
    rotated <- sub(sprintf(".*translate\\(%1$s,%1$s\\).*", number), axis, lines)
    as.numeric(ifelse(turned, rotated, straight))
  }
  x <- spot("\\1")
  y <- spot("\\2")
  anchor <- ifelse(grepl("text-anchor: middle|text-anchor='middle'", lines), 0.5,
                   ifelse(grepl("text-anchor: end|text-anchor='end'", lines), 1, 0))
  from <- -anchor * long
  text <- gsub("&gt;", ">", gsub("<[^>]*>", "", lines), fixed = TRUE)
  data.frame(text = text, left = ifelse(turned, x - high, x + from),
             right = ifelse(turned, x, x + from + long), top = ifelse(turned, y - from - long, y - high),
             bottom = ifelse(turned, y - from, y), row.names = NULL)
}

# Expects that all texts lie within the device, and that no two texts overlap.
expect_legible <- function(draw, width = 9, height = 7) {
  boxes <- svg_texts(draw, width, height)
  outside <- with(boxes, left < -0.5 | top < -0.5 | right > 72 * width + 0.5 | bottom > 72 * height + 0.5)
  expect_identical(boxes$text[outside], character())
  pairs <- utils::combn(nrow(boxes), 2)
  a <- boxes[pairs[1, ], ]
  b <- boxes[pairs[2, ], ]
  crossed <- pmin(a$right, b$right) - pmax(a$left, b$left) > 1 & pmin(a$bottom, b$bottom) - pmax(a$top, b$top) > 1
  expect_identical(paste(a$text, "and", b$text)[crossed], character())
  expect_gt(nrow(boxes), 3)
  invisible(boxes)
}
