#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "infer/limited.hpp"
#include "infer/packed_answers.hpp"
#include "infer/ranking.hpp"

namespace caesura {
namespace {

// A walk over a lattice with the back-pointers of its sweep.
struct BackWalk {
  const Walk& walk;
  const Back& back;
  const Lattice& g = walk.lattice();

  Node final() const { return walk.final(); }
  bool is_start(const Node& node) const { return walk.is_start(node); }
  std::uint64_t key(const Node& node) const { return walk.key(node); }
  void terms(const Node& node, std::vector<Term>& out) const { walk.terms(node, out); }

  // For the order of equal answers (ranking.hpp).
  int label(int state) const { return g.order[g.rank[state]]; }
  int start(int end, int state) const {
    return back.start[static_cast<std::ptrdiff_t>(end) * g.stride + state];
  }
  int previous(int start, int state) const {
    return back.previous[static_cast<std::ptrdiff_t>(start) * g.stride + state];
  }
};

// ln of the number of possible segmentations: ln Z with all scores except -inf set to 0.
double log_count(const Problem& problem, Method method) {
  ProblemInput in = problem.input();
  auto flat = [](double score) { return score == kMinusInfinity ? score : 0.0; };
  std::vector<std::vector<double>> kept;
  // The kernels read scores in place, so the flat copies must outlive the sweep.
  auto flatten = [&](const double*& scores, std::ptrdiff_t count) {
    if (scores == nullptr) return;
    kept.emplace_back(count);
    std::transform(scores, scores + count, kept.back().begin(), flat);
    scores = kept.back().data();
  };
  const std::ptrdiff_t T = in.T, Y = in.Y;
  flatten(in.emission, T * Y);
  flatten(in.transition, Y * Y);
  flatten(in.start, Y);
  flatten(in.end, Y);
  flatten(in.spans, T * in.span_length * Y);
  for (Potential& potential : in.potentials) potential.score = flat(potential.score);
  for (Edge& edge : in.edges) edge.score = flat(edge.score);
  for (double& score : in.static_scores) score = flat(score);
  Problem counted(std::move(in), nullptr, problem.order());
  counted.prepare(method);
  Workspace work;
  return answer_log_partition(counted, method, work);
}

// Throws std::overflow_error early if n answers like those so far would have far too many segments,
// and the problem has enough segmentations for that.
void check_expected(const Problem& problem, Method method, const SegmentCount& count, int n) {
  // Later answers have about as many segments as earlier ones; twice the limit is a safety
  // margin.
  const double most = 2.0 * kMostSegments;
  if (count.expected(n) <= most) return;
  if (count.expected(std::min<double>(n, std::exp(log_count(problem, method)))) > most)
    throw std::overflow_error("segments");
}

// The n best on the prepared lattice: a path loses, at each of its nodes, the difference between
// the best value of the node and that of the term which the path takes,
//
//   loss(path) = sum over its nodes of (value of the node - value of the term)
//
// Losses are at least 0 and known from the tables of the best path, so that paths can be listed in
// the order of their losses, best first (ranking.hpp).
PackedAnswers packed_plain_n_best(const Problem& problem, Method method, Workspace& work, int n) {
  constexpr std::size_t kEnough = 1000;  // answers from which the final count is estimated
  PackedAnswers answers;
  const Lattice& g = problem.lattice(method);
  Tables tables = tables_in(g, work.doubles(tables_size(g)));
  Back back;
  back.start = work.ints(table_size(g));
  back.previous = work.ints(table_size(g));
  int state = 0;
  if (kernels().best(g, work, &tables, back, &state, nullptr) == kMinusInfinity) return answers;
  const Walk walk(problem, g, tables);
  // The enumeration ranks by sums of losses.  The scores are computed anew and may be equal where
  // the losses differ by rounding, so the answers are sorted again.
  rank_segments(BackWalk{walk, back}, g.T, n,
                [&](const std::vector<LabelledSegment>& segments, const SegmentCount& count) {
                  answers.add(segments, problem.score(segments));
                  if (answers.size() == kEnough) check_expected(problem, method, count, n);
                });
  answers.sort();
  return answers;
}

}  // namespace

std::vector<Answer> plain_n_best(const Problem& problem, Method method, Workspace& work, int n) {
  return packed_plain_n_best(problem, method, work, n).unpacked();
}

PackedAnswers packed_n_best(const Problem& problem, Method method, Workspace& work, int n) {
  check_scores(problem);
  const ProblemInput& in = problem.input();
  if (in.T > 0 && in.rules.limits() == 0) return packed_plain_n_best(problem, method, work, n);
  PackedAnswers answers;
  // The empty sequence has one segmentation, unless a rule requires a label.
  if (in.T == 0) {
    if (in.rules.kept_by({}, in.Y)) answers.add({}, 0.0);
    return answers;
  }
  // With limits there are few answers, or the search would not have finished, so they are packed
  // only after it.
  for (const Answer& answer : n_best_within_limits(problem, method, work, n))
    answers.add(answer.segments, answer.score);
  return answers;
}

std::vector<Answer> answer_n_best(const Problem& problem, Method method, Workspace& work, int n) {
  return packed_n_best(problem, method, work, n).unpacked();
}

}  // namespace caesura
