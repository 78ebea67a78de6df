# The table of means and totals over zones. The table is computed from a state, the sums that predict_zones.R describes.

# A table with a row for each zone and each quantity: the mean, the total, and the area above each threshold.
zone_table <- function(object, state, request, nsim) {
  sums <- state$sums[order(utils::type.convert(rownames(state$sums), as.is = TRUE)), , drop = FALSE]
  nodes <- bound_nodes(state$nodes)
  number <- match(nodes$zone, rownames(sums))
  parts <- batches_of_zones(tabulate(number, nrow(sums)))
  tables <- with_bar("Zones", lapply(seq_along(parts), function(k) {
    say_progress(step = paste("part", k, "of", length(parts)), fraction = (k - 1) / length(parts))
    rows_of_zones(object, nodes_in_zones(nodes, number, parts[[k]]), sums[parts[[k]], , drop = FALSE], request, nsim)
  }))
  table <- do.call(rbind, tables)
  table <- table[order(match(table$quantity, unique(table$quantity))), ]
  rownames(table) <- NULL
  table
}

# Batches of successive zones; a batch has about 20,000 rectangles.
batches_of_zones <- function(count) unname(split(seq_along(count), (cumsum(count) - count) %/% 2e4))

# Joins the nodes of all windows, in an order that does not depend on the division of the map into windows.
bound_nodes <- function(parts) {
  bind <- function(name, both) {
    of_each <- lapply(parts, function(part) {
      x <- part[[name]]
      if (!both) return(list(x))
      half <- seq_len(NROW(x) / 2)
      if (is.matrix(x)) list(x[half, , drop = FALSE], x[-half, , drop = FALSE]) else list(x[half], x[-half])
    })
    lapply(if (both) 1:2 else 1, function(k) {
      if (is.matrix(parts[[1]][[name]])) return(do.call(rbind, lapply(of_each, `[[`, k))[order, , drop = FALSE])
      do.call(c, lapply(of_each, `[[`, k))[order]
    })
  }
  order <- TRUE
  known <- sapply(c("zone", "area", "count", "tile", "rectangle"), function(name) bind(name, FALSE)[[1]],
                  simplify = FALSE)
  order <- do.call(base::order, unname(known[c("zone", "tile", "rectangle")]))
  c(sapply(c("u", "x", "offset"), bind, TRUE, simplify = FALSE), lapply(known, `[`, order))
}

# A list for some zones: `points` are the nodes of the zones, that is, the random cells of their rectangles; a rectangle
# with one cell has only one node. The list also has three matrices of weights of the points, with a column for each
# zone: `half` for the sums of A (f + g) / 2, `gap` for the sums of A (f - g) / 2, and `lack` for the variances of
# single cells, which the covariances of two different cells do not contain.
nodes_in_zones <- function(nodes, number, zones) {
  first <- which(number %in% zones)
  second <- first[nodes$count[first] > 1]
  both <- function(x) if (is.matrix(x[[1]])) rbind(x[[1]][first, , drop = FALSE], x[[2]][second, , drop = FALSE]) else
    c(x[[1]][first], x[[2]][second])
  weights <- function(of_first, of_second) {
    rows <- c(first, second)
    w <- matrix(0, length(rows), length(zones))
    w[cbind(seq_along(rows), match(number[rows], zones))] <- c(of_first[first], of_second[second])
    w
  }
  area <- nodes$area
  several <- nodes$count > 1
  lack <- several * area / sqrt(2 * nodes$count)
  list(points = c(lapply(nodes[c("u", "x", "offset")], both),
                  list(complete = rep(TRUE, length(first) + length(second)), fitted = FALSE)),
       half = weights(ifelse(several, area / 2, area), area / 2), gap = weights(several * area / 2, -area / 2),
       lack = weights(lack, -lack))
}

rows_of_zones <- function(object, nodes, sums, request, nsim) {
  if (inherits(object, "gp_blocks")) object <- joint_fit(object, nodes$points$u)
  area <- unname(sums[, "area"])
  rows <- function(quantity, values) data.frame(zone = rownames(sums), quantity, area, values, row.names = NULL)
  total <- totals_of_zones(object, nodes, sums[, "total"], request)
  areas <- areas_of_zones(object, nodes, sums, request, nsim)
  do.call(rbind, c(list(rows("mean", total / area), rows("total", total)), Map(rows, names(areas), areas)))
}

# The variance of a zone, from the variances of the three weighted sums of nodes_in_zones().
variance_of_zones <- function(half, gap, lack) pmax(0, half - gap) + lack

totals_of_zones <- function(object, nodes, fit, request) {
  request <- utils::modifyList(request, list(se.fit = TRUE, interval = "confidence"))
  request[c("probs", "above")] <- list(NULL)
  table_of <- function(weights) {
    as.data.frame(predictive_columns(predictive_at(object, with_sums(nodes$points, weights), request), request))
  }
  half <- table_of(nodes$half)
  several <- which(colSums(nodes$gap != 0) > 0)
  variance <- function(weights) {
    if (!length(several)) return(numeric(length(fit)))
    replace(numeric(length(fit)), several, table_of(weights[, several, drop = FALSE])$se.fit^2)
  }
  se <- sqrt(variance_of_zones(half$se.fit^2, variance(nodes$gap), variance(nodes$lack)))
  limits_around(fit, se, half, half$fit, half$se.fit)
}

# Limits around `fit` with the standard error `se`. These limits are computed from given `limits` around `centre`, for
# the standard error `spread`: the distances from the centre are multiplied by se / spread.
limits_around <- function(fit, se, limits, centre, spread) {
  scale <- ifelse(spread > 0, se / spread, 1)
  data.frame(fit = unname(fit), se.fit = se, lwr = fit + (limits$lwr - centre) * scale,
             upr = fit + (limits$upr - centre) * scale, row.names = NULL)
}

# A list with a table for each threshold: the areas of exceedance in the zones.
areas_of_zones <- function(object, nodes, sums, request, nsim) {
  above <- request$above
  if (!length(above)) return(list())
  scale <- requested_scale(with_phi_of(object, nodes$points$u), request)
  weights <- cbind(nodes$half, nodes$gap, nodes$lack)
  drawn <- drawn_areas(object, nodes$points, weights, above, nsim, object$how$control$seed,
                       if (is.null(scale)) identity else scale$back)
  columns <- matrix(seq_len(ncol(drawn)), nrow(sums))
  tables <- lapply(seq_along(above), function(k) {
    of <- function(kind) drawn[, columns[, 3 * (k - 1) + kind], drop = FALSE]
    variance <- function(kind) apply(of(kind), 2, stats::var)
    se <- sqrt(variance_of_zones(variance(1), variance(2), variance(3)))
    limits <- apply(of(1), 2, stats::quantile, c(1 - request$level, 1 + request$level) / 2, names = FALSE)
    table <- limits_around(sums[, 2 + k], se, list(lwr = limits[1, ], upr = limits[2, ]), colMeans(of(1)),
                           sqrt(variance(1)))
    within <- function(x) pmin(pmax(x, 0), sums[, "area"])
    replace(table, c("lwr", "upr"), list(within(table$lwr), within(table$upr)))
  })
  stats::setNames(tables, colnames(sums)[2 + seq_along(above)])
}
