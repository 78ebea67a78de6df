// The folder of the kernel cache. Its files are executed as code, so only the user and the administrator may be able to
// write a file there or to replace the folder.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kernops {
namespace cuda {

class CacheFolder {
 public:
  enum State { usable, missing, untrusted, failed };
  struct File {
    std::string name;
    std::int64_t time;  // time of the last change, on any scale
    std::uintmax_t bytes;
  };

  // Opens the folder of an absolute path; `create` makes missing folders, accessible to the user alone.
  explicit CacheFolder(const std::string& path, bool create = false);
  ~CacheFolder();
  CacheFolder(const CacheFolder&) = delete;

  State state() const { return state_; }
  const std::string& reason() const { return reason_; }  // the reason why the folder is untrusted or the path failed

  // The functions below treat an unusable folder as empty, and write nothing to it.
  std::vector<File> files() const;                  // kernels and their texts
  std::string read(const std::string& name) const;  // empty if the file does not exist or others can write it
  bool trusts(const std::string& name) const;
  // atomic: other processes see a whole file or none
  bool write(const std::string& name, const std::string& bytes) const;
  bool remove(const std::string& name) const;

 private:
  State state_ = failed;
  std::string reason_;
  std::string path_;  // used on Windows
  int folder_ = -1;   // on other systems, a descriptor
};

// The names of kernels and texts begin with a key of 32 hexadecimal digits; other files in the folder are left alone.
bool is_kernel_file(const std::string& name);

// Returns whether only the user and the administrator can write to a folder, or to a file and its folder.
bool is_trusted(const std::string& path);

}  // namespace cuda
}  // namespace kernops
