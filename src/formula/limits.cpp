#include "formula/limits.h"

#include <cstdint>

#include "run/errors.h"

namespace kernops {
namespace {

struct Grant {
  std::uintptr_t from;
  size_t stack;
  std::function<bool()> go_on;
};
thread_local std::vector<Grant> grants;  // one element per Granted object; the last one applies

// The distance between two addresses; the order does not matter, because stacks may grow in either direction.
size_t distance(std::uintptr_t a, std::uintptr_t b) { return a < b ? b - a : a - b; }
std::uintptr_t frame_address() { return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)); }

}  // namespace

Granted::Granted(size_t stack, std::function<bool()> go_on) {
  grants.push_back({frame_address(), stack, std::move(go_on)});
}
Granted::~Granted() { grants.pop_back(); }

void look_up() {
  if (!grants.empty() && grants.back().go_on && !grants.back().go_on()) throw Interrupted();
}

bool stack_is_left(size_t more) {
  return grants.empty() || distance(frame_address(), grants.back().from) + more < grants.back().stack;
}

void check_stack(int at, size_t more) {
  if (!stack_is_left(more)) throw FormulaError("the formula is nested too deeply", at);
}

}  // namespace kernops
