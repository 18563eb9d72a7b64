// Label history as a deterministic automaton over labels.
//
// Its states are pairs: the longest suffix of the labels so far that is a prefix of some history
// (the states of Aho and Corasick, whole histories included), and the states of the rules that the
// label sequence must obey.  Labels are ranks here (see Lattice::order).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "automaton/rules.hpp"

namespace caesura {

// The label sequences that one sequence of tokens can have, whatever its patterns and rules say.
// An automaton of these only needs fewer states.
struct PossibleLabels {
  int most = 0;                       // labels in a row: each takes a token
  std::vector<std::uint8_t> first;    // [Y] whether a label may come first,
  std::vector<std::uint8_t> follows;  // [Y][Y] and after another; empty: any may

  bool operator==(const PossibleLabels& other) const {
    return most == other.most && first == other.first && follows == other.follows;
  }
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

  // order: [Y] the label of each rank.  Histories are sequences of two labels or more; they and the
  // rules are given in labels.  Throws TooLarge as soon as more than `most_states` are reached.
  // possible: states that no possible sequence reaches are left out; null: any is possible.
  static Automaton build(const std::vector<std::int32_t>& order,
                         const std::vector<std::vector<std::int32_t>>& histories,
                         const RuleSet& rules, bool same_label_adjacent, std::int64_t most_states,
                         const PossibleLabels* possible = nullptr);

  // The state after a segment with a label of this rank, -1: it is forbidden.  state -1: none yet.
  int next(int state, int rank) const;
  bool ends_in(int state, int history) const;
};

// The same from a cache of recent automata, which all threads of the process share.  At most
// kMostArcs arcs.
constexpr std::int64_t kMostArcs = 50'000'000;
std::shared_ptr<const Automaton> automaton_for(
    const std::vector<std::int32_t>& order, const std::vector<std::vector<std::int32_t>>& histories,
    const RuleSet& rules, bool same_label_adjacent, const PossibleLabels* possible = nullptr);

}  // namespace caesura
