// The objective of learning: weights in, negative log-likelihood and gradient out.
//
// The vector of weights is [rows | edges | transitions | patterns | starts | ends].  Only
// combinations that were seen in the training data, or requested, have a weight.
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

// Thrown if no segmentation satisfies the constraints of a sequence.
struct NoAgreement : std::domain_error {
  explicit NoAgreement(int i) : std::domain_error("no segmentation agrees"), sequence(i) {}
  int sequence;
};

// Where the kernels keep the weight of a row: a row and a lane of the table.  If lane is -1, it is
// single weight number `row`.
struct Slot {
  std::int32_t row, lane;
};

// The meaning of each weight, and the constraints of the model.
struct Layout {
  int Y = 0, planes = 1;
  // Numbers of rows of the table, single weights and edge weights.
  std::int64_t n_dense = 0, n_sparse = 0, n_edges = 0;
  std::vector<Slot> slot;                // [weights of rows]
  std::vector<std::int32_t> transition;  // previous * Y + label
  std::vector<std::int32_t> start, end;  // labels
  // Label patterns; the first n_plain have a weight of their own.
  std::vector<std::vector<std::int32_t>> patterns;
  std::int64_t n_plain = 0;
  std::vector<std::int32_t> row_patterns;      // patterns that attributes on rows have weights with
  RuleSet rules;                               // rules that every segmentation keeps
  std::shared_ptr<const Histories> histories;  // null if there are no patterns and no rules
  // Of the histories and the rules; null if there are none, or if it would be too large for
  // sequences of up to `longest` tokens.
  std::shared_ptr<const ArcProgram> program;
  int longest = 0;                                     // 0: sequences of any length
  std::vector<std::int32_t> bounds;                    // [Y] longest segment, or 0 for no bound
  std::vector<std::uint8_t> barred;                    // [Y][Y] pairs that may not be adjacent
  std::vector<std::uint8_t> barred_start, barred_end;  // [Y] labels that may not be first, last
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

// The weights of transitions and the length bounds in the form that the kernels need.
template <class Real>
class Labels {
 public:
  // Sets the scores of transitions [Y][Y], starts and ends [Y], and the length bounds [Y] (0: no
  // bound), and points `view` to them.
  void set(const std::vector<double>& transition, const std::vector<double>& start,
           const std::vector<double>& end, const std::vector<std::int32_t>& bounds, int width,
           Weights<Real>& view);
  // Replace one score and its exp, in double precision only.  The new score must be finite if and
  // only if the old one was, because the panels are not rebuilt.
  void put_transition(int previous, int label, double score, double exp);
  void put_start(int label, double score, double exp);
  void put_end(int label, double score, double exp);

 private:
  int stride_ = 0;
  // most: the maximum number of vectors in a panel
  std::vector<Panel> make_panels(const std::vector<Real>& matrix, int Y, int width, int most,
                                 std::vector<std::int32_t>& sources) const;
  std::vector<Real> transition_, transposed_, first_, last_, open_, fits_, logs_;
  std::vector<Panel> panels_, back_panels_, best_panels_;
  std::vector<std::int32_t> sources_, back_sources_, best_sources_;
};

// Returns the place of each row weight in the memory of the kernels: the table, followed by the
// single weights.
std::vector<std::int64_t> places_of(const Layout& layout, const Design& design, int width);

// All weights in the form that the kernels need.
template <class Real>
class Unpacked {
 public:
  // Sets all weights.  Layout, design and places must be the same in every call.  Returns false if
  // a transition is out of the kernels' range, so that the general sweeps must answer.
  bool set(const Layout& layout, const Design& design, const std::vector<std::int64_t>& places,
           const double* w, int width, int n_threads);
  // The following three are there in double precision only (weight_updates.cpp).
  //
  // Sets the weights of transitions, patterns, starts and ends only, with one pass over them.
  // set() must have been called with the same layout and design.  w: [size]
  bool set_labels(const Layout& layout, const Design& design, const double* w);
  // Sets weight k, that of a transition, start or end.  The view is then valid for best paths only,
  // because sums may be out of range.  Must not be called if the model has histories.
  void put_label(const Layout& layout, std::int64_t k, double score);
  // Makes the view refer to row and edge weights that are stored elsewhere, in the order of the
  // table, and may change.
  void point_to(const Real* rows, const Real* sparse, const Real* edge, Real scale = 1);
  const Weights<Real>& view() const { return view_; }
  // The weights after rounding to single precision.
  const double* rounded() const { return rounded_.data(); }
  // The scores of transitions, plain patterns, starts and ends; -inf where forbidden.
  std::vector<double> transition, pattern, start, end;

 private:
  void read_labels(const Layout& layout, const double* w);
  bool make_labels(const Layout& layout, const Design& design);
  void put_transition(const Layout& layout, int code, double score, double exp);
  void set_tags(const Layout& layout, int width);
  bool set_histories(const Layout& layout);
  int width_ = 0;
  bool near_ = false;  // the last result of set() or set_labels()
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

// The partial labels of a sequence.
struct Hint {
  std::vector<std::uint8_t> allowed;   // [T][Y] or empty
  std::vector<std::uint8_t> boundary;  // [T + 1] or empty
};

// The problem of sequence i of a design, with all the memory that it points into.  Its potentials
// are those of the sites, then those of patterns on rows and at boundaries, then costs.
struct ScoredProblem {
  std::vector<double> emission, transition, start, end;
  std::unique_ptr<Problem> problem;
  std::int64_t n_on_rows = 0;  // number of potentials before those at boundaries
};
// every: include potentials with a score of 0.  condition: additional constraints, or null; if it
// has rules or histories, the automaton must be null.
std::unique_ptr<ScoredProblem> scored_problem(const Layout&, const Design&, const Unpacked<double>&,
                                              int i, const Known&, std::shared_ptr<const Automaton>,
                                              const std::vector<std::int32_t>& order, bool every,
                                              Workspace&, const Condition* condition = nullptr);

// Makes the program of a layout with histories.
void make_program(Layout& layout);

// Returns the layout of an objective, with a program for sequences of up to `longest` tokens.
// Throws TooLarge.
std::shared_ptr<const Layout> layout_within(std::shared_ptr<const Layout> layout, int longest);

// Returns the automaton of the patterns and rules of a model, for the general sweeps.  It is null
// if there is no program because it would be too large; each problem then makes its own.  order:
// the labels by their length bound, see labels_by_length.
std::shared_ptr<const Automaton> automaton_of(const Layout& layout,
                                              const std::vector<std::int32_t>& order);

struct Gold;

// Costs of some segments of a sequence, as in Known.
struct SegmentCosts {
  std::vector<Site> sites;
  std::vector<double> rows;  // [sites][Y]
  double constant = 0.0;     // added to the score of every segmentation
};

// The loss of a corpus as a sum of terms (see terms.hpp) over its sequences.
class Objective {
 public:
  // The objective takes over the design, and changes how its attributes are stored (see
  // row_sums.hpp).
  Objective(std::shared_ptr<const Layout> layout, std::shared_ptr<Design> design,
            std::shared_ptr<const Gold> gold, std::vector<double> weight,
            std::vector<double> observed);

  std::vector<double> cost;  // [tokens][Y] or empty: added to the scores of all but the gold labels
  // [sequences] or empty: costs of segments, null for sequences that have none.
  std::vector<std::shared_ptr<const SegmentCosts>> segment_costs;
  std::vector<double> entry_cost;              // [Y] or empty: cost of every segment of a label
  std::shared_ptr<const Automaton> automaton;  // for the general sweeps
  std::vector<std::int32_t> order;

  // Returns the negative log-likelihood of the sequences in some[0 .. count), or of all if `some`
  // is null.  Writes its gradient unless `gradient` is null.  single: use single precision where
  // possible; it is ignored unless all sequences are evaluated and there are no label patterns.
  // Throws NoAgreement if some sequence has no possible segmentation.
  double evaluate(const double* w, const std::int32_t* some, int count, bool single, int n_threads,
                  double* gradient);

  // The same with a maximum in place of ln Z: the sum of weight (max score - score(gold)), and a
  // subgradient.  costed: scores include costs, so that the terms are those of a margin.  count:
  // the number of sequences, also if `some` is null.
  double maximum(const double* w, const std::int32_t* some, int count, bool costed, int n_threads,
                 double* gradient);

  // Sets the cost of wrong segmentations, and replaces all previous costs.
  void set_loss(Loss loss);
  const Loss& loss() const { return loss_; }

  // Returns the costs of sequence i that are additive over tokens and segments, which are all
  // except those of the losses of whole sequences and of segments of tags.
  Known costs_of(int i) const { return known_of({i, false, 1.0}); }

  // Returns the cost of a segmentation of sequence i, which is its loss if a loss has been set.
  double cost_of(int i, const LabelledSegment* segments, int count) const;

  // Returns the best segmentation of sequence i.  costed: scores include costs.  For the loss of
  // whole sequences, the gold segmentation is then the best only if the scores of all others are
  // lower by 1 or more.  Throws NoAgreement.
  std::vector<LabelledSegment> best_path(const Design& d, int i, bool costed,
                                         const Unpacked<double>& weights, Workspace& work) const;
  std::vector<LabelledSegment> best_path(const double* w, int i, bool costed);

  // Returns the score of a segmentation of sequence i without costs, and writes its counts unless
  // null.
  double path(const double* w, int i, const LabelledSegment* segments, int count, double* counts);

  // Returns ln Z of sequence i with costs, or if constrained, of the segmentations that agree with
  // its partial labels.  Writes the expected counts unless `counts` is null.
  double expectations(const double* w, int i, bool constrained, double* counts);

  // Returns the sum of weight (ln Z - score(gold)) over some sequences, and adds its gradient
  // unless null.  If a sequence has partial labels, ln Z of the segmentations that agree with them
  // takes the place of the gold score.  near: the weights are in the range of the kernels.  d: the
  // design, or one that differs only in the numbering of the weights.  The caller must hold the
  // objective.
  double add_sequences(const Design& d, const std::int32_t* some, int count,
                       const Unpacked<double>& weights, bool near, Gradient<double>* gradient,
                       Workspace& work);

  // Returns weight_i max over s of (score(s) - score(gold) + cost(s)).
  double hinge(int i, const Unpacked<double>& weights, Workspace& work) const {
    return add_hinge(*design_, i, true, weights, nullptr, work);
  }

  // Whether a sequence has partial labels.
  bool is_partial(int i) const;

  // Locks the objective and restores a design without sums of rows (see row_sums.hpp).
  std::unique_lock<std::mutex> hold();

  // The number of sums over segmentations that the last call computed with the general sweeps.
  std::int64_t n_careful() const { return n_careful_; }

  // Frees the memory that is kept between evaluations.
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

  // A sum over the segmentations of a sequence, and the factor of its logarithm.
  struct Part {
    int sequence;
    bool constrained;  // only segmentations that agree with the partial labels
    double weight;
  };
  std::vector<Part> parts_of(const std::int32_t* some, int begin, int end) const;
  Known known_of(const Part& part, bool costed = true) const;

  // Each function adds the counts of some parts or of one sequence to the gradient, unless it is
  // null, and returns their value.  The parts that the kernels cannot compute are appended to
  // `failed`.
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
  // Kept between evaluations, because new pages cost more than writing to them.
  std::shared_ptr<void> scratch_, single_scratch_;
  int n_shards_ = 1;
  bool shared_ = false;
  std::int64_t n_careful_ = 0;
  std::mutex guard_;
};

}  // namespace caesura
