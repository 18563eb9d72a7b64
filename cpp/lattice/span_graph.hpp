// The span graph: a sparse acyclic graph of labelled spans of one sequence.
//
// A path is a sequence of spans that do not overlap, from the beginning of the sequence to its end.
// The arc rule defines which span may follow which; only arcs with a score of their own are stored.
// Let [a, b) be a span and [c, d) another with b <= c:
//
//   kAdjacent   [c, d) may follow [a, b) if b == c; a path covers the whole sequence
//   kFiltered   [c, d) may follow [a, b) if no span of the graph lies entirely in the gap [b, c);
//               paths are the maximal sets of spans that do not overlap (the filtered semi-CRF)
//
// The beginning counts as a span that ends at boundary 0, the end as one that starts at boundary T.
// Both rules have the same form.  Let m(c) be the largest start of the spans that end at or before
// c; then the predecessors of a span that starts at c are the spans whose end lies in
//
//   [c, c] (adjacent)      (m(c), c] (filtered; [0, c] if no span ends at or before c)
//
// This is a window over the boundaries where spans end, and neither of its limits decreases as c
// increases.  Boundaries where spans end are called stops, those where spans start are called
// gates:
//
//   stop 0   is the beginning; stops 1 .. K are the distinct ends of the spans, in order
//   gate k   for k < S is one of the distinct starts of the spans, in order; gate S is the end
//
// The score of a path is the sum of the scores of its spans; of transition[previous label, label]
// for each arc between two spans, with the score of the arc itself if it has one; of start[label]
// of the first span; and of end[label] of the last.  The empty path, where the rule allows it, has
// the score 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lattice/lattice.hpp"

namespace caesura {

enum class ArcRule { kAdjacent = 0, kFiltered = 1 };

struct Span {
  std::int32_t start, end, label;
  double score;
};

// An arc between two spans, given by their indices in the input, with a score of its own.
struct SpanArc {
  std::int32_t from, to;
  double score;
};

struct SpanGraphInput {
  int T = 0, Y = 0;
  ArcRule rule = ArcRule::kAdjacent;
  std::vector<Span> spans;         // [n]
  std::vector<SpanArc> arcs;       // optional; all must obey the rule
  std::vector<double> transition;  // [Y][Y]
  std::vector<double> start, end;  // [Y]
};

// What the kernels read: plain views.  Spans are sorted by stop and then by label; a `place` is a
// position in that order.
struct SpanGraph {
  int Y = 0, n = 0;                        // labels, spans
  int K = 0, S = 0;                        // stops after the beginning, gates before the end
  const Span* spans = nullptr;             // [n]
  const std::int32_t* id = nullptr;        // [n] place -> index in the input
  const std::int32_t* stop = nullptr;      // [n]
  const std::int32_t* gate = nullptr;      // [n]
  const std::int32_t* stop_ptr = nullptr;  // [K + 2] the spans of each stop; stop 0 has none
  const std::int32_t* low = nullptr;       // [S + 1] the window of stops [low, high) of a gate
  const std::int32_t* high = nullptr;      // [S + 1]
  const std::int32_t* arc_ptr = nullptr;   // [n + 1] the stored arcs into each span
  const std::int32_t* arc_from = nullptr;  // [arcs] places, ascending for each span
  const std::int32_t* arc_id = nullptr;    // [arcs] index in the input
  const double* arc_score = nullptr;       // [arcs]
  const double* transition = nullptr;      // [Y][Y]
  const double* start = nullptr;           // [Y]
  const double* end = nullptr;             // [Y]
  Lattice labels;  // the labels alone, for the step over transitions (infer/arcs.hpp)

  // Whether the window of a gate is just the beginning: a span that starts there is the first of
  // its path.
  [[gnu::always_inline]] bool is_first(int k) const { return low[k] == 0 && high[k] == 1; }
  [[gnu::always_inline]] bool is_empty(int k) const { return low[k] >= high[k]; }
  [[gnu::always_inline]] bool has_arcs(int p) const { return arc_ptr[p] < arc_ptr[p + 1]; }

  // Calls visit(predecessor, score of the arc) for all predecessors of the span at `place`.
  template <class Visit>
  [[gnu::always_inline]] void for_predecessors(int place, Visit visit) const {
    const int k = gate[place], y = spans[place].label;
    int a = arc_ptr[place];
    for (int p = stop_ptr[low[k]]; p < stop_ptr[high[k]]; ++p) {
      double score = transition[spans[p].label * Y + y];
      for (; a < arc_ptr[place + 1] && arc_from[a] == p; ++a) score += arc_score[a];
      visit(p, score);
    }
  }
};

// The arrays of a span graph, sorted and indexed.
class OwnedSpanGraph {
 public:
  explicit OwnedSpanGraph(SpanGraphInput input);
  OwnedSpanGraph(const OwnedSpanGraph&) = delete;
  OwnedSpanGraph& operator=(const OwnedSpanGraph&) = delete;

  const SpanGraph& graph() const { return graph_; }
  int n_arcs() const { return static_cast<int>(arc_from_.size()); }

  // The index of the first given arc that violates the rule, or -1.
  int broken_arc() const { return broken_arc_; }
  // The score of a path, given as indices of spans in the input; -inf if it is not a path.
  double score(const std::vector<std::int32_t>& path) const;

 private:
  void sort_spans(const std::vector<Span>& given, int T);
  void find_windows(ArcRule rule);
  void sort_arcs(const std::vector<SpanArc>& arcs);
  void fill_view();
  double arc(int from, int to) const;

  int Y_, n_, K_ = 0, S_ = 0;
  std::vector<Span> spans_;
  std::vector<std::int32_t> id_, place_;  // [n] place -> index in the input, and its inverse
  std::vector<std::int32_t> stop_, gate_, stop_ptr_, low_, high_, arc_ptr_, arc_from_, arc_id_;
  std::vector<std::int32_t> stop_at_, gate_at_;  // boundaries, [K + 1] and [S + 1]
  std::vector<std::int32_t> identity_;           // [Y]
  std::vector<double> arc_score_, transition_, start_, end_;
  SpanGraph graph_;
  int broken_arc_ = -1;
};

}  // namespace caesura
