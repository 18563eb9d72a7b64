// Losses: the cost of a wrong segmentation.  Their public names are hamming, segments and zero-one.
//
//   tokens     the number of tokens with another label than the gold one, each times the weight of
//              its gold label; added to the scores of tokens
//   segments   the number of segments that are missing plus those that are wrong, not counting text
//              outside.  Every segment costs 1, and a gold one -2 in addition; with the number of
//              gold segments added, the gold segmentation costs 0.  If states are tags, a segment
//              is a run of tags, and whether the run agrees with the gold segment so far is part of
//              the state (see tag_segments.hpp)
//   sequence   1 for any difference: if the gold segmentation is the best path, the best of the
//              others is the second best path
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lattice/reading.hpp"

namespace caesura {

struct Loss {
  enum Kind { kNone, kTokens, kSegments, kSequence } kind = kNone;
  Reading reading;             // of states: their labels and, for tags, which are joined
  std::vector<double> weight;  // [Y] of tokens by their gold label, or empty if all are 1
};

inline bool same_path(const std::vector<LabelledSegment>& a, const LabelledSegment* b,
                      std::int64_t count) {
  if (static_cast<std::int64_t>(a.size()) != count) return false;
  for (std::int64_t k = 0; k < count; ++k) {
    if (a[k].start != b[k].start || a[k].end != b[k].end || a[k].label != b[k].label) return false;
  }
  return true;
}

// Returns the number of tokens with another label in a than in b; both cover the same sequence.
int wrong_tokens(const std::vector<LabelledSegment>& a, const LabelledSegment* b);

// Returns the number of segments in a but not in b plus those in b but not in a, under the reading.
int wrong_segments(std::vector<LabelledSegment> a, std::vector<LabelledSegment> b,
                   const Reading& reading);

}  // namespace caesura
