# Converts columns of predictions to a result with the rows and the class of newdata.

# The columns that `request` selects from the predictive distribution x, as a list. `request` has the elements `se.fit`,
# `interval`, `level`, `probs` and `above`.
predictive_columns <- function(x, request) {
  table <- list(fit = predictor(x))
  if (request$se.fit) table$se.fit <- sqrt(variance(x))
  limits <- if (request$interval != "none") c(lwr = 1 - request$level, upr = 1 + request$level) / 2
  table[names(limits)] <- lapply(limits, function(p) quantile(x, p))
  table <- level_columns(table, "q", request$probs, function(p) quantile(x, p))
  level_columns(table, "above", request$above, function(limit) cdf(x, limit, lower = FALSE))
}

# Adds a column for each level, such as q0.05. The names do not depend on R's options for printing numbers.
level_columns <- function(table, name, levels, f) {
  table[sprintf("%s%.7g", rep(name, length(levels)), levels)] <- lapply(levels, f)
  table
}

# Returns the table with the rows and the class of newdata. If only the mean was requested, returns a vector.
give_back_points <- function(table, points, newdata, object) {
  place <- replace(rep(NA_integer_, length(points$complete)), points$complete, seq_len(nrow(table)))
  table <- table[place, , drop = FALSE]
  rownames(table) <- points$names
  if (points$fitted) {
    table <- as.data.frame(stats::napredict(object$na.action, as.matrix(table)))
  } else if (is_spatial(newdata)) {
    return(give_back(newdata, table))
  }
  if (!identical(names(table), "fit")) return(table)
  stats::setNames(table$fit, if (points$fitted || !is.null(points$names)) rownames(table))
}

# A matrix with a row and a column for each row of newdata; the entries are NA for rows with missing values.
matrix_of_rows <- function(covariances, object, points) {
  variables <- response_names(object)
  kept <- which(rep(points$complete, max(1, length(variables))))
  size <- length(points$complete) * max(1, length(variables))
  names <- points$names
  if (length(variables)) {
    names <- paste(rep(variables, each = size / length(variables)), names %||% seq_along(points$complete), sep = ":")
  }
  all <- matrix(NA_real_, size, size, dimnames = rep(list(names), 2))
  all[kept, kept] <- covariances
  all
}

# An object of the class of `like`, with the points or cells of `like` and the columns of the data frame `table` as
# variables; the variables of `like` are dropped.
give_back <- function(like, table) UseMethod("give_back")

give_back.sfc <- function(like, table) sf::st_sf(table, geometry = sf::st_geometry(like))

give_back.sf <- function(like, table) give_back.sfc(like, table)

give_back.Spatial <- function(like, table) {
  rownames(table) <- NULL
  sp::addAttrToGeom(methods::as(like, sub("DataFrame$", "", class(like))), table, match.ID = FALSE)
}

give_back.SpatVector <- function(like, table) {
  rownames(table) <- NULL
  cbind(like[, 0], table)
}

give_back.SpatRaster <- function(like, table) {
  terra::rast(like, nlyrs = ncol(table), names = names(table), vals = as.matrix(table), keeptime = FALSE)
}

give_back.stars <- function(like, table) {
  like <- stars::st_as_stars(like)  # reads a proxy object, which may have additional dimensions
  stars::st_as_stars(lapply(table, array, unname(dim(like))), dimensions = stars::st_dimensions(like))
}

# The results of cross-validation at points or cells: an object of class sf or, if sf is not installed, a data frame
# with columns of coordinates.
at_points <- function(table, parts) {
  if (is.null(parts$kind)) return(table)
  u <- as.data.frame(parts$u)
  if (!requireNamespace("sf", quietly = TRUE)) return(cbind(table, u[setdiff(names(u), names(table))]))
  names(u) <- paste0("coordinate", seq_along(u))
  sf::st_as_sf(cbind(table, u), coords = names(u), crs = parts$crs %||% sf::NA_crs_)
}
