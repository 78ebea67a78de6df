#ifndef _WIN32
#include "cuda/trusted_path.h"

#include <fcntl.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <vector>

namespace kernops {
namespace cuda {
namespace {

// The flag that opens a folder which the user may enter but not read. O_RDONLY, the fallback, requires permission to
// read.
#if defined(O_PATH)
constexpr int search_only = O_PATH;
#elif defined(O_SEARCH)
constexpr int search_only = O_SEARCH;
#else
constexpr int search_only = O_RDONLY;
#endif
constexpr int as_folder = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

class Walk {
 public:
  explicit Walk(const std::string& path) { follow(path); }

  Descriptor to_end(bool create) {
    while (!names_.empty())
      if (!step(create)) return Descriptor();
    Descriptor end(openat(folder_.get(), ".", O_RDONLY | as_folder));
    if (!end) fail(place_, "cannot be read");
    check(end, false);
    return end;
  }

 private:
  // Enters the next folder of the path. Returns false if the folder does not exist and `create` is false.
  bool step(bool create) {
    const std::string name = names_.back();
    struct stat entry;
    if (fstatat(folder_.get(), name.c_str(), &entry, AT_SYMLINK_NOFOLLOW) != 0) return make(name, create);
    names_.pop_back();
    if (S_ISLNK(entry.st_mode)) return follow_link(name, entry), true;
    const auto place = name == ".." ? place_.parent_path() : place_ / name;
    if (!S_ISDIR(entry.st_mode)) throw Refusal{false, quoted(place) + " is not a folder"};
    enter(openat(folder_.get(), name.c_str(), search_only | as_folder), place);
    return true;
  }

  bool make(const std::string& name, bool create) {
    if (errno != ENOENT) fail(place_ / name, "cannot be opened");
    if (!create && faccessat(folder_.get(), ".", W_OK | X_OK, AT_EACCESS) == 0) return false;
    const bool made = create && mkdirat(folder_.get(), name.c_str(), 0700) == 0;
    // the umask of the process may have removed permissions of the user
    const bool open = made && fchmodat(folder_.get(), name.c_str(), 0700, 0) == 0;
    if (!open && (!create || errno != EEXIST)) fail(place_ / name, "cannot be created");
    return true;
  }

  void follow_link(const std::string& name, const struct stat& entry) {
    if (!is_safe_owner(entry)) throw Refusal{true, "the link " + quoted(place_ / name) + " belongs to another user"};
    char target[4096];
    const ssize_t length = readlinkat(folder_.get(), name.c_str(), target, sizeof target);
    if (length <= 0 || length == sizeof target || ++links_ > 40) fail(place_ / name, "cannot be followed");
    follow(std::string(target, size_t(length)));
  }

  // Puts the names of a path, such as the target of a symbolic link, in front of the remaining names.
  void follow(const std::string& path) {
    std::vector<std::string> names;
    for (const auto& name : std::filesystem::path(path).relative_path()) {
      if (name.string().size() > NAME_MAX) throw Refusal{false, quoted(name) + " is too long for the name of a folder"};
      if (!name.empty() && name != ".") names.push_back(name.string());
    }
    names_.insert(names_.end(), names.rbegin(), names.rend());
    if (path[0] == '/') enter(::open("/", search_only | as_folder), "/");
  }

  void enter(int number, const std::filesystem::path& place) {
    place_ = place;
    folder_ = Descriptor(number);
    if (!folder_) fail(place_, "cannot be opened");
    check(folder_, true);
  }

  void check(const Descriptor& folder, bool on_the_way) const {
    struct stat entry;
    if (fstat(folder.get(), &entry) != 0) fail(place_, "cannot be read");
    if (!is_safe_owner(entry)) throw Refusal{true, quoted(place_) + " belongs to another user"};
    if (!others_can_write(entry) || (on_the_way && (entry.st_mode & S_ISVTX))) return;
    throw Refusal{true, quoted(place_) + " can be written by " + (entry.st_mode & S_IWOTH ? "all users" : "its group")};
  }

  [[noreturn]] static void fail(const std::filesystem::path& place, const std::string& what) {
    const std::string why = std::strerror(errno);
    throw Refusal{false, quoted(place) + " " + what + ": " + why};
  }
  static std::string quoted(const std::filesystem::path& place) { return "`" + place.string() + "`"; }

  Descriptor folder_;
  std::filesystem::path place_;     // path of the current folder
  std::vector<std::string> names_;  // remaining names in reverse order: the last name is entered next
  int links_ = 0;
};

}  // namespace

Descriptor open_trusted(const std::string& path, bool create) {
  if (path.empty() || path[0] != '/') throw Refusal{false, "the path is not absolute"};
  if (path.size() >= PATH_MAX) throw Refusal{false, "the path has more than " + std::to_string(PATH_MAX) + " bytes"};
  return Walk(path).to_end(create);
}

}  // namespace cuda
}  // namespace kernops
#endif
