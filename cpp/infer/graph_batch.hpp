// The span graphs of a batch of sequences, which are built and queried in parallel.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "infer/graph_answers.hpp"

namespace caesura {

// The spans of all sequences, concatenated.  All graphs share the labels, the scores of labels and
// the arc rule.
struct GraphBatchInput {
  int B = 0, Y = 0;
  ArcRule rule = ArcRule::kAdjacent;
  const std::int32_t* lengths = nullptr;  // [B] tokens
  const std::int64_t* offsets = nullptr;  // [B + 1] offsets of each sequence in the spans
  const std::int32_t* spans = nullptr;    // [n][3] start, end, label
  const double* scores = nullptr;         // [n]
  const double* transition = nullptr;     // [Y][Y]
  const double* start = nullptr;          // [Y]
  const double* end = nullptr;            // [Y]
};

// Output arrays, each of which may be null if it is not needed.
struct GraphBatchCounts {
  double* log_z = nullptr;        // [B] -inf if no path is possible, and the counts are 0 then
  double* entropy = nullptr;      // [B]
  double* spans = nullptr;        // [n]
  double* transitions = nullptr;  // [B][Y][Y]
};

// The paths of all sequences, concatenated.
struct GraphBatchPaths {
  std::vector<std::int64_t> sequences{0};  // [B + 1] offsets of each sequence in the paths
  std::vector<std::int64_t> offsets{0};    // [paths + 1] offsets of each path in the spans
  std::vector<std::int64_t> spans;         // by place in the batch
  std::vector<double> scores;              // [paths]
};

class GraphBatch {
 public:
  GraphBatch(const GraphBatchInput& input, int n_threads);
  GraphBatch(const GraphBatch&) = delete;
  GraphBatch& operator=(const GraphBatch&) = delete;
  int size() const { return static_cast<int>(graphs_.size()); }
  std::int64_t n_spans() const { return offsets_.back(); }
  int n_labels() const { return Y_; }

  // The number of arcs that the rule implies in each graph.
  std::vector<std::int64_t> arcs() const;
  void log_partition(int n_threads, double* out) const;
  void posterior(int n_threads, const GraphBatchCounts& out) const;
  // A sequence without a possible path has no paths.  Sequence b is sampled with the seed seed + b.
  GraphBatchPaths n_best(int n, int n_threads) const;
  GraphBatchPaths samples(int n, std::uint64_t seed, int n_threads) const;

 private:
  template <class Ask>
  GraphBatchPaths paths(int n_threads, Ask ask) const;

  int Y_;
  std::vector<std::int64_t> offsets_;  // [B + 1]
  std::vector<std::unique_ptr<OwnedSpanGraph>> graphs_;
};

}  // namespace caesura
