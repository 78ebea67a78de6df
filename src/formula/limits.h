// The stack and the time that a call grants to the passes over its formula: users may write formulas of any length and
// depth, but the stack is finite.
#pragma once
#include <cstddef>
#include <functional>

namespace kernops {

// In force while it lives: passes may use so many bytes of the stack from here on, and are told whether to go on.
class Granted {
 public:
  Granted(size_t stack, std::function<bool()> go_on);
  ~Granted();
  Granted(const Granted&) = delete;
  Granted& operator=(const Granted&) = delete;
};

// In each loop over nodes: throws Interrupted when told to stop.
void look_up();
// In each recursion over a formula: whether so many bytes more are left. The other one throws a FormulaError at this
// byte of the text where they are not.
bool stack_is_left(size_t more = 0);
void check_stack(int at, size_t more = 0);

}  // namespace kernops
