// The R interface to the CUDA kernels that an operator would use on a GPU with given properties. No GPU is needed.
#include "cuda/cuda.h"
#include "cuda/pairs/choose.h"
#include "settings.h"

using namespace kernops;

namespace {

cuda::Gpu gpu_of(const Rcpp::List& description) {
  return {Rcpp::as<std::string>(description["architecture"]), Rcpp::as<int>(description["multiprocessors"]),
          Rcpp::as<bool>(description["fast_doubles"])};
}
cuda::Extent extent_of(const Rcpp::List& description) {
  return {Count(Rcpp::as<double>(description["rows"])), Count(Rcpp::as<double>(description["columns"])),
          Rcpp::as<bool>(description["ranges"]), 1e9};
}

// The names in R of the enumerators of cuda/pairs/choose.h.
const char* const mainloops[] = {"narrow", "wide", "panels", "lists"};
const char* const atoms[] = {"terms", "double", "TF32", "half pairs", "warp groups", "digits"};
const char* const consumers[] = {"states", "vector sum", "store", "top-k"};
const char* const operands[] = {"filled columns", "made columns", "made rows"};
const char* const batchings[] = {"none", "entries", "columns", "whole", "tiles"};

std::string in_one_line(const cuda::Recipe& r) {
  const auto number = [](Count n) { return std::to_string(n); };
  std::string out = std::string(mainloops[int(r.mainloop)]) + ", " + number(r.rows()) + " rows x " + number(r.columns) +
                    " columns, " + number(r.threads) + " threads";
  if (r.mainloop == cuda::Mainloop::narrow)
    return out + ", " + consumers[int(r.consumer)] + ", " + operands[int(r.operands)];
  out += std::string(", products by ") + atoms[int(r.atom)] + ", " + consumers[int(r.consumer)];
  if (r.sums_vectors()) out += std::string(" by ") + atoms[int(r.summed)] + " (" + batchings[int(r.batching)] + ")";
  return out;
}

Rcpp::List as_list(const cuda::Recipe& r) {
  return Rcpp::List::create(
      Rcpp::_["mainloop"] = mainloops[int(r.mainloop)], Rcpp::_["atom"] = atoms[int(r.atom)],
      Rcpp::_["consumer"] = consumers[int(r.consumer)], Rcpp::_["operands"] = operands[int(r.operands)],
      Rcpp::_["batching"] = batchings[int(r.batching)], Rcpp::_["rows"] = double(r.rows()),
      Rcpp::_["rows_per_thread"] = r.rows_per_thread, Rcpp::_["columns"] = r.columns, Rcpp::_["threads"] = r.threads,
      Rcpp::_["unrolled"] = r.unrolled, Rcpp::_["parts"] = r.parts, Rcpp::_["warpgroups"] = r.warpgroups,
      Rcpp::_["words"] = in_one_line(r), Rcpp::_["reason"] = r.reason);
}

// Calls choose() for each plan of a kernel, and passes the choice to take(layout, settings, recipe).
template <class Take>
void each_recipe(const Kernel& kernel, const Rcpp::List& settings, const Rcpp::List& gpu, const Rcpp::List& extent,
                 Take take) {
  const Settings wanted = read_settings(settings);
  for (const Plan& plan : kernel.plans[number_of(*backend_named("cuda"))]) {
    const cuda::Layouts layouts = cuda::lay_out(plan, wanted);
    const int attempt = Rcpp::as<int>(extent["attempt"]);
    const cuda::Recipe recipe = cuda::choose(layouts.features, wanted, gpu_of(gpu), extent_of(extent), attempt);
    take(layouts.of(recipe), cuda::numbers_of(recipe, wanted), recipe);
  }
}

}  // namespace

// The recipes of all reductions of a kernel, one list of strings and numbers for each reduction.
// [[Rcpp::export(rng = false)]]
Rcpp::List cuda_recipes(Rcpp::XPtr<kernops::Kernel> kernel, Rcpp::List settings, Rcpp::List gpu, Rcpp::List extent) {
  Rcpp::List all;
  each_recipe(*kernel, settings, gpu, extent,
              [&](const auto&, const Settings&, const cuda::Recipe& recipe) { all.push_back(as_list(recipe)); });
  return all;
}

// The CUDA text of the last reduction of a kernel.
// [[Rcpp::export(rng = false)]]
std::string cuda_source(Rcpp::XPtr<kernops::Kernel> kernel, Rcpp::List settings, Rcpp::List gpu, Rcpp::List extent) {
  cuda::Text text;
  each_recipe(*kernel, settings, gpu, extent, [&](const TiledPlan& plan, const Settings& numbers, const auto& recipe) {
    text = cuda::source(plan, numbers, recipe);
  });
  return text.of_pairs() + text.levels;
}
