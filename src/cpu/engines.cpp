// The engines that were compiled, and the choice of an engine that this machine can run.
#include <stdexcept>

#include "cpu/cpu.h"

namespace kernops {
namespace cpu {
namespace {

bool supported(const Engine& engine) {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (engine.pack_bytes == 32) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (engine.pack_bytes == 64)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
#endif
  return engine.pack_bytes == 16;
}

// All engines, the best one first.
const std::vector<const Engine*>& engines() {
  static const std::vector<const Engine*> all = [] {
    std::vector<const Engine*> available;
#ifdef __x86_64__
    for (const Engine* engine : {&engine_avx512, &engine_avx2})
      if (supported(*engine)) available.push_back(engine);
#endif
    available.push_back(&engine_baseline);
    return available;
  }();
  return all;
}

}  // namespace

const Engine& engine_for(const std::string& isa) {
  for (const Engine* engine : engines())
    if (isa.empty() || isa == engine->name) return *engine;
  throw std::invalid_argument("this machine does not have the instruction set '" + isa + "'");
}

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (const Engine* engine : engines()) names.push_back(engine->name);
  return names;
}

}  // namespace cpu
}  // namespace kernops
