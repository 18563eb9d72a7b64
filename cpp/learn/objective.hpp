// The objective of learning: weights in, negative log-likelihood and gradient out.
//
// The vector of weights is [rows | edges | transitions | patterns | starts | ends]: only what has
// been seen in the training data (or was asked for) has a weight.
#pragma once

#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "base/large_pages.hpp"
#include "lattice/problem.hpp"
#include "learn/design.hpp"
#include "learn/trainers.hpp"

namespace caesura {

// No segmentation agrees with what is known of a sequence.
struct NoAgreement : std::domain_error {
  explicit NoAgreement(int i) : std::domain_error("no segmentation agrees"), sequence(i) {}
  int sequence;
};

// Where the kernels keep a weight: a row and a lane of the table.  Lane -1: the single weight
// number `row`.
struct Slot {
  std::int32_t row, lane;
};

// Which weight belongs to what, and what is possible.
struct Layout {
  int Y = 0, planes = 1;
  std::int64_t n_dense = 0, n_sparse = 0,
               n_edges = 0;              // rows of the table, single weights, weights of edges
  std::vector<Slot> slot;                // [weights of rows]
  std::vector<std::int32_t> transition;  // previous * Y + label
  std::vector<std::int32_t> start, end;  // labels
  std::vector<std::vector<std::int32_t>>
      patterns;  // of labels; the first n_plain have a weight of their own
  std::int64_t n_plain = 0;
  std::vector<std::int32_t> row_patterns;              // those that attributes on rows go with
  RuleSet rules;                                       // that all segmentations keep
  std::shared_ptr<const Histories> histories;          // null: there is no pattern and no rule
  std::shared_ptr<const ArcProgram> program;           // of the histories and the rules
  std::vector<std::int32_t> bounds;                    // [Y] longest segment, 0 for none
  std::vector<std::uint8_t> barred;                    // [Y][Y] pairs that may not be adjacent
  std::vector<std::uint8_t> barred_start, barred_end;  // [Y]
  std::vector<double> entry_bias;  // [Y] added to the score of every segment of a label, or empty

  std::int64_t first_edge() const { return static_cast<std::int64_t>(slot.size()); }
  std::int64_t first_transition() const { return first_edge() + n_edges; }
  std::int64_t first_pattern() const {
    return first_transition() + static_cast<std::int64_t>(transition.size());
  }
  std::int64_t first_start() const { return first_pattern() + n_plain; }
  std::int64_t first_end() const { return first_start() + static_cast<std::int64_t>(start.size()); }
  std::int64_t size() const { return first_end() + static_cast<std::int64_t>(end.size()); }
};

// What follows each label, and how long it may be, as the kernels want it.
template <class Real>
class Labels {
 public:
  // Scores of transitions [Y][Y], starts and ends [Y], and longest segments [Y] (0: any); fills its
  // part of a view.
  void set(const std::vector<double>& transition, const std::vector<double>& start,
           const std::vector<double>& end, const std::vector<std::int32_t>& bounds, int width,
           Weights<Real>& view);

 private:
  // most: vectors in a panel
  std::vector<Panel> make_panels(const std::vector<Real>& matrix, int Y, int width, int most,
                                 std::vector<std::int32_t>& sources) const;
  std::vector<Real> transition_, transposed_, first_, last_, open_, fits_, logs_;
  std::vector<Panel> panels_, back_panels_, best_panels_;
  std::vector<std::int32_t> sources_, back_sources_, best_sources_;
};

// The place of each weight of a row among those that the kernels see: the table, and behind it the
// single ones.
std::vector<std::int64_t> places_of(const Layout& layout, const Design& design, int width);

// The weights as the kernels want them.
template <class Real>
class Unpacked {
 public:
  // Layout, design and places are the same in every call.  False: a transition is out of the
  // kernels' range, ask the general sweeps.
  bool set(const Layout& layout, const Design& design, const std::vector<std::int64_t>& places,
           const double* w, int width, int n_threads);
  const Weights<Real>& view() const { return view_; }
  // The weights as they are after rounding to single precision.
  const double* rounded() const { return rounded_.data(); }
  // Transitions, plain patterns, starts and ends as they are, -inf where barred.
  std::vector<double> transition, pattern, start, end;

 private:
  void set_tags(const Layout& layout, int width);
  bool set_histories(const Layout& layout);
  void set_rounded(const Layout& layout, const double* w, int n_threads);
  Weights<Real> view_, tag_view_;
  Table<Real> rows_;
  std::vector<Real> edge_, entry_, log_entry_, ending_, log_ending_;
  std::vector<double> rounded_;
  std::vector<std::int32_t> bounds_;
  std::vector<PairArc> base_, weighted_;
  std::shared_ptr<const Histories> histories_;
  std::shared_ptr<const ArcProgram> program_;
  Labels<Real> labels_, tags_;
};

// A sequence whose labels are known only in part.
struct Hint {
  std::vector<std::uint8_t> allowed;   // [T][Y] or empty
  std::vector<std::uint8_t> boundary;  // [T + 1] or empty
};

// The problem of sequence i of a design, with everything that it points into.  Its potentials are
// those of the rows of sites, then those of attributes that go with patterns, on rows and at
// boundaries.
struct ScoredProblem {
  std::vector<double> emission, transition, start, end;
  std::unique_ptr<Problem> problem;
  std::int64_t n_on_rows = 0;  // potentials before those at boundaries
};
// every: potentials that score nothing are among them
std::unique_ptr<ScoredProblem> scored_problem(const Layout&, const Design&, const Unpacked<double>&,
                                              int i, const Known&, std::shared_ptr<const Automaton>,
                                              const std::vector<std::int32_t>& order, bool every,
                                              Workspace&);

// The automaton of the general sweeps where there are patterns or rules; order: the labels by their
// longest segment.
std::shared_ptr<const Automaton> automaton_of(const Layout& layout,
                                              const std::vector<std::int32_t>& order);

class Objective {
 public:
  Objective(std::shared_ptr<const Layout> layout, std::shared_ptr<const Design> design);

  std::vector<double> observed;  // [size] gold counts times the weights of their sequences
  std::vector<double> weight;    // [sequences]
  std::vector<std::shared_ptr<const Hint>> hints;  // [sequences] null: fully labelled
  std::vector<double> cost;  // [tokens][Y] or empty: added to the scores of all but the gold labels
  std::shared_ptr<const Automaton> automaton;  // for the general sweeps
  std::vector<std::int32_t> order;

  // The loss, and the gradient unless it is null, over some sequences (null: all); `observed` must
  // be theirs.  Throws NoAgreement for a sequence for which nothing is
  // possible.
  double evaluate(const double* w, const double* observed, const std::int32_t* some, int count,
                  bool single, int n_threads, double* gradient);

  // How often the last evaluation had to ask the general sweeps.
  std::int64_t n_careful() const { return n_careful_; }

  // Gives back the memory that evaluations keep for the next one.
  void release();

  const Layout& layout() const { return *layout_; }
  const Design& design() const { return *design_; }

 private:
  template <class Real>
  double run(const double* w, const double* gold, const std::int32_t* some, int count,
             int n_threads, double* gradient);
  template <class Real>
  double add_batches(std::vector<int>& codes, const Weights<Real>& w, Gradient<Real>* gradient,
                     Workspace& work, std::vector<int>& failed);
  bool add_carefully(int i, const Known& known, double sign, const Unpacked<double>& weights,
                     double* loss, Gradient<double>* gradient, Workspace& work);
  Known known_of(int i, bool constrained) const;

  std::shared_ptr<const Layout> layout_;
  std::shared_ptr<const Design> design_;
  template <class Real>
  struct Scratch;
  template <class Real>
  Scratch<Real>& scratch();
  std::shared_ptr<void> scratch_,
      single_scratch_;  // kept: fresh pages cost more than what is written to them
  int n_shards_ = 1;
  std::int64_t n_careful_ = 0;
  std::mutex guard_;
};

}  // namespace caesura
