// The label histories that a model with patterns can tell apart.
//
// A history is a sequence of labels: the longest suffix of all labels so far that the model can
// tell apart.  The set of them holds every part of every pattern, so with a history its prefixes
// and suffixes are histories too.  A label y leads from q to the longest suffix of q y that is one.
// Read from its end, h y is entered from h itself and from everything that ends in h, except for
// what leads further, to some x h y; program.hpp makes the arcs of the learning kernels from that.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace caesura {

// A value is added from one state to another.  A sequence of moves is a flat program: it has no
// loops of unknown length, and the same state rarely occurs twice in a row, so that one addition
// need not wait for another.
struct Move {
  std::int32_t to, from;
};

// Sorts the moves into rounds: the first move to each state, then the second, and so on.
void take_turns(std::vector<Move>& moves, int lanes);

struct Histories {
  // Patterns have two labels or more.  entries: what attributes at boundaries go with, pairs
  // (previous * Y + label) or Y * Y + a pattern.  Lanes come in vectors of `width`, those of one
  // label together.
  Histories(int Y, const std::vector<std::vector<std::int32_t>>& patterns,
            const std::vector<std::int32_t>& entries, int width);

  int Y, Q = 0;
  int lanes = 0;                         // of a row of states; some lanes belong to no state
  std::vector<std::int32_t> first;       // [Y + 1] the lanes of each label,
  std::vector<std::int32_t> last;        // [Y] and where its states end
  std::vector<std::int32_t> label;       // [lanes] last label, or -1 if the lane has no state
  std::vector<std::int32_t> single;      // [Y] the state whose history is this label alone
  std::vector<std::int32_t> shorter;     // [lanes] the state without the first label, or -1
  std::vector<std::int32_t> before;      // [lanes] the state without the last label, or -1
  std::vector<std::int32_t> pattern;     // [patterns] their states
  std::vector<std::int32_t> pattern_at;  // [lanes] the inverse: the pattern of a state, or -1
  std::vector<std::int32_t> pair;        // [Y][Y] the state of a pair of labels, or -1

  std::vector<std::int32_t> rising;  // states of two labels or more, shorter ones first
  std::vector<Move> longer;  // from each state to that without its first label, longer ones first

  // Attributes at boundaries tell apart only what they go with: classes of states, by the longest
  // of these that a state ends in.  The first is: none.
  std::vector<std::int32_t> entry_class;  // [lanes]
  std::vector<std::int32_t>
      shorter_class;  // [classes] those that a class ends in, which come before it
  std::vector<std::int32_t> pair_class;     // [Y][Y] and those of pairs and patterns, 0: none
  std::vector<std::int32_t> pattern_class;  // [patterns]
  int n_classes() const { return static_cast<int>(shorter_class.size()); }

  // Of a history h y: the histories x h such that x h y is none; and whether these are all x h.
  const std::vector<std::int32_t>& leading_to(std::int32_t q) const { return leading_[q]; }
  bool is_final(std::int32_t q) const { return final_[q] != 0; }

  // The state after a label; q is -1 if the label is the first.
  std::int32_t next(std::int32_t q, int y) const;
  // Whether the labels of q end in those of another state.
  bool ends_in(std::int32_t q, std::int32_t other) const {
    while (q >= 0 && q != other) q = shorter[q];
    return q >= 0;
  }

  // to[q] becomes the sum over all states that end in q.  to: [lanes]
  template <class Real>
  void add_longer(Real* to) const {
    for (const Move& move : longer) to[move.to] += to[move.from];
  }
  // to[q] becomes the sum over all states that q ends in.
  template <class Real>
  void add_shorter(Real* to) const {
    for (const std::int32_t q : rising) to[q] += to[shorter[q]];
  }

 private:
  void classify(const std::vector<std::int32_t>& entries);
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t>
      following_;                                   // state and label, where that is a state
  std::vector<std::vector<std::int32_t>> leading_;  // [lanes]
  std::vector<std::uint8_t> final_;                 // [lanes]
};

}  // namespace caesura
