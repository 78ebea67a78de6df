# Simulations of fits with a family, and simulated responses at the observations of any fit.

#' @rdname simulate.gp
#' @param type `"field"`: draws of the field, including the trend, even at the observations. For a fit with a `family`,
#'   `"field"` and `"link"` both draw the linear predictor, and `"response"` draws its inverse link, see [gp_families].
#'   With `noise = TRUE`, the draws are new observations (with one trial or weight 1 at new points).
#' @export
simulate.gp_family_fit <- function(object, nsim = 1, seed = NULL, newdata = NULL, conditional = TRUE,
                                   noise = is.null(newdata) && is.null(coords) && missing(type), features = 2000,
                                   coords = NULL, type = c("link", "response", "field"), ...) {
  no_further("simulate", ...)
  check_flag(noise, "noise")
  object$drawn <- check_choice(type, "type", c("link", "response", "field"))
  simulate.gp(object, nsim, seed, newdata, conditional, noise, features, coords)
}

# Converts draws of a linear predictor to the kind of draws that the user requests: new observations, or means.
requested_draws <- function(object, draws, noise, weights) UseMethod("requested_draws")

requested_draws.gp <- function(object, draws, noise, weights) draws

requested_draws.gp_family_fit <- function(object, draws, noise, weights) {
  family <- object$family
  eta <- as.matrix(draws)
  if (noise) {
    if (family$density$response %in% c("count", "positive_count")) warn_about_weights(weights)
    eta[] <- family$density$draw(as.vector(eta), weights, object$phi, family$link)
  } else if (identical(object$drawn, "response")) eta[] <- mean_of(object, as.vector(eta))
  eta
}

warn_about_weights <- function(weights) {
  if (all(weights == 1)) return(invisible())
  cli::cli_warn(c("New counts are drawn without the prior {.arg weights} of the observations.",
                  i = "Weights multiply the log-likelihood: they are no property of a count."),
                class = c("kernops_weights_ignored", "kernops_warning"))
}

# A data frame with a column for each draw; the columns have the class of the response.
new_responses <- function(draws, object, points) {
  table <- table_of_draws(draws, object, points, "sim_")
  table[] <- lapply(table, function(y) as_response(object, y))
  rownames(table) <- points$names %||% seq_len(nrow(table))
  if (is.null(omitted <- object$na.action)) return(table)
  padded <- lapply(table, function(column) stats::napredict(omitted, column))
  names <- stats::napredict(omitted, stats::setNames(seq_len(nrow(table)), rownames(table)))
  structure(padded, class = "data.frame", row.names = names(names))
}

# Converts draws to the class of the response of the fit.
as_response <- function(object, y) UseMethod("as_response")

as_response.gp <- function(object, y) y

as_response.gp_family_fit <- function(object, y) {
  response <- stats::model.response(object$parts$frame)
  kind <- object$family$density$response
  if (kind == "ordered" && is.factor(response)) {
    return(factor(levels(droplevels(response))[y], levels(response), ordered = is.ordered(response)))
  }
  if (kind == "binomial") {
    if (is.factor(response)) return(factor(levels(response)[y + 1], levels(response)))
    if (NCOL(response) < 2) return(y)
    trials <- object$parts$weights
    successes <- round(y * trials)
    return(matrix(c(successes, trials - successes), length(y), 2, dimnames = list(NULL, colnames(response))))
  }
  counts <- object$family$density$discrete && all(y <= .Machine$integer.max)
  if (counts) as.integer(y) else y
}
