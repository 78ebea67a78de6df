// ops.def and reductions.def as tables.
#pragma once
#include <kernops/jobs/job.h>

#include <optional>

#include "formula/graph.h"
#include "formula/parse.h"

namespace kernops {

// A size in a row of ops.def: a function of the sizes of the vectors and of the integers.
using SizeFunction = Count (*)(Count A, Count B, Count C, Count p, Count q);

// An argument that is read as a matrix, by rows.
struct MatrixArgument {
  int number;
  SizeFunction rows, columns;
};

// How the mask of a result follows from those of its arguments (formula/masks.cpp): `itself` if the result is a
// condition, `moved` and `filled` if entries are moved, without or with zeros as padding.
enum class MaskRule { none, itself, first, product, either, total, total_product, moved, filled };

struct OpRow {
  // the rule describes in words the sizes that `size` requires
  std::string name, group, arguments, size, rule, meaning, gradient;
  std::string vectors, integers;         // the letters of the arguments of each kind
  bool composite = false, leaf = false;  // a composite is written in `formula`
  std::string formula;
  int id = -1;   // an OpId, for rows with a separate operation
  int cost = 1;  // approximate number of instructions per entry
  bool by_entry = false;
  SizeFunction size_of = nullptr;
  double (*value)(const double* a, const double* b, const double* c, int A, int B, int C, int p, int q) = nullptr;
  SizeFunction work = nullptr;  // number of computed entries, if not the largest size
  std::vector<MatrixArgument> matrices;
  std::vector<Expr> gradients;
  Expr body;
  Expr steep;  // 0 where the value is finite and its derivative by a infinite; the number 0 if there is no such point
  bool (*finite)(int p) = nullptr;                        // true if entries are finite; null: always
  bool (*flat)(bool a, bool b, bool c, int p) = nullptr;  // true if the derivative vanishes; null: never
  MaskRule mask = MaskRule::none;
  std::optional<Contraction::Term> contraction;
  bool has_order = false, additive = false, special_unit = false;
  bool is(OpId op) const { return id == int(op); }
  bool keeps_finite(int p) const { return !finite || finite(p); }
  bool entrywise() const { return by_entry && !vectors.empty(); }  // entry k depends on entries k only
};
inline bool is_zero(const Expr& gradient) { return gradient.kind == Expr::number && gradient.value == 0; }
const std::vector<OpRow>& op_table();
int find_op(const std::string& name);  // the first row of an operation, -1 if there is none
int find_op(OpId op);
const OpRow& op_row(int id);
bool is(const Node& node, OpId op);
constexpr int most_entries = 1 << 20;  // limit for one value; size_of() throws beyond it
Count evaluate(SizeFunction f, const Graph& graph, const std::vector<Tree>& args, const std::vector<int>& ints);
int size_of(const OpRow& row, const Graph& graph, const std::vector<Tree>& args, const std::vector<int>& ints);

// The rows of accumulators.def.
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
  std::string accumulator_name;  // name in CUDA texts
  Result result;
  std::string meaning, gradient;
  bool weighted, counted;  // weighted: uses w; counted: uses K
  Count (*size_of)(Count F, Count W, Count p);
  std::vector<Expr> gradients;
  bool sums() const { return accumulator == Accumulator::Sum; }
  bool stores() const { return accumulator == Accumulator::Store; }
  bool exponentiates() const;  // a SHIFTED_EXP
};
const std::vector<ReductionRow>& reduction_table();
int size_of(const ReductionRow& row, const Graph& graph, Tree f, Tree w, int k);  // w is -1 if there is none
// names of reductions that formulas may use
int find_reduction(const std::string& name, bool weighted);
int store_row();
int first_position(const ReductionRow& row, int size);  // results from this one on are positions of lanes

}  // namespace kernops
