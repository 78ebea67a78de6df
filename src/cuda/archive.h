// Files of compiled kernels. A file consists of records, each a line of text followed by the code, so that `cat` can
// join files. A file of the catalogue has hundreds of records, and a file of the cache has one.
#pragma once
#include <istream>
#include <string>
#include <vector>

namespace kernops {
namespace cuda {

struct Record {
  std::string version, key, architecture, compiler;
  std::string sum;  // checksum of the code: detects damage, but is no protection from someone who can write the file
  size_t size, at;
};

// Reads the records of a file up to the first damaged one. The result is empty if the file does not exist.
std::vector<Record> read_records(std::istream& in);
std::vector<Record> read_records(const std::string& file);
// Reads the code of a record; the result is empty if the code is damaged.
std::vector<char> read_code(std::istream& in, const Record& record);
std::vector<char> read_code(const std::string& file, const Record& record);
std::string to_bytes(const Record& record, const std::vector<char>& code);

// The version of the package and a hash of its device headers: a kernel of another version never matches.
const std::string& engine_version();
// Returns the record that a compiled kernel of a text must match; the compiler and the code are left empty.
Record describe(const std::string& text, const std::string& architecture);

std::string hash(const std::string& data);

// Writes to a temporary file and then renames it, so that other processes see the whole file or none. Returns false
// after a failure.
bool write_file(const std::string& file, const std::string& bytes);
std::string temporary_name(const std::string& file);

// A file of the catalogue, such as sm_90-1of4.kernels.
struct CatalogueFile {
  std::string architecture, path;
};
std::vector<CatalogueFile> catalogue_files();

// Compiles texts and writes a file of the catalogue. Kernels that an existing file already has are not compiled again.
// `fatbinary` is the path of the CUDA toolkit's program that compresses code; if it is empty, files are several times
// larger.
void precompile(const std::vector<std::string>& texts, const std::string& architecture, const std::string& file,
                const std::string& fatbinary, void (*between)());

}  // namespace cuda
}  // namespace kernops
