// The folder of the kernel cache. Functions access the folder and its files by file descriptors, so that a check and
// the access after the check concern the same folder or file.
#ifndef _WIN32
#include "cuda/cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "cuda/archive.h"
#include "cuda/trusted_path.h"

namespace kernops {
namespace cuda {
namespace {

constexpr off_t largest_file = off_t(512) << 20;

// Opens a regular file of the folder for reading, if only the user and the administrator can write to the file;
// otherwise the returned descriptor is empty.
Descriptor open_file(int folder, const std::string& name) {
  Descriptor file(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat entry;
  const bool safe = file && fstat(file.get(), &entry) == 0 && S_ISREG(entry.st_mode) && entry.st_size <= largest_file &&
                    is_safe_owner(entry) && !others_can_write(entry);
  return safe ? std::move(file) : Descriptor();
}

bool write_all(int file, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(file, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written, size -= size_t(written);
  }
  return true;
}

}  // namespace

CacheFolder::CacheFolder(const std::string& path, bool create) {
  try {
    Descriptor folder = open_trusted(path, create);
    state_ = folder ? usable : missing;
    folder_ = folder.release();
  } catch (const Refusal& refusal) {
    state_ = refusal.is_unsafe ? untrusted : failed, reason_ = refusal.reason;
  }
}

CacheFolder::~CacheFolder() {
  if (folder_ >= 0) close(folder_);
}

std::vector<CacheFolder::File> CacheFolder::files() const {
  std::vector<File> files;
  Descriptor listed(folder_ < 0 ? -1 : openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(listed ? fdopendir(listed.get()) : nullptr, closedir);
  if (!entries) return files;
  listed.release();  // closedir() also closes this descriptor
  struct stat entry;
  while (const dirent* next = readdir(entries.get()))
    if (is_kernel_file(next->d_name) && fstatat(folder_, next->d_name, &entry, AT_SYMLINK_NOFOLLOW) == 0)
      files.push_back({next->d_name, std::int64_t(entry.st_mtime), std::uintmax_t(entry.st_size)});
  return files;
}

bool CacheFolder::trusts(const std::string& name) const { return folder_ >= 0 && open_file(folder_, name); }

std::string CacheFolder::read(const std::string& name) const {
  const Descriptor file = folder_ < 0 ? Descriptor() : open_file(folder_, name);
  struct stat entry;
  if (!file || fstat(file.get(), &entry) != 0) return "";
  std::string bytes(size_t(entry.st_size), '\0');
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::read(file.get(), &bytes[filled], bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    filled += size_t(got);
  }
  bytes.resize(filled);
  return bytes;
}

bool CacheFolder::write(const std::string& name, const std::string& bytes) const {
  const std::string aside = temporary_name(name);
  Descriptor file(folder_ < 0 ? -1 : openat(folder_, aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return false;
  const bool written = fchmod(file.get(), 0600) == 0 && write_all(file.get(), bytes.data(), bytes.size()) &&
                       file.close() && renameat(folder_, aside.c_str(), folder_, name.c_str()) == 0;
  if (!written) remove(aside);
  return written;
}

bool CacheFolder::remove(const std::string& name) const {
  return folder_ >= 0 && unlinkat(folder_, name.c_str(), 0) == 0;
}

bool is_trusted(const std::string& path) {
  const CacheFolder itself(path);
  if (itself.state() == CacheFolder::usable || itself.state() == CacheFolder::missing) return true;
  const size_t slash = path.find_last_of('/');
  return slash != std::string::npos && CacheFolder(path.substr(0, slash + 1)).trusts(path.substr(slash + 1));
}

}  // namespace cuda
}  // namespace kernops
#endif
