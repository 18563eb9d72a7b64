// Constraints on the answers for one sequence, in addition to those of the model.
#pragma once

#include <cstdint>
#include <vector>

#include "automaton/rules.hpp"
#include "lattice/problem.hpp"
#include "learn/design.hpp"

namespace caesura {

struct Condition {
  // A segment [start, end) that is forbidden if `labels` are the labels of the preceding segments,
  // followed by its own.
  struct History {
    std::int32_t start, end;
    std::vector<std::int32_t> labels;
  };
  std::vector<std::uint8_t> allowed;   // [T][Y], or empty
  std::vector<std::uint8_t> boundary;  // [T + 1] BoundaryMarks, or empty
  std::vector<Edge> pairs;             // label pairs forbidden at a boundary; their scores are -inf
  std::vector<LabelledSegment> forbidden;
  std::vector<History> histories;
  RuleSet rules;  // empty: those of the model apply

  // The constraints that the fast kernels support.
  Known known() const {
    Known out;
    if (!allowed.empty()) out.allowed = allowed.data();
    if (!boundary.empty()) out.boundary = boundary.data();
    return out;
  }
  // Whether these are the only constraints.
  bool is_known() const {
    return pairs.empty() && forbidden.empty() && histories.empty() && rules.empty();
  }
  // Whether a segmentation satisfies all other constraints.
  bool kept_by(const LabelledSegment* segments, int count, int Y) const;
};

// The condition of each sequence, or null for a sequence that has none; empty if no sequence has
// one.
using Conditions = std::vector<const Condition*>;

}  // namespace caesura
