# The frame of a panel of plot(). The margins fit the labels of axes and the legend; the sizes of these texts are
# measured on the device.

# Colours that colour-blind people can distinguish, without yellow, which is pale on white paper.
class_colours <- function(count) {
  safe <- grDevices::palette.colors(8, "Okabe-Ito")[c("blue", "vermillion", "bluishgreen", "orange", "reddishpurple",
                                                      "skyblue")]
  if (count > length(safe)) viridis(count) else unname(safe)[seq_len(count)]
}

most_drawn <- 5000
# The maximum size of a sample of observations that are predicted for a plot. Predicting 1000 observations takes about a
# second.
most_predicted <- 1000

drawn_rows <- function(n) spaced_rows(n, most_drawn)

# An empty panel for x and y, which may be dates. The user's `arguments` replace the defaults; `legend` is optional text
# in the right margin; `ticks` are labels at the vertical positions 1, 2, ... Returns the previous graphical parameters.
open_panel <- function(x, y, xlab, ylab, main, arguments, legend = NULL, asp = NA, ticks = NULL) {
  chosen <- utils::modifyList(list(xlim = range(x, na.rm = TRUE, finite = TRUE),
                                   ylim = range(y, na.rm = TRUE, finite = TRUE),
                                   xlab = xlab, ylab = ylab, main = main, asp = asp, las = 1), arguments)
  graphics::plot.new()
  # scipen = 7 lets axis labels show northings such as 5200000 without an exponent
  digits <- options(scipen = 7)
  on.exit(options(digits))
  before <- graphics::par("mar", "mgp")
  ticks <- legible_ticks(ticks)
  margins <- margins_for(chosen, legend, ticks)
  graphics::par(mar = margins, mgp = c(2.2, 0.7, 0))
  graphics::par(mar = margins_to_scale(margins, chosen), new = TRUE)
  label <- chosen$ylab
  title <- chosen$main
  chosen[c("ylab", "main")] <- ""
  chosen$cex.lab <- chosen$cex.lab %||% text_cex(chosen$xlab, "cex.lab", 1)
  if (!is.null(ticks)) chosen$yaxt <- "n"
  drawn <- intersect(names(chosen), arguments_of_frame)
  do.call(graphics::plot.default, c(list(x = chosen$xlim, y = chosen$ylim, type = "n"), chosen[drawn]))
  if (length(ticks$text)) {
    graphics::axis(2, seq_along(ticks$text), ticks$text, las = 1, cex.axis = ticks$cex, gap.axis = -1)
  }
  graphics::title(ylab = label, line = margins[[2]] - 1.3, cex.lab = text_cex(label, "cex.lab", 2))
  graphics::title(main = title, line = 0.8, cex.main = text_cex(title, "cex.main", 3))
  before
}

# The arguments of plot() that open_panel() accepts.
arguments_of_frame <- c("xlim", "ylim", "xlab", "ylab", "main", "sub", "asp", "las", "log", "cex.axis", "cex.lab",
                        "cex.main", "bty", "axes", "frame.plot", "ann", "xaxt", "yaxt", "xaxs",
                        "yaxs")

# The height of one line of margin in inches.
line_inches <- function() graphics::par("mai")[[1]] / graphics::par("mar")[[1]]

text_inches <- function(text, cex = 1) {
  if (length(text)) max(graphics::strwidth(text, "inches", cex = cex)) else 0
}

# The margins. Tick labels are 0.7 lines away from the axis, and the axis label is outside the tick labels. A legend has
# a box next to each line of its text. Half of the last label of the horizontal axis may extend beyond the panel.
margins_for <- function(chosen, legend, ticks = NULL) {
  lines <- function(text, cex = graphics::par("cex.axis")) text_inches(text, cex) / line_inches()
  right <- max(0.5 + lines(format(pretty(chosen$xlim))) / 2,
               if (length(legend)) 2.5 + lines(legend, legend_cex))
  left <- if (is.null(ticks)) lines(format(pretty(chosen$ylim))) else lines(ticks$text, ticks$cex)
  c(3.6, left + 2.7, if (nzchar(chosen$main)) 2.4 else 1, right)
}

# Margins for a map with equal scales, widened so that the frame fits the data.
margins_to_scale <- function(margins, chosen) {
  if (is.na(chosen$asp) || any(vapply(chosen[c("xlim", "ylim")], diff, 0) <= 0)) return(margins)
  room <- graphics::par("pin")
  high <- chosen$asp * diff(chosen$ylim) / diff(chosen$xlim) * room[[1]]
  spare <- c(max(0, room[[2]] - high), max(0, room[[1]] - room[[1]] * room[[2]] / high)) / line_inches() / 2
  margins + spare[c(1, 2, 1, 2)]
}

legend_cex <- 0.75

# Draws a legend in the right margin, from top to bottom, with the symbols or colours of legend(). The text is reduced
# if the panel is small.
margin_legend <- function(text, ...) {
  corner <- graphics::par("usr")[c(2, 4)]
  room <- graphics::par("pin")[[2]] / (1.3 * graphics::strheight("M", "inches") * (length(text) + 1))
  graphics::legend(corner[[1]], corner[[2]], text, ..., bty = "n", cex = min(legend_cex, room), xpd = NA)
}
