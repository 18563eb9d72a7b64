#include "infer/graph_answers.hpp"

#include <algorithm>
#include <cmath>

#include "infer/walk.hpp"

namespace caesura {
namespace {

GraphTables tables_of(const SpanGraph& g, Workspace& work) {
  GraphTables t;
  t.stride = g.labels.stride;
  const std::size_t stops = static_cast<std::size_t>(g.K + 1) * t.stride,
                    gates = static_cast<std::size_t>(g.S + 1) * t.stride;
  t.value = work.doubles(g.n);
  t.inside = work.doubles(g.n);
  t.ended = work.doubles(stops);
  t.front = work.doubles(stops);
  t.rear = work.doubles(stops);
  t.window = work.doubles(gates);
  t.begun = work.doubles(gates);
  t.base_high = work.doubles(g.K + 1);
  t.base_low = work.doubles(g.K + 1);
  t.middle = work.ints(g.S + 1);
  t.summed = work.ints(g.S + 1);
  return t;
}

}  // namespace

void GraphWalk::terms(const Node& node, std::vector<Term>& out) const {
  out.clear();
  auto push = [&](NodeKind kind, int at, int state, double value) {
    if (value > kMinusInfinity) out.push_back({{kind, at, state}, value});
  };
  // Pushes the terms of the window of gate k by stop and label, with after(y) added to each.
  auto push_window = [&](int k, auto after) {
    if (g_.is_first(k)) return push(NodeKind::kStart, 0, 0, 0.0);
    for (int j = g_.low[k]; j < g_.high[k]; ++j) {
      const double offset = t_.offset(j, g_.high[k] - 1);
      const double* ended = t_.ended + static_cast<std::ptrdiff_t>(j) * t_.stride;
      for (int y = 0; y < g_.Y; ++y) {
        push(NodeKind::kClosed, j, y, ended[y] + offset + after(y));
      }
    }
  };
  if (node.kind == NodeKind::kFinal) {
    push_window(g_.S, [&](int y) { return g_.end[y]; });
  } else if (node.kind == NodeKind::kBegun) {
    push_window(node.at, [&](int y) { return g_.transition[y * g_.Y + node.state]; });
  } else if (node.kind == NodeKind::kClosed) {
    for (int u = g_.stop_ptr[node.at]; u < g_.stop_ptr[node.at + 1]; ++u) {
      if (g_.spans[u].label == node.state) push(NodeKind::kSpan, u, 0, t_.value[u]);
    }
  } else if (!g_.has_arcs(node.at)) {
    push(NodeKind::kBegun, g_.gate[node.at], g_.spans[node.at].label, 0.0);
  } else {
    const int ref = g_.high[g_.gate[node.at]] - 1;
    g_.for_predecessors(node.at, [&](int p, double arc) {
      push(NodeKind::kSpan, p, 0, t_.value[p] + t_.offset(g_.stop[p], ref) + arc);
    });
  }
}

std::vector<std::int32_t> GraphWalk::spans_of(const std::vector<Node>& path) const {
  std::vector<std::int32_t> spans;
  for (const Node& node : path) {
    if (node.kind == NodeKind::kSpan) spans.push_back(g_.id[node.at]);
  }
  std::reverse(spans.begin(), spans.end());
  return spans;
}

double graph_log_partition(const SpanGraph& g, Workspace& work, GraphTally* tally) {
  GraphTables tables = tables_of(g, work);
  return kernels().graph_log_partition(g, work, tables, tally);
}

// Expected counts of spans, arcs and label pairs: both sweeps of graph_sweep.cpp.
GraphPosterior graph_posterior(const SpanGraph& g, int n_arcs, Workspace& work, bool want_entropy) {
  GraphPosterior out;
  out.spans.assign(g.n, 0.0);
  out.arcs.assign(n_arcs, 0.0);
  out.transitions.assign(static_cast<std::size_t>(g.Y) * g.Y, 0.0);
  out.starts.assign(g.Y, 0.0);
  out.ends.assign(g.Y, 0.0);
  GraphTables tables = tables_of(g, work);
  out.log_z = kernels().graph_log_partition(g, work, tables, nullptr);
  if (out.log_z == kMinusInfinity) return out;
  GraphCounts counts;
  counts.spans = out.spans.data();
  counts.arcs = out.arcs.data();
  counts.transitions = out.transitions.data();
  counts.starts = out.starts.data();
  counts.ends = out.ends.data();
  counts.want_entropy = want_entropy;
  kernels().graph_posterior(g, work, tables, counts);
  out.entropy = std::max(0.0, counts.entropy);  // rounding may make it slightly negative
  return out;
}

// Enumerates paths (paths.hpp) over the tables of a Maximum sweep; equal ones come in the order of
// their terms.
std::vector<GraphPath> graph_n_best(const SpanGraph& g, Workspace& work, int n) {
  GraphTables tables = tables_of(g, work);
  std::vector<GraphPath> paths;
  if (kernels().graph_best(g, work, tables, nullptr) == kMinusInfinity) return paths;
  const GraphWalk walk(g, tables);
  EnumerationMemory memory;
  Enumeration every(walk, ByTerm{}, memory, n);
  SegmentCount count;
  while (static_cast<int>(paths.size()) < n && every.extend()) {
    paths.push_back(walk.spans_of(every.last()));
    count.add(paths.back().size());
  }
  return paths;
}

// Samples paths over the tables of a LogSum sweep; the same seed gives the same paths.
std::vector<GraphPath> graph_samples(const SpanGraph& g, Workspace& work, int n,
                                     std::uint64_t seed) {
  SegmentCount count;
  count.check(n);
  GraphTables tables = tables_of(g, work);
  std::vector<GraphPath> paths;
  if (kernels().graph_log_partition(g, work, tables, nullptr) == kMinusInfinity) return paths;
  const GraphWalk walk(g, tables);
  Random random(seed);
  for (int i = 0; i < n; ++i) {
    paths.push_back(walk.spans_of(sample_path(walk, random)));
    count.add(paths.back().size());
  }
  return paths;
}

}  // namespace caesura
