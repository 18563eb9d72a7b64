// A first-order semi-CRF whose segment scores are one array over starts, lengths and labels.
#pragma once

#include <cstdint>

namespace caesura {

template <class Real>
struct DenseSegments {
  int T = 0, L = 0, Y = 0;
  const Real* scores = nullptr;          // [T][L][Y] the segment [s, s + k + 1) with label y
  const std::int32_t* bounds = nullptr;  // [Y] longest segment, 0 for L; null: L for all
  const double *transition = nullptr, *start = nullptr, *end = nullptr;  // [Y][Y], [Y], [Y]
  bool same_label_adjacent = true;
};

// Expected counts; those of segments are multiplied by `factor`.
template <class Real>
struct DenseCounts {
  Real* segments = nullptr;                                           // [T][L][Y]
  double *transitions = nullptr, *starts = nullptr, *ends = nullptr;  // [Y][Y], [Y], [Y]
  double factor = 1.0;
};

}  // namespace caesura
