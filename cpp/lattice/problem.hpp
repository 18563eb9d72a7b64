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

// Larger scores are refused, as their sums have lost the digits that probabilities need.  Against
// exact rational sums over all segmentations, for 2 labels and 5 tokens whose large scores nearly
// cancel, the largest error of a segment's probability was 3e-10 for scores of 1e6, 8e-6 for 1e10,
// 5e-4 for 1e12 and 0.4 for 1e15.
constexpr double kLargestScore = 1e10;

// Whether a score is NaN, +inf or beyond the largest.
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
  std::vector<std::int32_t> bounds;                  // [Y] longest segment, 0 for none
  std::vector<std::uint8_t> boundary;                // [T + 1]
  std::vector<std::uint8_t> allowed;                 // [T][Y] or empty
  std::vector<Potential> potentials;                 // ids are their places
  std::vector<Edge> edges;                           // labels, not ranks; ids are their places
  std::vector<std::vector<std::int32_t>> histories;  // target Y + h
  std::vector<std::int32_t> static_targets;          // patterns that apply at any position
  std::vector<double> static_scores;
  RuleSet rules;
};

// The most limits that an automaton for any scores tracks.  With more, it has only the states
// that the scores of the sequence can reach.
constexpr int kMostTracked = 16;

// Lattice::order: the labels by their longest segment (0: no bound), the longest first.
std::vector<std::int32_t> labels_by_length(const std::vector<std::int32_t>& bounds);

class Problem {
 public:
  // `order` is Lattice::order.  Where the automaton is null, it is that of the histories and rules
  // of the input, and is made when it is first needed.
  Problem(ProblemInput input, std::shared_ptr<const Automaton> automaton,
          std::vector<std::int32_t> order);

  // The same potentials where the automaton tracks only some of the limits ([symbols]).  Throws
  // TooLarge.
  std::unique_ptr<Problem> tracking(const std::vector<std::uint8_t>& tracked) const;

  // The same with all limits tracked, or null if there would be too many states.
  std::unique_ptr<Problem> tracking_all() const;

  // Scores are read where they are.  Where the automaton was made for what they forbade then, and
  // they forbid something else now: the same problem anew; else null.
  std::unique_ptr<Problem> renewed() const;

  // The lattice for a method; prepare() makes it, and is not safe to call from two threads at once.
  // Throws TooLarge where the automaton would be too large.
  void prepare(Method method);
  const Lattice& lattice(Method method) const { return plans_[static_cast<int>(method)].lattice; }

  const ProblemInput& input() const { return index_->input; }
  const std::vector<std::int32_t>& order() const { return index_->order; }
  const Automaton& automaton() const { return *automaton_; }

  // Where a score is NaN, +inf or beyond a limit: the name of the array, else an empty string.
  std::string invalid_score(double largest = kLargestScore) const;

  // Sum of all potentials of a whole segmentation; -inf where a rule is broken.
  double score(const std::vector<LabelledSegment>& segments) const;

  // Expected counts of the static patterns from the expected visits of the states.
  void static_counts(const double* entered, double* out) const;

 private:
  // What does not depend on the automaton.
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
  std::optional<PossibleLabels> possible_;  // where the automaton has only the states of these
  std::vector<Target> targets_;
  std::vector<double> entry_;
  Plan plans_[2];
};

}  // namespace caesura
