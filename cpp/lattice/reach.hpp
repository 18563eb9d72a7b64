// A(e) of the overlapping algorithm: which starts no longer need rows of their own.
#pragma once

#include <cstdint>

namespace caesura {

// A(e) is the last start j < e such that the core of every potential that starts at or before j
// ends at or before e, or -1.  Segments that start at or before A(e) gain the same scores beyond e,
// so a single row, the open term, represents all of them.
//
//   farthest  [T + 1] the largest core end of the potentials that start at t, or 0
//   reach     [T + 1] A(e), the result
//
// j and e only increase, so the cost is O(T).  Always inlined: this header is compiled for several
// instruction sets, and the linker might otherwise keep a copy for one that the machine lacks.
[[gnu::always_inline]] inline void find_reach(int T, const std::int32_t* farthest,
                                              std::int32_t* reach) {
  int j = -1, most = 0;  // most = max of farthest[0 .. j]
  for (int e = 0; e <= T; ++e) {
    while (j + 1 < e && most <= e && farthest[j + 1] <= e) {
      ++j;
      if (farthest[j] > most) most = farthest[j];
    }
    reach[e] = j;
  }
}

}  // namespace caesura
