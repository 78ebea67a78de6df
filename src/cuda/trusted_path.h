// Opens folders that only the user and the administrator can change. On Windows, this header declares nothing.
#pragma once
#ifndef _WIN32
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace kernops {
namespace cuda {

// Owns a file descriptor; the number is -1 if there is no descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) {
    close();
    number_ = other.release();
    return *this;
  }
  ~Descriptor() { close(); }
  explicit operator bool() const { return number_ >= 0; }
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }
  bool close() { return number_ < 0 || ::close(release()) == 0; }

 private:
  int number_;
};

inline bool is_safe_owner(const struct stat& entry) { return entry.st_uid == geteuid() || entry.st_uid == 0; }
inline bool others_can_write(const struct stat& entry) { return (entry.st_mode & (S_IWGRP | S_IWOTH)) != 0; }

struct Refusal {
  bool is_unsafe;  // true if other users could change the folder; false if it cannot be opened or created
  std::string reason;
};

// Opens a folder by following an absolute path from the root, with the checks of OpenSSH's StrictModes: each folder on
// the path must belong to the user or the administrator, and only the user and the administrator may have permission to
// write to it. A folder with the sticky bit, such as /tmp, is allowed, because a user cannot replace the entries of
// other users in such a folder. Symbolic links are followed name by name, so that the folders which contain the links
// are checked as well. With `create`, missing folders are created with mode 0700. Without `create`, the returned
// descriptor is empty if the folder does not exist but could be created. Throws Refusal.
Descriptor open_trusted(const std::string& path, bool create);

}  // namespace cuda
}  // namespace kernops
#endif
