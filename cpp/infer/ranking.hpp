// The n best segmentations: the enumeration of paths.hpp, with the order of ties.hpp.
//
// In addition to the interface in paths.hpp, a walker over segments provides the back-pointers of
// its sweep:
//
//   int label(int state) const                 the label of a state
//   int start(int end, int state) const        the start of the best segment that ends here
//   int previous(int start, int state) const   the best state before a segment that starts here
#pragma once

#include <vector>

#include "infer/paths.hpp"
#include "infer/walk.hpp"

namespace caesura {

// The order of ways of equal loss.  Answers with the same score are compared from their last
// segment backwards, as in ties.hpp: the smaller label first, then the later start.
template <class Walker>
struct SegmentOrder {
  const Walker& walk;

  // The rank-th best way to the end (kClosed) or to the start (kBegun) of a segment.
  struct Ranked {
    Node node;
    std::int32_t rank;
  };

  template <class Every>
  bool operator()(Every& every, const Node& node, const Ways& all, const Way& a,
                  const Way& b) const {
    // The terms of these nodes are sorted by start, later starts first.
    if (node.kind == NodeKind::kClosed || node.kind == NodeKind::kOpen) return a.term > b.term;
    return precedes(every, {all.terms[b.term].from, b.rank}, {all.terms[a.term].from, a.rank});
  }

  // As precedes() in ties.hpp, for ways of any rank.  Both must end a segment at the same boundary.
  template <class Every>
  bool precedes(Every& every, Ranked a, Ranked b) const {
    while (a.node.state != b.node.state) {
      const int y = walk.label(a.node.state), z = walk.label(b.node.state);
      if (y != z) return y < z;
      a = begun(every, a);
      b = begun(every, b);
      if (a.node.at != b.node.at) return a.node.at > b.node.at;
      if (a.node.at == 0) return false;
      a = closed(every, a);
      b = closed(every, b);
    }
    return a.rank < b.rank;
  }
  // Goes from the end of a segment to its start: on the best way by back-pointers, on the others
  // through the open nodes between them.
  template <class Every>
  Ranked begun(Every& every, const Ranked& end) const {
    const Node& node = end.node;
    if (end.rank == 0) return {{NodeKind::kBegun, walk.start(node.at, node.state), node.state}, 0};
    Ranked at = end;
    do {
      const Way way = every.found(at.node, at.rank);
      at = {every.ways(at.node).terms[way.term].from, way.rank};
    } while (at.node.kind == NodeKind::kOpen);
    return at;
  }
  // Goes from the start of a segment to the end of the one before it.
  template <class Every>
  Ranked closed(Every& every, const Ranked& begin) const {
    const Node& node = begin.node;
    if (begin.rank == 0)
      return {{NodeKind::kClosed, node.at, walk.previous(node.at, node.state)}, 0};
    const Way way = every.found(node, begin.rank);
    return {every.ways(node).terms[way.term].from, way.rank};
  }
};

// Writes the segments of a path of nodes from the final one, at boundary T, to the start.
template <class Walker>
void path_segments(const Walker& walk, int T, const std::vector<Node>& path,
                   std::vector<LabelledSegment>& segments) {
  segments.clear();
  int end = T;
  for (const Node& node : path) {
    if (node.kind == NodeKind::kClosed) end = node.at;
    if (node.kind == NodeKind::kBegun) segments.push_back({node.at, end, walk.label(node.state)});
  }
  std::reverse(segments.begin(), segments.end());
}

// Returns the best segmentation for which keep(segments) is true if it is among the first `most`,
// else an empty list.
template <class Walker, class Keep>
std::vector<LabelledSegment> first_segments(const Walker& walk, int T, int most, Keep keep) {
  static thread_local EnumerationMemory memory;
  Enumeration every(walk, SegmentOrder<Walker>{walk}, memory, most);
  std::vector<LabelledSegment> segments;
  for (int k = 0; k < most && every.extend(); ++k) {
    check_interrupt();
    path_segments(walk, T, every.last(), segments);
    if (keep(segments)) return segments;
  }
  return {};
}

// Calls visit(segments, count) for at most n distinct segmentations, best first and equal ones in
// the order of ties.hpp.  count: the SegmentCount of all segmentations so far.
template <class Walker, class Visit>
void rank_segments(const Walker& walk, int T, int n, Visit visit) {
  // The ways of many paths take too much memory to be kept, also if `visit` throws.
  constexpr int kMany = 10'000;
  static thread_local EnumerationMemory kept;
  EnumerationMemory own, &memory = n > kMany ? own : kept;
  Enumeration every(walk, SegmentOrder<Walker>{walk}, memory, n);
  SegmentCount count;
  std::vector<LabelledSegment> segments;
  for (int k = 0; k < n && every.extend(); ++k) {
    check_interrupt();
    path_segments(walk, T, every.last(), segments);
    count.add(segments.size());
    visit(segments, count);
  }
}

}  // namespace caesura
