// What the conversions of weights share.
#pragma once

#include <cmath>

#include "learn/objective.hpp"

namespace caesura {

constexpr double kFarthest = 100.0;  // limit of transition scores, in either precision

inline int padded(int n, int width) { return (n + width - 1) / width * width; }

// Whether the exp of a score is in the range of the kernels. -inf, which forbids, is in range.
inline bool is_near(double score) {
  return score == kMinusInfinity || std::abs(score) <= kFarthest;
}

// Whether a token of a segment with this label may have this tag.
inline bool has_tag(const Layout& layout, int position, int label) {
  return position == kUnit || layout.bounds[label] == 0;
}

}  // namespace caesura
