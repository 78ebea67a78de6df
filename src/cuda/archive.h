// Files of compiled kernels. A file holds records one after another, each a line of text and the code, so
// that files can be joined by `cat`; the catalogue's hold hundreds of them, the cache's one.
#pragma once
#include <istream>
#include <string>
#include <vector>

namespace kernops {
namespace cuda {

struct Record {
  std::string version, key, architecture, compiler;
  std::string sum;  // of the code: it shows damage, and protects from nobody who can write the file
  size_t size, at;
};

// The records of a file up to the first damaged one; none if the file does not exist.
std::vector<Record> read_records(std::istream& in);
std::vector<Record> read_records(const std::string& file);
// Empty if the code is damaged.
std::vector<char> read_code(std::istream& in, const Record& record);
std::vector<char> read_code(const std::string& file, const Record& record);
std::string to_bytes(const Record& record, const std::vector<char>& code);

// The package's version and what its device headers say: a kernel of any other engine never matches.
const std::string& engine_version();
// The record that the kernel of a text must match; its compiler and code are left empty.
Record describe(const std::string& text, const std::string& architecture);

std::string hash(const std::string& data);

// Writes aside and renames, so that other processes see a whole file or none; false if that fails.
bool write_file(const std::string& file, const std::string& bytes);
std::string temporary_name(const std::string& file);

// The files of the catalogue: sm_90-1of4.kernels.
struct CatalogueFile {
  std::string architecture, path;
};
std::vector<CatalogueFile> catalogue_files();

// Compiles texts into a file of the catalogue. Kernels that the file already holds are not compiled again.
// `fatbinary` is the toolkit's tool that packs code; without it (empty) files are several times larger.
void precompile(const std::vector<std::string>& texts, const std::string& architecture, const std::string& file,
                const std::string& fatbinary, void (*between)());

}  // namespace cuda
}  // namespace kernops
