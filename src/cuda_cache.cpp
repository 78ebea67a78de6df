// Compiled kernels on disk: a file per text, architecture and version. Written aside and renamed, so that
// other processes see whole files or none; a file that is cut short or of another version is compiled anew.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>

#include "cuda.h"

namespace kernops {
namespace cuda {
namespace {

namespace fs = std::filesystem;
constexpr std::uintmax_t largest_cache = std::uintmax_t(512) << 20;

// FNV-1a (Fowler, Noll and Vo), twice, as 32 hexadecimal digits.
std::string hash(const char* data, size_t size) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (std::uint64_t h : {0xcbf29ce484222325ull, 0x84222325cbf29ce4ull}) {
    for (size_t n = 0; n < size; ++n) h = (h ^ static_cast<unsigned char>(data[n])) * 0x100000001b3ull;
    for (int shift = 60; shift >= 0; shift -= 4) text += digits[h >> shift & 15];
  }
  return text;
}

std::vector<char> read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string sum(32, ' ');
  if (!in.read(&sum[0], 32)) return {};
  std::vector<char> code((std::istreambuf_iterator<char>(in)), {});
  if (hash(code.data(), code.size()) != sum) return {};
  return code;
}

// The oldest files go when there is too much.
void make_room(const fs::path& folder, std::error_code& error) {
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::uintmax_t total = 0;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    files.emplace_back(entry.last_write_time(error), entry.path());
    total += entry.file_size(error);
  }
  std::sort(files.begin(), files.end());
  for (size_t n = 0; n < files.size() && total > largest_cache; ++n) {
    total -= std::min(total, fs::file_size(files[n].second, error));
    fs::remove(files[n].second, error);
  }
}

// A cache that cannot be written is none: errors are not the user's concern.
void write(const fs::path& file, const std::string& text, const std::vector<char>& code) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  make_room(file.parent_path(), error);
  const fs::path aside = file.string() + "." + std::to_string(std::random_device{}()) + ".tmp";
  {
    std::ofstream out(aside, std::ios::binary);
    out << hash(code.data(), code.size());
    out.write(code.data(), std::streamsize(code.size()));
    if (!out.flush()) return void(fs::remove(aside, error));
  }
  fs::rename(aside, file, error);
  if (error) fs::remove(aside, error);
  std::ofstream(fs::path(file).replace_extension(".cu")) << text;
}

}  // namespace

std::vector<char> binary(const std::string& text, const std::string& architecture) {
  const std::string all =
      text + "\n// " + architecture + " NVRTC " + compiler_version() + " kernops " + paths().version;
  const fs::path file = fs::path(paths().cache) / (hash(all.data(), all.size()) + ".cubin");
  std::vector<char> code = read(file);
  if (code.empty()) {
    code = compile(text, architecture, paths().include);
    write(file, text, code);
  }
  return code;
}

}  // namespace cuda
}  // namespace kernops
