// The catalogue: kernels that were compiled when the package was installed. The kernels of one architecture are in
// several files, such as sm_90-1of4.kernels, because make builds the files in parallel.
#ifndef _WIN32
#include <spawn.h>
#include <sys/wait.h>
extern char** environ;
#endif
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "cuda/cuda.h"
#include "cuda/archive.h"

namespace kernops {
namespace cuda {
namespace {

namespace fs = std::filesystem;

std::vector<char> whole_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return std::vector<char>(std::istreambuf_iterator<char>(in), {});
}

// Runs a program without a shell, because a shell could interpret the arguments. Returns whether the program succeeded.
bool run_program(std::vector<std::string> words) {
#ifdef _WIN32
  return false;
#else
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(&word[0]);
  arguments.push_back(nullptr);
  pid_t child = 0;
  int status = 0;
  if (posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0) return false;
  return waitpid(child, &status, 0) == child && status == 0;
#endif
}

// Compresses code by a program of the CUDA toolkit; the driver decompresses the code. Returns the original code if
// compression fails.
std::vector<char> packed(const std::vector<char>& code, const std::string& architecture, const std::string& fatbinary,
                         const std::string& file) {
  if (fatbinary.empty()) return code;
  const std::string from = file + ".cubin", to = file + ".fatbin";
  std::vector<char> smaller;
  if (write_file(from, std::string(code.begin(), code.end()))) {
    const std::string image = "--image3=kind=elf,sm=" + full_name(architecture).substr(3) + ",file=" + from;
    if (run_program({fatbinary, "--compress-all", "--create=" + to, image})) smaller = whole_file(to);
  }
  std::error_code error;
  fs::remove(from, error);
  fs::remove(to, error);
  return smaller.empty() ? code : smaller;
}

}  // namespace

std::vector<CatalogueFile> catalogue_files() {
  std::vector<CatalogueFile> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(paths().catalogue, error)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() == ".kernels" && name.rfind("sm_", 0) == 0)
      files.push_back({name.substr(0, name.find('-')), entry.path().string()});
  }
  return files;
}

void precompile(const std::vector<std::string>& texts, const std::string& architecture, const std::string& file,
                const std::string& fatbinary, void (*between)()) {
  std::map<std::string, Record> known;
  for (const Record& record : read_records(file)) known[record.key] = record;
  std::string all;
  for (const std::string& text : texts) {
    Record record = describe(text, architecture);
    record.compiler = compiler_version();
    std::vector<char> code;
    const auto match = known.find(record.key);
    if (match != known.end() && match->second.compiler == record.compiler) code = read_code(file, match->second);
    if (code.empty()) code = packed(compile(text, architecture, paths().include), architecture, fatbinary, file);
    all += to_bytes(record, code);
    between();
  }
  if (!write_file(file, all)) throw CudaError("the file " + file + " cannot be written");
}

std::vector<char> precompiled(const std::string& text, const std::string& architecture) {
  struct Kept {
    std::string path;
    Record record;
  };
  static std::string read_from;
  static std::map<std::string, Kept> index;  // indexed by key
  static std::map<int, std::string, std::greater<int>> architectures;
  if (read_from != paths().catalogue) {
    read_from = paths().catalogue;
    index.clear(), architectures.clear();
    for (const CatalogueFile& file : catalogue_files()) {
      architectures[std::atoi(file.architecture.c_str() + 3)] = file.architecture;
      for (const Record& record : read_records(file.path)) index[record.key] = {file.path, record};
    }
  }
  // Code for sm_80 also runs on sm_86, but not on sm_90. Therefore this loop searches architectures of the same major
  // version, from the highest to the lowest.
  const int device = std::atoi(architecture.c_str() + 3);
  for (const auto& [number, name] : architectures) {
    if (number > device || number / 10 != device / 10) continue;
    const auto match = index.find(describe(text, name).key);
    if (match == index.end()) continue;
    const std::vector<char> code = read_code(match->second.path, match->second.record);
    if (!code.empty()) return code;
  }
  return {};
}

}  // namespace cuda
}  // namespace kernops
