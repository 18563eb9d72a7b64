// The buffers to which the kernels of one shard add counts, and their conversion to the gradient.
#pragma once

#include <algorithm>
#include <vector>

#include "infer/answers.hpp"
#include "learn/objective.hpp"

namespace caesura {

// A gradient in the precision of a kernel, and the memory that it points into.
template <class Real>
struct Buffer {
  Table<Real> memory;
  Gradient<Real> view, tags;
  double loss = 0.0;

  void make(const Layout& layout, const Design& design, const Weights<Real>& w) {
    make(layout, design.table_rows() * w.wide, layout.n_sparse, layout.n_edges, w);
  }
  // The same with room for the given numbers of dense, single and edge weights.
  void make(const Layout& layout, std::size_t dense, std::size_t sparse, std::size_t edges,
            const Weights<Real>& w) {
    const int stride = w.stride, tagged = w.tags == nullptr ? 0 : w.tags->stride;
    const std::size_t square = stride * stride;
    const std::size_t lanes = w.histories == nullptr ? 0 : w.histories->lanes;
    loss = 0.0;
    memory.assign(dense + sparse + edges + 2 * square + 2 * stride + tagged * (tagged + 2) + lanes +
                      layout.n_plain,
                  Real{0});
    Real* at = memory.data();
    view.dense = at;
    view.sparse = at += dense;  // right behind `dense`, as in places_of
    view.edge = at += sparse;
    view.outer = at += edges;
    view.pairs = at += square;
    view.starts = at += square;
    view.ends = at += stride;
    view.entered = at += stride;
    view.patterns = at += lanes;
    if (tagged == 0) return;
    tags.outer = at += layout.n_plain;
    tags.starts = at += tagged * tagged;
    tags.ends = at += tagged;
    view.tags = &tags;
  }

  // Clears everything except the dense, single and edge weights.
  void clear_labels() { std::fill(view.outer, memory.data() + memory.size(), Real{0}); }

  // Adds the counts of pairs, starts and ends of tags to those of their labels.
  void untag(const Weights<Real>& w) {
    if (w.tags == nullptr) return;
    const int Y = w.Y, n = w.tags->stride;
    for (int y = 0; y < Y; ++y) {
      for (const int out : {kEnd * Y + y, kUnit * Y + y}) {
        view.ends[y] += tags.ends[out];
        for (int next = 0; next < Y; ++next) {
          for (const int in : {kBegin * Y + next, kUnit * Y + next})
            view.outer[y * w.stride + next] += tags.outer[out * n + in];
        }
      }
      view.starts[y] += tags.starts[kBegin * Y + y] + tags.starts[kUnit * Y + y];
    }
  }

  // Distributes what was added to sums of rows, to tags and to histories.
  void finish(const Layout& layout, const Design& design, const Weights<Real>& w) {
    unshare(design, w.wide);
    untag(w);
    if (layout.histories != nullptr) layout.histories->add_longer(view.entered);
  }

  // Adds the gradient of each sum of two rows to both, in reverse order of creation, so that nested
  // sums are distributed completely.
  void unshare(const Design& design, int wide) {
    for (std::size_t k = design.sums.size(); k-- > 0;) {
      const Real* sum = view.dense + static_cast<std::ptrdiff_t>(design.sums[k].row) * wide;
      for (const std::int32_t part : {design.sums[k].first, design.sums[k].second}) {
        Real* to = view.dense + static_cast<std::ptrdiff_t>(part) * wide;
        for (int y = 0; y < wide; ++y) to[y] += sum[y];
      }
    }
  }
};

// Adds all shards to the first, in order, block by block.
template <class Real>
void add_up(std::vector<Buffer<Real>>& shards, int n_threads) {
  if (shards.empty()) return;
  Buffer<Real>& total = shards[0];
  for_blocks(static_cast<std::int64_t>(total.memory.size()), n_threads,
             [&](std::int64_t begin, std::int64_t end) {
               for (std::size_t s = 1; s < shards.size(); ++s) {
                 const Real* from = shards[s].memory.data();
                 for (std::int64_t k = begin; k < end; ++k) total.memory[k] += from[k];
               }
             });
}

// to[k] += the gradient of weight k, for begin <= k < end.
template <class Real>
inline void add_packed(const Layout& layout, const std::vector<std::int64_t>& places,
                       const Weights<Real>& w, const Gradient<Real>& g, std::int64_t begin,
                       std::int64_t end, double* to) {
  const int Y = layout.Y, stride = w.stride;
  auto over = [&](std::int64_t first, std::int64_t count, auto value) {
    for (std::int64_t k = std::max(begin, first); k < std::min(end, first + count); ++k)
      to[k] += value(k - first);
  };
  over(0, layout.first_edge(),
       [from = g.dense, at = places.data()](std::int64_t k) { return from[at[k]]; });
  over(layout.first_edge(), layout.n_edges, [&](std::int64_t k) { return g.edge[k]; });
  over(layout.first_transition(), layout.transition.size(), [&](std::int64_t k) {
    const std::int32_t state =
        w.histories == nullptr ? -1 : w.histories->pair[layout.transition[k]];
    const int at = layout.transition[k] / Y * stride + layout.transition[k] % Y;
    const double pairs = g.pairs[at] + (state < 0 ? 0.0 : static_cast<double>(g.entered[state]));
    return g.outer[at] == 0 ? pairs : static_cast<double>(g.outer[at]) * w.transition[at] + pairs;
  });
  over(layout.first_pattern(), layout.n_plain, [&](std::int64_t k) {
    return static_cast<double>(g.entered[w.histories->pattern[k]]) + g.patterns[k];
  });
  over(layout.first_start(), layout.start.size(),
       [&](std::int64_t k) { return g.starts[layout.start[k]]; });
  over(layout.first_end(), layout.end.size(),
       [&](std::int64_t k) { return g.ends[layout.end[k]]; });
}

}  // namespace caesura
