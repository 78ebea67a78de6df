#include "watch.h"

#include <chrono>

namespace {
void check_interrupt(void*) { R_CheckUserInterrupt(); }
}  // namespace

// R_ToplevelExec keeps R's jump from passing through C++.
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
