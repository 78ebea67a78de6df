# Symbolic matrices with stored numbers for pairs. Variables of axis "m" are matrices with rows i and columns j;
# variables of axis "n" are the transposes of their data. keops_pairs.R contains the operators of such variables.

#' @rdname LazyTensor
#' @export
Vij <- function(x, name = NULL) {
  name <- check_label(name %||% label_of(substitute(x), "A"))
  if (!inherits(x, "kernops_lookup")) {
    x <- check_numbers(x)
    if (!length(dim(x)) %in% 2:3 || is.complex(x)) {
      stop_kernops("input", "{.arg x} must be a matrix of numbers, with a row for each i and a column for each j, or an
                             array of such matrices.")
    }
    storage.mode(x) <- "double"
  }
  leaf(list(data = x, axis = "m", size = if (length(dim(x)) > 2) dim(x)[[3]] else 1L, label = name, mark = NULL))
}

is_of_pairs <- function(variable) variable$axis %in% c("m", "n")

# The data of a variable as an argument of an operator.
variable_data <- function(variable) {
  if (variable$axis == "n") transposed_pairs(variable$data) else variable$data
}

transposed_pairs <- function(x) {
  if (inherits(x, "kernops_lookup")) return(lookup_terms(t(x$table), x$j, x$i))
  aperm(x, c(2, 1, seq_along(dim(x))[-(1:2)]))
}

# The number of points along an axis of a variable with a value for each pair.
pair_points <- function(variable, axis) {
  dim(variable$data)[[if ((variable$axis == "m") == (axis == "i")) 1 else 2]]
}

# The data of a variable with a value for each pair, restricted to the chosen points along an axis.
chosen_pair_points <- function(variable, axis, chosen) {
  some_pairs(variable$data, chosen, (variable$axis == "m") == (axis == "i"))
}

# The values of single pairs, converted to a variable of points i.
listed_pair_values <- function(variable, i, j) {
  data <- variable_data(variable)
  about <- list(axis = "Vi", variables = data.frame(category = "Vij", size = variable$size))
  utils::modifyList(variable, list(data = at_listed_pairs(list(data), about, i, j)[[1]], axis = "i"))
}
