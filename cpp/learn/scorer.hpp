// A trained model: fixed weights, and all queries on encoded sequences.
//
//   Design (rows of features) --> scores --> best.hpp, segmental.hpp        the questions asked
//   most
//                                       \-> Problem --> the general sweeps   everything else
//
// Both give the same answers.  The kernels of learn/ are several times faster where they apply:
// first order, and numbers within their range.
#pragma once

#include <memory>
#include <vector>

#include "infer/answers.hpp"
#include "learn/condition.hpp"
#include "learn/parameters.hpp"
#include "learn/trainers.hpp"

namespace caesura {

// What is possible between labels in prediction, and what leads into them.
struct LabelRules {
  std::vector<std::int32_t> bounds;  // [Y] longest segment, 0: no bound
  std::vector<std::uint8_t> barred;  // [Y][Y] pairs that may not be adjacent, or empty
  std::vector<std::uint8_t> barred_start, barred_end;  // [Y], or empty
  std::vector<double> entry_bias;  // [Y] added to every segment of a label, or empty
};

// Segments of many sequences, concatenated.
struct Paths {
  std::vector<std::int64_t> ptr{0};       // [sequences + 1]
  std::vector<LabelledSegment> segments;  // [all]
  std::vector<double> probabilities;      // [all], or empty
  std::vector<std::uint8_t> possible;     // [sequences]
};

class Scorer {
 public:
  Scorer(const Parameters& parameters, const double* w, LabelRules rules);

  const Layout& layout() const { return *layout_; }
  const Unpacked<double>& weights() const { return weights_; }

  // Each question may come with conditions, one or null for each sequence, or none at all.

  // The best segments of all sequences; null: states as they are.  Of what a condition forbids, the
  // fast kernels keep labels of tokens and marks of boundaries.  Mostly their best keeps the rest
  // as well, and only where it does not is the rest tracked.
  Paths best(const Design&, const Reading* reading, int n_threads,
             const Conditions& conditions = {}) const;
  // The same with the probability of each segment.
  Paths confident(const Design&, const Reading& reading, int n_threads,
                  const Conditions& conditions = {}) const;
  // ln Z and expected counts of all sequences.
  std::vector<Posterior> posterior(const Design&, bool want_entropy, int n_threads,
                                   const Conditions& conditions = {}) const;
  std::vector<double> log_partition(const Design&, int n_threads,
                                    const Conditions& conditions = {}) const;
  // The n best of all sequences, and ln Z of each.
  std::vector<std::vector<Answer>> n_best(const Design&, int n, int n_threads,
                                          std::vector<double>* log_z,
                                          const Conditions& conditions = {}) const;
  // The same of chains where several sequences of tags say one segmentation: sums over these, see
  // infer/spelled.hpp.  Labels are those of the reading.
  std::vector<std::vector<Answer>> n_best_spelled(const Design&, const Reading&, int n,
                                                  int n_threads, std::vector<double>* log_z,
                                                  const Conditions& conditions = {}) const;
  // Sequence i draws from the seed first_seed + i.
  std::vector<std::vector<Answer>> samples(const Design&, int n, std::uint64_t first_seed,
                                           int n_threads, const Conditions& conditions = {}) const;

  // The potentials of sequence i: those that are zero are left out.  The lattice is prepared where
  // there are no more limits on labels than this.
  std::unique_ptr<ScoredProblem> problem(const Design&, int i, Workspace&,
                                         const Condition* condition = nullptr,
                                         int most_limits = kAnyLimits) const;
  static constexpr int kAnyLimits = 1 << 30;

 private:
  // Writes the best states of sequence i that keep a condition; false: nothing is possible.
  bool find_best(const Design&, int i, const Condition* condition,
                 std::vector<LabelledSegment>& segments, Workspace&) const;
  std::vector<LabelledSegment> best_kept(const Design&, int i, const Condition& condition,
                                         Workspace&) const;
  // Whether the fast kernels answer under a condition.
  bool is_fast(const Condition* condition) const {
    return near_ && layout_->histories == nullptr &&
           (condition == nullptr || condition->is_known());
  }
  bool walks(const Design& d, int i) const;
  Posterior fast_posterior(const Design&, int i, const Known&, Workspace&, bool* good) const;

  std::shared_ptr<const Layout> layout_;
  Unpacked<double> weights_;
  bool near_ = false;  // all transitions are in the range of the fast kernels
  std::shared_ptr<const Automaton> automaton_;
  std::vector<std::int32_t> order_;
};

}  // namespace caesura
