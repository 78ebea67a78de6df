# Inputs that once failed, hung or crashed: each file of tools/fuzzer/corpus must have the value TRUE.

refuses <- \(code) tryCatch({code; FALSE}, kernops_error = \(e) TRUE)
run_part <- function() {
  for (file in list.files("tools/fuzzer/corpus", full.names = TRUE)) {
    begin_attack(file)
    value <- tryCatch(source(file, local = new.env())$value, error = conditionMessage)
    if (!isTRUE(value)) report(file, ": ", deparse1(value))
  }
}
