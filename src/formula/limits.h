// The stack and the time that a call grants to the passes over its formula: users may write formulas of any length and
// depth, but the stack is finite.
#pragma once
#include <cstddef>
#include <functional>

namespace kernops {

// Active during its lifetime: passes may use this number of bytes of the stack from here on, and can be stopped.
class Granted {
 public:
  Granted(size_t stack, std::function<bool()> go_on);
  ~Granted();
  Granted(const Granted&) = delete;
  Granted& operator=(const Granted&) = delete;
};

// Called in each loop over nodes: throws Interrupted if the user interrupts.
void look_up();
// Called in each recursion over a formula: returns whether this number of bytes is left. The other function throws a
// FormulaError at this byte of the text if they are not.
bool stack_is_left(size_t more = 0);
void check_stack(int at, size_t more = 0);

}  // namespace kernops
