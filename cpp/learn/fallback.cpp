// Learning with the general sweeps over logarithms, which are slower than the kernels but correct
// for any weights.
#include <algorithm>
#include <map>

#include "infer/answers.hpp"
#include "learn/condition.hpp"
#include "learn/terms.hpp"

namespace caesura {

namespace {

void forbid(const Site& site, std::int32_t target, ProblemInput& in) {
  const auto id = static_cast<std::int32_t>(in.potentials.size());
  in.potentials.push_back({site.start, site.end, target, site.flags, id, kMinusInfinity});
}

// Forbids the segments of condition.histories.  Histories that are not patterns of the model are
// added to the targets.
void forbid_histories(const Condition& condition, int Y, ProblemInput& in) {
  std::map<std::vector<std::int32_t>, std::int32_t> targets;
  for (std::size_t h = 0; h < in.histories.size(); ++h)
    targets.emplace(in.histories[h], Y + static_cast<std::int32_t>(h));
  for (const auto& [start, end, labels] : condition.histories) {
    const auto next = Y + static_cast<std::int32_t>(in.histories.size());
    const auto [found, is_new] = targets.emplace(labels, next);
    if (is_new) in.histories.push_back(labels);
    forbid({start, end, 0}, found->second, in);
  }
}

void forbid_segments(const Condition& condition, ProblemInput& in) {
  for (const auto& [start, end, label] : condition.forbidden) forbid({start, end, 0}, label, in);
  for (Edge pair : condition.pairs) {
    pair.id = static_cast<std::int32_t>(in.edges.size());
    in.edges.push_back(pair);
  }
}

}  // namespace

SequenceCounts sequence_scores(const Layout& layout, const Design& d, const Unpacked<double>& w,
                               int i, Workspace& work) {
  const int T = d.length(i), Y = layout.Y, stride = w.view().row, n_rows = T + d.n_sites(i);
  SequenceCounts out;
  std::vector<double> rows(static_cast<std::size_t>(n_rows) * stride);
  work.clear();
  predictor().scores(d, w.view(), i, rows.data(), work);
  out.rows.resize(static_cast<std::size_t>(n_rows) * Y);
  for (int r = 0; r < n_rows; ++r)
    std::copy_n(rows.data() + static_cast<std::ptrdiff_t>(r) * stride, Y,
                out.rows.data() + static_cast<std::ptrdiff_t>(r) * Y);
  out.pairs = w.transition;
  out.starts = w.start;
  out.ends = w.end;
  out.patterns.assign(w.pattern.begin(), w.pattern.begin() + layout.n_plain);
  for_pattern_weights(layout, d, i,
                      [&](const Site&, std::int32_t, std::int32_t id, double value, bool edge) {
                        out.fired.push_back(value * (edge ? w.view().edge : w.view().sparse)[id]);
                      });
  for_pair_weights(layout, d, i, [&](int, std::int32_t, std::int32_t id, double value) {
    out.edges.push_back(w.view().edge[id] * value);
  });
  return out;
}

std::unique_ptr<ScoredProblem> problem_of(const Layout& layout, const Design& d, int i,
                                          SequenceCounts scores, const Known& known,
                                          std::shared_ptr<const Automaton> automaton,
                                          const std::vector<std::int32_t>& order, bool every,
                                          const Condition* condition) {
  const int T = d.length(i), Y = layout.Y, n_sites = d.n_sites(i);
  auto out = std::make_unique<ScoredProblem>();
  const std::vector<double> sites(scores.rows.begin() + static_cast<std::ptrdiff_t>(T) * Y,
                                  scores.rows.end());
  out->emission = std::move(scores.rows);
  out->emission.resize(static_cast<std::size_t>(T) * Y);
  if (known.cost != nullptr) {
    for (std::size_t k = 0; k < out->emission.size(); ++k) out->emission[k] += known.cost[k];
  }
  out->transition = std::move(scores.pairs);
  out->start = std::move(scores.starts);
  out->end = std::move(scores.ends);
  for (int y = 0; known.entry != nullptr && y < Y; ++y) {
    for (int before = 0; before < Y; ++before) out->transition[before * Y + y] += known.entry[y];
    out->start[y] += known.entry[y];
  }
  ProblemInput in;
  in.T = T;
  in.Y = Y;
  in.emission = out->emission.data();
  in.transition = out->transition.data();
  in.start = out->start.data();
  in.end = out->end.data();
  in.bounds = layout.bounds;
  in.boundary.assign(T + 1, 0);
  if (known.boundary != nullptr) in.boundary.assign(known.boundary, known.boundary + T + 1);
  if (known.allowed != nullptr)
    in.allowed.assign(known.allowed, known.allowed + static_cast<std::ptrdiff_t>(T) * Y);
  auto push = [&](const Site& site, std::int32_t target, double score) {
    if (score == 0.0 && !every) return;
    const auto id = static_cast<std::int32_t>(in.potentials.size());
    in.potentials.push_back({site.start, site.end, target, site.flags, id, score});
  };
  in.potentials.reserve(static_cast<std::size_t>(n_sites) * Y);
  for (int k = 0; k < n_sites; ++k) {
    for (int y = 0; y < Y; ++y)
      push(d.site[d.sites[i] + k], y, sites[static_cast<std::size_t>(k) * Y + y]);
  }
  in.histories = layout.patterns;
  in.rules = condition == nullptr || condition->rules.empty() ? layout.rules : condition->rules;
  out->n_on_rows = -1;
  std::size_t fired = 0, at_edge = 0;
  for_pattern_weights(layout, d, i,
                      [&](const Site& site, std::int32_t pattern, std::int32_t, double, bool edge) {
                        const auto pushed = static_cast<std::int64_t>(in.potentials.size());
                        if (edge && out->n_on_rows < 0) {
                          if (condition != nullptr) forbid_histories(*condition, Y, in);
                          out->n_on_rows = pushed;
                        }
                        push(site, Y + pattern, scores.fired[fired++]);
                      });
  if (out->n_on_rows < 0) {
    out->n_on_rows = static_cast<std::int64_t>(in.potentials.size());
    if (condition != nullptr) forbid_histories(*condition, Y, in);
  }
  for (std::int32_t k = 0; k < layout.n_plain; ++k) {
    in.static_targets.push_back(Y + k);
    in.static_scores.push_back(scores.patterns[k]);
  }
  for_pair_weights(layout, d, i, [&](int t, std::int32_t code, std::int32_t, double) {
    const auto id = static_cast<std::int32_t>(in.edges.size());
    in.edges.push_back({t, code / Y, code % Y, id, scores.edges[at_edge++]});
  });
  for (int k = 0; k < known.n_cost_sites; ++k) {
    const Site& site = known.cost_sites[k];
    for (int y = 0; y < Y; ++y) {
      in.potentials.push_back({site.start, site.end, y, 0,
                               static_cast<std::int32_t>(in.potentials.size()),
                               known.cost_rows[static_cast<std::ptrdiff_t>(k) * Y + y]});
    }
  }
  if (condition != nullptr) forbid_segments(*condition, in);
  out->problem = std::make_unique<Problem>(std::move(in), std::move(automaton), order);
  return out;
}

std::unique_ptr<ScoredProblem> scored_problem(const Layout& layout, const Design& d,
                                              const Unpacked<double>& w, int i, const Known& known,
                                              std::shared_ptr<const Automaton> automaton,
                                              const std::vector<std::int32_t>& order, bool every,
                                              Workspace& work, const Condition* condition) {
  return problem_of(layout, d, i, sequence_scores(layout, d, w, i, work), known,
                    std::move(automaton), order, every, condition);
}

void take_counts(const Layout& layout, const Design& d, int i, const Posterior& answer,
                 SequenceCounts& counts, std::vector<double>* costs) {
  const int Y = layout.Y;
  auto copy = [](const double* from, std::ptrdiff_t count, std::vector<double>& to) {
    to.assign(from, from + count);
  };
  // The potentials are those of the sites, then those of patterns, then costs; see problem_of.
  const std::ptrdiff_t of_sites = static_cast<std::ptrdiff_t>(d.n_sites(i)) * Y;
  std::ptrdiff_t n_fired = 0, n_edges = 0;
  for_pattern_weights(layout, d, i, [&](auto&&...) { ++n_fired; });
  for_pair_weights(layout, d, i, [&](auto&&...) { ++n_edges; });
  copy(answer.counts.tokens, static_cast<std::ptrdiff_t>(d.length(i)) * Y, counts.rows);
  counts.rows.insert(counts.rows.end(), answer.counts.potentials,
                     answer.counts.potentials + of_sites);
  copy(answer.counts.potentials + of_sites, n_fired, counts.fired);
  copy(answer.counts.transitions, static_cast<std::ptrdiff_t>(Y) * Y, counts.pairs);
  copy(answer.counts.starts, Y, counts.starts);
  copy(answer.counts.ends, Y, counts.ends);
  copy(answer.counts.edges, n_edges, counts.edges);
  copy(answer.patterns, layout.n_plain, counts.patterns);
  if (costs != nullptr)
    costs->assign(answer.counts.potentials + of_sites + n_fired,
                  answer.counts.potentials + answer.n_potentials);
}

double expected_counts(const Layout& layout, const Design& d, int i, const Problem& problem,
                       SequenceCounts& counts, Workspace& work, std::vector<double>* costs) {
  work.clear();
  const Posterior answer = about_sequence(
      i, [&] { return answer_posterior(problem, Method::kOverlapping, work, false); });
  if (answer.log_z == kMinusInfinity) return kMinusInfinity;
  take_counts(layout, d, i, answer, counts, costs);
  return answer.log_z;
}

}  // namespace caesura
