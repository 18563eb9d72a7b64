// The states of label sequences under patterns and rules, from which Automaton (automaton.hpp) and
// ArcProgram (program.hpp) are derived.
//
// A state is a pair of a history, which is the longest suffix of the label sequence that is listed,
// and a memory of the rules.
#pragma once

#include <cstdint>
#include <vector>

#include "automaton/rules.hpp"

namespace caesura {

constexpr std::int64_t kMostArcs = 50'000'000;

// The label sequences that are possible for one sequence of tokens, before its rules are applied.
// States that are restricted to these are fewer.
struct PossibleLabels {
  int most = 0;  // largest number of labels, each of which takes at least one token; 0: no limit
  std::vector<std::uint8_t> first;    // [Y] whether a label may come first; empty if all may
  std::vector<std::uint8_t> follows;  // [Y][Y] pairs allowed, previous first; empty if all are

  bool operator==(const PossibleLabels& other) const {
    return most == other.most && first == other.first && follows == other.follows;
  }
};

// The Aho-Corasick automaton of some histories and of all single labels: a trie, completed by goto
// and failure links.  Node 0 is the root, the empty history.
struct Suffixes {
  Suffixes(int Y, const std::vector<std::vector<std::int32_t>>& histories);

  int Y;
  std::vector<std::int32_t> to;      // [nodes][Y] longest suffix of node + label that is a node
  std::vector<std::int32_t> fail;    // [nodes] longest proper suffix that is a node
  std::vector<std::int32_t> parent;  // [nodes] without the last label, -1 at the root
  std::vector<std::int32_t> last;    // [nodes] last label, -1 at the root
  std::vector<std::int32_t> node_of_history;  // [histories]
  std::vector<std::int32_t> by_length;        // all but the root, in the order of (length, labels)

  int next(int node, int y) const { return to[static_cast<std::size_t>(node) * Y + y]; }
};

// The states that label sequences reach, and their successors.
struct States {
  struct Inputs {
    const std::vector<std::int32_t>& order;  // [Y] the label of each rank; nodes refer to ranks
    const RuleSet& rules;
    const PossibleLabels* possible;  // null if all sequences are possible
    bool same_label_adjacent;
    // Whether the states are those of a model in training: they include all states (suffix of
    // history, memory), even if no sequence reaches them.
    bool learning;
  };
  // Throws TooLarge if there are more than `most` states.
  States(const Suffixes& suffixes, const Inputs& inputs, std::int64_t most);

  struct State {
    std::int32_t node, memory;
  };
  std::vector<State> found;          // in the order of the first label sequence that reaches them
  std::vector<std::int32_t> arcs;    // [found][Y] the state after each label, or -1
  std::vector<std::int32_t> starts;  // [Y] the state after each first label, or -1

  bool accepts(int memory) const { return memories_.accepts(memory); }
  // The numbers of the states of a node by memory, -1 where there is none.
  const std::vector<std::int32_t>& of_node(int node) const { return numbers_[node]; }

 private:
  RuleMemory memories_;
  std::vector<std::vector<std::int32_t>> numbers_;  // [nodes][memories up to the last found]
};

}  // namespace caesura
