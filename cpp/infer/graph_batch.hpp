// The span graphs of a batch of sequences: one call for all of them, on threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "infer/graph_answers.hpp"

namespace caesura {

// Spans of all sequences, one sequence after the other; labels, scores of labels and the rule are
// those of all graphs.
struct GraphBatchInput {
  int B = 0, Y = 0;
  ArcRule rule = ArcRule::kAdjacent;
  const std::int32_t* lengths = nullptr;  // [B] tokens
  const std::int64_t* offsets = nullptr;  // [B + 1] the spans of each sequence
  const std::int32_t* spans = nullptr;    // [n][3] start, end, label
  const double* scores = nullptr;         // [n]
  const double* transition = nullptr;     // [Y][Y]
  const double* start = nullptr;          // [Y]
  const double* end = nullptr;            // [Y]
};

// Where counts go; nullptr: not wanted.  All are zeroed by the caller.
struct GraphBatchCounts {
  double* log_z = nullptr;        // [B] -inf where no segmentation is possible; counts are 0 there
  double* entropy = nullptr;      // [B]
  double* spans = nullptr;        // [n]
  double* transitions = nullptr;  // [B][Y][Y]
};

// Paths of all sequences: spans by place in the batch.
struct GraphBatchPaths {
  std::vector<std::int64_t> sequences{0};  // [B + 1] the paths of each sequence
  std::vector<std::int64_t> offsets{0};    // [paths + 1] the spans of each path
  std::vector<std::int64_t> spans;
  std::vector<double> scores;  // [paths]
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
  // No path where no segmentation is possible.  Sequence b is drawn with seed + b.
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
