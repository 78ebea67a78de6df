// The tables segments.def and segment_terms.def.
#pragma once
#include <string>
#include <vector>

namespace kernops {

enum class StatisticId : int {
#define STATISTIC(name, ...) name,
#include <kernops/segments.def>
};

enum class SegmentTerm : int {
#define TERM(name, ...) name,
#include <kernops/segment_terms.def>
  Moments,  // weights are frequencies of values, see segments/recipes.cpp
  none
};

enum class SegmentMap : int {
#define MAP(name) name,
#include <kernops/segment_terms.def>
  none
};

struct Statistic {
  std::string name, structure, meaning;
  enum Kind { Number, Same, Position, Truth } kind;
  int least;
  SegmentTerm weights;
  SegmentMap gradient;
  int outputs;
  size_t state_bytes;           // size of the state to which single values are added
  double (*empty)(int output);  // the result of a state without values
};
const std::vector<Statistic>& statistics();
int statistic_row(const std::string& name);  // -1 if there is no such statistic

struct TermRow {
  std::string name;
  bool weight, given;
};
const TermRow& term_row(SegmentTerm term);
const std::string& map_name(SegmentMap map);

}  // namespace kernops
