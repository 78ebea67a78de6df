# Fits of tables on a GPU, against fits on the CPU.

test_that("a fit of a table and its predictions on a GPU agree with the CPU", {
  skip_without_gpu()
  small_cells(rows = 60, heads = 10)
  d <- table_data(200)
  on <- function(backend) fit_of_table(d, estimate = "ML", neighbours = 6, backend = backend, starts = 1)
  cpu <- on("cpu")
  gpu <- on("cuda")
  expect_gt(length(gpu$blocks$units), 2)
  expect_equal(gpu$loglik, cpu$loglik, tolerance = 1e-10)
  expect_equal(coef(gpu, "both"), coef(cpu, "both"), tolerance = 1e-6)
  new <- table_data(50, seed = 2)[c("x", "y", "w")]
  given <- function(backend) fit_of_table(d, neighbours = 6, backend = backend)
  expect_equal(predict(given("cuda"), new, se.fit = TRUE, interval = "prediction"),
               predict(given("cpu"), new, se.fit = TRUE, interval = "prediction"), tolerance = 1e-10)
})
