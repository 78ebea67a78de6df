#include "watch.h"

#include <algorithm>
#include <chrono>

namespace {
void check_interrupt(void*) { R_CheckUserInterrupt(); }
}  // namespace

// R_ToplevelExec() stops R's jump on an interrupt, which would otherwise skip the destructors of C++ objects.
std::function<bool(double)> watch(Rcpp::Nullable<Rcpp::Function> progress) {
  using Clock = std::chrono::steady_clock;
  auto last = std::make_shared<Clock::time_point>(Clock::now());
  return [=](double fraction) {
    if (Clock::now() - *last < std::chrono::milliseconds(100)) return true;
    *last = Clock::now();
    if (progress.isNotNull()) Rcpp::as<Rcpp::Function>(progress)(fraction);
    return R_ToplevelExec(check_interrupt, nullptr) != FALSE;
  };
}

kernops::Granted granted_by_r() {
  const Rcpp::Function info = Rcpp::Environment::base_env()["Cstack_info"];
  const Rcpp::IntegerVector stack = info();  // size of the stack, its used part, and other numbers; NA if unknown to R
  const bool known = stack[0] != NA_INTEGER && stack[1] != NA_INTEGER;
  const size_t left = known ? size_t(std::max(stack[0] - stack[1], 0)) : size_t(1) << 20;
  return kernops::Granted(left / 4 * 3, [watched = watch(R_NilValue)] { return watched(0); });
}
