# Text in plots: sizes, classes of values, units of axes.

# The size of a title or label that is centred at a `side` of the panel. The size of a long text is reduced such that
# the text fits within the figure. `size` is "cex.main" or "cex.lab".
text_cex <- function(text, size, side) {
  vertical <- side == 2
  before <- graphics::par("mai")[[if (vertical) 1 else 2]]
  along <- if (vertical) 2 else 1
  middle <- before + graphics::par("pin")[[along]] / 2
  room <- 2 * min(middle, graphics::par("fin")[[along]] - middle)
  font <- if (size == "cex.main") graphics::par("font.main") else 1
  long <- graphics::strwidth(text, "inches", cex = graphics::par(size), font = font)
  graphics::par(size) * min(1, 0.97 * room / max(long, 1e-9))
}

# The labels of an axis and a size at which they fit. No labels if this size would be less than half of the normal size.
legible_ticks <- function(words) {
  if (is.null(words)) return(NULL)
  room <- graphics::par("fin")[[2]] - 6 * line_inches()
  cex <- room / (length(words) * 1.3 * graphics::strheight("M", "inches"))
  if (cex < 0.5) return(list(text = character(), cex = 1))
  text <- ifelse(nchar(words) > 24, paste0(substr(words, 1, 22), "..."), words)
  list(text = text, cex = min(1, cex) * graphics::par("cex.axis"))
}

# The names of the classes of values between the borders `levels`, beginning with the largest class.
class_words <- function(levels) {
  levels <- format(levels, trim = TRUE)
  rev(paste(levels[-length(levels)], levels[-1], sep = " to "))
}

# Coordinates in the classes of the data, such as dates, for an axis.
axis_values <- function(x, k, values) {
  name <- colnames(x$parts$u)[[k]]
  fitted <- x$parts$classes[[name]]
  if (inherits(fitted, c("Date", "POSIXct"))) from_days(values, fitted) else values
}

# "distance in km" on the globe; otherwise "distance" with the unit of the coordinate reference system, if known.
distance_label <- function(x) {
  if (on_globe(x$model)) return("distance in km")
  if (measures_degrees(x)) return("distance in degrees")
  distance_words(unit_of_system(x$parts$crs))
}

distance_words <- function(unit) if (is.null(unit)) "distance" else paste("distance in", unit)

# The unit of the coordinates of a reference system of sf; NULL if the unit is unknown.
unit_of_system <- function(crs) {
  unit <- if (inherits(crs, "crs") && isNamespaceLoaded("sf")) crs$units
  if (is.character(unit) && length(unit) == 1 && !is.na(unit)) unit
}
