# Terms of a covariance that a fit can hardly distinguish, such as a smooth of a coordinate and a field with this
# coordinate.

# A data frame of pairs of terms; one term of each pair is an effect or a smooth. The column `correlation` is the
# correlation between the errors of the two predicted terms, computed from some of the observations. This correlation is
# near -1 if the data determine the sum of the terms but not the single terms.
confounded_terms <- function(object, worst = -0.9, max_rows = 50) {
  none <- data.frame(first = character(), second = character(), correlation = numeric())
  if (is_lmc(object$model$covariance) || !has_effects(object$model)) return(none)
  terms <- covariance_terms(object$model$covariance)
  effects <- vapply(terms, function(leaves) length(leaves) == 1 && is_effect(leaves[[1]]), NA)
  pairs <- utils::combn(length(terms), min(2, length(terms)))
  if (nrow(pairs) < 2) return(none)
  pairs <- pairs[, effects[pairs[1, ]] | effects[pairs[2, ]], drop = FALSE]
  n <- nrow(object$parts$frame)
  points <- some_points(new_points(object, NULL, NULL), spaced_rows(n, max_rows))
  object <- with_indicators(object)
  # the sum of the variances of the errors minus their mean, because the constant part of a term belongs to the trend
  variation <- function(chosen) {
    part <- replace(object, "left_out", list(setdiff(c("trend", names(terms)), chosen)))
    errors <- joint_covariance(part, points_of_parts(part, points), field_request$how)
    sum(diag(errors)) - mean(errors) * nrow(errors)
  }
  single <- vapply(names(terms), variation, 0)
  correlation <- apply(pairs, 2, function(pair) {
    (variation(names(terms)[pair]) - sum(single[pair])) / (2 * sqrt(prod(single[pair])))
  })
  table <- data.frame(first = names(terms)[pairs[1, ]], second = names(terms)[pairs[2, ]], correlation = correlation)
  table[which(table$correlation < worst), ] # which() omits NaN, the correlation of a term without variation
}

print_confounded <- function(table) {
  if (!nrow(table)) return(invisible())
  cli::cat_line("\nHardly told apart: ", paste0(table$first, " and ", table$second, " (correlation of their errors ",
                                                signif(table$correlation, 2), ")", collapse = ", "))
}
