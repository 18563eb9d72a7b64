// The arcs of label histories and rules as flat programs, for the learning kernels.
//
// A state is a pair (h, m) of a history (histories.hpp) and a memory of the rules (rules.hpp).  A
// label y leads from it to the longest suffix of h y that is a history, and to m' = next(m, y).
// The step of the memory is the same for all histories that end in h, so the sums over these
// histories are shared, separately for each memory:
//
//   S(h, m)      = alpha(h, m) + sum of S(x h, m) over the histories x h     (all that end in h)
//   in(h y, m')  = sum over the memories m with next(m, y) = m' of
//                  alpha(h, m) + sum of S(x h, m) over the x h such that x h y is not a history
//                  (S(h, m) alone if no x h y is a history)
//
// Nothing is subtracted, and the number of terms is about that of the patterns times that of the
// memories.  Where h is empty, the terms are the pairs of labels x y that are not histories; each
// has a weight of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "automaton/histories.hpp"
#include "automaton/states.hpp"
#include "base/interrupt.hpp"

namespace caesura {

// An arc into label y from S(x, m), the sum over all states that end in label x and have memory m.
struct PairArc {
  std::int32_t to, from;  // lanes
  std::int32_t pair;      // x * Y + y
};

struct ArcProgram {
  // The lanes of a label are contiguous and padded to a multiple of `width`.  possible: restricts
  // the states to those that a possible sequence reaches.  Throws TooLarge if they could have more
  // than kMostArcs arcs.
  ArcProgram(const Histories& histories, const RuleSet& rules, const PossibleLabels& possible,
             int width);

  // Whether three tables with this many rows of states take less than about 8 GB.
  bool fits(std::int64_t rows) const { return rows * lanes <= 300'000'000; }
  // Whether several threads may have tables with this many rows.  The states of rules can be
  // millions, and the general sweeps, which do one sequence at a time, need fewer rows of them.
  bool fits_each(std::int64_t rows) const {
    return rows * lanes <= (plain ? 300'000'000 : 40'000'000);
  }
  // Number of tokens between two checks for an interrupt.
  int patience() const { return std::clamp(1'000'000 / std::max(lanes, 1), 1, kPatience); }

  int Y, Q = 0;
  int lanes = 0;      // length of a row of states, including padding
  bool plain = true;  // whether there are no rules, so that the lanes are those of the histories
  std::vector<std::int32_t> first;        // [Y + 1] first lane of each label
  std::vector<std::int32_t> last;         // [Y] end of the states of each label, before the padding
  std::vector<std::int32_t> label;        // [lanes] last label, or -1 for padding
  std::vector<std::int32_t> history;      // [lanes] the lane of its history, or -1
  std::vector<std::int32_t> entry_class;  // [lanes] as Histories::entry_class
  std::vector<std::uint8_t> accepting;    // [lanes]
  std::vector<std::int32_t> start;  // [Y] the state after a first segment, or -1 if it is forbidden

  // The program.  Sources are indices into a row of alpha, followed by a row of S and one zero.
  std::vector<std::int32_t> singles;  // states whose history is one label
  std::vector<std::int32_t> rising;   // all others, shorter histories first
  std::vector<Move> longer;           // computes S: without the first label, longer histories first
  std::vector<std::int32_t> source;   // [lanes] first term of in(h y, m')
  std::vector<Move> leading;          // the other terms
  std::vector<PairArc> pairs;         // arcs of the same pair of labels are contiguous
  std::vector<std::int32_t> by_target, by_source;  // indices into pairs, in these orders
};

}  // namespace caesura
