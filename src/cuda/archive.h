// Files of compiled kernels. A file consists of records. A record is a line of text, followed by the compiled code of
// one CUDA text, so that `cat` can join files. A file of the catalogue (kernels compiled at installation) has hundreds
// of records, and a file of the cache has one record.
#pragma once
#include <istream>
#include <string>
#include <vector>

namespace kernops {
namespace cuda {

struct Record {
  std::string version, key, architecture, compiler;
  std::string sum;  // checksum of the code; detects damage, but no changes by a user who can write the file
  size_t size, at;
};

// Reads the records of a file up to the first damaged record. The result is empty if the file does not exist.
std::vector<Record> read_records(std::istream& in);
std::vector<Record> read_records(const std::string& file);
// Reads the code of a record; the result is empty if the code is damaged.
std::vector<char> read_code(std::istream& in, const Record& record);
std::vector<char> read_code(const std::string& file, const Record& record);
std::string to_bytes(const Record& record, const std::vector<char>& code);

// Returns the version of the package and a hash of its device headers. A kernel is never used if it was compiled for
// another version or for other headers.
const std::string& engine_version();
// Returns the record that the compiled kernel of a CUDA text must match. The fields that describe the compiler and the
// code are empty.
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

// Compiles CUDA texts and writes the kernels to a file of the catalogue. If the file exists, kernels that it contains
// are not compiled again. `fatbinary` is the path of the program of the CUDA toolkit that compresses code; if the path
// is empty, files are several times larger.
void precompile(const std::vector<std::string>& texts, const std::string& architecture, const std::string& file,
                const std::string& fatbinary, void (*between)());

}  // namespace cuda
}  // namespace kernops
