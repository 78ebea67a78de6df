# R evaluates this file last. The code changes all functions that users call, that is, exported functions and methods,
# so that these functions report a shortage of memory (memory.R).
local({
  namespace <- topenv()
  path <- getNamespaceInfo(namespace, "path")
  offered <- parseNamespaceFile(basename(path), dirname(path), mustExist = FALSE)
  reporting <- function(f) `body<-`(f, value = call("report_shortage", body(f)))

  of_classes <- offered$S3methods
  of_classes <- ifelse(is.na(of_classes[, 3]), paste(of_classes[, 1], of_classes[, 2], sep = "."), of_classes[, 3])
  of_classes <- trimws(sub("^.*::", "", of_classes)) # removes package names such as "generics::"
  for (name in unique(c(offered$exports, of_classes))) {
    f <- get0(name, namespace, mode = "function", inherits = FALSE)
    dispatches <- "UseMethod" %in% all.names(body(f)) # generic functions are unchanged
    if (typeof(f) == "closure" && !isS4(f) && !dispatches) assign(name, reporting(f), namespace)
  }
  for (generic in offered$exportMethods) {
    for (method in methods::findMethods(generic, namespace)) {
      ours <- identical(environment(method), namespace) # default methods from other packages are not changed
      if (ours) methods::setMethod(generic, method@defined, reporting(method), namespace)
    }
  }
})
