// The n best segmentations: the enumeration of paths.hpp, with the order of ties.hpp.
#include "infer/walk.hpp"

namespace caesura {
namespace {

struct SegmentOrder {
  const Lattice& g;
  const Back& back;

  // The rank-th best way to end at a boundary in a state, and such a way that has begun a segment.
  struct Ranked {
    Node node;
    std::int32_t rank;
  };

  template <class Every>
  bool operator()(Every& every, const Node& node, const Ways& all, const Way& a,
                  const Way& b) const {
    // Terms of segments that end or go on are sorted by start.
    if (node.kind == NodeKind::kClosed || node.kind == NodeKind::kOpen) return a.term > b.term;
    return precedes(every, {all.terms[b.term].from, b.rank}, {all.terms[a.term].from, a.rank});
  }

  // As precedes() in ties.hpp, over paths of any rank: both are ends of segments at one boundary.
  template <class Every>
  bool precedes(Every& every, Ranked a, Ranked b) const {
    while (a.node.state != b.node.state) {
      const int y = g.order[g.rank[a.node.state]], z = g.order[g.rank[b.node.state]];
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
  template <class Every>
  Ranked begun(Every& every, const Ranked& end) const {
    const Node& node = end.node;
    if (end.rank == 0) {
      const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(node.at) * g.stride;
      return {{NodeKind::kBegun, back.start[row + node.state], node.state}, 0};
    }
    Ranked at = end;
    do {
      const Way way = every.found(at.node, at.rank);
      at = {every.ways(at.node).terms[way.term].from, way.rank};
    } while (at.node.kind == NodeKind::kOpen);
    return at;
  }
  template <class Every>
  Ranked closed(Every& every, const Ranked& begin) const {
    const Node& node = begin.node;
    if (begin.rank == 0) {
      const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(node.at) * g.stride;
      return {{NodeKind::kClosed, node.at, back.previous[row + node.state]}, 0};
    }
    const Way way = every.found(node, begin.rank);
    return {every.ways(node).terms[way.term].from, way.rank};
  }
};

}  // namespace

std::vector<std::vector<LabelledSegment>> n_best(const Walk& walk, const Back& back, int n) {
  std::vector<std::vector<LabelledSegment>> results;
  Enumeration every(walk, SegmentOrder{walk.lattice(), back});
  SegmentCount count;
  while (static_cast<int>(results.size()) < n && every.extend()) {
    check_interrupt();
    results.push_back(segments_of(walk.lattice(), every.last()));
    count.add(results.back().size());
  }
  return results;
}

}  // namespace caesura
