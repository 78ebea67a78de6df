// Limits of the stack and the time of passes over a formula. Users may write formulas of any length and nesting, but
// the stack is finite.
#pragma once
#include <cstddef>
#include <functional>

namespace kernops {

// While a Granted exists, passes over a formula may use `stack` more bytes of the stack than at its construction, and
// end with Interrupted if go_on() returns false.
class Granted {
 public:
  Granted(size_t stack, std::function<bool()> go_on);
  ~Granted();
  Granted(const Granted&) = delete;
  Granted& operator=(const Granted&) = delete;
};

// Throws Interrupted if the user interrupts. Each loop over nodes calls this function.
void look_up();
// stack_is_left() returns whether the granted stack still has room for the next call and `more` bytes; each recursion
// over a formula calls it. If not, check_stack() throws a FormulaError at byte `at` of the formula.
bool stack_is_left(size_t more = 0);
void check_stack(int at, size_t more = 0);

}  // namespace kernops
