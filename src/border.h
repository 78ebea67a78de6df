// Where C++ meets R: exceptions of the engine become classed R conditions here, and nowhere else.
#pragma once
#include <Rcpp/Lightest>  // vectors and lists without sugar and modules, which would double the time to compile

#include "backend.h"
#include "cuda_driver.h"
#include "large_pages.h"
#include "parse.h"

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
  } catch (const std::bad_alloc&) {
    stop("stop_input")("memory", "there is not enough memory for this computation");
  } catch (const kernops::Interrupted&) {
    throw Rcpp::internal::InterruptedException();
  }
  return body();  // not reached: the functions above stop
}

// Numbers for R, to be written.
inline Rcpp::NumericVector fresh_numbers(R_xlen_t length) {
  Rcpp::NumericVector numbers(Rcpp::no_init(length));
  kernops::in_large_pages(numbers.begin(), size_t(length) * sizeof(double));
  return numbers;
}
