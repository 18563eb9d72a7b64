// How the states of a model are decoded into segments.
//
// The states of a semi-CRF are labels, and each segment is decoded as it is.  The states of a chain
// are tags, and adjacent tags that are joined form one segment.  Outside states give no segment.
#pragma once

#include <cstdint>
#include <vector>

#include "lattice/problem.hpp"

namespace caesura {

struct Reading {
  std::vector<std::int32_t> label;   // [Y] label of each state, or -1 if it is outside
  std::vector<std::uint8_t> joined;  // [Y][Y] whether the second tag continues the first; or empty
  std::vector<std::vector<std::int32_t>> states;  // [labels] the states of each label

  bool tags() const { return !joined.empty(); }
};

// Joins tags and removes outside segments, in place.  The label of a segment remains a state, that
// of its first tag.  Returns the number of segments left.  Static, so that each instruction set has
// its own copy.
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
