// The order of segmentations with equal scores.
//
// They are compared from the last segment backwards: the smaller label comes first, then the later
// start, then the segment before is compared.  The order depends only on labels and boundaries, so
// adding states to the automaton never changes an answer.
#pragma once

#include <cstddef>

#include "lattice/lattice.hpp"

namespace caesura {

// Whether the best segmentation up to e that ends in state a comes before the one that ends in
// state b, by their back-pointers.  Always inlined, for the same reason as Total.
[[gnu::always_inline]] inline bool precedes(const Lattice& g, const Back& back, int e, int a,
                                            int b) {
  while (a != b) {
    const int y = g.order[g.rank[a]], z = g.order[g.rank[b]];
    if (y != z) return y < z;
    const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(e) * g.stride;
    const int s = back.start[row + a];
    if (s != back.start[row + b]) return s > back.start[row + b];
    if (s == 0) return false;
    const std::ptrdiff_t before = static_cast<std::ptrdiff_t>(s) * g.stride;
    a = back.previous[before + a];
    b = back.previous[before + b];
    e = s;
  }
  return false;
}

}  // namespace caesura
