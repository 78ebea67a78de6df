# The entries of K as a function of two points, for conditional distributions in sets of points.

# K as a covariance of points: its `formula` in terms of theta, x and y, into which all variables of the formula are
# joined, and the values of `theta` and of the n x d matrix `u` of points.
system_entries <- function(op, b_name, input, n, call) {
  from <- environment(op)
  variables <- from$about$variables
  formula <- gsub("\\bIndex([IJ])\\s*\\(\\s*\\)", "point_\\1", from$formula)
  variables <- rbind(variables[variables$name != b_name, c("name", "category")],
                     data.frame(name = c("point_I", "point_J"), category = c("Vi", "Vj")))
  variables <- variables[vapply(variables$name, grepl, NA, formula, fixed = TRUE), ]
  input[c("point_I", "point_J")] <- list(as.numeric(seq_len(n)))
  sides <- lapply(c(theta = "Pm", x = "Vi", y = "Vj"), function(side) {
    lapply(input[variables$name[variables$category == side]], side_values, side)
  })
  joined <- lapply(sides, function(side) unname(do.call(cbind, side)))
  if (is.null(joined$x) || !identical(joined$x, joined$y)) stop_unlike_points(call)
  places <- unlist(unname(Map(places_in, names(sides), sides)))
  # if there are no parameters, the number 1 that replaces b is a parameter, because a formula must use theta
  one <- if (is.null(joined$theta)) "theta" else "1"
  list(formula = replace_names(formula, c(places, stats::setNames(one, b_name))),
       theta = as.vector(joined$theta) %||% 1, u = joined$x)
}

# The values of a variable: a matrix with a row for each point, or one row for a parameter. The entries of a parameter
# that is a matrix are in the order of its rows.
side_values <- function(x, side) {
  x <- as.matrix(x)
  `storage.mode<-`(if (side == "Pm") matrix(t(x), 1) else unname(x), "double")
}

# For each variable, the expression that extracts its columns from the joined variable theta, x or y.
places_in <- function(joined, side) {
  sizes <- vapply(side, ncol, 0L)
  stats::setNames(sprintf("Extract(%s, %d, %d)", rep(joined, length(sizes)), cumsum(sizes) - sizes, sizes), names(side))
}

stop_unlike_points <- function(call) {
  stop_kernops("input", "This preconditioner needs the same points on both axes, by variables in the same order.",
               call = call)
}
