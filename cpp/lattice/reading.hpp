// How the states of a model are decoded into segments.
//
// The states of a semi-CRF are labels, and each of its segments stands for itself.  Those of a
// chain are tags: neighbours that are joined are one segment.  Text outside is read as no segment.
#pragma once

#include <cstdint>
#include <vector>

#include "lattice/problem.hpp"

namespace caesura {

struct Reading {
  std::vector<std::int32_t>
      label;  // [Y] number of the label that a state stands for, or -1 outside
  std::vector<std::uint8_t>
      joined;  // [Y][Y] whether the second tag continues the segment of the first; or empty
  std::vector<std::vector<std::int32_t>> states;  // [labels] the states of each

  bool tags() const { return !joined.empty(); }
};

// Joins tags and omits what is outside; the labels of segments remain states, those of their
// first tags.  Returns how many are left.  Static: each instruction set must have a copy of its
// own.
static inline int read_segments(const Reading& reading, LabelledSegment* segments, int count) {
  const int Y = static_cast<int>(reading.label.size());
  int kept = 0;
  for (int k = 0, last = -1; k < count; ++k) {
    const LabelledSegment segment = segments[k];
    const bool outside = reading.label[segment.label] < 0;
    if (!outside && reading.tags() && last >= 0 && reading.joined[last * Y + segment.label])
      segments[kept - 1].end = segment.end;
    else if (!outside)
      segments[kept++] = segment;
    last = segment.label;
  }
  return kept;
}

}  // namespace caesura
