// Files of compiled kernels. A file holds records one after another, each a line of text and the code, so that `cat`
// can join files; files of the catalogue hold hundreds of records, files of the cache one.
#pragma once
#include <istream>
#include <string>
#include <vector>

namespace kernops {
namespace cuda {

struct Record {
  std::string version, key, architecture, compiler;
  std::string sum;  // checksum of the code: it detects damage, but does not protect from someone who can write the file
  size_t size, at;
};

// The records of a file up to the first damaged one; none if the file does not exist.
std::vector<Record> read_records(std::istream& in);
std::vector<Record> read_records(const std::string& file);
// Returns the code of a record, or nothing if the code is damaged.
std::vector<char> read_code(std::istream& in, const Record& record);
std::vector<char> read_code(const std::string& file, const Record& record);
std::string to_bytes(const Record& record, const std::vector<char>& code);

// The version of the package and a hash of its device headers, so that a kernel of another version never matches.
const std::string& engine_version();
// The record that the kernel of a text must match; its compiler and code are left empty.
Record describe(const std::string& text, const std::string& architecture);

std::string hash(const std::string& data);

// Writes to a temporary file and renames it, so that other processes see a whole file or none; returns false if that
// fails.
bool write_file(const std::string& file, const std::string& bytes);
std::string temporary_name(const std::string& file);

// The files of the catalogue: sm_90-1of4.kernels.
struct CatalogueFile {
  std::string architecture, path;
};
std::vector<CatalogueFile> catalogue_files();

// Compiles texts into a file of the catalogue. Kernels that the file already holds are not compiled again. `fatbinary`
// is the toolkit's program that compresses code; if it is empty, files are several times larger.
void precompile(const std::vector<std::string>& texts, const std::string& architecture, const std::string& file,
                const std::string& fatbinary, void (*between)());

}  // namespace cuda
}  // namespace kernops
