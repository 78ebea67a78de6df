// Limits of the stack and of the time that passes over a formula may use. Users may write formulas of any length and
// nesting, but the stack is finite.
#pragma once
#include <cstddef>
#include <functional>

namespace kernops {

// While a Granted object exists, passes over a formula may use `stack` bytes of the stack beyond the frame that
// constructed the object. The passes end with the exception Interrupted if go_on() returns false.
class Granted {
 public:
  Granted(size_t stack, std::function<bool()> go_on);
  ~Granted();
  Granted(const Granted&) = delete;
  Granted& operator=(const Granted&) = delete;
};

// Throws Interrupted if the user interrupts. Each loop over nodes calls look_up().
void look_up();
// Each recursive function on formulas calls one of two functions. stack_is_left() returns true if the granted stack has
// room for the next call and `more` bytes. check_stack() throws a FormulaError at byte `at` of the formula if the stack
// has no such room.
bool stack_is_left(size_t more = 0);
void check_stack(int at, size_t more = 0);

}  // namespace kernops
