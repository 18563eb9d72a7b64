// A Problem is the potentials of one sequence, sorted and indexed for the kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "automaton/automaton.hpp"
#include "lattice/lattice.hpp"

namespace caesura {

// Larger scores are rejected, because their sums lose the digits that probabilities need.  Compared
// with exact rational sums over all segmentations of 5 tokens with 2 labels, where large scores
// nearly cancel, the largest error of a segment's probability was 3e-10 for scores of 1e6, 8e-6 for
// 1e10, 5e-4 for 1e12 and 0.4 for 1e15.
constexpr double kLargestScore = 1e10;

// Whether a score is NaN, +inf, or finite and beyond the limit in either direction.
bool bad_score(double x);

enum class Method { kOverlapping = 0, kBounded = 1 };

// A segment with the index of its label.
struct LabelledSegment {
  std::int32_t start, end, label;
};

struct ProblemInput {
  int T = 0, Y = 0;
  const double* emission = nullptr;
  const double* transition = nullptr;
  const double* start = nullptr;
  const double* end = nullptr;
  const double* spans = nullptr;
  int span_length = 0;
  bool same_label_adjacent = true;
  std::vector<std::int32_t> bounds;                  // [Y] longest segment, 0 if unbounded
  std::vector<std::uint8_t> boundary;                // [T + 1]
  std::vector<std::uint8_t> allowed;                 // [T][Y] or empty
  std::vector<Potential> potentials;                 // ids are indices into this array
  std::vector<Edge> edges;                           // with labels, not ranks; ids are indices
  std::vector<std::vector<std::int32_t>> histories;  // target Y + h
  std::vector<std::int32_t> static_targets;          // patterns that apply at any position
  std::vector<double> static_scores;
  RuleSet rules;
};

// An automaton that is independent of the scores tracks at most this number of limits.  With more,
// the automaton contains only the states that are reachable under the scores of the sequence.
constexpr int kMostTracked = 16;

// Returns Lattice::order: the labels in decreasing order of their longest segment, where 0 means
// unbounded and comes first.
std::vector<std::int32_t> labels_by_length(const std::vector<std::int32_t>& bounds);

class Problem {
 public:
  // `order` is Lattice::order.  If `automaton` is null, it is built from the histories and rules of
  // the input when it is first needed.
  Problem(ProblemInput input, std::shared_ptr<const Automaton> automaton,
          std::vector<std::int32_t> order);

  // The same problem with an automaton that tracks only the limits in `tracked`, [symbols].  Throws
  // TooLarge if it would have too many states.
  std::unique_ptr<Problem> tracking(const std::vector<std::uint8_t>& tracked) const;

  // The same with all limits tracked; null if there would be too many states.
  std::unique_ptr<Problem> tracking_all() const;

  // The scores are views, which the caller may modify.  If the automaton was restricted to the
  // labels that the scores allowed, and they now allow others, returns a new problem; else null.
  std::unique_ptr<Problem> renewed() const;

  // prepare() builds the lattice for a method, and must be called before lattice().  It is not
  // thread-safe.  Throws TooLarge if the automaton would be too large.
  void prepare(Method method);
  const Lattice& lattice(Method method) const { return plans_[static_cast<int>(method)].lattice; }

  const ProblemInput& input() const { return index_->input; }
  const std::vector<std::int32_t>& order() const { return index_->order; }
  const Automaton& automaton() const { return *automaton_; }

  // Returns the name of the first array with a score that is NaN, +inf or beyond `largest`, or an
  // empty string.
  std::string invalid_score(double largest = kLargestScore) const;

  // The score of a complete segmentation; -inf if it violates a rule.
  double score(const std::vector<LabelledSegment>& segments) const;

  // Expected counts of the static patterns, from Counts::entered.
  void static_counts(const double* entered, double* out) const;

 private:
  // The part that does not depend on the automaton.
  struct Index {
    ProblemInput input;
    std::vector<std::int32_t> order, rank_of;
    std::vector<Potential> potentials;  // sorted, without those that can never apply
    std::vector<Edge> edges;
    std::vector<std::int32_t> by_end, by_start, starting, by_position, fence;
    std::vector<std::uint8_t> closes;

    Index(ProblemInput input, std::vector<std::int32_t> order);
    void sort_potentials();
    void sort_edges();
    bool history_holds(int target, const std::vector<LabelledSegment>& segments, int k) const;
  };
  struct Plan {
    bool ready = false;
    Lattice lattice;
    std::vector<std::int32_t> fitting, reach;
  };
  Problem(std::shared_ptr<const Index> index, std::shared_ptr<const Automaton> automaton);
  void make_targets();
  PossibleLabels possible_labels() const;
  void make_automaton(const RuleSet& rules);

  std::shared_ptr<const Index> index_;
  std::shared_ptr<const Automaton> automaton_;
  std::optional<PossibleLabels> possible_;  // set if the automaton is restricted to these
  std::vector<Target> targets_;
  std::vector<double> entry_;
  Plan plans_[2];
};

}  // namespace caesura
