// Functions by which R queries the CUDA backend and compiles CUDA texts.
#include "border.h"
#include "cuda/archive.h"
#include "cuda/cache_folder.h"
#include "cuda/compiler.h"
#include "cuda/fft.h"
#include "cuda/pairs/choose.h"
#include "cuda/segments/segments.h"
#include "cuda/solver.h"

using namespace kernops;

// [[Rcpp::export(rng = false)]]
void cuda_set_paths(std::string include, std::string catalogue, std::string cache, std::string version) {
  cuda::paths() = {include, catalogue, cache, version};
  cuda::garbage_collector() = R_gc;
}

// The reason why one of the GPUs `devices` cannot be used or, if `devices` is empty, why no GPU can be used. An empty
// string means that the GPUs can be used. Opens the first GPU.
// [[Rcpp::export(rng = false)]]
std::string cuda_problem(std::vector<int> devices) {
  try {
    cuda::driver();
    cuda::check_devices(devices);
    if (!devices.empty()) cuda::use_device(devices.front());
    return "";
  } catch (const cuda::CudaError& error) {
    return error.what();
  }
}

// A data frame with one row for each GPU of this machine. Free memory is NA for GPUs that this session does not use.
// [[Rcpp::export(rng = false)]]
Rcpp::DataFrame cuda_describe() {
  return guard([&] {
    Rcpp::IntegerVector number, multiprocessors;
    Rcpp::CharacterVector name, architecture;
    Rcpp::NumericVector free_bytes, total_bytes, used_bytes;
    for (const cuda::Device& device : cuda::devices()) {
      number.push_back(device.number), multiprocessors.push_back(device.multiprocessors);
      name.push_back(device.name), architecture.push_back(device.architecture);
      total_bytes.push_back(double(device.bytes)), used_bytes.push_back(double(cuda::memory_in_use(device.number)));
      if (device.context) cuda::use_device(device.number);
      free_bytes.push_back(device.context ? double(cuda::memory_left()) : NA_REAL);
    }
    return Rcpp::DataFrame::create(Rcpp::_["device"] = number, Rcpp::_["name"] = name,
                                   Rcpp::_["architecture"] = architecture, Rcpp::_["multiprocessors"] = multiprocessors,
                                   Rcpp::_["free_bytes"] = free_bytes, Rcpp::_["total_bytes"] = total_bytes,
                                   Rcpp::_["used_bytes"] = used_bytes, Rcpp::_["stringsAsFactors"] = false);
  });
}

// The newest CUDA version that the driver supports, such as "13.0"; empty if there is no driver.
// [[Rcpp::export(rng = false)]]
std::string cuda_driver() {
  try {
    const int version = cuda::driver_version();
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  } catch (const cuda::CudaError& error) {
    return "";
  }
}

// The version of the cuSOLVER library; empty if it is not installed.
// [[Rcpp::export(rng = false)]]
std::string cuda_solver() { return cuda::has_solver() ? cuda::solver_version() : ""; }

// The version of the cuFFT library; empty if it is not installed.
// [[Rcpp::export(rng = false)]]
std::string cuda_fft() { return cuda::has_fft() ? cuda::fft_version() : ""; }

// [[Rcpp::export(rng = false)]]
std::string cuda_compiler() {
  try {
    return cuda::compiler_version();
  } catch (const cuda::CudaError& error) {
    return "";
  }
}

// Compiles a CUDA text without a GPU. Returns the bytes of the binary, and the compiler's messages about each kernel.
// Two options are for tests that only check whether the text compiles: `quick` halves the compile time, and a virtual
// architecture reduces it to a third. With a virtual architecture, the inline assembly of the wide kernels and of the
// panels is not checked.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerVector cuda_compile(std::string text, std::string architecture, bool quick = false) {
  return guard([&] {
    std::string log;
    Rcpp::IntegerVector bytes = {int(cuda::compile(text, architecture, cuda::paths().include, log, quick).size())};
    bytes.attr("log") = log;
    return bytes;
  });
}

// The CUDA texts that a kernel may need, for each reduction. If `few` is true, these are the texts of every recipe
// (choice of a GPU kernel). Otherwise, recipes that are used only for a few rows are omitted.
// [[Rcpp::export(rng = false)]]
std::vector<std::string> cuda_sources(Rcpp::XPtr<kernops::Kernel> kernel, bool single, bool few = true,
                                      std::string architecture = "sm_80") {
  Settings settings;
  settings.single = single;
  const cuda::Gpu gpu(architecture, 128, true);
  std::vector<std::string> texts;
  for (const Plan& plan : kernel->plans[number_of(*backend_named("cuda"))]) {
    const cuda::Layouts layouts = cuda::lay_out(plan, settings);
    for (const cuda::Recipe& recipe : cuda::recipes(layouts.features, settings, gpu, few)) {
      const cuda::Text text = cuda::source(layouts.of(recipe), settings, recipe);
      texts.push_back(text.of_pairs()), texts.push_back(text.of_levels());
    }
  }
  return texts;
}

// The CUDA texts of the common reductions of segments or, with `all`, of every kind of reduction.
// [[Rcpp::export(rng = false)]]
std::vector<std::string> cuda_segment_sources(bool all = false) {
  return all ? cuda::all_segment_texts() : cuda::usual_segment_texts();
}

// [[Rcpp::export(rng = false)]]
void cuda_precompile(std::vector<std::string> texts, std::string architecture, std::string file,
                     std::string fatbinary) {
  guard([&] { cuda::precompile(texts, architecture, file, fatbinary, [] { Rcpp::checkUserInterrupt(); }); });
}

// Returns the binary code of a CUDA text. The code comes from the catalogue, the cache or the compiler. With
// `only_shipped`, the code comes only from the catalogue of kernels that are installed with the package.
// [[Rcpp::export(rng = false)]]
Rcpp::RawVector cuda_binary(std::string text, std::string architecture, bool only_shipped = false) {
  return guard([&] {
    const auto code = only_shipped ? cuda::precompiled(text, architecture) : cuda::binary(text, architecture);
    Rcpp::RawVector bytes(new_vector(RAWSXP, double(code.size())));
    std::copy(code.begin(), code.end(), bytes.begin());
    return bytes;
  });
}

// The size in bytes of each file of the kernel cache; the names are the file names.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cuda_cache_files() {
  std::vector<std::string> names;
  std::vector<double> bytes;
  for (const auto& file : cuda::CacheFolder(cuda::paths().cache).files())
    names.push_back(file.name), bytes.push_back(double(file.bytes));
  Rcpp::NumericVector files(bytes.begin(), bytes.end());
  files.names() = names;
  return files;
}

// Removes the files of the kernel cache and returns their number.
// [[Rcpp::export(rng = false)]]
int cuda_clear_cache() {
  const cuda::CacheFolder folder(cuda::paths().cache);
  int removed = 0;
  for (const auto& file : folder.files()) removed += folder.remove(file.name);
  return removed;
}

// The state of a folder for compiled kernels and, if the folder cannot be used, the reason.
// [[Rcpp::export(rng = false)]]
Rcpp::List cuda_folder_state(std::string path) {
  static const char* const states[] = {"usable", "missing", "untrusted", "failed"};
  const cuda::CacheFolder folder(path);
  return Rcpp::List::create(Rcpp::_["state"] = states[folder.state()], Rcpp::_["reason"] = folder.reason());
}

// [[Rcpp::export(rng = false)]]
bool memory_holds(double bytes) { return within_memory(bytes); }

// [[Rcpp::export(rng = false)]]
bool cuda_is_trusted(std::string path) { return cuda::is_trusted(path); }

// One row for each architecture of the kernels that were compiled when the package was installed.
// [[Rcpp::export(rng = false)]]
Rcpp::DataFrame cuda_catalogue_files() {
  std::map<std::string, std::array<double, 2>> by_architecture;
  for (const cuda::CatalogueFile& file : cuda::catalogue_files())
    for (const cuda::Record& record : cuda::read_records(file.path)) {
      if (record.version != cuda::engine_version()) continue;
      by_architecture[file.architecture][0] += 1, by_architecture[file.architecture][1] += double(record.size);
    }
  std::vector<std::string> architecture;
  std::vector<double> kernels, bytes;
  for (const auto& [name, count] : by_architecture)
    architecture.push_back(name), kernels.push_back(count[0]), bytes.push_back(count[1]);
  return Rcpp::DataFrame::create(Rcpp::_["architecture"] = architecture, Rcpp::_["kernels"] = kernels,
                                 Rcpp::_["bytes"] = bytes, Rcpp::_["stringsAsFactors"] = false);
}
