// Finds the compiled code of a CUDA text in the catalogue or in the cache folder; otherwise compiles the text. The
// cache folder has one file for the code of each text, and a readable copy of the text. A text is compiled again in
// three cases: its file is damaged, other users could have written the file, or the file was written for another
// package version or by another compiler.
#include <algorithm>
#include <future>
#include <sstream>

#include "cuda/archive.h"
#include "cuda/cache_folder.h"
#include "cuda/cuda.h"

namespace kernops {
namespace cuda {
namespace {

constexpr std::uintmax_t largest_cache = std::uintmax_t(512) << 20;

// Removes the oldest files of the cache folder if the folder is too large.
void make_room(const CacheFolder& folder) {
  std::vector<CacheFolder::File> files = folder.files();
  std::uintmax_t total = 0;
  for (const CacheFolder::File& file : files) total += file.bytes;
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  for (size_t n = 0; n < files.size() && total > largest_cache; ++n) {
    folder.remove(files[n].name);
    total -= files[n].bytes;
  }
}

std::string compiler_if_any() {
  try {
    return compiler_version();
  } catch (const CudaError&) {
    return "";
  }
}

std::vector<char> find(const CacheFolder& folder, const Record& wanted) {
  std::istringstream file(folder.read(wanted.key + ".kernel"));
  for (const Record& record : read_records(file)) {
    const bool same_compiler = wanted.compiler.empty() || wanted.compiler == record.compiler;
    if (record.key != wanted.key || !same_compiler) continue;
    file.clear();  // resets the end-of-file state of the stream; read_code() needs this
    return read_code(file, record);
  }
  return {};
}

}  // namespace

bool is_kernel_file(const std::string& name) {
  const size_t dot = name.find('.');
  return dot == 32 && name.find_first_not_of("0123456789abcdef") == dot &&
         (name.compare(dot, 7, ".kernel") == 0 || name.compare(dot, 3, ".cu") == 0);
}

std::vector<char> compiled(const std::string& text, const std::string& architecture) {
  Record record = describe(text, architecture);
  record.compiler = compiler_if_any();
  std::vector<char> code = find(CacheFolder(paths().cache), record);
  if (!code.empty()) return code;
  code = compile(text, architecture, paths().include);
  const CacheFolder folder(paths().cache, true);
  make_room(folder);  // if the folder cannot be written, the next session compiles the text again
  if (folder.write(record.key + ".kernel", to_bytes(record, code))) folder.write(record.key + ".cu", text);
  return code;
}

std::vector<char> binary(const std::string& text, const std::string& architecture) {
  return binaries({text}, architecture).front();
}

std::vector<std::vector<char>> binaries(const std::vector<std::string>& texts, const std::string& architecture) {
  engine_version();  // computes the version before threads start, so that the threads only read the stored version
  std::vector<std::vector<char>> codes;
  for (const std::string& text : texts) codes.push_back(precompiled(text, architecture));
  std::vector<std::future<void>> others;
  for (size_t n = 0; n < texts.size(); ++n) {
    if (!codes[n].empty()) continue;
    const auto compile = [&, n] { codes[n] = compiled(texts[n], architecture); };
    others.push_back(std::async(others.empty() ? std::launch::deferred : std::launch::async, compile));
  }
  for (std::future<void>& other : others) other.get();
  return codes;
}

}  // namespace cuda
}  // namespace kernops
