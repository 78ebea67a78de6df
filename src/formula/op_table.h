// ops.def and reductions.def as tables.
#pragma once
#include <kernops/jobs/blocks.h>

#include "formula/graph.h"
#include "formula/parse.h"

namespace kernops {

struct OpRow {
  std::string name, group, arguments, size, meaning, gradient;
  std::string vectors, integers;         // the letters of the arguments of each sort
  bool composite = false, leaf = false;  // a composite is written in `formula`
  std::string formula;
  int id = -1;  // among the rows that are operations of their own
  Count (*size_of)(Count A, Count B, Count C, Count p, Count q) = nullptr;
  double (*value)(const double* a, const double* b, const double* c, int A, int B, int C, int p,
                  int q) = nullptr;
  std::vector<Expr> gradients;
  Expr body;
  bool entrywise() const { return (group == "arithmetic" || group == "elementwise") && !vectors.empty(); }
};
inline bool is_zero(const Expr& gradient) { return gradient.kind == Expr::number && gradient.value == 0; }
const std::vector<OpRow>& op_table();
int find_op(const std::string& name);  // its first row, -1 where there is none
const OpRow& op_row(int id);
std::string rule_of(const std::string& size);  // what a size of ops.def asks for, in words
constexpr int most_entries = 1 << 20;  // of one value; size_of() throws beyond
int size_of(const OpRow& row, const Graph& graph, const std::vector<Tree>& args,
            const std::vector<int>& ints);

struct ReductionRow {
  std::string name, arguments, size, engine, meaning, gradient;
  bool weighted, counted;  // takes w, takes K
  Count (*size_of)(Count F, Count W, Count p);
  std::vector<Expr> gradients;
  bool stores() const { return engine == "Store"; }
  bool exponentiates() const {
    return engine == "LogSumExp" || engine == "SoftMax" || engine == "MaxSumShiftExp";
  }
};
const std::vector<ReductionRow>& reduction_table();
int size_of(const ReductionRow& row, const Graph& graph, Tree f, Tree w, int k);  // w is -1 where there is none
int find_reduction(const std::string& name, bool weighted);  // of those that formulas may name
int store_row();
int first_position(const ReductionRow& row, int size);  // the results from there on are positions of lanes

}  // namespace kernops
