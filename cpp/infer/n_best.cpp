// The n best segmentations: the recursive enumeration of Jimenez and Marzal (1999) over the nodes
// of walk.hpp.
//
//   loss(v, k) = k-th smallest of  most(v) - value(term)  +  loss(from(term), rank)
//
// over the terms of node v and the ranks of the nodes that they come from.  loss(v, 0) = 0, so only
// what an answer asks for is computed: the (k + 1)-th way to a node needs, of all terms, only the
// next way through the term that the k-th went through.  Ways are shared between paths, as each
// names its term and a rank.
#include <algorithm>
#include <unordered_map>

#include "base/interrupt.hpp"
#include "infer/walk.hpp"

namespace caesura {
namespace {

// One way to a node: through a term, and by the rank-th way to the node that it comes from.
struct Way {
  double loss;
  std::int32_t term, rank;
};

struct Ways {
  std::vector<Term> terms;
  double most = kMinusInfinity;
  std::vector<Way> found;  // best first
  std::vector<Way> heap;   // the next way through each term
  bool advanced = true;    // what follows found.back() is in the heap
  bool exhausted = false;  // there are no more than `found`
};

class Enumeration {
 public:
  Enumeration(const Walk& walk, const Back& back) : walk_(walk), g_(walk.lattice()), back_(back) {}

  // Finds one more way to the final node; false: there is none.
  bool extend() {
    const std::size_t before = ways(final_).found.size();
    extend(final_);
    return ways(final_).found.size() > before;
  }

  // The last path that was found.
  std::vector<LabelledSegment> last() {
    path_.assign(1, final_);
    Way way = ways(final_).found.back();
    for (Node node = final_;;) {
      node = ways(node).terms[way.term].from;
      path_.push_back(node);
      if (at_start(node)) return segments_of(g_, path_);
      way = found(node, way.rank);
    }
  }

 private:
  const Walk& walk_;
  const Lattice& g_;
  const Back& back_;
  const Node final_{NodeKind::kFinal, walk_.lattice().T, 0};
  std::unordered_map<std::uint64_t, Ways> known_;
  std::vector<Node> stack_, path_;

  Ways& ways(const Node& node) {
    const std::uint64_t key = (static_cast<std::uint64_t>(node.at) * g_.Q + node.state) * 4 +
                              static_cast<std::uint64_t>(node.kind);
    const auto [at, added] = known_.try_emplace(key);
    Ways& made = at->second;
    if (!added) return made;
    check_interrupt();
    walk_.terms(node, made.terms);
    for (const Term& term : made.terms) made.most = std::max(made.most, term.value);
    for (std::size_t i = 0; i < made.terms.size(); ++i)
      made.heap.push_back({made.most - made.terms[i].value, static_cast<std::int32_t>(i), 0});
    std::make_heap(made.heap.begin(), made.heap.end(), Later{*this, node, made});
    return made;
  }

  // Of a rank that is known, or 0.
  Way found(const Node& node, std::int32_t rank) {
    Ways& all = ways(node);
    if (all.found.empty()) take(node, all);
    return all.found[rank];
  }

  // The best of the heap becomes the next way.
  void take(const Node& node, Ways& all) {
    all.exhausted = all.heap.empty();
    if (all.exhausted) return;
    std::pop_heap(all.heap.begin(), all.heap.end(), Later{*this, node, all});
    all.found.push_back(all.heap.back());
    all.heap.pop_back();
    all.advanced = false;
  }

  // One more way to a node.  Each may need one more to the node that its last way came from, so
  // those wait on a stack: paths are as long as the sequence.
  void extend(const Node& goal) {
    stack_.assign(1, goal);
    while (!stack_.empty()) {
      const Node node = stack_.back();
      Ways& all = ways(node);
      if (!all.advanced && !advance(node, all)) continue;
      take(node, all);
      stack_.pop_back();
    }
  }

  // Puts the next way through the term of the last one into the heap.  False: a way to the node
  // that it comes from is missing, and that node is on the stack.
  bool advance(const Node& node, Ways& all) {
    const Way last = all.found.back();
    const Term& term = all.terms[last.term];
    all.advanced = true;
    if (at_start(term.from)) return true;
    Ways& before = ways(term.from);
    if (before.found.empty()) take(term.from, before);
    const std::int32_t rank = last.rank + 1;
    if (static_cast<std::int32_t>(before.found.size()) <= rank) {
      if (before.exhausted) return true;
      all.advanced = false;
      stack_.push_back(term.from);
      return false;
    }
    all.heap.push_back({all.most - term.value + before.found[rank].loss, last.term, rank});
    std::push_heap(all.heap.begin(), all.heap.end(), Later{*this, node, all});
    return true;
  }

  // Heaps keep on top what comes later than nothing else.
  struct Later {
    Enumeration& self;
    const Node& node;
    const Ways& all;
    bool operator()(const Way& a, const Way& b) const {
      if (a.loss != b.loss) return a.loss > b.loss;
      // Terms of segments that end or go on are sorted by start.
      if (node.kind == NodeKind::kClosed || node.kind == NodeKind::kOpen) return a.term > b.term;
      return self.precedes({all.terms[b.term].from, b.rank}, {all.terms[a.term].from, a.rank});
    }
  };

  // The rank-th best way to end at a boundary in a state, and such a way that has begun a segment.
  struct Ranked {
    Node node;
    std::int32_t rank;
  };

  // As precedes() in ties.hpp, over paths of any rank: both are ends of segments at one boundary.
  bool precedes(Ranked a, Ranked b) {
    while (a.node.state != b.node.state) {
      const int y = g_.order[g_.rank[a.node.state]], z = g_.order[g_.rank[b.node.state]];
      if (y != z) return y < z;
      a = begun(a);
      b = begun(b);
      if (a.node.at != b.node.at) return a.node.at > b.node.at;
      if (a.node.at == 0) return false;
      a = closed(a);
      b = closed(b);
    }
    return a.rank < b.rank;
  }
  Ranked begun(const Ranked& end) {
    const Node& node = end.node;
    if (end.rank == 0) {
      const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(node.at) * g_.stride;
      return {{NodeKind::kBegun, back_.start[row + node.state], node.state}, 0};
    }
    Ranked at = end;
    do {
      const Way way = found(at.node, at.rank);
      at = {ways(at.node).terms[way.term].from, way.rank};
    } while (at.node.kind == NodeKind::kOpen);
    return at;
  }
  Ranked closed(const Ranked& begin) {
    const Node& node = begin.node;
    if (begin.rank == 0) {
      const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(node.at) * g_.stride;
      return {{NodeKind::kClosed, node.at, back_.previous[row + node.state]}, 0};
    }
    const Way way = found(node, begin.rank);
    return {ways(node).terms[way.term].from, way.rank};
  }
};

}  // namespace

std::vector<std::vector<LabelledSegment>> n_best(const Walk& walk, const Back& back, int n) {
  std::vector<std::vector<LabelledSegment>> results;
  Enumeration every(walk, back);
  SegmentCount count;
  while (static_cast<int>(results.size()) < n && every.extend()) {
    check_interrupt();
    results.push_back(every.last());
    count.add(results.back().size());
  }
  return results;
}

}  // namespace caesura
