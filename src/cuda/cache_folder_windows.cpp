// The folder of the kernel cache on Windows. Permissions of files are not checked, because Windows prevents other users
// from accessing the folders of a user.
#ifdef _WIN32
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cuda/archive.h"
#include "cuda/cache_folder.h"

namespace kernops {
namespace cuda {

namespace fs = std::filesystem;

CacheFolder::CacheFolder(const std::string& path, bool create) : path_(path) {
  std::error_code error;
  if (create && !path.empty()) fs::create_directories(path, error);
  const bool exists = !path.empty() && fs::exists(path, error);
  if (path.empty() || (exists && !fs::is_directory(path, error)))
    reason_ = "`" + path + "` is not a folder";
  else
    state_ = exists ? usable : missing;
}

CacheFolder::~CacheFolder() = default;

std::vector<CacheFolder::File> CacheFolder::files() const {
  std::vector<File> files;
  std::error_code error;
  if (state_ != usable) return files;
  for (const auto& entry : fs::directory_iterator(path_, error)) {
    const std::string name = entry.path().filename().string();
    std::error_code gone;  // set if another process has removed the file
    const File file{name, std::int64_t(entry.last_write_time(gone).time_since_epoch().count()), entry.file_size(gone)};
    if (!gone && is_kernel_file(name)) files.push_back(file);
  }
  return files;
}

std::string CacheFolder::read(const std::string& name) const {
  std::ifstream in(fs::path(path_) / name, std::ios::binary);
  return state_ == usable ? std::string(std::istreambuf_iterator<char>(in), {}) : "";
}

bool CacheFolder::trusts(const std::string&) const { return state_ == usable; }

bool CacheFolder::write(const std::string& name, const std::string& bytes) const {
  return state_ == usable && write_file((fs::path(path_) / name).string(), bytes);
}

bool CacheFolder::remove(const std::string& name) const {
  std::error_code error;
  return state_ == usable && fs::remove(fs::path(path_) / name, error);
}

bool is_trusted(const std::string&) { return true; }

}  // namespace cuda
}  // namespace kernops
#endif
