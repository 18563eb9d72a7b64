// Walks over the rows that a forward sweep saved, one state at a time: samples, the n best
// segmentations, and probabilities of single segments.
//
// Every entry of a row is a sum (or maximum) of terms, so the entries are the nodes of an acyclic
// graph, and a segmentation is a path from the final node back to the start:
//
//   kFinal        <- kClosed(T, q)
//   kClosed(e, q) <- kBegun(s, q) for the starts in the window, or kOpen(e - 1, q)
//   kOpen(e, q)   <- kBegun(s, q) for the starts that enter the open term at e, or kOpen(e - 1, q)
//   kBegun(s, q)  <- kClosed(s, p) for the arcs (p, q)
#pragma once

#include <cstdint>
#include <vector>

#include "infer/paths.hpp"
#include "lattice/problem.hpp"

namespace caesura {

class Walk {
 public:
  Walk(const Problem& problem, const Lattice& lattice, const Tables& tables);

  // The interface of a walker, see paths.hpp.  Terms of segments with later starts come first.
  Node final() const { return {NodeKind::kFinal, g_.T, 0}; }
  bool is_start(const Node& node) const { return node.kind == NodeKind::kBegun && node.at == 0; }
  std::uint64_t key(const Node& node) const {
    return (static_cast<std::uint64_t>(node.at) * g_.Q + node.state) * 4 +
           static_cast<std::uint64_t>(node.kind);
  }
  void terms(const Node& node, std::vector<Term>& out) const;

  // out[k] = ln P(the segment is [end - 1 - k, end), given that one in this state ends at `end`),
  // for all starts down to `low`.
  void log_shares(int low, int end, int state, std::vector<double>& out) const;

  // ln P(the previous state is p, given that a segment in q starts at t).
  double log_arc(int t, int p, int q) const;

  // The score of the arc from state p to state q at the boundary t, and that of the segment
  // [t, t + 1) in state q.
  double transition(int t, int p, int q) const;
  double token_score(int t, int q) const;

  // Whether the segment [s, e) in state q is a term of its own: it is not too long, crosses no
  // forced boundary and is not part of the open term.  If it is not, longer segments from s are not
  // either.
  bool in_window(int s, int e, int q) const;

  const Lattice& lattice() const { return g_; }

 private:
  struct Theta {
    int start;
    double closed, open;  // score of [start, e), and up to e of a segment that continues
  };
  // Computes the scores of the segments in a state that end at e, for the starts e - 1, ..., low.
  void thetas(int e, int state, int low, std::vector<Theta>& out) const;
  double offset(int s, int e) const;  // base(s) - base(e)
  bool holds(int target, int state) const;
  double token(int t, int state) const;

  const Problem& problem_;
  const Lattice& g_;
  const Tables& tables_;
  std::vector<double> base_high_, base_low_;  // [T + 1]
};

std::vector<LabelledSegment> sample_one(const Walk& walk, Random& random);

// The limit on the number of segments in all answers together: as Python lists, more would take
// gigabytes.  An answer itself takes as much memory as kSegmentsPerAnswer segments.
constexpr std::int64_t kMostSegments = 100'000'000, kSegmentsPerAnswer = 10;

// Counts the segments of answers, and throws std::overflow_error if there are too many.
class SegmentCount {
 public:
  void add(std::size_t segments);
  // Throws if this number of further answers would be too many even without segments.
  void check(std::int64_t answers) const;
  // The expected count after this number of answers, if all are like those so far.
  double expected(double answers) const {
    return answers * static_cast<double>(total_) / static_cast<double>(answers_);
  }

 private:
  std::int64_t total_ = 0, answers_ = 0;
};

inline bool at_start(const Node& node) { return node.kind == NodeKind::kBegun && node.at == 0; }

// The segments of a path of nodes from the final one to the start.
std::vector<LabelledSegment> segments_of(const Lattice& g, const std::vector<Node>& path);

// The segments of the best segmentation whose final state is `last`.
std::vector<LabelledSegment> trace(const Lattice& g, const Back& back, int last);

// Lays out the tables of a sweep in a block of tables_size(g) numbers.  table_size(g) is the size
// of one table of rows.  tables_size throws TooLarge beyond 8 GB.
std::size_t table_size(const Lattice& g);
std::size_t tables_size(const Lattice& g);
Tables tables_in(const Lattice& g, double* memory);

}  // namespace caesura
