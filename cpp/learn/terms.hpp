// A term of the objective for one sequence: a value and signed counts.
//
// The score of a sequence is linear in the weights, so the gradient of every term consists of
// counts of how often each place is used (a row with a label, a pair of labels, and so on), either
// by one path (the gold labels or a best path) or in expectation (ln Z).  All counts are added to
// the gradient by add_counts, except those of ln Z from the kernels, which add their counts of rows
// through the same scatter (FeatureRows::add_gradient).
//
//   log-likelihood   ln Z - score(gold)
//   perceptron       max over s of score(s) - score(gold)
//   margin           max over s of (score(s) + cost(s)) - score(gold)
#pragma once

#include <vector>

#include "learn/objective.hpp"

namespace caesura {

// How often each place of one sequence is used, or the score of each place.
struct SequenceCounts {
  std::vector<double> rows;          // [T + sites][Y]
  std::vector<double> pairs;         // [Y][Y] adjacent segments
  std::vector<double> starts, ends;  // [Y] first and last segments
  std::vector<double> edges;     // [edge weights of label pairs], as for_pair_weights visits them
  std::vector<double> fired;     // [weights of patterns], as for_pattern_weights visits them
  std::vector<double> patterns;  // [plain patterns]
};

// Call visit(site, pattern, weight, value, is_edge) for the weights of patterns in sequence i, and
// visit(t, pair, weight, value) for the weights of label pairs at its boundaries.
template <class Visit>
void for_pattern_weights(const Layout& layout, const Design& d, int i, Visit visit) {
  if (layout.histories == nullptr) return;
  const int T = d.length(i), square = layout.Y * layout.Y;
  for (int r = 0; r < T + d.n_sites(i); ++r) {
    const Site site = r < T ? Site{r, r + 1, kOpenStart | kOpenEnd} : d.site[d.sites[i] + r - T];
    const std::int64_t row = d.first_row(i) + r;
    d.for_patterns(row, [&](std::int32_t id, std::int32_t state, double value) {
      visit(site, layout.histories->pattern_at[state], id, value, false);
    });
  }
  for (int t = 1; t < T; ++t) {
    d.for_edges(i, t, [&](std::int32_t id, std::int32_t code, double value) {
      if (code >= square) visit(Site{t, t + 1, kOpenEnd}, code - square, id, value, true);
    });
  }
}
template <class Visit>
void for_pair_weights(const Layout& layout, const Design& d, int i, Visit visit) {
  for (int t = 1; t < d.length(i); ++t) {
    d.for_edges(i, t, [&](std::int32_t id, std::int32_t code, double value) {
      if (code < layout.Y * layout.Y) visit(t, code, id, value);
    });
  }
}

// Returns the counts of a segmentation.
SequenceCounts path_counts(const Layout& layout, const Design& d, int i,
                           const LabelledSegment* segments, std::int64_t count);

// counts -= others; both are of the same sequence.
void subtract(SequenceCounts& counts, const SequenceCounts& others);

// Returns the sum of counts times weights, which is the score of the sequence without costs.
double counted_score(const Layout& layout, const Design& d, int i, const SequenceCounts& counts,
                     const Unpacked<double>& weights, Workspace& work);

// gradient += sign * counts.
void add_counts(const Layout& layout, const Design& d, int i, const SequenceCounts& counts,
                double sign, const Weights<double>& w, Gradient<double>& gradient, Workspace& work);

// Returns the score of each place of sequence i; -inf where a pair, start or end is forbidden.
SequenceCounts sequence_scores(const Layout& layout, const Design& d, const Unpacked<double>& w,
                               int i, Workspace& work);

// Returns the problem with these scores; the other arguments are those of scored_problem.
std::unique_ptr<ScoredProblem> problem_of(const Layout& layout, const Design& d, int i,
                                          SequenceCounts scores, const Known& known,
                                          std::shared_ptr<const Automaton> automaton,
                                          const std::vector<std::int32_t>& order, bool every,
                                          const Condition* condition = nullptr);

// Sets the counts of sequence i from those of its problem, which must have all potentials (`every`)
// and no condition.  costs may be null; see expected_counts.
struct Posterior;
void take_counts(const Layout& layout, const Design& d, int i, const Posterior& answer,
                 SequenceCounts& counts, std::vector<double>* costs = nullptr);

// Computes the expected counts of a problem by the general sweeps and returns ln Z, or -inf,
// without counts, if nothing is possible.  Slower than the kernels, but correct for any weights.
// costs: [cost sites][Y] how often each cost applies; may be null.
double expected_counts(const Layout& layout, const Design& d, int i, const Problem& problem,
                       SequenceCounts& counts, Workspace& work,
                       std::vector<double>* costs = nullptr);

}  // namespace caesura
