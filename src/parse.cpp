// Recursive descent over the grammar, loosest first, with R's precedences:
//   dot:  compare ('|' compare)*         compare:  sum [('<' | '<=' | '>' | '>=' | '==' | '!=') sum]
//   sum:  term (('+' | '-') term)*       term:     sign (('*' | '/') sign)*
//   sign: ('-' | '+') sign | power       power:    atom [('^' | '**') sign]
//   atom: number | name | name '(' list ')' | '(' dot ')' | '(' dot ',' list ')' | '[' list ']'
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "formula.h"

namespace kernops {
namespace {

constexpr int deepest = 2000;  // far beyond any formula, far below what a stack holds

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Expr formula() {
    skip_space();
    if (at_end()) throw FormulaError("the formula is empty", 0);
    Expr whole = dot();
    if (at_end()) return whole;
    if (text_[at_] == ')' || text_[at_] == ']')
      throw FormulaError(std::string("unmatched '") + text_[at_] + "'", at_);
    if (text_[at_] == ',') throw FormulaError("all brackets are closed before this ',': one too early", at_);
    throw FormulaError("expected an operator here" + instead(), at_);
  }

 private:
  Expr dot() {
    Nesting nesting(*this);
    Expr left = compare();
    for (int at = at_; take("|"); at = at_) left = call("Scalprod", at, {left, compare()});
    return left;
  }

  Expr compare() {
    Expr left = sum();
    const int at = at_;
    if (take("<=")) return call("LessOrEqual", at, {left, sum()});
    if (take(">=")) return call("LessOrEqual", at, {sum(), left});
    if (take("==")) return call("Equal", at, {left, sum()});
    if (take("!=")) return call("NotEqual", at, {left, sum()});
    if (take("<")) return call("LessThan", at, {left, sum()});
    if (take(">")) return call("LessThan", at, {sum(), left});
    return left;
  }

  Expr sum() {
    Expr left = term();
    for (int at = at_;; at = at_) {
      if (take("+"))
        left = call("Add", at, {left, term()});
      else if (take("-"))
        left = call("Subtract", at, {left, term()});
      else
        return left;
    }
  }

  Expr term() {
    Expr left = sign();
    for (int at = at_;; at = at_) {
      if (next_is("**")) return left;  // unreachable after a power, kept apart from '*'
      if (take("*"))
        left = call("Mult", at, {left, sign()});
      else if (take("/"))
        left = call("Divide", at, {left, sign()});
      else
        return left;
    }
  }

  Expr sign() {
    Nesting nesting(*this);
    const int at = at_;
    if (take("-")) return call("Minus", at, {sign()});
    if (take("+")) return sign();
    return power();
  }

  Expr power() {
    Expr base = atom();
    const int at = at_;
    if (take("**") || take("^")) return call("^", at, {base, sign()});
    return base;
  }

  Expr atom() {
    if (at_end()) throw FormulaError("the formula ends too early", int(text_.size()));
    const unsigned char c = text_[at_];
    if (std::isdigit(c) || (c == '.' && std::isdigit(next_char()))) return number();
    if (is_name_char() && c != '_') return name_or_call();
    const int at = at_;
    if (take("[")) return list(at, "]");
    if (take("(")) {
      Expr first = dot();
      if (take(")")) return first;
      if (!take(",")) fail_unclosed(at);
      Expr rest = list(at, ")");
      rest.args.insert(rest.args.begin(), first);
      return rest;
    }
    const bool quote = c == '"' || c == '\'';
    throw FormulaError("expected a value here, not '" + character() + "'" +
                           (quote ? ": names stand without quotes" : instead()),
                       at_);
  }

  Expr number() {
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
    if (!text_.compare(at_, 1, "L")) ++at_;  // 2L, as in R
    skip_space();
    return e;
  }

  Expr name_or_call() {
    Expr e{Expr::name, "", 0, {}, at_};
    while (!at_end() && is_name_char()) e.text += text_[at_++];
    skip_space();
    const int open = at_;
    if (!take("(")) return e;
    Expr args = list(open, ")");
    return call(e.text, e.position, std::move(args.args));
  }

  // The rest of a comma-separated list whose opening bracket stood at `open`.
  Expr list(int open, const char* close) {
    Nesting nesting(*this);
    Expr e{Expr::list, "", 0, {}, open};
    if (take(close)) return e;
    do e.args.push_back(dot());
    while (take(","));
    if (!take(close)) fail_unclosed(open);
    e.depth = call("", open, e.args).depth;
    return e;
  }

  Expr call(const std::string& name, int position, std::vector<Expr> args) const {
    Expr e{Expr::call, name, 0, std::move(args), position};
    for (const Expr& arg : e.args) e.depth = std::max(e.depth, arg.depth + 1);
    if (e.depth > deepest) throw FormulaError("the formula is nested too deeply", position);
    return e;
  }

  [[noreturn]] void fail_unclosed(int open) const {
    if (at_end()) throw FormulaError(std::string("'") + text_[open] + "' is never closed", open);
    throw FormulaError("expected an operator, ',' or a closing bracket here" + instead(), at_);
  }

  // What to write for an operator of R that has another name here, or for a sign as it is printed.
  std::string instead() const {
    const std::pair<const char*, const char*> others[] = {
        {"%*%", "MatVecMult(a, b)` or, of vectors, `a | b"}, {"%/%", "Floor(a / b)"}, {"%%", "Mod(a, b, 0)"},
        {"&", "And(a, b)"}, {"!", "Not(a)"}, {"=", "a == b"}};
    const auto spelling = [this](const auto& table) {
      for (const auto& [token, ours] : table)
        if (next_is(token)) return std::string(": instead of `") + token + "` write `" + ours + "`";
      return std::string();
    };
    return spelling(others) + spelling(printed);
  }

  struct Nesting {
    explicit Nesting(Parser& p) : depth(p.depth_) {
      if (++depth > deepest) throw FormulaError("the formula is nested too deeply", p.at_);
    }
    ~Nesting() { --depth; }
    int& depth;
  };

  // Characters beyond ASCII are letters, but for signs.
  static constexpr std::pair<const char*, const char*> printed[] = {
      {"\u2212", "-"}, {"\u2013", "-"}, {"\u00d7", "*"},  {"\u00b7", "*"},  {"\u22c5", "*"}, {"\u00f7", "/"},
      {"\u00b2", "^2"}, {"\u00b3", "^3"}, {"\u2264", "<="}, {"\u2265", ">="}, {"\u2260", "!="}};
  static constexpr const char* hard_space = "\u00a0";
  bool is_name_char() const {
    const unsigned char c = text_[at_];
    if (c < 0x80) return std::isalnum(c) || c == '_' || c == '.';
    return !next_is(hard_space) &&
           std::none_of(std::begin(printed), std::end(printed), [&](const auto& sign) { return next_is(sign.first); });
  }
  std::string character() const {  // all its bytes
    size_t length = 1;
    while (at_ + length < text_.size() && (text_[at_ + length] & 0xc0) == 0x80) ++length;
    return text_.substr(at_, length);
  }
  bool at_end() const { return at_ >= int(text_.size()); }
  unsigned char next_char() const { return at_ + 1 < int(text_.size()) ? text_[at_ + 1] : 0; }
  bool next_is(const char* token) const { return text_.compare(at_, std::strlen(token), token) == 0; }
  bool take(const char* token) {
    if (!next_is(token)) return false;
    at_ += int(std::strlen(token));
    skip_space();
    return true;
  }
  void skip_space() {
    for (;; ++at_) {
      if (next_is(hard_space)) ++at_;
      else if (at_end() || !std::isspace((unsigned char)(text_[at_]))) return;
    }
  }

  const std::string& text_;
  int at_ = 0, depth_ = 0;
};

}  // namespace

Expr parse(const std::string& text) { return Parser(text).formula(); }

}  // namespace kernops
