// The arcs of label histories and rules as flat programs, for the learning kernels.
//
// A state is a pair (h, m) of a history (histories.hpp) and a memory of the rules (rules.hpp).  A
// label y leads from it to the longest suffix of h y that is a history, and to m' = next(m, y). All
// histories that end in h make the same step of the memory, so a state is entered from sums over
// histories, separately for each memory:
//
//   S(h, m)      = alpha(h, m) + sum of S(x h, m) over the histories x h    everything ending in h
//   in(h y, m')  = sum over the memories m that y leads to m' of
//                  alpha(h, m) + sum of S(x h, m) over the x h such that x h y is no history
//                  (S(h, m) alone where there is no x h y at all)
//
// Nothing is subtracted, and the terms are about as many as the patterns, times the memories.
// Where h is empty the terms are pairs of labels x y that are no history; these have weights of
// their own.
#pragma once

#include <cstdint>
#include <vector>

#include "automaton/histories.hpp"
#include "automaton/rules.hpp"

namespace caesura {

// Everything that ends in label x, in one memory, enters label y.
struct PairArc {
  std::int32_t to, from;  // lanes
  std::int32_t pair;      // x * Y + y
};

struct ArcProgram {
  // Lanes come in vectors of `width`, those of one label together.  Throws TooLarge above
  // `most_states`.
  ArcProgram(const Histories& histories, const RuleSet& rules, int width, int most_states);

  int Y, Q = 0;
  int lanes = 0;      // of a row of states; some lanes belong to no state
  bool plain = true;  // whether there are no rules, so that the lanes are those of the histories
  std::vector<std::int32_t> first;        // [Y + 1] the lanes of each label,
  std::vector<std::int32_t> last;         // [Y] and where its states end
  std::vector<std::int32_t> label;        // [lanes] last label, or -1 if the lane has no state
  std::vector<std::int32_t> history;      // [lanes] the lane of its history, or -1
  std::vector<std::int32_t> entry_class;  // [lanes] as Histories::entry_class
  std::vector<std::uint8_t> accepting;    // [lanes]
  std::vector<std::int32_t> start;  // [Y] the state after a first segment, or -1 if it is forbidden

  // The program.  Sources are numbers in a row of alpha, a row of S after it, and one zero.
  std::vector<std::int32_t> singles;  // states whose history is one label
  std::vector<std::int32_t> rising;   // all others, shorter histories first
  std::vector<Move> longer;          // S: to the history without its first label, longer ones first
  std::vector<std::int32_t> source;  // [lanes] where in(h y) begins,
  std::vector<Move> leading;         // and what is added to it
  std::vector<PairArc> pairs;        // those of a pair of labels together
  std::vector<std::int32_t> by_target, by_source;  // numbers of pairs, in these orders
};

}  // namespace caesura
