// What the answers about one sequence must keep, beside what the model itself forbids.
#pragma once

#include <cstdint>
#include <vector>

#include "automaton/rules.hpp"
#include "lattice/problem.hpp"
#include "learn/design.hpp"

namespace caesura {

struct Condition {
  // A segment [start, end) that may not come after these labels, its own last.
  struct History {
    std::int32_t start, end;
    std::vector<std::int32_t> labels;
  };
  std::vector<std::uint8_t> allowed;   // [T][Y], or empty
  std::vector<std::uint8_t> boundary;  // [T + 1] BoundaryMarks, or empty
  std::vector<Edge> pairs;             // labels that may not meet at a boundary; scores are -inf
  std::vector<LabelledSegment> forbidden;
  std::vector<History> histories;
  RuleSet rules;  // empty: those of the model

  // What the fast kernels can keep.
  Known known() const {
    Known out;
    if (!allowed.empty()) out.allowed = allowed.data();
    if (!boundary.empty()) out.boundary = boundary.data();
    return out;
  }
  // Whether that is all.
  bool is_known() const {
    return pairs.empty() && forbidden.empty() && histories.empty() && rules.empty();
  }
  // Whether a segmentation keeps all the rest.
  bool kept_by(const LabelledSegment* segments, int count, int Y) const;
};

// For each sequence its condition, or null; none: there are none.
using Conditions = std::vector<const Condition*>;

}  // namespace caesura
