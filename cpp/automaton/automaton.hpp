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

// The label sequences that are possible for one sequence of tokens, apart from its patterns and
// rules.  An automaton that is restricted to these needs fewer states.
struct PossibleLabels {
  int most = 0;  // the most labels in a row, because each takes at least one token
  std::vector<std::uint8_t> first;    // [Y] whether a label may be the first,
  std::vector<std::uint8_t> follows;  // [Y][Y] and may follow another one; empty if all may

  bool operator==(const PossibleLabels& other) const {
    return most == other.most && first == other.first && follows == other.follows;
  }
};

struct Automaton {
  int Y = 0, Q = 0;
  bool first_order = false;        // no arcs are stored, because every label may follow every other
  std::vector<std::int32_t> rank;  // [Q] last label
  std::vector<std::int32_t> first;        // [Y + 1] first state of each label
  std::vector<std::int32_t> start_state;  // [Y] or -1
  std::vector<std::uint8_t> accepting;    // [Q]
  bool accepts_empty = true;
  std::vector<std::int32_t> in_ptr, in_state, out_ptr, out_state;
  std::vector<std::int32_t> history_ptr, history_state;  // states whose labels end in history h

  // order: [Y] the label of each rank.  Histories are sequences of two labels or more; they and the
  // rules are given in labels.  Throws TooLarge as soon as more than `most_states` are reached.
  // possible: states that no possible sequence reaches are omitted; null if all are possible.
  static Automaton build(const std::vector<std::int32_t>& order,
                         const std::vector<std::vector<std::int32_t>>& histories,
                         const RuleSet& rules, bool same_label_adjacent, std::int64_t most_states,
                         const PossibleLabels* possible = nullptr);

  // The state after a segment with a label of this rank, or -1 if it is forbidden.  At the start
  // of a sequence, `state` is -1.
  int next(int state, int rank) const;
  bool ends_in(int state, int history) const;
};

// The same, from a cache of recent automata that all threads of the process share.  At most
// kMostArcs arcs.
constexpr std::int64_t kMostArcs = 50'000'000;
std::shared_ptr<const Automaton> automaton_for(
    const std::vector<std::int32_t>& order, const std::vector<std::vector<std::int32_t>>& histories,
    const RuleSet& rules, bool same_label_adjacent, const PossibleLabels* possible = nullptr);

}  // namespace caesura
