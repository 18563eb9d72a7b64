#include "objective.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "answers.hpp"

namespace caesura {
namespace {

// One gradient in the precision of a kernel, and its memory.
template <class Real>
struct Buffer {
  Table<Real> memory;
  Gradient<Real> view, tags;
  double loss = 0.0;
  std::vector<int> failed;

  void make(const Layout& layout, const Design& design, const Weights<Real>& w) {
    const int stride = w.stride, tagged = w.tags == nullptr ? 0 : w.tags->stride;
    const std::size_t dense = design.table_rows() * w.wide, square = stride * stride;
    const std::size_t lanes = w.histories == nullptr ? 0 : w.histories->lanes;
    loss = 0.0;
    failed.clear();
    memory.assign(dense + layout.n_sparse + layout.n_edges + 2 * square + 2 * stride + tagged * (tagged + 2) + lanes +
                      layout.n_plain, Real{0});
    Real* at = memory.data();
    view.dense = at;
    view.sparse = at += dense;
    view.edge = at += layout.n_sparse;
    view.outer = at += layout.n_edges;
    view.pairs = at += square;
    view.starts = at += square;
    view.ends = at += stride;
    view.entered = at += stride;
    view.patterns = at += lanes;
    if (tagged == 0) return;
    tags.outer = at += layout.n_plain;
    tags.starts = at += tagged * tagged;
    tags.ends = at += tagged;
    view.tags = &tags;
  }

  // Pairs, starts and ends of tags are those of their labels.
  void untag(const Weights<Real>& w) {
    if (w.tags == nullptr) return;
    const int Y = w.Y, n = w.tags->stride;
    for (int y = 0; y < Y; ++y) {
      for (const int out : {kEnd * Y + y, kUnit * Y + y}) {
        view.ends[y] += tags.ends[out];
        for (int next = 0; next < Y; ++next) {
          for (const int in : {kBegin * Y + next, kUnit * Y + next}) view.outer[y * w.stride + next] += tags.outer[out * n + in];
        }
      }
      view.starts[y] += tags.starts[kBegin * Y + y] + tags.starts[kUnit * Y + y];
    }
  }

  // What was added to a sum of rows belongs to both.
  void unshare(const Design& design, int wide) {
    for (std::size_t k = design.sums.size(); k-- > 0;) {
      const Real* sum = view.dense + static_cast<std::ptrdiff_t>(design.sums[k].row) * wide;
      for (const std::int32_t part : {design.sums[k].first, design.sums[k].second}) {
        Real* to = view.dense + static_cast<std::ptrdiff_t>(part) * wide;
        for (int y = 0; y < wide; ++y) to[y] += sum[y];
      }
    }
  }
};

// Calls work(begin, end) for blocks of a long vector, on threads.
template <class Work>
void for_blocks(std::int64_t size, int n_threads, Work work) {
  constexpr std::int64_t kBlock = 1 << 15;
  for_each(static_cast<int>((size + kBlock - 1) / kBlock), n_threads,
           [&](int b, Workspace&) { work(b * kBlock, std::min(size, (b + 1) * kBlock)); });
}

// to[k] += the gradient of weight k, for k in a range.
template <class Real>
void add_packed(const Layout& layout, const Design& design, const Weights<Real>& w, const Gradient<Real>& g, std::int64_t begin,
                std::int64_t end, double* to) {
  const int Y = layout.Y, stride = w.stride;
  auto over = [&](std::int64_t first, std::int64_t count, auto value) {
    for (std::int64_t k = std::max(begin, first); k < std::min(end, first + count); ++k) to[k] += value(k - first);
  };
  over(0, layout.first_edge(), [&](std::int64_t k) {
    const Slot& slot = layout.slot[k];
    return slot.lane < 0 ? g.sparse[slot.row] : g.dense[design.place_of(slot.row) * w.wide + slot.lane];
  });
  over(layout.first_edge(), layout.n_edges, [&](std::int64_t k) { return g.edge[k]; });
  over(layout.first_transition(), layout.transition.size(), [&](std::int64_t k) {
    const std::int32_t state = w.histories == nullptr ? -1 : w.histories->pair[layout.transition[k]];
    const int at = layout.transition[k] / Y * stride + layout.transition[k] % Y;
    const double pairs = g.pairs[at] + (state < 0 ? 0.0 : static_cast<double>(g.entered[state]));
    return g.outer[at] == 0 ? pairs : static_cast<double>(g.outer[at]) * w.transition[at] + pairs;
  });
  over(layout.first_pattern(), layout.n_plain, [&](std::int64_t k) {
    return static_cast<double>(g.entered[w.histories->pattern[k]]) + g.patterns[k];
  });
  over(layout.first_start(), layout.start.size(), [&](std::int64_t k) { return g.starts[layout.start[k]]; });
  over(layout.first_end(), layout.end.size(), [&](std::int64_t k) { return g.ends[layout.end[k]]; });
}

// Calls visit(site, pattern, weight, value, edge?) for what goes with patterns in sequence i.
template <class Visit>
void for_patterns(const Layout& layout, const Design& d, int stride, int i, Visit visit) {
  if (layout.histories == nullptr) return;
  const int T = d.length(i), square = layout.Y * layout.Y;
  for (int r = 0; r < T + d.n_sites(i); ++r) {
    const Site site = r < T ? Site{r, r + 1, kOpenStart | kOpenEnd} : d.site[d.sites[i] + r - T];
    const std::int64_t row = d.first_row(i) + r;
    for (std::int64_t k = d.sparse_ptr[row]; k < d.sparse_ptr[row + 1]; ++k) {
      if (d.sparse_lane[k] < stride) continue;
      visit(site, layout.histories->pattern_at[d.sparse_lane[k] - stride], d.sparse[k], d.sparse_value.empty() ? 1.0 : d.sparse_value[k], false);
    }
  }
  for (int t = 1; !d.edge_ptr.empty() && t < T; ++t) {
    for (std::int64_t k = d.edge_ptr[d.tokens[i] + t]; k < d.edge_ptr[d.tokens[i] + t + 1]; ++k) {
      if (d.edge_pair[k] >= square) visit(Site{t, t + 1, kOpenEnd}, d.edge_pair[k] - square, d.edge[k], d.edge_value[k], true);
    }
  }
}

}  // namespace

std::shared_ptr<const Automaton> automaton_of(const Layout& layout, const std::vector<std::int32_t>& order) {
  std::vector<std::int32_t> rank(order.size());
  for (std::size_t r = 0; r < order.size(); ++r) rank[order[r]] = static_cast<std::int32_t>(r);
  std::vector<std::vector<std::int32_t>> histories = layout.patterns;
  for (auto& history : histories) {
    for (std::int32_t& y : history) y = rank[y];
  }
  constexpr std::int64_t kMostStates = std::int64_t{1} << 30;
  return std::make_shared<Automaton>(Automaton::build(layout.Y, histories, {}, true, kMostStates));
}

std::unique_ptr<ScoredProblem> scored_problem(const Layout& layout, const Design& d, const Unpacked<double>& w, int i,
                                              const Known& known, std::shared_ptr<const Automaton> automaton,
                                              const std::vector<std::int32_t>& order, Workspace& work) {
  const int T = d.length(i), Y = layout.Y, stride = w.view().row, n_sites = d.n_sites(i);
  auto out = std::make_unique<ScoredProblem>();
  std::vector<double> rows(static_cast<std::size_t>(T + n_sites) * stride);
  work.clear();
  trainer<double>().scores(d, w.view(), i, rows.data(), work);
  out->emission.resize(static_cast<std::size_t>(T) * Y);
  for (int t = 0; t < T; ++t) std::copy_n(rows.data() + static_cast<std::ptrdiff_t>(t) * stride, Y, out->emission.data() + static_cast<std::ptrdiff_t>(t) * Y);
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
  if (known.allowed != nullptr) in.allowed.assign(known.allowed, known.allowed + static_cast<std::ptrdiff_t>(T) * Y);
  in.potentials.reserve(static_cast<std::size_t>(n_sites) * Y);
  for (int k = 0; k < n_sites; ++k) {
    const Site& site = d.site[d.sites[i] + k];
    const double* row = rows.data() + static_cast<std::ptrdiff_t>(T + k) * stride;
    for (int y = 0; y < Y; ++y) {
      in.potentials.push_back({site.start, site.end, y, site.flags, static_cast<std::int32_t>(in.potentials.size()), row[y]});
    }
  }
  in.histories = layout.patterns;
  for_patterns(layout, d, w.view().stride, i, [&](const Site& site, std::int32_t pattern, std::int32_t id, double value, bool edge) {
    const double score = value * (edge ? w.view().edge : w.view().sparse)[id];
    in.potentials.push_back({site.start, site.end, Y + pattern, site.flags, static_cast<std::int32_t>(in.potentials.size()), score});
  });
  for (std::int32_t k = 0; k < layout.n_plain; ++k) {
    in.static_targets.push_back(Y + k);
    in.static_scores.push_back(w.pattern[k]);
  }
  for (int t = 1; !d.edge_ptr.empty() && t < T; ++t) {
    for (std::int64_t k = d.edge_ptr[d.tokens[i] + t]; k < d.edge_ptr[d.tokens[i] + t + 1]; ++k) {
      if (d.edge_pair[k] >= Y * Y) continue;
      in.edges.push_back({t, d.edge_pair[k] / Y, d.edge_pair[k] % Y, static_cast<std::int32_t>(in.edges.size()),
                          w.view().edge[d.edge[k]] * d.edge_value[k]});
    }
  }
  out->problem = std::make_unique<Problem>(std::move(in), std::move(automaton), order);
  return out;
}

Objective::Objective(std::shared_ptr<const Layout> layout, std::shared_ptr<const Design> design)
    : layout_(std::move(layout)), design_(std::move(design)) {
  weight.assign(design_->n_sequences(), 1.0);
  hints.resize(design_->n_sequences());
  // A power of two of them, for any number of threads; each costs some passes over the weights.
  const auto work = static_cast<std::int64_t>(design_->dense.size() + design_->sparse.size());
  while (n_shards_ < 8 && 4 * n_shards_ * (layout_->size() + 10000) <= work) n_shards_ *= 2;
}

Known Objective::known_of(int i, bool constrained) const {
  Known known;
  if (!cost.empty() && !constrained) known.cost = cost.data() + design_->tokens[i] * layout_->Y;
  if (constrained) {
    if (!hints[i]->allowed.empty()) known.allowed = hints[i]->allowed.data();
    if (!hints[i]->boundary.empty()) known.boundary = hints[i]->boundary.data();
  }
  return known;
}

// The general sweeps, over logarithms.
bool Objective::add_carefully(int i, const Known& known, double sign, const Unpacked<double>& weights, double* loss,
                              Gradient<double>* gradient, Workspace& work) {
  const Design& d = *design_;
  const auto scored = scored_problem(*layout_, d, weights, i, known, automaton, order, work);
  scored->problem->prepare(Method::kOverlapping);
  work.clear();
  const Posterior answer = answer_posterior(*scored->problem, Method::kOverlapping, work, false);
  if (answer.log_z == kMinusInfinity) return false;
  *loss += sign * answer.log_z;
  if (gradient == nullptr) return true;
  const int T = d.length(i), Y = layout_->Y, stride = weights.view().row, n_sites = d.n_sites(i);
  std::vector<double> rows(static_cast<std::size_t>(T + n_sites) * stride, 0.0);
  for (int t = 0; t < T; ++t) {
    for (int y = 0; y < Y; ++y) rows[static_cast<std::size_t>(t) * stride + y] = sign * answer.counts.tokens[static_cast<std::ptrdiff_t>(t) * Y + y];
  }
  for (int k = 0; k < n_sites; ++k) {
    for (int y = 0; y < Y; ++y) {
      rows[static_cast<std::size_t>(T + k) * stride + y] = sign * answer.counts.potentials[static_cast<std::ptrdiff_t>(k) * Y + y];
    }
  }
  trainer<double>().add(d, weights.view(), i, rows.data(), *gradient, work);
  for (int a = 0; a < Y; ++a) {
    gradient->starts[a] += sign * answer.counts.starts[a];
    gradient->ends[a] += sign * answer.counts.ends[a];
    for (int b = 0; b < Y; ++b) gradient->pairs[a * weights.view().stride + b] += sign * answer.counts.transitions[a * Y + b];
  }
  std::ptrdiff_t potential = static_cast<std::ptrdiff_t>(n_sites) * Y;
  for_patterns(*layout_, d, weights.view().stride, i, [&](const Site&, std::int32_t, std::int32_t id, double value, bool edge) {
    (edge ? gradient->edge : gradient->sparse)[id] += sign * value * answer.counts.potentials[potential++];
  });
  for (std::int64_t k = 0; k < layout_->n_plain; ++k) gradient->patterns[k] += sign * answer.patterns[k];
  int at = 0;
  for (int t = 1; !d.edge_ptr.empty() && t < T; ++t) {
    for (std::int64_t k = d.edge_ptr[d.tokens[i] + t]; k < d.edge_ptr[d.tokens[i] + t + 1]; ++k) {
      if (d.edge_pair[k] >= Y * Y) continue;
      gradient->edge[d.edge[k]] += sign * answer.counts.edges[at++] * d.edge_value[k];
    }
  }
  return true;
}

template <class Real>
struct Objective::Scratch {
  Unpacked<Real> weights;
  std::vector<Buffer<Real>> buffers;
};

template <class Real>
Objective::Scratch<Real>& Objective::scratch() {
  std::shared_ptr<void>& kept = sizeof(Real) == 8 ? scratch_ : single_scratch_;
  if (kept == nullptr) kept = std::make_shared<Scratch<Real>>();
  return *static_cast<Scratch<Real>*>(kept.get());
}

template <class Real>
double Objective::run(const double* w, const std::int32_t* some, int count, int n_threads, double* gradient) {
  const Trainer<Real>& kernel = trainer<Real>();
  Unpacked<Real>& weights = scratch<Real>().weights;
  const bool near = weights.set(*layout_, *design_, w, kernel.width);
  auto sequence = [&](int k) { return some == nullptr ? k : some[k]; };

  // Shards of about as many rows each.
  std::vector<std::int64_t> rows(count + 1, 0);
  for (int k = 0; k < count; ++k) {
    rows[k + 1] = rows[k] + design_->length(sequence(k)) + design_->n_sites(sequence(k));
  }
  const int n_shards = some == nullptr ? n_shards_ : 1;
  std::vector<int> bounds;
  for (int s = 0; s <= n_shards; ++s) {
    bounds.push_back(static_cast<int>(std::lower_bound(rows.begin(), rows.end(), rows[count] * s / n_shards) - rows.begin()));
  }
  bounds.back() = count;

  std::vector<Buffer<Real>>& buffers = scratch<Real>().buffers;
  buffers.resize(n_shards);
  for_each(n_shards, n_threads, [&](int s, Workspace& work) {
    Buffer<Real>& buffer = buffers[s];
    buffer.make(*layout_, *design_, weights.view());
    Gradient<Real>* g = gradient == nullptr ? nullptr : &buffer.view;
    for (int k = bounds[s]; k < bounds[s + 1]; ++k) {
      const int i = sequence(k);
      double loss = 0.0;
      const bool good = near && kernel.evaluate(*design_, weights.view(), i, known_of(i, false), weight[i], &loss, g, work);
      if (!good) buffer.failed.push_back(i);
      if (hints[i] != nullptr &&
          !(near && kernel.evaluate(*design_, weights.view(), i, known_of(i, true), -weight[i], &loss, g, work))) {
        buffer.failed.push_back(-i - 1);
      }
      buffer.loss += loss;
    }
  });

  double loss = 0.0;
  Buffer<double> extra;
  Unpacked<double> exact;
  bool any_failed = false;
  n_careful_ = 0;
  Workspace work;
  for (Buffer<Real>& buffer : buffers) {
    loss += buffer.loss;
    for (const int code : buffer.failed) {
      ++n_careful_;
      const bool constrained = code < 0;
      const int i = constrained ? -code - 1 : code;
      if (!any_failed) {
        exact.set(*layout_, *design_, w, trainer<double>().width);
        extra.make(*layout_, *design_, exact.view());
        any_failed = true;
      }
      const double sign = constrained ? -weight[i] : weight[i];
      if (!add_carefully(i, known_of(i, constrained), sign, exact, &loss, gradient == nullptr ? nullptr : &extra.view, work)) {
        throw std::domain_error(std::to_string(i));
      }
    }
  }
  if (gradient == nullptr) return loss;
  // The shards are added up in their order, block by block, into the first.
  Buffer<Real>& total = buffers[0];
  for_blocks(static_cast<std::int64_t>(total.memory.size()), n_threads, [&](std::int64_t begin, std::int64_t end) {
    for (int s = 1; s < n_shards; ++s) {
      const Real* from = buffers[s].memory.data();
      for (std::int64_t k = begin; k < end; ++k) total.memory[k] += from[k];
    }
  });
  total.unshare(*design_, weights.view().wide);
  total.untag(weights.view());
  if (layout_->histories != nullptr) layout_->histories->add_longer(total.view.entered);
  if (any_failed) extra.unshare(*design_, exact.view().wide);
  for_blocks(layout_->size(), n_threads, [&](std::int64_t begin, std::int64_t end) {
    std::fill(gradient + begin, gradient + end, 0.0);
    add_packed(*layout_, *design_, weights.view(), total.view, begin, end, gradient);
    if (any_failed) add_packed(*layout_, *design_, exact.view(), extra.view, begin, end, gradient);
  });
  return loss;
}

void Objective::release() {
  const std::lock_guard<std::mutex> lock(guard_);
  scratch_.reset();
  single_scratch_.reset();
}

double Objective::evaluate(const double* w, const double* gold, const std::int32_t* some, int count, bool single,
                           int n_threads, double* gradient) {
  const std::lock_guard<std::mutex> lock(guard_);
  single &= layout_->histories == nullptr;  // states of long histories are too rare for it
  (single ? scratch_ : single_scratch_).reset();  // a run changes its precision once
  double loss = single ? run<float>(w, some, count, n_threads, gradient) : run<double>(w, some, count, n_threads, gradient);
  Total gold_score;
  for (std::int64_t k = 0; k < layout_->size(); ++k) gold_score.add(w[k] * gold[k]);
  if (gradient != nullptr) {
    for (std::int64_t k = 0; k < layout_->size(); ++k) gradient[k] -= gold[k];
  }
  return loss - gold_score.value();
}

}  // namespace caesura
