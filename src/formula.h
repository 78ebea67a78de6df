// From a formula string to what a backend can run:  parse -> build (gradient, simplify) -> Program -> Plan.
// Free of R, testable alone.
#pragma once
#include <kernops/blocks.h>
#include <kernops/tape.h>

#include <array>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace kernops {

// ---- text -> syntax (parse.cpp)
// ------------------------------------------------------------------------------------

// A mistake in the user's text: what is wrong, and the byte of the text it is at (-1 for none).
struct FormulaError : std::runtime_error {
  FormulaError(const std::string& message, int position, const std::string& unknown = "")
      : std::runtime_error(message), position(position), unknown(unknown) {}
  int position;
  std::string unknown;  // the name that nobody knows, for a suggestion
  std::string text;     // the text it is in, where that is not the formula
};

// What goes wrong in make(), maybe in the text of a table, is shown at this byte of the user's text.
template <class F> auto at(int position, F make) -> decltype(make()) {
  try {
    return make();
  } catch (FormulaError& error) {
    error.position = position;
    throw;
  }
}

struct Expr {
  enum Kind { number, name, call, list } kind;
  std::string text;
  double value = 0;
  std::vector<Expr> args;
  int position = 0, depth = 1;
};
Expr parse(const std::string& text);

// ---- syntax -> nodes (graph.cpp, build.cpp)
// ------------------------------------------------------------------------

// What a value depends on: a set of axes. Parameters and constants depend on none.
enum Axes : unsigned { none = 0, axis_i = 1, axis_j = 2, both = 3 };

struct Variable {
  std::string name;
  int position, size;
  Axes axes;
};

using Tree = int;  // a node of a Graph: arguments always come before what uses them

struct Node {
  enum Kind { constant, variable, index, reduced, operation } kind;
  int id;  // which variable, axis, reduction or row of the operation table
  std::array<Tree, 3> args;
  std::array<int, 2> ints;
  double value;
  int size;
  unsigned axes;
};

struct Reduction {
  int row;        // of the table of reductions
  int k;          // the option K, or 0
  Tree f, w;      // w is -1 where there is none
  unsigned over;  // the axes summed over
  int size;
  unsigned axes() const { return both & ~over; }
};

// Every expression once: asking for the same one again gives the same Tree, so derivatives share their parts.
class Graph {
 public:
  const Node& operator[](Tree t) const { return nodes_[t]; }
  int count() const { return int(nodes_.size()); }
  Tree constant(double value);
  Tree variable(int number, int size, unsigned axes);
  Tree index(unsigned axis);
  Tree reduced(const Reduction& reduction);
  Tree operation(int op, const std::vector<Tree>& args, const std::vector<int>& ints);  // simplified
  bool is_constant(Tree t, double value) const;

  std::vector<Reduction> reductions;
  // Those that were built before, by row and arguments: some call themselves more than once.
  std::map<std::tuple<int, std::vector<Tree>, std::vector<int>>, Tree> composites;

 private:
  Tree intern(const Node& node);
  std::vector<Node> nodes_;
  std::map<std::string, Tree> known_;
};

using Scope = std::map<std::string, Tree>;
std::string variable_key(const Expr& var);  // the name under which Var(position, ...) stands in a Scope
Tree build(Graph& graph, const Expr& expr, const Scope& scope, unsigned over = none);
std::string to_string(const Graph& graph, Tree tree, const std::vector<Variable>& variables);

// ---- derivatives and rewriting (gradient.cpp, simplify.cpp, regroup.cpp)
// --------------------------------------------------------

// (d f / d v)^T g, of the size of v; -1 where f does not depend on v.
Tree gradient(Graph& graph, Tree f, Tree v, Tree g);
// The integrand of the vector-Jacobian product of a whole reduction; -1 likewise.
Tree gradient(Graph& graph, const Reduction& reduction, Tree v, Tree g);
// The first rule that rewrites operation `op` of these arguments; -1 where none does.
Tree rewrite(Graph& graph, int op, const std::vector<Tree>& args, const std::vector<int>& ints, int size);

// The same reduction with its products ordered by what depends on which axis, and exponentials in base 2 if asked.
Reduction regroup(Graph& graph, Reduction reduction, bool base_2);

// ---- the tables (op_table.cpp)
// -------------------------------------------------------------------------------------

struct OpRow {
  std::string name, group, arguments, size, meaning, gradient;
  std::string vectors, integers;         // the letters of the arguments of each sort
  bool composite = false, leaf = false;  // a composite is written in `formula`
  std::string formula;
  bool built = false;
  int id = -1;  // among the rows that are operations of their own
  Count (*size_of)(Count A, Count B, Count C, Count p, Count q) = nullptr;
  double (*value)(const double* a, const double* b, const double* c, int A, int B, int C, int p,
                  int q) = nullptr;
  std::vector<Expr> gradients;
  Expr body;
};
const std::vector<OpRow>& op_table();
int find_op(const std::string& name);  // its first row, -1 where there is none
const OpRow& op_row(int id);
constexpr int most_entries = 1 << 20;  // of one value; size_of() throws beyond
int size_of(const OpRow& row, const Graph& graph, const std::vector<Tree>& args,
            const std::vector<int>& ints);
Scope arguments_scope(const OpRow& row, Graph& graph, const std::vector<Tree>& args,
                      const std::vector<int>& ints);

// Operations made of others by a function (built.cpp): of vectors, and of lists of integers behind them.
struct Built {
  Tree (*make)(Graph&, const std::vector<Tree>& vectors, const std::vector<std::vector<int>>& lists);
  size_t vectors, least_lists, most_lists;
};
const Built* find_built(const std::string& name);  // null where there is none

struct ReductionRow {
  std::string name, arguments, size, engine, meaning, gradient;
  bool weighted, counted;  // takes w, takes K
  Count (*size_of)(Count F, Count W, Count p);
  std::vector<Expr> gradients;
  bool exponentiates() const {
    return engine == "LogSumExp" || engine == "SoftMax" || engine == "MaxSumShiftExp";
  }
};
const std::vector<ReductionRow>& reduction_table();
int size_of(const ReductionRow& row, const Graph& graph, Tree f, Tree w, int k);  // w is -1 where there is none
int find_reduction(const std::string& name, bool weighted);
int first_position(const ReductionRow& row, int size);  // the results from there on are positions of lanes

// ---- the whole program (program.cpp)
// -------------------------------------------------------------------------------

struct Program {
  Graph graph;
  std::vector<Variable> variables;  // in the order of the arguments
  int result;                       // the last reduction; those it needs come before it
};
Program compile(const std::string& formula, const std::vector<std::string>& declarations);

// ---- nodes -> straight-line code (tape.cpp)
// ------------------------------------------------------------------------

struct Plan {
  long id = 0;  // of no other plan
  Reduction reduction;
  unsigned rows;  // the axis of the result; the other one runs along the lanes
  std::vector<Slot> slots;
  std::array<std::vector<Load>, 3> loads;  // by Place, pairs load nothing
  std::array<std::vector<Step>, 4> steps;  // by Place
  std::array<int, 4> entries{};            // how many entries each place holds
  int f, w;                                // slots of what is reduced and its weights, 0 for none; a sum has them too
  int f_size, w_size;
  int pair_footprint = 0;                  // entries that the pair steps touch
  bool counts_indices = false;
};
Plan plan(const Graph& graph, const Reduction& reduction);

// ---- long vectors, as a GPU takes them (contraction.cpp)
// ------------------------------------------------------------------------

// A vector entry by entry, or its sum: the steps are to be read as if all sizes were 1. Without steps, the only leaf.
struct Entries {
  int slot, size;
  std::vector<int> leaves;  // slots of vectors of rows, lanes or once
  std::vector<Step> steps;
};

// Slots of the exponent c |x - y|^2, of |x - y|^2 in it, and of what it expands to: c |x|^2 + c |y|^2 + (x' | y'),
// where x' = -2 c x and y' = y. Where the inner product is contracted, x' and y' are scaled by put_scaled() of
// values.cuh, and all is seen from a point, the centre, if there is one. All 0 where there is none.
struct Expansion {
  int exponent, distance, factor, row, lane, row_norm, lane_norm, row_vector, lane_vector, centre;
};

// A Plan whose pair steps are what is left when the contractions are given: they and f read only the first `kept`
// entries of each place. What is summed is f times the vector to spread, if there is one (of size > 0). With the norms of
// an expansion, which come first in their places, the pairs have a second way. `factor` is the slot of what the sum of a
// row is to be multiplied by, 0 for none. Where lanes are `weighted`, 2^lane_norm multiplies the weight of a lane, or is it,
// instead of adding to each exponent; then that norm does not come first.
struct TiledPlan : Plan {
  int factor = 0;
  Expansion expansion{};
  Entries inner_product{};  // what stands for the contraction of the distance then
  std::vector<Entries> contractions;
  Entries spread{};
  std::array<int, 3> kept{};
  bool weighted = false;
  int lane_weight() const { return slots[f].place == Place::lane ? f : slots[w].place == Place::lane ? w : 0; }
  bool tiled() const { return !contractions.empty() || spread.size > 0; }
  bool is_product(const Entries& made) const;  // whether that is the inner product of two vectors, of row and lane
};
TiledPlan tile(const Plan& plan, bool long_vectors);  // whether to look for long vectors

// What can be expanded, with none of what that takes; nothing of vectors shorter than that, or, where x - y is shared
// with other steps, of those.
Expansion find_expansion(const Plan& plan, bool shares_differences, int shortest);

}  // namespace kernops
