#include "lattice/span_graph.hpp"

#include <algorithm>
#include <numeric>

#include "lattice/problem.hpp"

namespace caesura {
namespace {

std::vector<std::int32_t> sorted_unique(std::vector<std::int32_t> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

int index_of(const std::vector<std::int32_t>& sorted, int value) {
  return static_cast<int>(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
}

}  // namespace

OwnedSpanGraph::OwnedSpanGraph(SpanGraphInput input)
    : Y_(input.Y),
      n_(static_cast<int>(input.spans.size())),
      transition_(std::move(input.transition)),
      start_(std::move(input.start)),
      end_(std::move(input.end)) {
  sort_spans(input.spans, input.T);
  find_windows(input.rule);
  sort_arcs(input.arcs);
  fill_view();
}

void OwnedSpanGraph::sort_spans(const std::vector<Span>& given, int T) {
  std::vector<std::int32_t> starts, ends{0};
  for (const Span& span : given) {
    starts.push_back(span.start);
    ends.push_back(span.end);
  }
  stop_at_ = sorted_unique(std::move(ends));
  gate_at_ = sorted_unique(std::move(starts));
  K_ = static_cast<int>(stop_at_.size()) - 1;
  S_ = static_cast<int>(gate_at_.size());
  gate_at_.push_back(T);  // the end; no span starts there

  id_.resize(n_);
  place_.resize(n_);
  std::iota(id_.begin(), id_.end(), 0);
  std::stable_sort(id_.begin(), id_.end(), [&](int a, int b) {
    const Span &left = given[a], &right = given[b];
    return left.end != right.end ? left.end < right.end : left.label < right.label;
  });
  stop_ptr_.assign(K_ + 2, 0);
  for (int p = 0; p < n_; ++p) {
    const Span& span = given[id_[p]];
    spans_.push_back(span);
    place_[id_[p]] = p;
    stop_.push_back(index_of(stop_at_, span.end));
    gate_.push_back(index_of(gate_at_, span.start));
    ++stop_ptr_[stop_.back() + 1];
  }
  std::partial_sum(stop_ptr_.begin(), stop_ptr_.end(), stop_ptr_.begin());
}

// The window [low, high) of each gate.  high is one past the last stop at or before the gate.  low
// is that stop if it is at the gate, else high (adjacent); or the first stop after m, the largest
// start of the spans of the stops below high (filtered).  All of these only increase, so the cost
// is O(n + K + S).
void OwnedSpanGraph::find_windows(ArcRule rule) {
  low_.assign(S_ + 1, 0);
  high_.assign(S_ + 1, 0);
  int next = 0, first = 0, most = -1;
  for (int k = 0; k <= S_; ++k) {
    for (; next <= K_ && stop_at_[next] <= gate_at_[k]; ++next) {
      for (int p = stop_ptr_[next]; p < stop_ptr_[next + 1]; ++p) {
        most = std::max(most, spans_[p].start);
      }
    }
    if (rule == ArcRule::kFiltered) {
      while (first < next && stop_at_[first] <= most) ++first;
    } else {
      first = stop_at_[next - 1] == gate_at_[k] ? next - 1 : next;
    }
    low_[k] = first;
    high_[k] = next;
  }
}

// Sorts the arcs by target and then by source, as for_predecessors() reads them.
void OwnedSpanGraph::sort_arcs(const std::vector<SpanArc>& arcs) {
  std::vector<std::int32_t> order(arcs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const int to_a = place_[arcs[a].to], to_b = place_[arcs[b].to];
    return to_a != to_b ? to_a < to_b : place_[arcs[a].from] < place_[arcs[b].from];
  });
  arc_ptr_.assign(n_ + 1, 0);
  for (const int a : order) {
    const int from = place_[arcs[a].from], to = place_[arcs[a].to], k = gate_[to];
    const bool follows = low_[k] <= stop_[from] && stop_[from] < high_[k];
    if (!follows && (broken_arc_ < 0 || a < broken_arc_)) broken_arc_ = a;
    ++arc_ptr_[to + 1];
    arc_from_.push_back(from);
    arc_id_.push_back(a);
    arc_score_.push_back(arcs[a].score);
  }
  std::partial_sum(arc_ptr_.begin(), arc_ptr_.end(), arc_ptr_.begin());
}

void OwnedSpanGraph::fill_view() {
  identity_.resize(Y_);
  std::iota(identity_.begin(), identity_.end(), 0);
  SpanGraph& g = graph_;
  g.Y = Y_;
  g.n = n_;
  g.K = K_;
  g.S = S_;
  g.spans = spans_.data();
  g.id = id_.data();
  g.stop = stop_.data();
  g.gate = gate_.data();
  g.stop_ptr = stop_ptr_.data();
  g.low = low_.data();
  g.high = high_.data();
  g.arc_ptr = arc_ptr_.data();
  g.arc_from = arc_from_.data();
  g.arc_id = arc_id_.data();
  g.arc_score = arc_score_.data();
  g.transition = transition_.data();
  g.start = start_.data();
  g.end = end_.data();
  g.labels.Y = g.labels.Q = Y_;
  g.labels.stride = g.labels.label_stride = std::max(8, (Y_ + 7) / 8 * 8);
  g.labels.transition = transition_.data();
  g.labels.order = g.labels.rank = identity_.data();
}

double OwnedSpanGraph::arc(int from, int to) const {
  double score = transition_[spans_[from].label * Y_ + spans_[to].label];
  for (int a = arc_ptr_[to]; a < arc_ptr_[to + 1]; ++a) {
    if (arc_from_[a] == from) score += arc_score_[a];
  }
  return score;
}

double OwnedSpanGraph::score(const std::vector<std::int32_t>& path) const {
  Total total;
  bool possible = true;
  auto add = [&](double x) {
    possible &= x > kMinusInfinity;
    if (possible) total.add(x);
  };
  auto follows = [&](int k, int from) { return low_[k] <= from && from < high_[k]; };
  int last_stop = 0, last = -1;
  for (const int item : path) {
    const int p = place_[item];
    if (!follows(gate_[p], last_stop)) return kMinusInfinity;
    add(last < 0 ? start_[spans_[p].label] : arc(last, p));
    add(spans_[p].score);
    last = p;
    last_stop = stop_[p];
  }
  if (!follows(S_, last_stop)) return kMinusInfinity;
  if (last >= 0) add(end_[spans_[last].label]);
  return possible ? total.value() : kMinusInfinity;
}

}  // namespace caesura
