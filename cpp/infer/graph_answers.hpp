// Queries on one span graph.
#pragma once

#include <cstdint>
#include <vector>

#include "infer/kernels.hpp"
#include "infer/paths.hpp"
#include "lattice/span_graph.hpp"

namespace caesura {

// The walker over a span graph, see paths.hpp.  A path goes back through
//
//   kFinal        <- kClosed(j, y) for the stops j in the window of the last gate, or kStart
//   kClosed(j, y) <- kSpan(u) for the spans u with stop j and label y
//   kSpan(u)      <- kBegun(gate, label), or kSpan(p) for its predecessors if arcs have scores
//   kBegun(k, y)  <- kClosed(j, y0) for the stops j in the window of gate k, or kStart
//
// The windows along a path are disjoint, so after the sweep the best path is found in O(n + K Y) if
// no arcs have scores.
class GraphWalk {
 public:
  GraphWalk(const SpanGraph& graph, const GraphTables& tables) : g_(graph), t_(tables) {}
  Node final() const { return {NodeKind::kFinal, g_.S, 0}; }
  bool is_start(const Node& node) const { return node.kind == NodeKind::kStart; }
  std::uint64_t key(const Node& node) const {
    return (static_cast<std::uint64_t>(node.at) * g_.Y + node.state) * 8 +
           static_cast<std::uint64_t>(node.kind);
  }
  void terms(const Node& node, std::vector<Term>& out) const;

  // The spans of a path, first to last, by place in the input.
  std::vector<std::int32_t> spans_of(const std::vector<Node>& path) const;

 private:
  const SpanGraph& g_;
  const GraphTables& t_;
};

double graph_log_partition(const SpanGraph&, Workspace&, GraphTally* tally = nullptr);

struct GraphPosterior {
  double log_z = kMinusInfinity, entropy = 0.0;
  std::vector<double> spans, arcs;                // by place in the input
  std::vector<double> transitions, starts, ends;  // [Y][Y], [Y], [Y]
};
GraphPosterior graph_posterior(const SpanGraph&, int n_arcs, Workspace&, bool want_entropy);

// A path is a list of spans by place in the input.  There are none if no path is possible.
using GraphPath = std::vector<std::int32_t>;
std::vector<GraphPath> graph_n_best(const SpanGraph&, Workspace&, int n);
std::vector<GraphPath> graph_samples(const SpanGraph&, Workspace&, int n, std::uint64_t seed);

}  // namespace caesura
