#include "learn/terms.hpp"

#include "learn/gold.hpp"

namespace caesura {

SequenceCounts path_counts(const Layout& layout, const Design& d, int i,
                           const LabelledSegment* segments, std::int64_t count) {
  const int Y = layout.Y, T = d.length(i);
  SequenceCounts out;
  out.rows.assign(static_cast<std::size_t>(T + d.n_sites(i)) * Y, 0.0);
  out.pairs.assign(static_cast<std::size_t>(Y) * Y, 0.0);
  out.starts.assign(Y, 0.0);
  out.ends.assign(Y, 0.0);
  out.patterns.assign(layout.n_plain, 0.0);
  const std::vector<std::int32_t> at = segment_of(T, segments, count);
  for_rows(d, i, [&](const Site& site, std::int64_t row) {
    const int segment = segment_at(site, segments, at.data());
    if (segment >= 0) out.rows[(row - d.first_row(i)) * Y + segments[segment].label] = 1.0;
  });
  for_pair_weights(layout, d, i, [&](int t, std::int32_t pair, std::int32_t, double) {
    const LabelledSegment& s = segments[at[t]];
    out.edges.push_back(s.start == t && segments[at[t - 1]].label * Y + s.label == pair);
  });
  if (count == 0) return out;
  out.starts[segments[0].label] = out.ends[segments[count - 1].label] = 1.0;
  for (std::int64_t s = 1; s < count; ++s)
    out.pairs[segments[s - 1].label * Y + segments[s].label] += 1.0;
  if (layout.histories == nullptr) return out;

  // A pattern fires where the state of a segment ends in it.
  const Histories& h = *layout.histories;
  std::vector<std::int32_t> states;  // [segments]
  for (std::int64_t s = 0; s < count; ++s) {
    states.push_back(h.next(s == 0 ? -1 : states.back(), segments[s].label));
    for (std::int32_t q = states.back(); q >= 0; q = h.shorter[q]) {
      if (h.pattern_at[q] >= 0 && h.pattern_at[q] < layout.n_plain)
        out.patterns[h.pattern_at[q]] += 1.0;
    }
  }
  for_pattern_weights(
      layout, d, i, [&](const Site& site, std::int32_t pattern, std::int32_t, double, bool) {
        const int segment = segment_at(site, segments, at.data());
        out.fired.push_back(segment >= 0 && h.ends_in(states[segment], h.pattern[pattern]));
      });
  return out;
}

void subtract(SequenceCounts& counts, const SequenceCounts& others) {
  auto each = [](std::vector<double>& from, const std::vector<double>& what) {
    for (std::size_t k = 0; k < from.size(); ++k) from[k] -= what[k];
  };
  each(counts.rows, others.rows);
  each(counts.pairs, others.pairs);
  each(counts.starts, others.starts);
  each(counts.ends, others.ends);
  each(counts.edges, others.edges);
  each(counts.fired, others.fired);
  each(counts.patterns, others.patterns);
}

double counted_score(const Layout& layout, const Design& d, int i, const SequenceCounts& counts,
                     const Unpacked<double>& weights, Workspace& work) {
  const int Y = layout.Y, n_rows = d.length(i) + d.n_sites(i), stride = weights.view().row;
  work.clear();
  double* rows = work.doubles(static_cast<std::size_t>(n_rows) * stride);
  predictor().scores(d, weights.view(), i, rows, work);
  // score = sum of count * weight.  Forbidden transitions are -inf here and count as 0, because
  // gold labels may violate the constraints of the model.
  double score = 0.0;
  auto add = [&](double count, double weight) {
    if (count != 0.0 && weight > kMinusInfinity) score += count * weight;
  };
  for (int r = 0; r < n_rows; ++r) {
    for (int y = 0; y < Y; ++y)
      add(counts.rows[static_cast<std::size_t>(r) * Y + y],
          rows[static_cast<std::ptrdiff_t>(r) * stride + y]);
  }
  for (int k = 0; k < Y * Y; ++k) add(counts.pairs[k], weights.transition[k]);
  for (int y = 0; y < Y; ++y) {
    add(counts.starts[y], weights.start[y]);
    add(counts.ends[y], weights.end[y]);
  }
  for (std::int64_t k = 0; k < layout.n_plain; ++k) add(counts.patterns[k], weights.pattern[k]);
  std::size_t k = 0, edge = 0;
  for_pattern_weights(layout, d, i,
                      [&](const Site&, std::int32_t, std::int32_t id, double value, bool at_edge) {
                        const Weights<double>& w = weights.view();
                        add(counts.fired[k++] * value, (at_edge ? w.edge : w.sparse)[id]);
                      });
  for_pair_weights(layout, d, i, [&](int, std::int32_t, std::int32_t id, double value) {
    add(counts.edges[edge++] * value, weights.view().edge[id]);
  });
  return score;
}

void add_counts(const Layout& layout, const Design& d, int i, const SequenceCounts& counts,
                double sign, const Weights<double>& w, Gradient<double>& gradient,
                Workspace& work) {
  const int Y = layout.Y, n_rows = d.length(i) + d.n_sites(i), stride = w.row;
  work.clear();
  double* rows = work.doubles(static_cast<std::size_t>(n_rows) * stride);
  std::fill_n(rows, static_cast<std::size_t>(n_rows) * stride, 0.0);
  for (int r = 0; r < n_rows; ++r) {
    for (int y = 0; y < Y; ++y)
      rows[static_cast<std::ptrdiff_t>(r) * stride + y] =
          sign * counts.rows[static_cast<std::size_t>(r) * Y + y];
  }
  trainer<double>().add(d, w, i, rows, gradient, work);
  for (int a = 0; a < Y; ++a) {
    gradient.starts[a] += sign * counts.starts[a];
    gradient.ends[a] += sign * counts.ends[a];
    for (int b = 0; b < Y; ++b) gradient.pairs[a * w.stride + b] += sign * counts.pairs[a * Y + b];
  }
  for (std::int64_t k = 0; k < layout.n_plain; ++k)
    gradient.patterns[k] += sign * counts.patterns[k];
  std::size_t k = 0, edge = 0;
  for_pattern_weights(
      layout, d, i, [&](const Site&, std::int32_t, std::int32_t id, double value, bool at_edge) {
        (at_edge ? gradient.edge : gradient.sparse)[id] += sign * value * counts.fired[k++];
      });
  for_pair_weights(layout, d, i, [&](int, std::int32_t, std::int32_t id, double value) {
    gradient.edge[id] += sign * value * counts.edges[edge++];
  });
}

}  // namespace caesura
