# If a user had overwritten slots of a sparse matrix, the engine read beyond the ends of the slots.
A <- methods::as(Matrix::sparseMatrix(i = 1:3, j = 3:1, x = 1, dims = c(3, 3)), "generalMatrix")
with_slot <- \(slot, value) methods::`slot<-`(A, slot, check = FALSE, value)
refuses(spmv(with_slot("i", c(0L, 1L, 900000L)), 1:3)) && refuses(spmv(with_slot("p", c(0L, 1L, 2L, 9L)), 1:3))
