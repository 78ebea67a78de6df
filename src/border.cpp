#include "border.h"

void raise_condition() {
  const auto stop = [](const char* name) -> Rcpp::Function {
    return Rcpp::Environment::namespace_env("kernops")[name];
  };
  try {
    throw;
  } catch (const kernops::FormulaError& error) {
    stop("stop_formula")(error.what(), error.position, error.unknown, error.text);
  } catch (const kernops::ClassedError& error) {
    stop("stop_input")(error.kind, error.what());
  } catch (const std::invalid_argument& error) {
    stop("stop_input")("input", error.what());
  } catch (const std::length_error& error) {  // a size exceeds the range of an index or of a container
    stop("stop_input")("input", error.what());
  } catch (const NoMemory& error) {
    stop("stop_memory")(error.bytes);
  } catch (const std::bad_alloc&) {
    stop("stop_memory")();
  } catch (const kernops::Interrupted&) {
    throw Rcpp::internal::InterruptedException();
  }
  throw std::logic_error("a condition was signalled and R went on");
}
