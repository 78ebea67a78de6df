# Covariances of linear functionals of the field: values and directional derivatives.
#
# The row of a point has the columns that the covariance reads, followed by a number c and a direction v. The point
# represents the functional c f(x) + v' grad f(x) of the field f. The covariance of two points results from applying the
# functionals of x and of y to the covariance k of the field: c_x c_y k + c_y D_x k + c_x D_y k + D_x D_y k, where D_x
# and D_y are the derivatives along the directions v of the two points. A jet of a covariance is a list of the texts of
# k, D_x k, D_y k and D_x D_y k.
#
# The property `derivatives` of a kernel describes how its field is differentiated. NULL: the field is not
# differentiable. "symbolic": the formula is smooth in the coordinates, and its text is differentiated. A function: the
# formula is a function of the distance Sqrt(q); `derivatives` has some of the arguments of the formula, and returns the
# texts of the first and second derivatives with respect to q. The second derivative must be finite at q = 0, because it
# is multiplied by derivatives of q, which are 0 at q = 0. If the formula is a product, the property `apart` contains
# three elements: the smooth `factor`, the `text` of the other factor, and the squared `distance` on which this text
# depends.

# The model of points with functionals; `model$functional` is the index of the first column of the functional.
with_functionals <- function(model, call = caller_env()) {
  for (leaf in leaves_of(model$covariance)) check_differentiable(leaf, call)
  model$covariance <- change_leaves(model$covariance, function(leaf, path) {
    replace(leaf, "positions", list(leaf$positions %||% seq_len(model$d)))
  })
  model$functional <- model$width + 1L
  model$width <- model$width + 1L + model$d
  model$formula <- covariance_text(model)
  model
}

# The columns of the functional for n points. A point whose row of `direction` is 0 represents a value of the field;
# other points represent derivatives of the field in the direction of the row.
functional_columns <- function(n, d, direction = matrix(0, n, d)) {
  cbind(as.numeric(rowSums(direction != 0) == 0), direction)
}

# The columns of points that contain the functional; NULL without functionals.
functional_part <- function(model, u) {
  if (length(model$functional)) u[, model$functional + seq_len(model$d), drop = FALSE]
}

# TRUE for points that are values of the field.
are_values <- function(model, u) if (length(model$functional)) u[, model$functional] == 1 else rep(TRUE, nrow(u))

is_differentiable <- function(leaf) {
  derivatives <- leaf$kernel$derivatives
  if (is.function(derivatives)) !is.null(do.call(derivatives, arguments_of_text(derivatives, leaf))) else
    leaf$label == "nugget" || length(derivatives) > 0
}

check_differentiable <- function(leaf, call) {
  if (length(leaf$sees)) {
    stop_kernops("input", "Derivatives are not available beside effects, such as {.code {leaf$label}}.", call = call)
  }
  if (is_differentiable(leaf)) return(invisible())
  stop_kernops("input", c("A field with the covariance {.fn {leaf$label}}{if (length(leaf$kernel$words))
                           paste0(', ', leaf$kernel$words, ',')} has no derivatives.",
                          i = reason_without_derivatives(leaf$label)), call = call)
}

reason_without_derivatives <- function(label) switch(
  label,
  gneiting = "A field of {.fn gneiting} is differentiable where {.arg nu} is above 1 and the {.arg power} is 2:
              {.code gneiting(3/2, power = 2, fixed = \"power\")}.",
  "{.code matern(nu)} with {.arg nu} above 1, such as 3/2, {.fn squared_exponential} and {.fn rational_quadratic} have
   them."
)

# Stops if the estimated smoothness of a field implies that the field has no derivatives.
check_estimated_smoothness <- function(object, call) {
  nu <- object$theta[object$model$parameters$kind == "nu"]
  if (!any(nu <= 1)) return(invisible())
  stop_kernops("input", c("The field has no derivatives: its estimated smoothness {.code nu} is
                           {signif(min(nu), 3)}, not above 1.",
                          i = "{.code matern(nu)} with a given {.arg nu} above 1 has derivatives."), call = call)
}

functional_text <- function(model, x, y) {
  jet <- fold_covariance(model$covariance, function(leaf, path) leaf_jet(model, leaf, path, x, y), join_jets)
  if (is.null(jet)) return(sprintf("(0 * (Elem(theta, 0) + SqDist(%s, %s)))", x, y))
  share <- code_text("Elem(", c(x, y), ", ", model$functional - 1L, ")")
  sprintf("(%1$s * %2$s * (%3$s) + %2$s * (%4$s) + %1$s * (%5$s) + (%6$s))", share[[1]], share[[2]], jet[["value"]],
          jet[["x"]], jet[["y"]], jet[["both"]])
}

join_jets <- function(operation, parts) {
  parts <- Filter(length, parts)
  if (length(parts) < 2) return(if (length(parts)) parts[[1]])
  if (operation == "+") {
    return(Reduce(function(a, b) stats::setNames(sprintf("(%s + %s)", a, b), names(a)), parts))
  }
  Reduce(function(a, b) {
    terms <- function(...) paste(sprintf("(%s) * (%s)", ...), collapse = " + ")
    c(value = terms(a[["value"]], b[["value"]]),
      x = terms(a[c("x", "value")], b[c("value", "x")]), y = terms(a[c("y", "value")], b[c("value", "y")]),
      both = terms(a[c("both", "x", "y", "value")], b[c("value", "y", "x", "both")]))
  }, parts)
}

# The jet of a leaf of the covariance; NULL for the nugget.
leaf_jet <- function(model, leaf, path, x, y) {
  kernel <- leaf$kernel
  if (is.null(kernel$text)) return(NULL)
  d <- model$d
  zeros <- model$width - d
  along <- function(text, point) {
    direction <- code_text("Concat(Extract(", point, ", ", model$functional, ", ", d, "), Zero(", zeros, "))")
    code_text("Diff(", text, ", ", point, ", ", direction, ")")
  }
  texts <- references(model, path, leaf)
  with_text <- function(text) {
    leaf_text(replace(leaf, "kernel", list(replace(kernel, "text", list(text)))), c(x = x, y = y), texts, model$width)
  }
  symbolic <- function(value) {
    c(value = value, x = along(value, x), y = along(value, y), both = along(along(value, y), x))
  }
  if (!is.function(kernel$derivatives)) return(symbolic(with_text(kernel$text)))
  apart <- kernel$apart
  q <- with_text(apart$distance %||% function(q) q)
  first <- with_text(derivative_text(kernel, 1))
  second <- with_text(derivative_text(kernel, 2))
  jet <- c(value = with_text(apart$text %||% kernel$text), x = sprintf("(%s) * %s", first, along(q, x)),
           y = sprintf("(%s) * %s", first, along(q, y)), both = sprintf("((%s) * %s + (%s) * %s * %s)", first,
                                                                       along(along(q, y), x), second, along(q, x),
                                                                       along(q, y)))
  if (is.null(apart)) jet else join_jets("*", list(symbolic(with_text(apart$factor)), jet))
}

# A function that returns the text of the first or second derivative of a kernel's formula. The arguments are the
# arguments of the property `derivatives`.
derivative_text <- function(kernel, order) {
  f <- kernel$derivatives
  whole <- as.call(c(f, lapply(stats::setNames(nm = names(formals(f))), as.name)))
  as.function(c(formals(f), call("[[", whole, order)))
}

# The arguments with which f is called for a leaf: constants and fixed parameters are numbers, and each other argument
# is the name of a parameter.
arguments_of_text <- function(f, leaf) {
  words <- names(formals(f))
  stats::setNames(lapply(words, function(name) {
    leaf$kernel$constants[[name]] %||% (if (name %in% leaf$fixed) leaf$parameters[[name]]) %||% name
  }), words)
}
