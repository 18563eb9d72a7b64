// The label histories that a model with patterns distinguishes.
//
// The histories are label sequences: every single label, every contiguous part of a pattern, and
// the pairs that attributes at boundaries are combined with.  Prefixes and suffixes of a history
// are therefore histories too.  The state of a label sequence is its longest suffix that is a
// history.  A label y leads from state q to the longest suffix of q y that is a history.
// Conversely, h y is entered from h and from every state that ends in h, except those that lead to
// a longer history x h y; program.hpp derives the arcs of the learning kernels from this.
#pragma once

#include <cstdint>
#include <vector>

#include "automaton/states.hpp"

namespace caesura {

// Adds the value of one state to that of another.  A sequence of moves is a flat program without
// inner loops of variable length.  Successive moves rarely have the same target, so that an
// addition need not wait for the previous one.
struct Move {
  std::int32_t to, from;
};

// Reorders the moves in rounds: the first move to each state, then the second, and so on.
void take_turns(std::vector<Move>& moves, int lanes);

struct Histories {
  // patterns: sequences of two or more labels.  entries: the pairs of labels (previous * Y + label)
  // and the patterns (Y * Y + pattern) with which attributes at boundaries are combined.  A lane is
  // a place in a row of states.  The lanes of a label are contiguous and padded to a multiple of
  // `width`.
  Histories(int Y, const std::vector<std::vector<std::int32_t>>& patterns,
            const std::vector<std::int32_t>& entries, int width);

  int Y, Q = 0;
  int lanes = 0;      // length of a row of states, including padding
  Suffixes suffixes;  // the automaton of the histories, whose nodes are the states and a root
  std::vector<std::int32_t> node, lane;  // [lanes] the node of each state, and [nodes] the inverse
  std::vector<std::int32_t> first;       // [Y + 1] first lane of each label
  std::vector<std::int32_t> last;        // [Y] end of the states of each label, before the padding
  std::vector<std::int32_t> label;       // [lanes] last label, or -1 for padding
  std::vector<std::int32_t> single;      // [Y] the state whose history is this label alone
  std::vector<std::int32_t> shorter;     // [lanes] the state without the first label, or -1
  std::vector<std::int32_t> before;      // [lanes] the state without the last label, or -1
  std::vector<std::int32_t> pattern;     // [patterns] the state of each pattern
  std::vector<std::int32_t> pattern_at;  // [lanes] the pattern of each state, or -1
  std::vector<std::int32_t> pair;        // [Y][Y] the state of a pair of labels, or -1

  std::vector<std::int32_t> rising;  // states of two or more labels, shorter histories first
  std::vector<Move> longer;          // from each state to its `shorter`, longer histories first

  // Attributes at boundaries distinguish only the pairs and patterns among `entries`.  The class of
  // a state is the longest of these that it ends in; class 0 stands for none.
  std::vector<std::int32_t> entry_class;    // [lanes]
  std::vector<std::int32_t> shorter_class;  // [classes] next shorter class that it ends in
  std::vector<std::int32_t> pair_class;     // [Y][Y] class of a pair, 0 if not among `entries`
  std::vector<std::int32_t> pattern_class;  // [patterns] class of a pattern, likewise
  int n_classes() const { return static_cast<int>(shorter_class.size()); }

  // For the state h y: the states x h for which x h y is not a state.  is_final: whether these are
  // all the states x h.
  const std::vector<std::int32_t>& leading_to(std::int32_t q) const { return leading_[q]; }
  bool is_final(std::int32_t q) const { return final_[q] != 0; }

  // The state after label y; q is -1 at the start of a sequence.
  std::int32_t next(std::int32_t q, int y) const {
    return lane[suffixes.next(q < 0 ? 0 : node[q], y)];
  }
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
  std::vector<std::vector<std::int32_t>> leading_;  // [lanes]
  std::vector<std::uint8_t> final_;                 // [lanes]
};

}  // namespace caesura
