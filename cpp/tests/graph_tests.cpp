// Runs random span graphs and batches through every kernel, for the address, undefined behaviour
// and thread sanitizers.  The results are tested thoroughly from Python; here ln Z is compared with
// the list of all paths, and the other answers with each other.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "infer/batch.hpp"
#include "infer/graph_batch.hpp"

using namespace caesura;

namespace {

int failures = 0;

void check(bool ok, const char* what, int seed) {
  if (ok) return;
  std::printf("FAILED: %s (seed %d)\n", what, seed);
  ++failures;
}

bool close(double a, double b, double near = 1e-9) {
  return a == b || std::fabs(a - b) <= near * std::max(1.0, std::fabs(a));
}

double log_sum(const std::vector<double>& values) {
  double most = kMinusInfinity, total = 0.0;
  for (const double x : values) most = std::max(most, x);
  for (const double x : values) total += std::exp(x - most);
  return most == kMinusInfinity ? most : most + std::log(total);
}

struct Maker {
  std::mt19937 random;
  int below(int n) { return static_cast<int>(random() % n); }
  double score() {
    const double x = std::uniform_real_distribution<double>(-2.0, 2.0)(random);
    return below(12) == 0 ? kMinusInfinity : x;
  }
  template <class Real>
  std::vector<Real> scores(int n) {
    std::vector<Real> out(n);
    for (Real& x : out) x = static_cast<Real>(score());
    return out;
  }
};

void test_graph(int seed) {
  Maker make{std::mt19937(seed)};
  SpanGraphInput in;
  in.T = make.below(9);
  in.Y = 1 + make.below(3);
  in.rule = make.below(2) == 0 ? ArcRule::kAdjacent : ArcRule::kFiltered;
  for (int i = in.T == 0 ? 0 : make.below(14); i > 0; --i) {
    const int s = make.below(in.T), e = s + 1 + make.below(std::min(4, in.T - s));
    in.spans.push_back({s, e, make.below(in.Y), make.score()});
  }
  in.transition = make.scores<double>(in.Y * in.Y);
  in.start = make.scores<double>(in.Y);
  in.end = make.scores<double>(in.Y);
  const int n = static_cast<int>(in.spans.size());
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      const bool adjacent = in.spans[i].end == in.spans[j].start;  // both rules allow it
      if (adjacent && make.below(4) == 0) in.arcs.push_back({i, j, make.score()});
    }
  }
  const OwnedSpanGraph owned(std::move(in));
  check(owned.broken_arc() < 0, "arcs", seed);
  const SpanGraph& g = owned.graph();
  Workspace work;
  const double log_z = graph_log_partition(g, work);
  std::vector<double> scores;
  for (const GraphPath& path : graph_n_best(g, work, 100000)) scores.push_back(owned.score(path));
  check(close(log_sum(scores), log_z), "ln Z of a graph", seed);
  const GraphPosterior found = graph_posterior(g, owned.n_arcs(), work, true);
  check(found.log_z == log_z, "ln Z of the counts", seed);
  double starts = 0.0, ends = 0.0;
  for (int y = 0; y < g.Y; ++y) starts += found.starts[y], ends += found.ends[y];
  check(close(starts, ends), "paths end that start", seed);
  for (const GraphPath& path : graph_samples(g, work, 3, seed)) {
    check(owned.score(path) > kMinusInfinity, "samples are paths", seed);
  }
}

void test_graph_batch(int seed) {
  Maker make{std::mt19937(seed)};
  GraphBatchInput in;
  in.B = make.below(5);
  in.Y = 1 + make.below(3);
  in.rule = make.below(2) == 0 ? ArcRule::kAdjacent : ArcRule::kFiltered;
  std::vector<std::int32_t> lengths, spans;
  std::vector<std::int64_t> offsets{0};
  for (int b = 0; b < in.B; ++b) {
    const int T = make.below(6);
    lengths.push_back(T);
    for (int i = T == 0 ? 0 : make.below(8); i > 0; --i) {
      const int s = make.below(T);
      for (const int x : {s, s + 1 + make.below(T - s), make.below(in.Y)}) spans.push_back(x);
    }
    offsets.push_back(static_cast<std::int64_t>(spans.size() / 3));
  }
  const auto scores = make.scores<double>(static_cast<int>(spans.size() / 3)),
             transition = make.scores<double>(in.Y * in.Y), ends = make.scores<double>(in.Y);
  in.lengths = lengths.data();
  in.offsets = offsets.data();
  in.spans = spans.data();
  in.scores = scores.data();
  in.transition = transition.data();
  in.start = in.end = ends.data();
  const GraphBatch batch(in, 2);
  std::vector<double> log_z(in.B), counted(in.B), likely(scores.size()),
      pairs(static_cast<std::size_t>(in.B) * in.Y * in.Y);
  batch.log_partition(2, log_z.data());
  batch.posterior(2, {counted.data(), nullptr, likely.data(), pairs.data()});
  check(log_z == counted, "ln Z of a batch of graphs", seed);
  const GraphBatchPaths paths = batch.n_best(100000, 2), drawn = batch.samples(2, seed, 2);
  for (int b = 0; b < in.B; ++b) {
    const std::vector<double> some(paths.scores.begin() + paths.sequences[b],
                                   paths.scores.begin() + paths.sequences[b + 1]);
    check(close(log_sum(some), log_z[b]), "ln Z of a batch against all paths", seed);
  }
  check(drawn.sequences.size() == log_z.size() + 1, "samples of a batch of graphs", seed);
  check(batch.arcs().size() == log_z.size(), "arcs of a batch of graphs", seed);
}

template <class Real>
void test_batch(int seed) {
  Maker make{std::mt19937(seed)};
  BatchInput<Real> in;
  const int T = 1 + make.below(5);
  in.B = make.below(5);
  in.Y = 1 + make.below(3);
  in.L = 1 + make.below(3);
  const int rows = in.B * T;
  for (int b = 0; b < in.B; ++b) {
    in.lengths.push_back(make.below(T + 1));
    in.rows.push_back(static_cast<std::int64_t>(b) * T);
  }
  const auto tokens = make.scores<Real>(rows * in.Y), starts = make.scores<Real>(rows * in.Y),
             segments = make.scores<Real>(rows * in.L * in.Y),
             transition = make.scores<Real>(in.B * in.Y * in.Y);
  in.tokens = make.below(3) ? tokens.data() : nullptr;
  in.starts = make.below(2) ? starts.data() : nullptr;
  in.segments = make.below(2) ? segments.data() : nullptr;
  in.transition = in.B > 0 ? transition.data() : nullptr;
  in.own_transition = in.transition != nullptr && make.below(2);
  const bool bounded = in.segments != nullptr || make.below(2);
  in.bounds.assign(in.Y, bounded ? in.L : 0);
  const Batch<Real> batch(in);
  std::vector<Real> log_z(in.B), counted(in.B), counts(rows * in.Y);
  batch.log_partition(2, log_z.data());
  BatchCounts<Real> out;
  out.log_z = counted.data();
  out.tokens = counts.data();
  batch.posterior(2, out);
  // Different kernels may have computed the two, so they are equal only up to rounding.
  const double rounding = sizeof(Real) == 4 ? 1e-6 : 1e-12;
  for (int b = 0; b < in.B; ++b) {
    const double one = log_z[b], other = counted[b];
    const bool near = std::fabs(one - other) <= rounding * (1.0 + std::fabs(one));
    check(one == other || near, "ln Z of a batch", seed);
  }
  const BatchPaths paths = batch.n_best(100000, 2), drawn = batch.samples(2, seed, 2);
  for (int b = 0; b < in.B; ++b) {
    const std::vector<double> scores(paths.scores.begin() + paths.sequences[b],
                                     paths.scores.begin() + paths.sequences[b + 1]);
    check(close(log_sum(scores), log_z[b], 1e-5), "ln Z against all paths", seed);
  }
  check(drawn.sequences.size() == log_z.size() + 1, "samples of a batch", seed);
  check(batch.best(2).offsets.size() >= 1, "best paths of a batch", seed);
}

}  // namespace

int main() {
  for (int seed = 0; seed < 400; ++seed) {
    test_graph(seed);
    test_graph_batch(seed);
    test_batch<float>(seed);
    test_batch<double>(seed);
  }
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
