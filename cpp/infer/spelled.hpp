// The n best segmentations of a chain in which several tag sequences may spell one segmentation.
//
//   weight(segmentation) = sum of exp(score) over the tag sequences that spell it
//
// The belief of a prefix of a segmentation is, for each state, the log weight of the tag sequences
// that spell the prefix and end in that state.  Prefixes whose beliefs are equal up to a constant
// have the same continuations, so they share a node of a determinised graph, which is built as far
// as it is needed.  A best-first search over this graph finds segmentations in descending order of
// weight.  The log weight of a segmentation whose prefix ends at e is at most
//
//   ln sum over q of exp(belief[q] + bound[e, q])
//   bound[e, p] = max over symbols x of ln sum over arcs (p, q) that spell x of
//                 exp(transition[p, q] + token[e, q] + bound[e + 1, q])
//
// where bound[e, p] is an upper bound on the log weight of any single continuation from state p.  A
// symbol says what a token is: outside, the first token of a segment with some label, or a later
// one.  All weights are logarithms, so nothing underflows on long inputs.
#pragma once

#include <vector>

#include "infer/answers.hpp"
#include "lattice/reading.hpp"

namespace caesura {

struct SpelledLimits {
  std::int64_t most_terms = 20'000'000;  // arcs summed to compute beliefs: about half a second
  std::int64_t most_parts = 500'000;     // prefixes, in addition to those of the n answers
};

// In the answers, labels are those into which states are decoded (lattice/reading.hpp), and scores
// are log weights.  All segments of the problem must have length 1, and the reading must have tags.
// Throws TooLarge if the search exceeds a limit.
std::vector<Answer> n_best_spelled(const Problem&, Method, Workspace&, const Reading&, int n,
                                   const SpelledLimits& most = {});

}  // namespace caesura
