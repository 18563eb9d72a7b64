#include "infer/graph_batch.hpp"

#include <algorithm>

#include "base/threads.hpp"
#include "infer/walk.hpp"

namespace caesura {

GraphBatch::GraphBatch(const GraphBatchInput& in, int n_threads)
    : Y_(in.Y), offsets_(in.offsets, in.offsets + in.B + 1), graphs_(in.B) {
  const std::size_t Y = in.Y;
  for_each(in.B, n_threads, [&](int b, Workspace&) {
    SpanGraphInput one;
    one.T = in.lengths[b];
    one.Y = in.Y;
    one.rule = in.rule;
    one.spans.reserve(offsets_[b + 1] - offsets_[b]);
    for (std::int64_t i = offsets_[b]; i < offsets_[b + 1]; ++i) {
      const std::int32_t* span = in.spans + 3 * i;
      one.spans.push_back({span[0], span[1], span[2], in.scores[i]});
    }
    one.transition.assign(in.transition, in.transition + Y * Y);
    one.start.assign(in.start, in.start + Y);
    one.end.assign(in.end, in.end + Y);
    graphs_[b] = std::make_unique<OwnedSpanGraph>(std::move(one));
  });
}

// The predecessors of a span are the spans of the stops in the window of its gate.
std::vector<std::int64_t> GraphBatch::arcs() const {
  std::vector<std::int64_t> out;
  for (const auto& owned : graphs_) {
    const SpanGraph& g = owned->graph();
    std::int64_t count = 0;
    for (int u = 0; u < g.n; ++u) {
      const int k = g.gate[u];
      if (!g.is_empty(k)) count += g.stop_ptr[g.high[k]] - g.stop_ptr[g.low[k]];
    }
    out.push_back(count);
  }
  return out;
}

void GraphBatch::log_partition(int n_threads, double* out) const {
  for_each(size(), n_threads, [&](int b, Workspace& work) {
    out[b] = graph_log_partition(graphs_[b]->graph(), work);
  });
}

void GraphBatch::posterior(int n_threads, const GraphBatchCounts& out) const {
  const std::size_t pairs = static_cast<std::size_t>(Y_) * Y_;
  for_each(size(), n_threads, [&](int b, Workspace& work) {
    const GraphPosterior p = graph_posterior(graphs_[b]->graph(), 0, work, out.entropy != nullptr);
    if (out.log_z != nullptr) out.log_z[b] = p.log_z;
    if (out.entropy != nullptr) out.entropy[b] = p.entropy;
    if (out.spans != nullptr) std::copy(p.spans.begin(), p.spans.end(), out.spans + offsets_[b]);
    if (out.transitions != nullptr) {
      std::copy(p.transitions.begin(), p.transitions.end(), out.transitions + b * pairs);
    }
  });
}

template <class Ask>
GraphBatchPaths GraphBatch::paths(int n_threads, Ask ask) const {
  std::vector<std::vector<GraphPath>> found(size());
  for_each(size(), n_threads, [&](int b, Workspace& work) { found[b] = ask(b, work); });
  GraphBatchPaths out;
  SegmentCount count;
  for (int b = 0; b < size(); ++b) {
    for (const GraphPath& path : found[b]) {
      count.add(path.size());
      for (const std::int32_t item : path) out.spans.push_back(offsets_[b] + item);
      out.offsets.push_back(static_cast<std::int64_t>(out.spans.size()));
      out.scores.push_back(graphs_[b]->score(path));
    }
    out.sequences.push_back(static_cast<std::int64_t>(out.scores.size()));
  }
  return out;
}

GraphBatchPaths GraphBatch::n_best(int n, int n_threads) const {
  return paths(n_threads,
               [&](int b, Workspace& work) { return graph_n_best(graphs_[b]->graph(), work, n); });
}

GraphBatchPaths GraphBatch::samples(int n, std::uint64_t seed, int n_threads) const {
  return paths(n_threads, [&](int b, Workspace& work) {
    return graph_samples(graphs_[b]->graph(), work, n, seed + b);
  });
}

}  // namespace caesura
