# Values of class integer64 are integers of 64 bits, stored in a vector of doubles. The class is that of package
# 'bit64', which need not be installed. Operations convert the integers to doubles if the doubles are exact. If not,
# operations use limbs of 22 bits, or the ranks of the integers.

integer64_rules <- function() {
  c(rule(int64_chosen, chosen_ops, moving_ops), rule(int64_places, counted_ops), rule(int64_sums, "sum", "diff"),
    rule(int64_bits, "bit_and", "bit_or", "bit_xor"),
    rule(int64_deviations, "var", setdiff(spread_ops, "diff"), shape_ops),
    rule(int64_numbers, central_ops, "prod", "any", "all", "logsumexp", "softmax", "share"))
}

largest_exact <- 2^53

# Encodes the integers as doubles; NULL if an absolute value exceeds `limit`, because doubles may then be inexact.
int64_exact <- function(x, limit = largest_exact) {
  exact <- int64_doubles(x, NULL, limit)
  if (is.null(exact)) return(NULL)
  encoding(list(bare(x, exact)), \(results) with_class_of(bare(results[[1]], int64_of_doubles(results[[1]])), x))
}

int64_chosen <- function(x) int64_exact(x) %||% int64_codes_of(x)
int64_places <- function(x) encoding(int64_chosen(x)$parts)

int64_codes_of <- function(x) {
  levels <- int64_levels(x)
  encoding(list(bare(x, int64_codes(x, levels))), function(results) {
    codes <- results[[1]]
    chosen <- c(levels, int64_of_doubles(NA))[replace(codes, is.na(codes), length(levels) + 1)]
    with_class_of(bare(codes, chosen), x)
  })
}

int64_sums <- function(x) {
  int64_exact(x, largest_exact / max(length(x), 2)) %||% encoding(limbs_of(x), \(limbs) join_limbs(limbs, x))
}

int64_bits <- function(x) {
  low <- 2^22 - 1
  encoding(lapply(limbs_of(x), `storage.mode<-`, "integer"), function(limbs) {
    limbs[1:2] <- lapply(limbs[1:2], \(limb) bare(limb, bitwAnd(limb, low)))
    join_limbs(limbs, x)
  })
}

limbs_of <- function(x) lapply(unname(int64_limbs(x)), \(limb) bare(x, limb))

join_limbs <- function(limbs, x) {
  whole <- do.call(int64_join, unname(limbs))
  if (!is.null(whole)) return(with_class_of(bare(limbs[[1]], whole), x))
  sums <- limbs[[1]] + 2^22 * limbs[[2]] + 2^44 * limbs[[3]]
  warn_overflow(which(abs(sums) >= 2^63)[1], "64 bits")
  sums
}

int64_numbers <- function(x) encoding(list(bare(x, int64_doubles(x, NULL, Inf))))

# Encodes the integers by their differences from the first integer that is not missing. The differences are small and
# thus exact even if all integers are large.
int64_deviations <- function(x) {
  there <- which(!is.na(int64_doubles(x, NULL, Inf)))
  encoding(list(bare(x, int64_doubles(x, if (length(there)) unclass(x)[there[1]], Inf))))
}
