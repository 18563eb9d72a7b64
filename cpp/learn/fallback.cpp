// Learning by the general sweeps, over logarithms: slower, and right for any weights.
#include "infer/answers.hpp"
#include "learn/terms.hpp"

namespace caesura {

std::shared_ptr<const Automaton> automaton_of(const Layout& layout,
                                              const std::vector<std::int32_t>& order) {
  return automaton_for(order, layout.patterns, layout.rules, true);
}

std::unique_ptr<ScoredProblem> scored_problem(const Layout& layout, const Design& d,
                                              const Unpacked<double>& w, int i, const Known& known,
                                              std::shared_ptr<const Automaton> automaton,
                                              const std::vector<std::int32_t>& order, bool every,
                                              Workspace& work, const RuleSet* rules) {
  const int T = d.length(i), Y = layout.Y, stride = w.view().row, n_sites = d.n_sites(i);
  auto out = std::make_unique<ScoredProblem>();
  std::vector<double> rows(static_cast<std::size_t>(T + n_sites) * stride);
  work.clear();
  predictor().scores(d, w.view(), i, rows.data(), work);
  out->emission.resize(static_cast<std::size_t>(T) * Y);
  for (int t = 0; t < T; ++t)
    std::copy_n(rows.data() + static_cast<std::ptrdiff_t>(t) * stride, Y,
                out->emission.data() + static_cast<std::ptrdiff_t>(t) * Y);
  if (known.cost != nullptr) {
    for (std::size_t k = 0; k < out->emission.size(); ++k) out->emission[k] += known.cost[k];
  }
  out->transition = w.transition;
  out->start = w.start;
  out->end = w.end;
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
    const double* row = rows.data() + static_cast<std::ptrdiff_t>(T + k) * stride;
    for (int y = 0; y < Y; ++y) push(d.site[d.sites[i] + k], y, row[y]);
  }
  in.histories = layout.patterns;
  in.rules = rules == nullptr ? layout.rules : *rules;
  out->n_on_rows = -1;
  for_pattern_weights(
      layout, d, i,
      [&](const Site& site, std::int32_t pattern, std::int32_t id, double value, bool edge) {
        const auto pushed = static_cast<std::int64_t>(in.potentials.size());
        if (edge && out->n_on_rows < 0) out->n_on_rows = pushed;
        push(site, Y + pattern, value * (edge ? w.view().edge : w.view().sparse)[id]);
      });
  if (out->n_on_rows < 0) out->n_on_rows = static_cast<std::int64_t>(in.potentials.size());
  for (std::int32_t k = 0; k < layout.n_plain; ++k) {
    in.static_targets.push_back(Y + k);
    in.static_scores.push_back(w.pattern[k]);
  }
  for_pair_weights(layout, d, i, [&](int t, std::int32_t code, std::int32_t id, double value) {
    in.edges.push_back({t, code / Y, code % Y, static_cast<std::int32_t>(in.edges.size()),
                        w.view().edge[id] * value});
  });
  for (int k = 0; k < known.n_cost_sites; ++k) {
    const Site& site = known.cost_sites[k];
    for (int y = 0; y < Y; ++y) {
      in.potentials.push_back({site.start, site.end, y, 0,
                               static_cast<std::int32_t>(in.potentials.size()),
                               known.cost_rows[static_cast<std::ptrdiff_t>(k) * Y + y]});
    }
  }
  out->problem = std::make_unique<Problem>(std::move(in), std::move(automaton), order);
  return out;
}

double expected_counts(const Layout& layout, const Design& d, int i, const Problem& problem,
                       SequenceCounts& counts, Workspace& work) {
  const int Y = layout.Y;
  work.clear();
  const Posterior answer = answer_posterior(problem, Method::kOverlapping, work, false);
  if (answer.log_z == kMinusInfinity) return kMinusInfinity;
  auto copy = [](const double* from, std::ptrdiff_t count, std::vector<double>& to) {
    to.assign(from, from + count);
  };
  // Potentials are those of the sites, then those of patterns, then costs.
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
  return answer.log_z;
}

}  // namespace caesura
