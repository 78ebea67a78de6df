// Where C++ meets R: exceptions of the engine become classed R conditions here, and nowhere else.
#pragma once
#include <stdexcept>

#include "allocate.h"
#include "run/backend.h"
#include "run/pairs.h"
#include "cuda/driver.h"
#include "formula/parse.h"

// A mistake in what the user handed over; `kind` is "input" or "dim".
struct InputError : std::runtime_error {
  InputError(const char* kind, const std::string& message) : std::runtime_error(message), kind(kind) {}
  const char* kind;
};

template <class F> auto guard(F body) -> decltype(body()) {
  const auto stop = [](const char* name) -> Rcpp::Function {
    return Rcpp::Environment::namespace_env("kernops")[name];
  };
  try {
    return body();
  } catch (const kernops::FormulaError& error) {
    stop("stop_formula")(error.what(), error.position, error.unknown, error.text);
  } catch (const InputError& error) {
    stop("stop_input")(error.kind, error.what());
  } catch (const kernops::cuda::CudaError& error) {
    stop("stop_input")(error.kind, error.what());
  } catch (const std::invalid_argument& error) {
    stop("stop_input")("input", error.what());
  } catch (const NoMemory& error) {
    stop("stop_memory")(error.bytes);
  } catch (const std::bad_alloc&) {
    stop("stop_memory")();
  } catch (const std::length_error&) {  // more than any container holds
    stop("stop_memory")();
  } catch (const kernops::Interrupted&) {
    throw Rcpp::internal::InterruptedException();
  }
  return body();  // not reached: the functions above stop
}
