// Label history as a deterministic automaton over labels.
//
// A state is a pair of the longest suffix of the label sequence that is a prefix of some history
// (an Aho-Corasick state; whole histories are included) and the joint state of the rules that the
// label sequence must obey.  Labels are represented by their ranks (see Lattice::order).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "automaton/states.hpp"

namespace caesura {

struct Automaton {
  int Y = 0, Q = 0;
  bool first_order = false;         // no histories or rules: states are ranks, no arcs are stored
  std::vector<std::int32_t> rank;   // [Q] last label
  std::vector<std::int32_t> first;  // [Y + 1] first state of each label
  std::vector<std::int32_t> start_state;  // [Y] state after a first segment, or -1
  std::vector<std::uint8_t> accepting;    // [Q]
  std::vector<std::int32_t> in_ptr, in_state, out_ptr, out_state;
  std::vector<std::int32_t> history_ptr, history_state;  // states whose labels end in history h

  // order: [Y] the label of each rank.  histories: sequences of two or more labels.  Histories and
  // rules refer to labels, not to ranks.  possible: restricts the automaton to the states that a
  // possible sequence reaches; null if all sequences are possible.  Throws TooLarge if there are
  // more than `most_states` states.
  static Automaton build(const std::vector<std::int32_t>& order,
                         const std::vector<std::vector<std::int32_t>>& histories,
                         const RuleSet& rules, bool same_label_adjacent, std::int64_t most_states,
                         const PossibleLabels* possible = nullptr);

  bool ends_in(int state, int history) const;
};

// Returns a recently used automaton from a cache that all threads share, or builds it.  Throws
// TooLarge if it could have more than kMostArcs arcs.
std::shared_ptr<const Automaton> automaton_for(
    const std::vector<std::int32_t>& order, const std::vector<std::vector<std::int32_t>>& histories,
    const RuleSet& rules, bool same_label_adjacent, const PossibleLabels* possible = nullptr);

}  // namespace caesura
