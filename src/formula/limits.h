// The stack and the time that a call grants to the passes over its formula: users may write formulas of any length and
// depth, but the stack is finite.
#pragma once
#include <cstddef>
#include <functional>

namespace kernops {

// During its lifetime, passes may use this number of bytes of the stack from here on, and can be interrupted.
class Granted {
 public:
  Granted(size_t stack, std::function<bool()> go_on);
  ~Granted();
  Granted(const Granted&) = delete;
  Granted& operator=(const Granted&) = delete;
};

// Throws Interrupted if the user interrupts; called in each loop over nodes.
void look_up();
// Returns whether this number of bytes of the stack is left; called in each recursion over a formula. The other
// function throws a FormulaError at this byte of the text if the bytes are not left.
bool stack_is_left(size_t more = 0);
void check_stack(int at, size_t more = 0);

}  // namespace kernops
