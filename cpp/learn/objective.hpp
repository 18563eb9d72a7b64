// The objective of learning: weights in, negative log-likelihood and gradient out.
//
// The vector of weights is [rows | edges | transitions | patterns | starts | ends]: only
// combinations seen in the training data (or requested) have a weight.
#pragma once

#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "base/large_pages.hpp"
#include "lattice/problem.hpp"
#include "learn/design.hpp"
#include "learn/losses.hpp"
#include "learn/trainers.hpp"

namespace caesura {

struct Condition;

// No segmentation agrees with the constraints of a sequence.
struct NoAgreement : std::domain_error {
  explicit NoAgreement(int i) : std::domain_error("no segmentation agrees"), sequence(i) {}
  int sequence;
};

// Where the kernels keep a weight: a row and a lane of the table.  Lane -1: the single weight
// number `row`.
struct Slot {
  std::int32_t row, lane;
};

// The meaning of each weight, and the constraints of the model.
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
  std::vector<std::int32_t> bounds;                    // [Y] longest segment, 0: no bound
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

// Transitions and bounds on lengths in the form that the kernels need.
template <class Real>
class Labels {
 public:
  // Scores of transitions [Y][Y], starts and ends [Y], and longest segments [Y] (0: any); fills its
  // part of a view.
  void set(const std::vector<double>& transition, const std::vector<double>& start,
           const std::vector<double>& end, const std::vector<std::int32_t>& bounds, int width,
           Weights<Real>& view);
  // One new score and its exp, finite as the one before it was: the panels stay as they are.
  void put_transition(int previous, int label, double score, double exp);
  void put_start(int label, double score, double exp);
  void put_end(int label, double score, double exp);

 private:
  int stride_ = 0;
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

// The weights in the form that the kernels need.
template <class Real>
class Unpacked {
 public:
  // Layout, design and places are the same in every call.  False: a transition is out of the
  // kernels' range, the general sweeps must answer.
  bool set(const Layout& layout, const Design& design, const std::vector<std::int64_t>& places,
           const double* w, int width, int n_threads);
  // Only the weights of transitions, patterns, starts and ends are new; after a call of set(), for
  // the same layout and design.  Costs a pass over these weights.  w: [size]
  bool set_labels(const Layout& layout, const Design& design, const double* w);
  // One new weight of a transition, a start or an end (number k), for best paths only: sums may
  // have left the range.  Not where there are histories.
  void put_label(const Layout& layout, std::int64_t k, double score);
  // The weights of rows and edges are kept elsewhere, in the order of the table, and may change.
  void point_to(const Real* rows, const Real* sparse, const Real* edge, Real scale = 1);
  const Weights<Real>& view() const { return view_; }
  // The weights as they are after rounding to single precision.
  const double* rounded() const { return rounded_.data(); }
  // Transitions, plain patterns, starts and ends as they are, -inf where forbidden.
  std::vector<double> transition, pattern, start, end;

 private:
  void read_labels(const Layout& layout, const double* w);
  bool make_labels(const Layout& layout, const Design& design);
  void put_transition(const Layout& layout, int code, double score, double exp);
  void set_tags(const Layout& layout, int width);
  bool set_histories(const Layout& layout);
  int width_ = 0;
  bool near_ = false;  // what set() and set_labels() returned last
  void set_rounded(const Layout& layout, const double* w, int n_threads);
  Weights<Real> view_, tag_view_;
  Table<Real> rows_;
  std::vector<Real> edge_, entry_, log_entry_, ending_, log_ending_;
  std::vector<double> rounded_, exps_;
  std::vector<std::int32_t> bounds_;
  std::vector<PairArc> base_, base_back_, weighted_;
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
// every: potentials that score nothing are among them; condition: what must be kept, or null; with
// rules or histories of its own the automaton is null
std::unique_ptr<ScoredProblem> scored_problem(const Layout&, const Design&, const Unpacked<double>&,
                                              int i, const Known&, std::shared_ptr<const Automaton>,
                                              const std::vector<std::int32_t>& order, bool every,
                                              Workspace&, const Condition* condition = nullptr);

// The automaton of the general sweeps where there are patterns or rules; order: the labels by their
// longest segment.
std::shared_ptr<const Automaton> automaton_of(const Layout& layout,
                                              const std::vector<std::int32_t>& order);

struct Gold;

// What is added to the scores of some segments of a sequence, as in Known.
struct SegmentCosts {
  std::vector<Site> sites;
  std::vector<double> rows;  // [sites][Y]
  double constant = 0.0;     // added to the score of every segmentation
};

// The loss of a corpus as a sum of terms (see terms.hpp) over its sequences.
class Objective {
 public:
  // The design is the objective's own from now on: how its attributes are stored changes with what
  // is asked.
  Objective(std::shared_ptr<const Layout> layout, std::shared_ptr<Design> design,
            std::shared_ptr<const Gold> gold, std::vector<double> weight,
            std::vector<double> observed);

  std::vector<double> cost;  // [tokens][Y] or empty: added to the scores of all but the gold labels
  std::vector<std::shared_ptr<const SegmentCosts>>
      segment_costs;                           // [sequences] or empty, as `cost`
  std::vector<double> entry_cost;              // [Y] or empty: what every segment of a label costs
  std::shared_ptr<const Automaton> automaton;  // for the general sweeps
  std::vector<std::int32_t> order;

  // The negative log-likelihood, and the gradient unless it is null, of some sequences (null: all).
  // Throws NoAgreement for a sequence with no possible segmentation.
  double evaluate(const double* w, const std::int32_t* some, int count, bool single, int n_threads,
                  double* gradient);

  // The same with a maximum in place of ln Z: sum of weight (max score - score(gold)), and a
  // subgradient.  costed: the scores are those with costs, and the term is that of a margin.
  double maximum(const double* w, const std::int32_t* some, int count, bool costed, int n_threads,
                 double* gradient);

  // What a wrong segmentation costs from now on, in place of all costs before.
  void set_loss(Loss loss);
  const Loss& loss() const { return loss_; }

  // The costs of sequence i, but for the losses of tags and of whole sequences.
  Known costs_of(int i) const { return known_of({i, false, 1.0}); }

  // The cost of a segmentation of sequence i: its loss, where there is one.
  double cost_of(int i, const LabelledSegment* segments, int count) const;

  // The best segmentation of sequence i; costed: of those whose scores have their costs.  For the
  // loss of whole sequences that is the gold one only where all others are worse by 1 or more.
  // Throws NoAgreement.
  std::vector<LabelledSegment> best_path(const Design& d, int i, bool costed,
                                         const Unpacked<double>& weights, Workspace& work) const;
  std::vector<LabelledSegment> best_path(const double* w, int i, bool costed);

  // The score of a segmentation of sequence i without costs, and its counts.
  double path(const double* w, int i, const LabelledSegment* segments, int count, double* counts);

  // ln Z of sequence i with costs, or of what agrees with its partial labels, and expected counts.
  double expectations(const double* w, int i, bool constrained, double* counts);

  // weight (ln Z - score(gold)) of some sequences, and its counts to the gradient; where labels are
  // known in part, ln Z of what agrees with them takes the place of the gold score.  near: the
  // kernels may be asked.  d: the design, or the same with other numbers for the weights.
  double add_sequences(const Design& d, const std::int32_t* some, int count,
                       const Unpacked<double>& weights, bool near, Gradient<double>* gradient,
                       Workspace& work);

  // weight_i max over s of (score(s) - score(gold) + cost(s))
  double hinge(int i, const Unpacked<double>& weights, Workspace& work) const {
    return add_hinge(*design_, i, true, weights, nullptr, work);
  }

  // Whether the labels of a sequence are known only in part.
  bool is_partial(int i) const;

  // Locks the objective, with the attributes of the design not summed (see row_sums.hpp).
  std::unique_lock<std::mutex> hold();

  // How often the last evaluation fell back to the general sweeps.
  std::int64_t n_careful() const { return n_careful_; }

  // Frees the memory that evaluations keep for the next one.
  void release();

  const Layout& layout() const { return *layout_; }
  const Gold& gold() const { return *gold_; }
  double weight_of(int i) const { return weight_[i]; }
  const Design& design() const { return *design_; }

 private:
  template <class Real>
  struct Scratch;
  template <class Real>
  Scratch<Real>& scratch();

  // One sum over the segmentations of a sequence, and what it is multiplied by.
  struct Part {
    int sequence;
    bool constrained;  // only those that agree with its partial labels
    double weight;
  };
  std::vector<Part> parts_of(const std::int32_t* some, int begin, int end) const;
  Known known_of(const Part& part, bool costed = true) const;

  // Each adds value and counts of some parts, and returns the value.
  template <class Real>
  double add_kernels(const Design& d, const std::vector<Part>& parts, bool with_gold,
                     const Weights<Real>& w, Gradient<Real>* gradient, Workspace& work,
                     std::vector<Part>& failed);
  template <class Real>
  double add_batches(const Design& d, std::vector<Part> parts, const Weights<Real>& w,
                     Gradient<Real>* gradient, Workspace& work, std::vector<Part>& failed);
  double add_fallback(const Design& d, const std::vector<Part>& parts,
                      const Unpacked<double>& weights, Gradient<double>* gradient, Workspace& work);
  double add_log_z(const Design& d, const std::vector<Part>& parts, bool with_gold,
                   const Unpacked<double>& weights, bool near, Gradient<double>* gradient,
                   Workspace& work);
  double add_best(const Design& d, const Part& part, bool costed, const Unpacked<double>& weights,
                  Gradient<double>* gradient, Workspace& work);
  double add_hinge(const Design& d, int i, bool costed, const Unpacked<double>& weights,
                   Gradient<double>* gradient, Workspace& work) const;
  std::vector<LabelledSegment> second_path(const Design& d, int i, const Unpacked<double>& weights,
                                           Workspace& work) const;
  double add_path(const Design& d, int i, const LabelledSegment* segments, std::int64_t count,
                  double weight, const Unpacked<double>& weights, Gradient<double>* gradient,
                  Workspace& work);
  double add_gold(const Design& d, int i, const Unpacked<double>& weights,
                  Gradient<double>* gradient, Workspace& work);

  void set_shared(bool shared);
  template <class Real>
  double run(const double* w, int n_threads, double* gradient);
  template <class Add>
  double run_some(const double* w, int n_threads, double* gradient, Add add, int n_shards = 1);
  int shards_for() const;
  std::vector<int> shard_bounds() const;
  template <class Real>
  void fall_back(Scratch<Real>& scratch, const double* w, int n_threads, bool counts);
  template <class Real>
  void reduce(Scratch<Real>& scratch, const double* gold, int n_threads, double* gradient);

  std::shared_ptr<const Layout> layout_;
  std::shared_ptr<Design> design_;
  std::shared_ptr<const Gold> gold_;
  Mapped<double> weight_;    // [sequences]
  Mapped<double> observed_;  // [size] gold counts times the weights of their sequences
  Loss loss_;
  std::shared_ptr<void> scratch_,
      single_scratch_;  // reused: new pages cost more than writing to them
  int n_shards_ = 1;
  bool shared_ = false;
  std::int64_t n_careful_ = 0;
  std::mutex guard_;
};

}  // namespace caesura
