// A recursive-descent parser of the following grammar, from the lowest to the highest precedence. The precedences are
// those of R.
//   dot:  compare ('|' compare)*         compare:  sum [('<' | '<=' | '>' | '>=' | '==' | '!=') sum]
//   sum:  term (('+' | '-') term)*       term:     sign (('*' | '/') sign)*
//   sign: ('-' | '+') sign | power       power:    atom [('^' | '**') sign]
//   atom: number | name | name '(' list ')' | '(' dot ')' | '(' dot ',' list ')' | '[' list ']'
#include "formula/parse.h"

#include <algorithm>

#include "formula/limits.h"
#include "formula/scanner.h"

namespace kernops {
namespace {

constexpr int deepest = 2000;     // maximum nesting, far beyond that of any real formula
constexpr size_t a_level = 1024;  // maximum stack bytes per level for copying, searching or destroying an Expr

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Expr formula() {
    if (text_.at_end()) throw FormulaError("the formula is empty", 0);
    Expr whole = dot();
    if (text_.at_end()) return whole;
    const char c = char(text_.next());
    if (c == ')' || c == ']') fail(std::string("unmatched '") + c + "'");
    if (c == ',') fail("all brackets are closed before this ',': a bracket is closed too early");
    fail("expected an operator here" + text_.instead());
  }

 private:
  Expr dot() {
    Nesting nesting(*this);
    Expr left = compare();
    for (int at = text_.at(); text_.take("|"); at = text_.at()) left = call("Scalprod", at, std::move(left), compare());
    return left;
  }

  Expr compare() {
    Expr left = sum();
    const int at = text_.at();
    if (text_.take("<=")) return call("LessOrEqual", at, std::move(left), sum());
    if (text_.take(">=")) return call("LessOrEqual", at, sum(), std::move(left));
    if (text_.take("==")) return call("Equal", at, std::move(left), sum());
    if (text_.take("!=")) return call("NotEqual", at, std::move(left), sum());
    if (text_.take("<")) return call("LessThan", at, std::move(left), sum());
    if (text_.take(">")) return call("LessThan", at, sum(), std::move(left));
    return left;
  }

  Expr sum() {
    Expr left = term();
    for (int at = text_.at();; at = text_.at()) {
      if (text_.take("+"))
        left = call("Add", at, std::move(left), term());
      else if (text_.take("-"))
        left = call("Subtract", at, std::move(left), term());
      else
        return left;
    }
  }

  Expr term() {
    Expr left = sign();
    for (int at = text_.at();; at = text_.at()) {
      if (text_.take("*"))
        left = call("Mult", at, std::move(left), sign());
      else if (text_.take("/"))
        left = call("Divide", at, std::move(left), sign());
      else
        return left;
    }
  }

  Expr sign() {
    Nesting nesting(*this);
    const int at = text_.at();
    if (text_.take("-")) return call("Minus", at, sign());
    if (text_.take("+")) return sign();
    return power();
  }

  Expr power() {
    Expr base = atom();
    const int at = text_.at();
    if (text_.take("**") || text_.take("^")) return call("^", at, std::move(base), sign());
    return base;
  }

  Expr atom() {
    if (text_.at_end()) fail("the formula ends too early");
    if (text_.number_is_next()) return text_.number();
    if (text_.name_is_next()) return name_or_call();
    const int at = text_.at();
    const std::string c = text_.character();
    if (text_.take("[")) return list(at, "]");
    if (text_.take("(")) return in_parentheses(at);
    const bool quote = c == "\"" || c == "'";
    fail("expected a value here, not '" + c + "'" + (quote ? ": names are written without quotes" : text_.instead()));
  }

  Expr name_or_call() {
    Expr e = text_.name();
    const int open = text_.at();
    return text_.take("(") ? with_args(Expr::call, e.text, e.position, list(open, ")").args) : e;
  }

  // Parses the contents of parentheses: a single value, or a list of values that are separated by commas.
  Expr in_parentheses(int open) {
    Expr first = dot();
    if (text_.take(")")) return first;
    if (!text_.take(",")) fail_unclosed(open);
    Expr rest = list(open, ")");
    rest.args.insert(rest.args.begin(), std::move(first));
    return with_args(Expr::list, "", open, std::move(rest.args));
  }

  // Parses the rest of a list: values that are separated by commas. The list begins with the bracket at byte `open`.
  Expr list(int open, const char* close) {
    Nesting nesting(*this);
    std::vector<Expr> args;
    if (text_.take(close)) return with_args(Expr::list, "", open, std::move(args));
    do args.push_back(dot());
    while (text_.take(","));
    if (!text_.take(close)) fail_unclosed(open);
    return with_args(Expr::list, "", open, std::move(args));
  }

  template <class... Args> Expr call(const char* name, int position, Args&&... args) const {
    std::vector<Expr> all;
    (all.push_back(std::forward<Args>(args)), ...);
    return with_args(Expr::call, name, position, std::move(all));
  }

  Expr with_args(Expr::Kind kind, const std::string& name, int position, std::vector<Expr> args) const {
    Expr e{kind, name, 0, std::move(args), position};
    for (const Expr& arg : e.args) e.depth = std::max(e.depth, arg.depth + 1);
    if (e.depth > deepest) throw FormulaError("the formula is nested too deeply", position);
    check_stack(position, e.depth * a_level);
    return e;
  }

  [[noreturn]] void fail(const std::string& message) const { throw FormulaError(message, text_.at()); }
  [[noreturn]] void fail_unclosed(int open) const {
    if (text_.at_end()) throw FormulaError(std::string("'") + text_[open] + "' is not closed", open);
    fail("expected an operator, ',' or a closing bracket here" + text_.instead());
  }

  struct Nesting {
    explicit Nesting(Parser& p) : depth(p.depth_) {
      if (++depth > deepest) p.fail("the formula is nested too deeply");
      check_stack(p.text_.at());
    }
    ~Nesting() { --depth; }
    int& depth;
  };

  Scanner text_;
  int depth_ = 0;
};

}  // namespace

Expr parse(const std::string& text) { return Parser(text).formula(); }

}  // namespace kernops
