// The rows of ops.def and reductions.def.
#pragma once
#include <kernops/jobs/job.h>

#include <optional>

#include "formula/graph.h"
#include "formula/parse.h"

namespace kernops {

// A function in a row of ops.def that computes a size from the sizes A, B and C of the vectors and the integers p and
// q.
using SizeFunction = Count (*)(Count A, Count B, Count C, Count p, Count q);

// An argument that the operation reads as a matrix, stored by rows.
struct MatrixArgument {
  int number;
  SizeFunction rows, columns;
};

// The rule by which the mask of a result follows from the masks of the arguments (formula/masks.cpp). `itself`: the
// result is a condition, so it is its own mask. `moved` and `filled`: the operation moves entries, and `filled` also
// pads them with zeros.
enum class MaskRule { none, itself, first, product, either, total, total_product, moved, filled };

struct OpRow {
  // `rule` describes in words which sizes `size_of` accepts
  std::string name, group, arguments, size, rule, meaning, gradient;
  std::string vectors, integers;         // names of the vector and the integer arguments, one letter each
  bool composite = false, leaf = false;  // composite: built from other operations, by `formula` or by C++ (built.h)
  std::string formula;
  int id = -1;   // the OpId, or -1 for a composite operation
  int cost = 1;  // approximate number of instructions per entry
  bool by_entry = false;
  SizeFunction size_of = nullptr;
  double (*value)(const double* a, const double* b, const double* c, int A, int B, int C, int p, int q) = nullptr;
  SizeFunction work = nullptr;  // number of entries that are computed; null: the largest size of result and arguments
  std::vector<MatrixArgument> matrices;
  std::vector<Expr> gradients;
  Expr body;
  Expr steep;                       // the expression STEEP of ops.def; the number 0 if the row has no STEEP
  bool (*finite)(int p) = nullptr;  // true if entries are finite for finite arguments; null: true for each p
  // A value is flat if its derivatives vanish where the value is 0. flat(a, b, c, p) returns whether the result is
  // flat; a, b and c are true if these arguments of the operation are flat. Null: the result is never flat.
  bool (*flat)(bool a, bool b, bool c, int p) = nullptr;
  MaskRule mask = MaskRule::none;
  std::optional<Contraction::Term> contraction;
  bool has_order = false, additive = false, special_unit = false;
  bool is(OpId op) const { return id == int(op); }
  bool keeps_finite(int p) const { return !finite || finite(p); }
  bool entrywise() const { return by_entry && !vectors.empty(); }  // entry k depends only on entries k of the vectors
};
inline bool is_zero(const Expr& gradient) { return gradient.kind == Expr::number && gradient.value == 0; }
const std::vector<OpRow>& op_table();
int find_op(const std::string& name);  // the first row of the operation; -1 if there is no operation with this name
int find_op(OpId op);
const OpRow& op_row(int id);
bool is(const Node& node, OpId op);
constexpr int most_entries = 1 << 20;  // maximum number of entries of a value; size_of() throws for a larger size
Count evaluate(SizeFunction f, const Graph& graph, const std::vector<Tree>& args, const std::vector<int>& ints);
int size_of(const OpRow& row, const Graph& graph, const std::vector<Tree>& args, const std::vector<int>& ints);

// An enumerator for each row of accumulators.def.
enum class Accumulator {
#define ENTRYWISE(name, ...) name,
#define SHIFTED_EXP(name, ...) name,
#define K_EXTREME(name, ...) name,
#define STORE(name) name,
#include <kernops/accumulators.def>
};
enum class Result { Values, Positions, Both };

struct ReductionRow {
  std::string name, arguments, size;
  Accumulator accumulator;
  std::string accumulator_name;  // name of the struct in CUDA texts
  Result result;
  std::string meaning, gradient;
  bool weighted, counted;  // weighted: has weights w; counted: has the option K
  Count (*size_of)(Count F, Count W, Count p);
  std::vector<Expr> gradients;
  bool sums() const { return accumulator == Accumulator::Sum; }
  bool stores() const { return accumulator == Accumulator::Store; }
  bool exponentiates() const;  // true if the accumulator is SHIFTED_EXP
};
const std::vector<ReductionRow>& reduction_table();
int size_of(const ReductionRow& row, const Graph& graph, Tree f, Tree w, int k);  // w is -1 if there are no weights
// returns the row of a reduction that formulas may use, by its full name
int find_reduction(const std::string& name, bool weighted);
int store_row();
int first_position(const ReductionRow& row, int size);  // number of the first result that is a position of a point

}  // namespace kernops
