// Finds the code of a text: in the catalogue, on disk, or by the compiler. On disk a text is a file of its
// own, with the text beside it to read; a file that is damaged, that others may have written, or that is of another
// version or compiler is compiled anew.
#ifndef _WIN32
#include <sys/stat.h>
#include <unistd.h>
#endif
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <future>

#include "cuda/cuda.h"
#include "cuda/archive.h"

namespace kernops {
namespace cuda {
namespace {

namespace fs = std::filesystem;
constexpr std::uintmax_t largest_cache = std::uintmax_t(512) << 20;

// Files that others put into the folder are theirs: ours start with a key.
bool is_ours(const fs::path& file) {
  const std::string name = file.filename().string();
  const size_t dot = name.find('.');
  return dot == 32 && name.find_first_not_of("0123456789abcdef") == dot &&
         (name.compare(dot, 7, ".kernel") == 0 || name.compare(dot, 3, ".cu") == 0);
}

// The oldest files go when there is too much.
void make_room(const fs::path& folder) {
  struct File {
    fs::file_time_type time;
    std::uintmax_t size;
    fs::path path;
  };
  std::vector<File> files;
  std::uintmax_t total = 0;
  for (const std::string& name : cache_files()) {
    std::error_code gone;  // by another process
    const File file{fs::last_write_time(folder / name, gone), fs::file_size(folder / name, gone), folder / name};
    if (gone) continue;
    files.push_back(file);
    total += file.size;
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.time < b.time; });
  for (size_t n = 0; n < files.size() && total > largest_cache; ++n) {
    std::error_code gone;
    total -= files[n].size;
    fs::remove(files[n].path, gone);
  }
}

std::string compiler_if_any() {
  try {
    return compiler_version();
  } catch (const CudaError&) {
    return "";
  }
}

std::vector<char> read(const std::string& file, const Record& wanted) {
  if (!is_trusted(file)) return {};
  for (const Record& record : read_records(file)) {
    const bool same_compiler = wanted.compiler.empty() || wanted.compiler == record.compiler;
    if (record.key == wanted.key && same_compiler) return read_code(file, record);
  }
  return {};
}

}  // namespace

// The user's or the system's, and nobody else writes there; or nothing is there yet.
bool is_trusted(const std::string& path) {
#ifndef _WIN32
  struct stat found;
  if (stat(path.c_str(), &found) != 0) return true;
  const bool own = found.st_uid == geteuid() || found.st_uid == 0;
  const bool by_group = (found.st_mode & S_IWGRP) && found.st_gid != getegid();
  return own && !by_group && !(found.st_mode & S_IWOTH);
#else
  return true;
#endif
}

std::vector<std::string> cache_files() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(paths().cache, error))
    if (is_ours(entry.path())) names.push_back(entry.path().filename().string());
  return names;
}

std::vector<char> compiled(const std::string& text, const std::string& architecture) {
  Record record = describe(text, architecture);
  record.compiler = compiler_if_any();
  const fs::path folder = paths().cache, file = folder / (record.key + ".kernel");
  const bool safe = is_trusted(folder.string());
  std::vector<char> code = safe ? read(file.string(), record) : std::vector<char>();
  if (!code.empty()) return code;
  code = compile(text, architecture, paths().include);
  if (!safe) return code;
  std::error_code error;  // a cache that cannot be written is none: not the user's concern
  fs::create_directories(folder, error);
  make_room(folder);
  if (write_file(file.string(), to_bytes(record, code)))
    write_file(fs::path(file).replace_extension(".cu").string(), text);
  return code;
}

std::vector<char> binary(const std::string& text, const std::string& architecture) {
  return binaries({text}, architecture).front();
}

std::vector<std::vector<char>> binaries(const std::vector<std::string>& texts, const std::string& architecture) {
  engine_version();  // is read once, by this thread
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
