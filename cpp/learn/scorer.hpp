// A trained model: fixed weights, and all queries on encoded sequences.
//
//   Design (rows of features) --> scores --> best.hpp, segmental.hpp        common queries
//                                       \-> Problem --> the general sweeps   all others
//
// Both give the same answers.  The kernels of learn/ are several times faster, but apply only to
// first-order models (the best path also to label patterns) and to values within their range.
#pragma once

#include <memory>
#include <vector>

#include "infer/answers.hpp"
#include "learn/condition.hpp"
#include "learn/parameters.hpp"
#include "learn/trainers.hpp"

namespace caesura {

// The constraints and biases of labels in prediction.
struct LabelRules {
  std::vector<std::int32_t> bounds;  // [Y] longest segment, or 0 for no bound
  std::vector<std::uint8_t> barred;  // [Y][Y] pairs that may not be adjacent, or empty
  std::vector<std::uint8_t> barred_start, barred_end;  // [Y] forbidden first, last labels, or empty
  std::vector<double> entry_bias;  // [Y] added to the score of every segment of a label, or empty
};

// Segments of many sequences, concatenated.
struct Paths {
  std::vector<std::int64_t> ptr{0};       // [sequences + 1]
  std::vector<LabelledSegment> segments;  // [all]
  std::vector<double> probabilities;      // [all], or empty if they are not computed
  std::vector<std::uint8_t> possible;     // [sequences] whether any segmentation is possible
};

class Scorer {
 public:
  Scorer(const Parameters& parameters, const double* w, LabelRules rules);

  const Layout& layout() const { return *layout_; }
  const Unpacked<double>& weights() const { return weights_; }

  // Every query takes conditions: one for each sequence, which may be null, or an empty vector.

  // Returns the best segments of all sequences; if `reading` is null, the states as they are.  The
  // fast kernels observe the constraints on the labels of tokens and on boundaries.  If their best
  // path violates another constraint of a condition, the next best paths or the general sweeps are
  // tried.
  Paths best(const Design&, const Reading* reading, int n_threads,
             const Conditions& conditions = {}) const;
  // The same with the probability of each segment.
  Paths confident(const Design&, const Reading& reading, int n_threads,
                  const Conditions& conditions = {}) const;
  // Returns ln Z and the expected counts of all sequences.
  std::vector<Posterior> posterior(const Design&, bool want_entropy, int n_threads,
                                   const Conditions& conditions = {}) const;
  std::vector<double> log_partition(const Design&, int n_threads,
                                    const Conditions& conditions = {}) const;
  // Returns the n best segmentations of all sequences, and sets the ln Z of each.
  std::vector<std::vector<Answer>> n_best(const Design&, int n, int n_threads,
                                          std::vector<double>* log_z,
                                          const Conditions& conditions = {}) const;
  // The same for chains in which several sequences of tags spell one segmentation: the score of a
  // segmentation sums over them, see infer/spelled.hpp.  Labels are those of the reading.
  std::vector<std::vector<Answer>> n_best_spelled(const Design&, const Reading&, int n,
                                                  int n_threads, std::vector<double>* log_z,
                                                  const Conditions& conditions = {}) const;
  // Draws n samples for each sequence; sequence i uses the seed first_seed + i.
  std::vector<std::vector<Answer>> samples(const Design&, int n, std::uint64_t first_seed,
                                           int n_threads, const Conditions& conditions = {}) const;

  // Returns the potentials of sequence i, without those that are zero.  The lattice is prepared if
  // the rules have at most `most_limits` limits on labels.
  std::unique_ptr<ScoredProblem> problem(const Design&, int i, Workspace&,
                                         const Condition* condition = nullptr,
                                         int most_limits = kAnyLimits) const;
  static constexpr int kAnyLimits = 1 << 30;

 private:
  // Finds the best states of sequence i that satisfy the condition; returns false if nothing is
  // possible.
  bool find_best(const Design&, int i, const Condition* condition,
                 std::vector<LabelledSegment>& segments, Workspace&) const;
  std::vector<LabelledSegment> best_kept(const Design&, int i, const Condition& condition,
                                         Workspace&) const;
  // Whether the fast kernels can answer under a condition.
  bool is_fast(const Condition* condition) const {
    return near_ && layout_->histories == nullptr &&
           (condition == nullptr || condition->is_known());
  }
  bool walks(const Design& d, int i) const;
  Posterior fast_posterior(const Design&, int i, const Known&, Workspace&, bool* good) const;

  std::shared_ptr<const Layout> layout_;
  Unpacked<double> weights_;
  bool near_ = false;  // whether all transitions are in the range of the fast kernels
  std::shared_ptr<const Automaton> automaton_;
  std::vector<std::int32_t> order_;
};

}  // namespace caesura
