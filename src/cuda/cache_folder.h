// The folder of the kernel cache. The GPU executes the code in the files of this folder. Therefore only the user and
// the administrator may have permission to write files in this folder, or to replace the folder.
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
    std::int64_t time;  // time of the last change; the unit depends on the operating system
    std::uintmax_t bytes;
  };

  // Opens a folder by its absolute path. If `create` is true, missing folders are created, and only the user can access
  // them.
  explicit CacheFolder(const std::string& path, bool create = false);
  ~CacheFolder();
  CacheFolder(const CacheFolder&) = delete;

  State state() const { return state_; }
  const std::string& reason() const { return reason_; }  // why the folder is untrusted or cannot be used

  // If the folder is not usable, the functions below behave as if it were empty, and write no files.
  std::vector<File> files() const;                  // kernels and their texts
  std::string read(const std::string& name) const;  // empty if the file does not exist, or if other users can write it
  bool trusts(const std::string& name) const;
  // Writes a file atomically: other processes see the whole file or none.
  bool write(const std::string& name, const std::string& bytes) const;
  bool remove(const std::string& name) const;

 private:
  State state_ = failed;
  std::string reason_;
  std::string path_;  // used on Windows
  int folder_ = -1;   // a descriptor of the folder, on other systems than Windows
};

// Returns whether a file name is the name of a kernel or of its text. Both names begin with a key of 32 hexadecimal
// digits. Other files in the folder are neither read nor removed.
bool is_kernel_file(const std::string& name);

// Returns whether only the user and the administrator can write to the folder or file `path`. If `path` is a file, the
// same must hold for the folder that contains the file.
bool is_trusted(const std::string& path);

}  // namespace cuda
}  // namespace kernops
