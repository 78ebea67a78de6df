#include "scanner.h"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace kernops {
namespace {

bool is_name_char(unsigned char c) { return std::isalnum(c) || c == '_' || c == '.' || c >= 0x80; }

}  // namespace

bool Scanner::next_is(const char* token) const { return text_.compare(at_, std::strlen(token), token) == 0; }

bool Scanner::take(const char* token) {
  if (!next_is(token)) return false;
  at_ += int(std::strlen(token));
  skip_space();
  return true;
}

void Scanner::skip_space() {
  while (!at_end() && std::isspace(next())) ++at_;
}

bool Scanner::number_is_next() const {
  const unsigned char second = at_ + 1 < int(text_.size()) ? text_[at_ + 1] : 0;
  return std::isdigit(next()) || (next() == '.' && std::isdigit(second));
}

bool Scanner::name_is_next() const {
  return std::isalpha(next()) || next() == '.' || next() >= 0x80;
}

Expr Scanner::number() {
  const char* begin = text_.c_str() + at_;
  size_t length = std::strspn(begin, "0123456789.");
  if (begin[length] == 'e' || begin[length] == 'E') {
    const size_t sign = begin[length + 1] == '-' || begin[length + 1] == '+';
    const size_t digits = std::strspn(begin + length + 1 + sign, "0123456789");
    if (digits) length += 1 + sign + digits;
  }
  const std::string digits(begin, length);
  char* end;
  Expr e{Expr::number, digits, std::strtod(digits.c_str(), &end), {}, at_};
  if (*end) throw FormulaError("'" + digits + "' is not a number", at_);
  if (!std::isfinite(e.value))
    throw FormulaError("the number " + digits + " is too large for double precision", at_);
  at_ += int(length);
  if (next_is("L")) ++at_;  // 2L, as in R
  skip_space();
  return e;
}

Expr Scanner::name() {
  Expr e{Expr::name, "", 0, {}, at_};
  while (!at_end() && is_name_char(next())) e.text += text_[at_++];
  skip_space();
  return e;
}

std::string Scanner::instead() const {
  const std::pair<const char*, const char*> others[] = {
      {"%*%", "MatVecMult(a, b)` or, of vectors, `a | b"}, {"%/%", "Floor(a / b)"}, {"%%", "Mod(a, b, 0)"},
      {"&", "And(a, b)"}, {"!", "Not(a)"}, {"=", "a == b"}};
  for (const auto& [token, spelling] : others)
    if (next_is(token)) return std::string(": instead of `") + token + "` write `" + spelling + "`";
  return "";
}

}  // namespace kernops
