// The border between C++ and R. Only this file converts exceptions of the engine to classed R conditions.
#pragma once
#include "allocate.h"
#include "run/backend.h"
#include "run/pairs.h"

// Converts the exception being handled into a condition of R, and jumps out.
[[noreturn]] void raise_condition();

template <class F> auto guard(F body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    raise_condition();
  }
}

// Like guard(), for a body that changes only objects that it creates. If C++ runs out of memory, R's garbage collector
// runs, which may free memory of C++, and the body is called again.
template <class F> auto guard_new(F body) -> decltype(body()) {
  return guard([&] {
    try {
      return body();
    } catch (const NoMemory&) {  // the second call failed, too, after R has collected garbage
      throw;
    } catch (const std::bad_alloc&) {
    }
    R_gc();
    return body();
  });
}
