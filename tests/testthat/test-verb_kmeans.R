blobs <- withr::with_seed(1, matrix(rnorm(600, rep(c(0, 4, 8), 100)), ncol = 2, byrow = TRUE,
                                    dimnames = list(NULL, c("u", "v"))))

test_that("kmeans_large() agrees with Lloyd's algorithm in stats::kmeans()", {
  for (d in c(1, 3, 12)) for (count in c(2, 9)) withr::with_seed(d, {
    x <- matrix(rnorm(400 * d), 400, dimnames = list(NULL, paste0("u", seq_len(d))))
    start <- x[sample(400, count), , drop = FALSE]
    true <- stats::kmeans(x, start, iter.max = 500, algorithm = "Lloyd")
    fit <- kmeans_large(x, start, iter.max = 500)
    expect_s3_class(fit, "kmeans")
    expect_setequal(names(fit), names(true))
    rownames(true$centers) <- seq_len(count)
    for (field in setdiff(names(true), "ifault")) expect_equal(fit[[field]], true[[field]], info = field)
    # the iterations are the same, also if the search stops before it has converged
    true <- suppressWarnings(stats::kmeans(x, start, iter.max = 2, algorithm = "Lloyd"))
    fit <- suppressWarnings(kmeans_large(x, start, iter.max = 2))
    expect_equal(fit[c("cluster", "withinss", "ifault")], true[c("cluster", "withinss", "ifault")])
    expect_equal(fit$centers, true$centers, ignore_attr = TRUE)
  })
})

test_that("an integer weight has the effect of repeated points", {
  weights <- rep(0:3, length.out = nrow(blobs))
  repeated <- blobs[rep(seq_len(nrow(blobs)), weights), ]
  start <- blobs[c(2, 3, 4), ]
  fit <- kmeans_large(blobs, start, weights = weights)
  true <- kmeans_large(repeated, start)
  expect_equal(fit$centers, true$centers)
  expect_equal(fit[c("totss", "withinss", "tot.withinss", "betweenss")],
               true[c("totss", "withinss", "tot.withinss", "betweenss")])
  expect_equal(rep(fit$cluster, weights), true$cluster)
})

test_that("no cluster is empty", {
  x <- c(0, 0.1, 0.2, 10, 10.1, 30)
  fit <- kmeans_large(x, cbind(c(0, 10, 1e3, 2e3)))
  expect_true(all(fit$size > 0))
  expect_equal(fit$tot.withinss, sum((x - fit$centers[fit$cluster])^2))
  expect_setequal(kmeans_large(1:4, 4)$cluster, 1:4)
  expect_equal(kmeans_large(c(1, 1, 2), 2)$tot.withinss, 0)
})

test_that("k-means++ finds separate clusters that random centres miss", {
  x <- withr::with_seed(4, cbind(rep(100 * (1:20), each = 20) + rnorm(400)))
  total <- function(seeding) withr::with_seed(5, kmeans_large(x, 20, nstart = 5, seeding = seeding)$tot.withinss)
  expect_lt(total("++"), total("random"))
  expect_identical(total("++"), total("++"))
  # the probability of a new centre is 0 at points that are centres already
  expect_equal(sort(withr::with_seed(1, kernops:::seed_by_distance(cbind(c(1, 2, 2, 5)), 3, NULL))[, 1]), c(1, 2, 5))
})

test_that("the optimum found with mini-batches is near the optimum found with all points", {
  fit <- withr::with_seed(6, kmeans_large(blobs, 3, batch = 50, nstart = 3))
  best <- withr::with_seed(6, kmeans_large(blobs, 3, nstart = 5))
  expect_lt(fit$tot.withinss, 1.1 * best$tot.withinss)
  expect_length(fit$cluster, nrow(blobs))
})

test_that("kmeans_large() refuses invalid arguments", {
  expect_snapshot(error = TRUE, {
    kmeans_large(c(1, 1, 2), 3)
    kmeans_large(c(1, NA), 1)
    kmeans_large(numeric(), 1)
    kmeans_large(1:3, 0)
    kmeans_large(blobs, cbind(1:2))
    kmeans_large(blobs, blobs[c(1, 1), ])
    kmeans_large(1:3, 2, weights = c(1, -1, 1))
    kmeans_large(1:3, 2, weights = c(1, 0, 0))
    kmeans_large(1:3, 2, weights = 0)
  })
  expect_warning(kmeans_large(blobs, blobs[1:5, ], iter.max = 1), class = "kernops_not_converged")
})

test_that("cluster_sums() requires a label and a weight for each row", {
  sums <- kernops:::cluster_sums(cbind(1:3 + 0.5, 4:6), c(2L, 1L, 2L), c(1, 2, 3), 3L)
  expect_equal(sums, rbind(c(5, 10, 2), c(12, 22, 4), 0))
  expect_error(kernops:::cluster_sums(cbind(1:3), 1:2, numeric(), 2L), "each row has a label and a weight")
  expect_error(kernops:::cluster_sums(cbind(1:3), 1:3, numeric(), 2L), "labels are numbers of clusters")
})
