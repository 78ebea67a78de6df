// The exceptions of the engine; src/border.cpp turns them into conditions of R.
#pragma once
#include <stdexcept>
#include <string>

namespace kernops {

// R signals a condition of class kernops_<kind>_error with this message.
struct ClassedError : std::runtime_error {
  ClassedError(const char* kind, const std::string& message) : std::runtime_error(message), kind(kind) {}
  const char* kind;
};

// An error in the user's data or arguments; `kind` is "input" or "dim".
struct InputError : ClassedError {
  using ClassedError::ClassedError;
};

// An error in the user's formula: the message, and the byte of the formula (-1: unknown).
struct FormulaError : std::runtime_error {
  FormulaError(const std::string& message, int position, const std::string& unknown = "")
      : std::runtime_error(message), position(position), unknown(unknown) {}
  int position;
  std::string unknown;  // the unknown name, for a suggestion
  std::string text;     // the text with the error, if it is not the formula
};

// The user interrupted the computation.
struct Interrupted {};

}  // namespace kernops
