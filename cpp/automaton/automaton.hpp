// Label history as a deterministic automaton over labels.
//
// Its states are pairs: the longest suffix of the labels so far that is a prefix of some history
// (the states of Aho and Corasick, whole histories included), and the states of the rules that the
// label sequence must obey.  Labels are ranks here (see Lattice::order).
#pragma once

#include <cstdint>
#include <vector>

namespace caesura {

// A rule on the label sequence, itself a small automaton that starts in state 0.
struct Rule {
  int states = 0;
  std::vector<std::int32_t> next;       // [states][Y]; -1: this label is forbidden now
  std::vector<std::uint8_t> accepting;  // [states]
};

struct Automaton {
  int Y = 0, Q = 0;
  bool first_order = false;               // no arcs are stored: every label follows every other
  std::vector<std::int32_t> rank;         // [Q] last label
  std::vector<std::int32_t> first;        // [Y + 1] first state of each label
  std::vector<std::int32_t> start_state;  // [Y] or -1
  std::vector<std::uint8_t> accepting;    // [Q]
  bool accepts_empty = true;
  std::vector<std::int32_t> in_ptr, in_state, out_ptr, out_state;
  std::vector<std::int32_t> history_ptr, history_state;  // states whose labels end in history h

  // Histories are label sequences of two or more.  Throws std::length_error above `most_states`.
  static Automaton build(int Y, const std::vector<std::vector<std::int32_t>>& histories,
                         const std::vector<Rule>& rules, bool same_label_adjacent,
                         std::int64_t most_states);

  bool ends_in(int state, int history) const;
};

}  // namespace caesura
