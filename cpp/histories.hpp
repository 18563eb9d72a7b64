// Label histories as the learning kernels want them: states, and who follows whom, without |Q| |Y| arcs.
//
// A state is a sequence of labels: the longest suffix of all labels so far that the model can tell apart.  The set of
// states holds every part of every pattern, so with a state its prefixes and suffixes are states too.  A label y
// leads from q to the longest suffix of q y that is a state.  Read from its end, h y is entered from h itself and
// from everything that ends in h, but for what leads further, to some x h y:
//
//   S(h)       = alpha(h) + sum of S(x h) over the states x h          everything that ends in h
//   in(h y)    = alpha(h) + sum of S(x h) over the states x h such that x h y is none
//
// Nothing is subtracted, and the terms are about as many as the patterns.  Where h is empty the terms are pairs of
// labels that are no state, x y; they have weights of their own, and are a matrix.
#pragma once

#include <cstdint>
#include <vector>

namespace caesura {

// Lists of numbers, one after the other.
struct Lists {
  std::vector<std::int32_t> ptr{0}, item;
  const std::int32_t* begin(std::int64_t k) const { return item.data() + ptr[k]; }
  const std::int32_t* end(std::int64_t k) const { return item.data() + ptr[k + 1]; }
};

struct Histories {
  // Patterns have two labels or more; pairs (previous * Y + label) are states too.  Lanes come in vectors of `width`,
  // those of one label together.
  Histories(int Y, const std::vector<std::vector<std::int32_t>>& patterns, const std::vector<std::int32_t>& pairs, int width);

  int Y, Q = 0;
  int lanes = 0;                     // of a row of states; some belong to none
  std::vector<std::int32_t> first;   // [Y + 1] the lanes of each label
  std::vector<std::int32_t> label;   // [lanes] last label, -1: no state
  std::vector<std::int32_t> single;  // [Y] the state of one label
  std::vector<std::int32_t> shorter;  // [lanes] the state without the first label, -1: there is none
  std::vector<std::int32_t> before;   // [lanes] the state without the last label, -1: there is none
  std::vector<std::int32_t> pattern;  // [patterns] their states
  std::vector<std::int32_t> pattern_at;  // [lanes] and the other way round, -1: none
  std::vector<std::int32_t> pair;     // [Y][Y] the state of two labels, -1: they are none

  std::vector<std::int32_t> rising;   // states of two labels or more, shorter ones first
  std::vector<std::int32_t> parents;  // states that others end in, longer ones first
  Lists longer;                       // [parents] the states with one label more in front
  Lists sources;                      // [lanes] in(h y): states whose S goes into it
  Lists targets;                      // [lanes] the other way round
  Lists after;                        // [lanes] states with one label more behind
  std::vector<std::int32_t> linked, followed;  // states with targets, and with states after them

  // The state after a label; q -1: it is the first.
  std::int32_t next(std::int32_t q, int y) const;
  // Whether the labels of q end in those of another state.
  bool ends_in(std::int32_t q, std::int32_t other) const {
    while (q >= 0 && q != other) q = shorter[q];
    return q >= 0;
  }

  // to[q] becomes the sum over all states that end in q.  to: [lanes]
  template <class Real>
  void add_longer(Real* to) const {
    for (std::size_t k = 0; k < parents.size(); ++k) {
      Real total = to[parents[k]];
      for (const std::int32_t* q = longer.begin(k); q != longer.end(k); ++q) total += to[*q];
      to[parents[k]] = total;
    }
  }
  // to[q] becomes the sum over all states that q ends in.
  template <class Real>
  void add_shorter(Real* to) const {
    for (const std::int32_t q : rising) to[q] += to[shorter[q]];
  }
};

}  // namespace caesura
