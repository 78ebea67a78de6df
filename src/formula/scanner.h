// Splits the text of a formula into tokens, from left to right.
#pragma once
#include "formula/parse.h"

namespace kernops {

class Scanner {
 public:
  explicit Scanner(const std::string& text) : text_(text) { skip_space(); }

  int at() const { return at_; }
  char operator[](int at) const { return text_[at]; }
  bool at_end() const { return at_ >= int(text_.size()); }
  unsigned char next() const { return at_end() ? 0 : text_[at_]; }
  bool next_is(const char* token) const;
  bool take(const char* token);  // skips the next token and white space, if the token is `token`

  bool number_is_next() const;
  bool name_is_next() const;
  Expr number();
  Expr name();

  std::string character() const;  // the next character, which may have several bytes
  // For error messages: the name in formulas of an operator of R, or the ASCII spelling of a typographic sign.
  std::string instead() const;

 private:
  bool in_name() const;  // also true for digits and `_`, although no name begins with a digit or `_`
  void skip_space();

  const std::string& text_;
  int at_ = 0;
};

}  // namespace kernops
