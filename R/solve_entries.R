# The entries of K as a function of two points, for conditional distributions in sets of points.

# Describes K as a covariance of points. All variables of the formula of `op` are joined to three variables: theta, x
# and y. Returns a list of the `formula` in these variables, the value of `theta`, and the n x d matrix `u` of the
# points.
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
  # the number 1 replaces b. If there are no parameters, a variable theta with the value 1 replaces b, because the
  # formula must contain theta
  one <- if (is.null(joined$theta)) "theta" else "1"
  list(formula = replace_names(formula, c(places, stats::setNames(one, b_name))),
       theta = as.vector(joined$theta) %||% 1, u = joined$x)
}

# The values of a variable as a matrix: with a row for each point, or with one row for a parameter. If the parameter is
# a matrix, this row contains the rows of the matrix, one after the other.
side_values <- function(x, side) {
  x <- as.matrix(x)
  `storage.mode<-`(if (side == "Pm") matrix(t(x), 1) else unname(x), "double")
}

# For each variable, the expression that extracts its columns from `joined`, which is theta, x or y.
places_in <- function(joined, side) {
  sizes <- vapply(side, ncol, 0L)
  stats::setNames(sprintf("Extract(%s, %d, %d)", rep(joined, length(sizes)), cumsum(sizes) - sizes, sizes), names(side))
}

stop_unlike_points <- function(call) {
  stop_kernops("input", "This preconditioner needs the same points on both axes, by variables in the same order.",
               call = call)
}
