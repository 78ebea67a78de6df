// Computes the keys of compiled kernels, and reads and writes files of compiled kernels (cuda/archive.h).
#include "cuda/archive.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <sstream>

#include "cuda/cuda.h"

namespace kernops {
namespace cuda {
namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Appends to `all` the header `name`, and all headers of this package that it includes, directly or indirectly.
void collect(const std::string& name, std::set<std::string>& seen, std::string& all) {
  if (!seen.insert(name).second) return;
  std::istringstream lines(read_text(fs::path(paths().include) / name));
  const std::string start = "#include <kernops/";
  for (std::string line; std::getline(lines, line); all += line + "\n")
    if (line.rfind(start, 0) == 0) collect(line.substr(10, line.find('>') - 10), seen, all);
}

}  // namespace

const std::string& engine_version() {
  static std::string version, origin;
  const std::string current = paths().version + " " + paths().include;
  if (current == origin) return version;
  std::error_code error;
  std::set<std::string> names, seen;
  const fs::path include = paths().include;
  for (const auto& entry : fs::recursive_directory_iterator(include / "kernops", error))
    if (entry.path().extension() == ".cuh") names.insert(entry.path().lexically_relative(include).generic_string());
  std::string all;
  for (const std::string& name : names) collect(name, seen, all);
  origin = current;
  return version = paths().version + "-" + hash(all).substr(0, 8);
}

// Returns two FNV-1a hashes (Fowler, Noll and Vo) of the data, from different initial values, as 32 hexadecimal digits
// in all.
std::string hash(const std::string& data) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (std::uint64_t h : {0xcbf29ce484222325ull, 0x84222325cbf29ce4ull}) {
    for (const char byte : data) h = (h ^ static_cast<unsigned char>(byte)) * 0x100000001b3ull;
    for (int shift = 60; shift >= 0; shift -= 4) text += digits[h >> shift & 15];
  }
  return text;
}

Record describe(const std::string& text, const std::string& architecture) {
  Record record{engine_version(), "", architecture, "", "", 0, 0};
  std::string said = text + "\n" + architecture + "\n" + record.version;
  for (const std::string& option : compile_options()) said += "\n" + option;
  record.key = hash(said);
  return record;
}

std::string to_bytes(const Record& r, const std::vector<char>& code) {
  const std::string bytes(code.begin(), code.end());
  return "kernops " + r.version + " " + r.key + " " + r.architecture + " " + r.compiler + " " + hash(bytes) + " " +
         std::to_string(bytes.size()) + "\n" + bytes + "\n";
}

std::vector<Record> read_records(std::istream& in) {
  std::vector<Record> records;
  if (!in.seekg(0, std::ios::end)) return records;
  const size_t end = size_t(in.tellg());
  in.seekg(0);
  std::string line, magic;
  while (std::getline(in, line)) {
    Record r;
    std::istringstream words(line);
    if (!(words >> magic >> r.version >> r.key >> r.architecture >> r.compiler >> r.sum >> r.size)) break;
    r.at = size_t(in.tellg());
    if (magic != "kernops" || r.at > end || r.size > end - r.at) break;
    records.push_back(r);
    in.seekg(std::streamoff(r.at + r.size + 1));
  }
  return records;
}

std::vector<Record> read_records(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return read_records(in);
}

std::vector<char> read_code(std::istream& in, const Record& record) {
  std::string code(record.size, ' ');
  in.seekg(std::streamoff(record.at));
  if (!in.read(&code[0], std::streamsize(code.size())) || hash(code) != record.sum) return {};
  return {code.begin(), code.end()};
}

std::vector<char> read_code(const std::string& file, const Record& record) {
  std::ifstream in(file, std::ios::binary);
  return read_code(in, record);
}

std::string temporary_name(const std::string& file) {
  return file + "." + std::to_string(std::random_device{}()) + ".tmp";
}

bool write_file(const std::string& file, const std::string& bytes) {
  std::error_code error;
  const fs::path aside = temporary_name(file);
  std::ofstream out(aside, std::ios::binary);
  out.write(bytes.data(), std::streamsize(bytes.size()));
  out.close();
  if (out) fs::rename(aside, file, error);
  if (out && !error) return true;
  fs::remove(aside, error);
  return false;
}

}  // namespace cuda
}  // namespace kernops
