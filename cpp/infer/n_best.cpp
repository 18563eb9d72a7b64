#include "infer/ranking.hpp"

namespace caesura {
namespace {

// A walk over a lattice with the back-pointers of its sweep.
struct BackWalk {
  const Walk& walk;
  const Back& back;
  const Lattice& g = walk.lattice();

  Node final() const { return walk.final(); }
  bool is_start(const Node& node) const { return walk.is_start(node); }
  std::uint64_t key(const Node& node) const { return walk.key(node); }
  void terms(const Node& node, std::vector<Term>& out) const { walk.terms(node, out); }

  int label(int state) const { return g.order[g.rank[state]]; }
  int start(int end, int state) const {
    return back.start[static_cast<std::ptrdiff_t>(end) * g.stride + state];
  }
  int previous(int start, int state) const {
    return back.previous[static_cast<std::ptrdiff_t>(start) * g.stride + state];
  }
};

}  // namespace

std::vector<std::vector<LabelledSegment>> n_best(const Walk& walk, const Back& back, int n) {
  return ranked_segments(BackWalk{walk, back}, walk.lattice().T, n);
}

}  // namespace caesura
