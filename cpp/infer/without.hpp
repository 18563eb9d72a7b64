// The best segmentation that does not contain a segment, for each of some segments.
//
// The rows of the best sweep are the nodes of an acyclic graph (walk.hpp).  A term of a node loses
//
//   loss(term) = most(node) - value(term)  >=  0
//
// against the best way to the node.  One search from the final node, by growing loss, finds
//
//   rest(node) = least loss of any way on from the node to the end
//
// so that the best segmentation that uses a term from u to v loses loss(term) + rest(v), as the
// best way to u loses nothing.  A segmentation avoids the segment [s, e) with label y in one of two
// ways.
//
//   1. No segment with label y begins at s.  Then the path has a term that passes over token s and
//      is not from the start of such a segment; the cheapest of them is found by the search itself.
//   2. One does, but ends elsewhere.  Then the path follows the segment for some tokens and leaves
//      it: a small recursion over the nodes inside the segment, and all segments together are not
//      longer than the sequence.
//
// In a chain, whose segments are spelled by tags, (1) is about the pair of tags at the boundary s,
// and (2) about pairs of tags inside the segment and at its end.
#pragma once

#include <vector>

#include "infer/answers.hpp"
#include "lattice/reading.hpp"

namespace caesura {

// How an answer differs from a given path: it has the same first and last segments, and others
// between them.
struct Detour {
  bool possible = false;
  int same_first = 0, same_last = 0;
  std::vector<LabelledSegment> segments;
};

// path: a whole segmentation, best the best one.  segments: sorted and disjoint, with labels of the
// reading; a path contains one where it reads so.  Throws TooLarge where too many limits would have
// to be tracked.
std::vector<Detour> answer_without(const Problem&, Method, Workspace&, const Reading& reading,
                                   const std::vector<LabelledSegment>& path,
                                   const std::vector<LabelledSegment>& segments);

}  // namespace caesura
