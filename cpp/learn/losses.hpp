// Losses: the cost of a wrong segmentation.
//
//   tokens     how many tokens have another label than the gold one, each times the weight of its
//              gold label: added to the scores of tokens
//   segments   segments missed plus segments invented, text outside not counted.  Every segment
//              costs 1, and a gold one -2 besides; with the number of gold segments added, that is
//              0 for the gold segmentation.  Where states are tags, a segment is a run of them, and
//              whether a run is gold so far is a part of the state (see tag_segments_problem)
//   sequence   1 for any difference at all: the best of the others is the second best path where
//              the gold one is the best
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lattice/reading.hpp"

namespace caesura {

struct Loss {
  enum Kind { kNone, kTokens, kSegments, kSequence } kind = kNone;
  Reading reading;             // of states: their labels, and which are joined where they are tags
  std::vector<double> weight;  // [Y] of tokens by their gold label, or empty: 1
};

inline bool same_path(const std::vector<LabelledSegment>& a, const LabelledSegment* b,
                      std::int64_t count) {
  if (static_cast<std::int64_t>(a.size()) != count) return false;
  for (std::int64_t k = 0; k < count; ++k) {
    if (a[k].start != b[k].start || a[k].end != b[k].end || a[k].label != b[k].label) return false;
  }
  return true;
}

// How many tokens have another label in a than in b; both cover the same sequence.
int wrong_tokens(const std::vector<LabelledSegment>& a, const LabelledSegment* b);

// Segments of a that b does not have plus those of b that a does not have, under the reading.
int wrong_segments(std::vector<LabelledSegment> a, std::vector<LabelledSegment> b,
                   const Reading& reading);

}  // namespace caesura
