// The n best segmentations of a first-order model, found directly on the rows of the best sweep.
//
// This is the graph of walk.hpp without a Problem and without nodes for open segments:
//
//   kFinal        <- kClosed(T, y)
//   kClosed(e, y) <- kBegun(s, y) for all starts that a segment of label y may have
//   kBegun(s, y)  <- kClosed(s, z) for all labels z
//
// It is 1.5 to 1.9 times as fast as the general walk (lines "segments ... 5 best" of
// bench/twins.py), which needs a Problem.  With it, `predict_n_best(X, 5)` is 1.7 (chain) and 2.9
// times (semi-CRF) as fast on addresses, and 1.2 and 2.0 times on CoNLL-2000 (lines
// "predict_n_best(5)" of bench/answers.py, with Scorer::walks() returning false).  Chains of many
// labels gain least, because most of their time goes to the enumeration, which both walks share;
// they need no code of their own here, so they take this walk too.  A node of a label without a
// bound has as many terms as there are tokens before it, so long sequences are left to the general
// walk.
#pragma once

#include <vector>

#include "infer/answers.hpp"
#include "lattice/theta.hpp"
#include "learn/condition.hpp"
#include "learn/trainers.hpp"

namespace caesura {

// Longer sequences are left to the general walk, unless all labels have bounds below this.
constexpr int kLongestWalked = 128;

class RowsWalk {
 public:
  RowsWalk(const Design& d, const Weights<double>& w, int i, const Known& known,
           const BestTables& tables);

  // The interface of a walker, see infer/paths.hpp and infer/ranking.hpp.
  Node final() const { return {NodeKind::kFinal, T_, 0}; }
  bool is_start(const Node& node) const { return node.kind == NodeKind::kBegun && node.at == 0; }
  std::uint64_t key(const Node& node) const {
    return (static_cast<std::uint64_t>(node.at) * stride_ + node.state) * 4 +
           static_cast<std::uint64_t>(node.kind);
  }
  void terms(const Node& node, std::vector<Term>& out) const;
  int label(int state) const { return state; }
  int start(int end, int state) const { return static_cast<int>(at(tables_.start, end, state)); }
  int previous(int start, int state) const {
    return static_cast<int>(at(tables_.previous, start, state));
  }

  // Returns the score of a segmentation, the sum of all potentials that apply.
  double score(const std::vector<LabelledSegment>& segments) const;
  int length() const { return T_; }
  int n_labels() const { return Y_; }

 private:
  double at(const double* table, int t, int y) const {
    return table[static_cast<std::ptrdiff_t>(t) * stride_ + y];
  }
  double transition(int t, int z, int y) const {
    return at(tables_.transition + t * tables_.apart, z, y);
  }
  int first_start(int e, int y) const;
  void closed_terms(int e, int y, std::vector<Term>& out) const;

  const Weights<double>& w_;
  const Known& known_;
  const BestTables& tables_;
  const Site* sites_;  // sorted by end
  const int T_, Y_, n_sites_, stride_;
  mutable std::vector<ThetaSum> here_;  // scratch memory of closed_terms
  mutable std::vector<std::int32_t> segment_at_;
};

// Returns the best segmentation that satisfies a condition if it is among the first few, else none.
std::vector<LabelledSegment> rows_best_kept(const RowsWalk& walk, const Condition& condition);

// Returns the n best segmentations, the best first and equal scores in the order of ties.hpp.
std::vector<Answer> rows_n_best(const RowsWalk& walk, int n);

}  // namespace caesura
