// The n best segmentations of a chain where several tag sequences spell one segmentation.
//
//   weight(segmentation) = sum of exp(score) over the tag sequences that spell it
//
// A prefix of a segmentation is known by its belief: the log weight of its tag sequences that end
// in each state.  Prefixes whose beliefs are equal up to a constant can be continued in the same
// ways, so they are one node of a determinised graph, which is made as far as it is needed.  A
// best-first search over this graph finds segmentations by falling weight.  A prefix that ends at
// e is bounded by
//
//   ln sum over q of exp(belief[q] + bound[e, q])
//   bound[e, p] = max over symbols x of ln sum over arcs (p, q) that spell x of
//                 exp(transition[p, q] + token[e, q] + bound[e + 1, q])
//
// where bound[e, p] is at least the log weight of any one way to go on from state p.  A symbol says
// what a token is: outside, the first token of a segment with some label, or a further one.
// Everything is a logarithm, so nothing underflows on long inputs.
#pragma once

#include <vector>

#include "infer/answers.hpp"
#include "lattice/reading.hpp"

namespace caesura {

struct SpelledLimits {
  std::int64_t most_terms =
      20'000'000;                     // arcs that are summed to make beliefs: about half a second
  std::int64_t most_parts = 500'000;  // prefixes, beside those of the n answers
};

// Labels of the segments are those of the reading, and scores are log weights.  All segments of the
// problem have length 1, and the reading has tags.  Throws TooLarge where the search passes a
// limit.
std::vector<Answer> n_best_spelled(const Problem&, Method, Workspace&, const Reading&, int n,
                                   const SpelledLimits& most = {});

}  // namespace caesura
