# The text of a symbolic matrix doubled at each step, until memory was full.
K <- Vi(matrix(1:3 / 10)) - Vj(matrix(1:3 / 10))
value <- outer(1:3 / 10, 1:3 / 10, `-`)
for (k in 1:40) {
  K <- K * K + K / 2
  value <- value * value + value / 2
}
isTRUE(all.equal(sum(K, "j"), cbind(rowSums(value))))
