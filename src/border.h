// Where C++ meets R: exceptions of the engine become classed R conditions here, and nowhere else.
#pragma once
#include "allocate.h"
#include "run/backend.h"
#include "run/pairs.h"

// Turns the exception that is being handled into a condition of R, which jumps out of here.
[[noreturn]] void raise_condition();

template <class F> auto guard(F body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    raise_condition();
  }
}

// The same for a body that changes no object but those it makes. If C++ is short of memory, R first collects its
// garbage, which may hold memory of C++, and the body runs once more.
template <class F> auto guard_new(F body) -> decltype(body()) {
  return guard([&] {
    try {
      return body();
    } catch (const NoMemory&) {  // R has collected
      throw;
    } catch (const std::bad_alloc&) {
    }
    R_gc();
    return body();
  });
}
