// Queries on a batch of sequences whose scores are arrays of the caller (NumPy, torch), padded or
// ragged.
//
//   arrays of the batch --> a Problem over views for each sequence --> the queries of answers.hpp
//
// There is no recursion here: each thread builds the Problem of one sequence, runs the query and
// writes the answer to the arrays of the caller.  Double scores are read in place; float scores are
// widened one sequence at a time into the scratch memory of the thread.  If there are only segment
// scores, no Problem is needed: the kernel of dense_segments.hpp reads and writes the arrays in
// place.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "infer/answers.hpp"
#include "infer/dense_segments.hpp"

namespace caesura {

// Views of the scores.  Sequence b has lengths[b] tokens, and its token t is row rows[b] + t of the
// arrays by token: rows[b] = b T for a padded array (B, T, Y), and the sum of the lengths before b
// for a ragged one (sum of T, Y).  Rows in between are padding and are never read.
template <class Real>
struct BatchInput {
  int B = 0, Y = 0, L = 0;
  std::vector<std::int32_t> lengths;         // [B]
  std::vector<std::int64_t> rows;            // [B]
  const Real* tokens = nullptr;              // [rows][Y] token t lies in a segment with label y
  const Real* segments = nullptr;            // [rows][L][Y] the segment [t, t + l + 1)
  const Real* starts = nullptr;              // [rows][Y] a segment starts at t
  const Real* ends = nullptr;                // [rows][Y] a segment ends with token t
  const std::uint8_t* allowed = nullptr;     // [rows][Y]
  const std::int8_t* boundaries = nullptr;   // [rows] before token t: > 0 required, < 0 forbidden
  const std::int32_t* span_index = nullptr;  // [n_spans][4] sequence, start, end, label
  const Real* span_scores = nullptr;         // [n_spans]
  std::int64_t n_spans = 0;
  const Real* transition = nullptr;                                 // [Y][Y], or [B][Y][Y]
  const Real* start = nullptr;                                      // [Y], or [B][Y]
  const Real* end = nullptr;                                        // [Y], or [B][Y]
  bool own_transition = false, own_start = false, own_end = false;  // one for each sequence
  std::vector<std::int32_t> bounds;  // [Y] longest segment, 0: no bound
  bool same_label_adjacent = true;
  // Label histories of two labels or more, whose scores count wherever they occur, and rules on the
  // sequence of labels.  All sequences share them.
  std::vector<std::vector<std::int32_t>> patterns;  // [P]
  const Real* pattern_scores = nullptr;             // [P]
  RuleSet rules;
};

// Output arrays, each of which may be null if it is not needed.  They have the shapes of the
// scores.  The caller must zero the arrays by token and the spans, because neither padding nor the
// counts of a sequence with ln Z = -inf are written.
template <class Real>
struct BatchCounts {
  Real* log_z = nullptr;                                         // [B]
  Real* entropy = nullptr;                                       // [B]
  Real *tokens = nullptr, *segments = nullptr;                   // as the scores
  Real *starts = nullptr, *ends = nullptr, *spans = nullptr;     // as the scores
  Real *transition = nullptr, *start = nullptr, *end = nullptr;  // summed over the batch if shared
  Real* patterns = nullptr;                                      // summed over the batch
  const double* weights = nullptr;  // [B] factors of the counts of each sequence, or null
};

// The paths of all sequences, concatenated.
struct BatchPaths {
  std::vector<std::int64_t> sequences{0};          // [B + 1] offsets of each sequence in the paths
  std::vector<std::int64_t> offsets{0};            // [paths + 1] offsets of each in the segments
  std::vector<std::int32_t> starts, ends, labels;  // [segments]
  std::vector<double> scores;                      // [paths]
};

// Thrown for an invalid score; names the sequence and the array (as in BatchInput).
struct InvalidBatch : std::runtime_error {
  int sequence;
  InvalidBatch(int b, const std::string& array) : std::runtime_error(array), sequence(b) {}
};

template <class Real>
class Batch {
 public:
  explicit Batch(BatchInput<Real> input);

  // These functions throw InvalidBatch for the first sequence with a score that is NaN, +inf or too
  // large.
  // Computes ln Z of each sequence, [B]; -inf if no segmentation is possible.
  void log_partition(int n_threads, Real* out) const;
  // Computes ln Z, entropy and expected counts; the counts of a sequence with ln Z = -inf are 0.
  void posterior(int n_threads, const BatchCounts<Real>& out) const;
  // A sequence without a possible segmentation has no paths.
  BatchPaths best(int n_threads) const;
  BatchPaths n_best(int n, int n_threads) const;
  BatchPaths samples(int n, std::uint64_t seed, int n_threads) const;

  const BatchInput<Real>& input() const { return in_; }

 private:
  template <class Fast, class Work>
  void for_sequences(int begin, int end, int n_threads, Fast fast, Work work) const;
  template <class Ask>
  BatchPaths paths(int n_threads, Ask ask) const;
  std::unique_ptr<Problem> problem_of(int b, Workspace& work) const;
  void add_potentials(int b, ProblemInput& problem) const;
  bool is_dense() const;
  bool dense(int b, Workspace& work, const DenseCounts<Real>* counts, double* log_z) const;
  void put(int b, const Posterior& found, const BatchCounts<Real>& out) const;

  BatchInput<Real> in_;
  std::shared_ptr<const Automaton> automaton_;
  std::vector<std::int32_t> order_;               // Lattice::order
  std::vector<double> transition_, start_, end_;  // shared scores, widened or zero
  std::vector<double> pattern_scores_;            // widened
  std::vector<std::int32_t> targets_;             // of the patterns
  std::vector<std::int64_t> span_ptr_, span_at_;  // spans of each sequence
  bool dense_ = false;                            // see is_dense()
  bool bounded_ = false;                          // a label has a bound below L
};

}  // namespace caesura
