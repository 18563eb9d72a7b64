// The span graph of features that look back at one segment, and the log-likelihood on it.
#include <algorithm>
#include <cmath>

#include "learn/span_model.hpp"

namespace caesura {

void SpanPairs::find(const SpanModel& model, const SpanKeys& keys) {
  pairs.clear();
  firsts.clear();
  ends.clear();
  const int T = keys.T, L = keys.L;
  bool labels = false;
  for (const auto* some : {&model.features.joints, &model.features.pairs})
    for (const SegmentTemplate& one : *some) labels = labels || one.labels[1];
  const int Y = labels ? model.features.n_labels : 1;
  auto found = [&](std::uint64_t key, auto keep) {
    const std::int32_t row = model.table.find(key);
    if (row >= 0) keep(row);
  };
  for (int b = 0; b < T; ++b) {
    for (int e = b + 1; e <= std::min(b + L, T); ++e) {
      const int span = keys.span(b, e);
      if (b == 0) {
        auto first = [&](std::uint64_t key) {
          found(key, [&](int row) { firsts.push_back({span, row}); });
        };
        keys.for_joints(0, -1, -1, -1, -1, first);
        keys.for_pairs(span, -1, -1, -1, -1, first);
      }
      for (int y = 0; y < Y; ++y) {
        const int label = labels ? y : -1;
        for (int a = std::max(0, b - L); a < b; ++a) {
          const int previous = keys.span(a, b);
          auto pair = [&](std::uint64_t key) {
            found(key, [&](int row) { pairs.push_back({previous, span, label, row, 1.0}); });
          };
          keys.for_joints(b, previous, y, -1, -1, pair);
          keys.for_pairs(span, previous, y, -1, -1, pair);
        }
        if (e == T) {
          keys.for_ends(span, y, -1, -1, [&](std::uint64_t key) {
            found(key, [&](int row) { ends.push_back({span, label, row}); });
          });
        }
      }
      for (const SpanKeys::Edge& edge : keys.edges) {
        if (edge.t != b) continue;
        for (int a = std::max(0, b - L); a < b; ++a)
          pairs.push_back({keys.span(a, b), span, edge.previous, edge.row, edge.value});
      }
    }
  }
}

void PairGraph::of(const SpanKeys& keys, const SpanPairs& found, const SpanScores& scores,
                   const double* w) {
  const int T = keys.T, L = keys.L, Y = scores.Y;
  auto at = [Y](std::int32_t row, int y) { return static_cast<std::int64_t>(row) * Y + y; };
  input.T = T;
  input.Y = Y;
  input.transition.assign(scores.transition.begin(),
                          scores.transition.begin() + static_cast<std::ptrdiff_t>(Y) * Y);
  input.start.assign(scores.transition.begin() + static_cast<std::ptrdiff_t>(Y) * Y,
                     scores.transition.end());
  input.end = scores.ending;
  node.assign(static_cast<std::size_t>(T) * L * Y, -1);
  for (int b = 0; b < T; ++b) {
    for (int e = b + 1; e <= std::min(b + L, T); ++e) {
      for (int y = 0; y < Y; ++y) {
        const std::int64_t k = at(keys.span(b, e), y);
        if (scores.spans[k] == kMinusInfinity) continue;
        node[k] = static_cast<std::int32_t>(input.spans.size());
        input.spans.push_back({b, e, y, scores.spans[k]});
      }
    }
  }
  for (const SpanKeys::Of& one : found.firsts)
    for (int y = 0; y < Y; ++y)
      if (const int n = node[at(one.span, y)]; n >= 0) input.spans[n].score += w[at(one.row, y)];
  for (const SpanPairs::End& one : found.ends)
    for (int y = 0; y < Y; ++y)
      if (const int n = node[at(one.span, y)]; n >= 0 && (one.label < 0 || one.label == y))
        input.spans[n].score += w[at(one.row, 0)];
  for (const SpanPairs::Pair& one : found.pairs) {
    for (int y0 = 0; y0 < Y; ++y0) {
      const int from = node[at(one.previous, y0)];
      if (from < 0 || (one.label >= 0 && one.label != y0)) continue;
      for (int y = 0; y < Y; ++y) {
        const int to = node[at(one.span, y)];
        if (to < 0) continue;
        input.arcs.push_back({from, to, one.value * w[at(one.row, y)]});
        weight.push_back(at(one.row, y));
        value.push_back(one.value);
      }
    }
  }
}

// -- log-likelihood -----------------------------------------------------------------------------

SpanObjective::SpanObjective(std::shared_ptr<SpanModel> model,
                             std::shared_ptr<const SpanCorpus> corpus, SpanGold gold,
                             SpanRules rules, std::vector<double> sample_weight, double min_freq,
                             int n_threads)
    : model_(std::move(model)),
      corpus_(std::move(corpus)),
      rules_(std::move(rules)),
      sample_weight_(std::move(sample_weight)) {
  const int n = corpus_->n_sequences(), Y = model_->features.n_labels;
  const int longest = *std::max_element(rules_.bounds.begin(), rules_.bounds.end());
  // Only the features of the gold segmentations have weights.
  std::vector<double> counts, often;
  std::vector<std::uint8_t> seen;  // values may add up to 0
  SpanKeys keys;
  for (int i = 0; i < n; ++i) {
    keys.prepare(*model_, *corpus_, i, longest);
    for_path(keys, model_->features, gold[i], 0, true, model_.get(),
             [&](std::uint64_t key, int y, double value) {
               const std::size_t k = static_cast<std::size_t>(model_->table.add(key)) * Y + y;
               if (k >= counts.size()) {
                 counts.resize((k / Y + 1) * Y);
                 often.resize(counts.size());
                 seen.resize(counts.size());
               }
               counts[k] += value * sample_weight_[i];
               often[k] += value;
               seen[k] = 1;
             });
  }
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (!seen[k] || often[k] < min_freq) continue;
    place_.push_back(static_cast<std::int64_t>(k));
    counts_.push_back(counts[k]);
  }
  model_->w.assign(counts.size(), 0.0);
  sequences_.resize(n);
  for_each(n, n_threads, [&](int i, Workspace&) {
    sequences_[i].keys.prepare(*model_, *corpus_, i, longest);
    sequences_[i].pairs.find(*model_, sequences_[i].keys);
    sequences_[i].keys.forget_hashes();
  });
}

void SpanObjective::put(const double* w) const {
  for (std::size_t k = 0; k < place_.size(); ++k) model_->w[place_[k]] = w[k];
}

double SpanObjective::evaluate(const double* w, int n_threads, double* gradient) const {
  put(w);
  const int n = corpus_->n_sequences(), shards = std::min(kShards, n);
  std::vector<std::vector<double>> sums(shards, std::vector<double>(model_->w.size()));
  std::vector<double> loss(shards);
  for_each(shards, n_threads, [&](int s, Workspace& work) {
    for (int i = s; i < n; i += shards) {
      loss[s] += add(i, model_->w.data(), work, sums[s].data());
      work.clear();
    }
  });
  double total = 0.0;
  for (const double one : loss) total += one;
  for (std::size_t k = 0; k < place_.size(); ++k) {
    double expected = 0.0;
    for (const auto& one : sums) expected += one[place_[k]];
    gradient[k] = expected - counts_[k];
    total -= w[k] * counts_[k];
  }
  return total;
}

// Returns weight_i ln Z_i and adds weight_i E[phi] to the gradient:
//
//   d ln Z / d w = sum over spans and arcs of P(span) phi(span) + P(arc) phi(arc)
double SpanObjective::add(int i, const double* w, Workspace& work, double* gradient) const {
  const SpanKeys& keys = sequences_[i].keys;
  const SpanPairs& pairs = sequences_[i].pairs;
  const SpanFeatures& features = model_->features;
  const int T = keys.T, L = keys.L, Y = features.n_labels;
  if (T == 0) return 0.0;
  auto at = [Y](std::int32_t row, int y) { return static_cast<std::int64_t>(row) * Y + y; };
  SpanScores scores;
  scores.of(*model_, keys, *corpus_, rules_, w);
  PairGraph made;
  made.of(keys, pairs, scores, w);
  const OwnedSpanGraph graph(std::move(made.input));
  const GraphPosterior p = graph_posterior(graph.graph(), graph.n_arcs(), work, false);
  const double c = sample_weight_[i];
  auto of = [&](int span, int y) {
    const int n = made.node[at(span, y)];
    return n < 0 ? 0.0 : c * p.spans[n];
  };
  // reached[g][t][y]: expected number of segments with label y to which group g applies at anchor t
  std::vector<double> reached(features.groups.size() * T * Y);
  for (int b = 0; b < T; ++b) {
    for (int e = b + 1; e <= std::min(b + L, T); ++e) {
      for (std::size_t g = 0; g < features.groups.size(); ++g) {
        features.groups[g].for_anchors(b, e, [&](int t) {
          for (int y = 0; y < Y; ++y) reached[(g * T + t) * Y + y] += of(keys.span(b, e), y);
        });
      }
    }
  }
  for (int y = 0; y < Y; ++y) {
    for (const SpanKeys::At& one : keys.at)
      gradient[at(one.row, y)] +=
          one.value * reached[(static_cast<std::size_t>(one.group) * T + one.t) * Y + y];
    for (const SpanKeys::Of& one : keys.of) gradient[at(one.row, y)] += of(one.span, y);
    for (const SpanKeys::Of& one : pairs.firsts) gradient[at(one.row, y)] += of(one.span, y);
    for (const SpanPairs::End& one : pairs.ends)
      if (one.label < 0 || one.label == y) gradient[at(one.row, 0)] += of(one.span, y);
    for (const SpanKeys::Fire& one : keys.fires) {
      const SpanCorpus::Fired& fired = corpus_->fired[one.fired];
      fired.for_spans(T, L, [&](int b, int e) {
        gradient[at(one.row, y)] += fired.value * of(keys.span(b, e), y);
      });
    }
  }
  for (std::size_t k = 0; k < made.weight.size(); ++k)
    gradient[made.weight[k]] += c * made.value[k] * p.arcs[k];
  for (int y0 = 0; y0 <= Y; ++y0) {
    const std::int32_t row = model_->table.find(transition_key(y0 < Y ? y0 : -1));
    for (int y = 0; row >= 0 && y < Y; ++y)
      gradient[at(row, y)] += c * (y0 < Y ? p.transitions[y0 * Y + y] : p.starts[y]);
    const std::int32_t last = y0 < Y ? model_->table.find(ending_key(y0)) : -1;
    if (last >= 0) gradient[at(last, 0)] += c * p.ends[y0];
  }
  return c * p.log_z;
}

}  // namespace caesura
