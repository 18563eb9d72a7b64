// For each of several segments, the best segmentation that does not contain it.
//
// The entries of the rows of the best sweep are the nodes of an acyclic graph (walk.hpp).  Compared
// with the best path from the start to a node, a path through one of its terms loses
//
//   loss(term) = most(node) - value(term)  >=  0
//
// One search from the final node, in ascending order of loss, finds
//
//   rest(node) = least loss of any path from the node to the end
//
// The best segmentation that uses a term from u to v then loses loss(term) + rest(v), since the
// best path from the start to u loses nothing.  There are two cases in which a segmentation does
// not contain the segment [s, e) with label y:
//
//   1. No segment with label y begins at s.  Then the path has a term that covers token s and does
//      not come from the start of such a segment.  The search itself finds the cheapest such term.
//   2. One does, but ends elsewhere.  Then the path follows the segment for some tokens and leaves
//      it.  A small recursion over the nodes inside the segment finds the cheapest place to leave.
//      The segments are disjoint, so together they are not longer than the sequence.
//
// In a chain, whose segments are spelled by tags, case 1 concerns the pair of tags at the boundary
// s, and case 2 the pairs of tags inside the segment and at its end.
#pragma once

#include <vector>

#include "infer/answers.hpp"
#include "lattice/reading.hpp"

namespace caesura {

// The difference between an answer and a given path: the answer has the first `same_first` and the
// last `same_last` segments of the path, and `segments` between them.
struct Detour {
  bool possible = false;
  int same_first = 0, same_last = 0;
  std::vector<LabelledSegment> segments;
};

// For each of `segments`, the best segmentation without it, as the difference from `path`, a whole
// segmentation.  segments: sorted and disjoint, with labels of the reading; a segmentation contains
// one if its reading does.  Throws TooLarge if too many limits would have to be tracked.
std::vector<Detour> answer_without(const Problem&, Method, Workspace&, const Reading& reading,
                                   const std::vector<LabelledSegment>& path,
                                   const std::vector<LabelledSegment>& segments);

}  // namespace caesura
