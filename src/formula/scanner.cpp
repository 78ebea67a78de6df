#include "formula/scanner.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace kernops {
namespace {

// Characters beyond ASCII count as letters, except these typographic signs.
constexpr std::pair<const char*, const char*> printed[] = {
    {"\u2212", "-"},  {"\u2013", "-"},  {"\u00d7", "*"},  {"\u00b7", "*"},  {"\u22c5", "*"}, {"\u00f7", "/"},
    {"\u00b2", "^2"}, {"\u00b3", "^3"}, {"\u2264", "<="}, {"\u2265", ">="}, {"\u2260", "!="}};
constexpr const char* hard_space = "\u00a0";

}  // namespace

bool Scanner::next_is(const char* token) const { return text_.compare(at_, std::strlen(token), token) == 0; }

bool Scanner::take(const char* token) {
  if (!next_is(token)) return false;
  at_ += int(std::strlen(token));
  skip_space();
  return true;
}

void Scanner::skip_space() {
  for (;; ++at_) {
    if (next_is(hard_space))
      ++at_;
    else if (at_end() || !std::isspace(next()))
      return;
  }
}

bool Scanner::in_name() const {
  if (next() < 0x80) return std::isalnum(next()) || next() == '_' || next() == '.';
  return !next_is(hard_space) &&
         std::none_of(std::begin(printed), std::end(printed), [&](const auto& sign) { return next_is(sign.first); });
}

std::string Scanner::character() const {
  size_t length = 1;
  while (at_ + length < text_.size() && (text_[at_ + length] & 0xc0) == 0x80) ++length;
  return text_.substr(at_, length);
}

bool Scanner::number_is_next() const {
  const unsigned char second = at_ + 1 < int(text_.size()) ? text_[at_ + 1] : 0;
  return std::isdigit(next()) || (next() == '.' && std::isdigit(second));
}

bool Scanner::name_is_next() const { return in_name() && next() != '_'; }

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
  if (!std::isfinite(e.value)) throw FormulaError("the number " + digits + " is too large for double precision", at_);
  at_ += int(length);
  if (next_is("L")) ++at_;  // skips the suffix of an integer such as 2L
  skip_space();
  return e;
}

Expr Scanner::name() {
  Expr e{Expr::name, "", 0, {}, at_};
  while (in_name()) e.text += text_[at_++];
  skip_space();
  return e;
}

std::string Scanner::instead() const {
  const std::pair<const char*, const char*> others[] = {{"%*%", "MatVecMult(a, b)` or, of vectors, `a | b"},
                                                        {"%/%", "Floor(a / b)"},
                                                        {"%%", "Mod(a, b, 0)"},
                                                        {"&", "And(a, b)"},
                                                        {"!", "Not(a)"},
                                                        {"=", "a == b"}};
  const auto spelling = [this](const auto& table) {
    for (const auto& [token, ours] : table)
      if (next_is(token)) return std::string(": instead of `") + token + "` write `" + ours + "`";
    return std::string();
  };
  return spelling(others) + spelling(printed);
}

}  // namespace kernops
