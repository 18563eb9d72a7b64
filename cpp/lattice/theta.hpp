// theta(s, e), the score of the segment [s, e) of one state, for s = e - 1, e - 2, ... in turn:
//
//   passing(s) = passing(s + 1) + token(s) + scores of potentials with an open start at s
//   theta(s, e) = passing(s) + own(s),       own(s): potentials with a closed start at s, and spans
//
// A potential with an open start applies to s and to all earlier starts, one with a closed start to
// s alone.  The walks backwards (infer/walk.cpp, learn/rows_walk.cpp) ask for few states and ends.
// The sweeps ask for all of them, and keep the rows of all states from one end to the next instead
// (Active and Thetas of lattice/rows.hpp): the same sums cost them O(1) for each start and end,
// where these begin again at every end.
#pragma once

#include <cstdint>

#include "lattice/lattice.hpp"

namespace caesura {

struct ThetaSum {
  double passing = 0.0, own = 0.0;

  // Adds a score with the core [start, end), end <= e, where s = start.
  void add(int start, int end, std::uint8_t flags, double score, int e) {
    if (!applies(start, end, flags, start, e)) return;
    (applies(start, end, flags, start - 1, e) ? passing : own) += score;
  }
  // Goes on from s + 1 to s, where `here` has the scores whose cores start at s.
  void step(double token, const ThetaSum& here) {
    passing += token + here.passing;
    own = here.own;
  }
  double value() const { return passing + own; }
};

}  // namespace caesura
