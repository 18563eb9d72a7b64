// Learning by the general sweeps, over logarithms: slower, and right for any weights.
#include "infer/answers.hpp"
#include "learn/objective.hpp"

namespace caesura {
namespace {

// Calls visit(site, pattern, weight, value, edge?) for what goes with patterns in sequence i.
template <class Visit>
void for_patterns(const Layout& layout, const Design& d, int i, Visit visit) {
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

}  // namespace

std::shared_ptr<const Automaton> automaton_of(const Layout& layout,
                                              const std::vector<std::int32_t>& order) {
  return automaton_for(order, layout.patterns, layout.rules, true);
}

std::unique_ptr<ScoredProblem> scored_problem(const Layout& layout, const Design& d,
                                              const Unpacked<double>& w, int i, const Known& known,
                                              std::shared_ptr<const Automaton> automaton,
                                              const std::vector<std::int32_t>& order, bool every,
                                              Workspace& work) {
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
  in.rules = layout.rules;
  out->n_on_rows = -1;
  for_patterns(
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
  for (int t = 1; t < T; ++t) {
    d.for_edges(i, t, [&](std::int32_t id, std::int32_t code, double value) {
      if (code >= Y * Y) return;
      in.edges.push_back({t, code / Y, code % Y, static_cast<std::int32_t>(in.edges.size()),
                          w.view().edge[id] * value});
    });
  }
  out->problem = std::make_unique<Problem>(std::move(in), std::move(automaton), order);
  return out;
}

bool Objective::add_carefully(int i, const Known& known, double sign,
                              const Unpacked<double>& weights, double* loss,
                              Gradient<double>* gradient, Workspace& work) {
  const Design& d = *design_;
  const auto scored = scored_problem(*layout_, d, weights, i, known, automaton, order, true, work);
  scored->problem->prepare(Method::kOverlapping);
  work.clear();
  const Posterior answer = answer_posterior(*scored->problem, Method::kOverlapping, work, false);
  if (answer.log_z == kMinusInfinity) return false;
  *loss += sign * answer.log_z;
  if (gradient == nullptr) return true;
  const int T = d.length(i), Y = layout_->Y, stride = weights.view().row, n_sites = d.n_sites(i);
  std::vector<double> rows(static_cast<std::size_t>(T + n_sites) * stride, 0.0);
  for (int t = 0; t < T; ++t) {
    for (int y = 0; y < Y; ++y)
      rows[static_cast<std::size_t>(t) * stride + y] =
          sign * answer.counts.tokens[static_cast<std::ptrdiff_t>(t) * Y + y];
  }
  for (int k = 0; k < n_sites; ++k) {
    for (int y = 0; y < Y; ++y) {
      rows[static_cast<std::size_t>(T + k) * stride + y] =
          sign * answer.counts.potentials[static_cast<std::ptrdiff_t>(k) * Y + y];
    }
  }
  trainer<double>().add(d, weights.view(), i, rows.data(), *gradient, work);
  for (int a = 0; a < Y; ++a) {
    gradient->starts[a] += sign * answer.counts.starts[a];
    gradient->ends[a] += sign * answer.counts.ends[a];
    for (int b = 0; b < Y; ++b)
      gradient->pairs[a * weights.view().stride + b] += sign * answer.counts.transitions[a * Y + b];
  }
  std::ptrdiff_t potential = static_cast<std::ptrdiff_t>(n_sites) * Y;
  for_patterns(*layout_, d, i,
               [&](const Site&, std::int32_t, std::int32_t id, double value, bool edge) {
                 (edge ? gradient->edge : gradient->sparse)[id] +=
                     sign * value * answer.counts.potentials[potential++];
               });
  for (std::int64_t k = 0; k < layout_->n_plain; ++k)
    gradient->patterns[k] += sign * answer.patterns[k];
  int at = 0;
  for (int t = 1; t < T; ++t) {
    d.for_edges(i, t, [&](std::int32_t id, std::int32_t code, double value) {
      if (code < Y * Y) gradient->edge[id] += sign * answer.counts.edges[at++] * value;
    });
  }
  return true;
}

}  // namespace caesura
