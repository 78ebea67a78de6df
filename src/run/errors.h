// The exceptions of the engine, which src/border.cpp converts to conditions of R.
#pragma once
#include <stdexcept>
#include <string>

namespace kernops {

// An error that R signals as a condition of class kernops_<kind>_error with this message.
struct ClassedError : std::runtime_error {
  ClassedError(const char* kind, const std::string& message) : std::runtime_error(message), kind(kind) {}
  const char* kind;
};

// An error in the user's data or arguments; `kind` is "input" or "dim".
struct InputError : ClassedError {
  using ClassedError::ClassedError;
};

// An error in the user's formula, with its position: the byte of the formula, or -1 if unknown.
struct FormulaError : std::runtime_error {
  FormulaError(const std::string& message, int position, const std::string& unknown = "")
      : std::runtime_error(message), position(position), unknown(unknown) {}
  int position;
  std::string unknown;  // the unknown name, for which R suggests a similar one
  std::string text;     // the text that contains the error, if it is not the formula
};

// The user interrupted the computation.
struct Interrupted {};

}  // namespace kernops
