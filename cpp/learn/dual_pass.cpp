#include "learn/dual_pass.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "infer/answers.hpp"
#include "learn/gold.hpp"

namespace caesura {
namespace {

// Calls visit for each array of scores or counts.
template <class Counts, class Visit>
void each_part(Counts& counts, Visit visit) {
  visit(counts.rows);
  visit(counts.pairs);
  visit(counts.starts);
  visit(counts.ends);
  visit(counts.edges);
  visit(counts.fired);
  visit(counts.patterns);
}

// Zero scores for all places of sequence i.
SequenceCounts no_scores(const Layout& layout, const Design& d, int i) {
  const auto Y = static_cast<std::size_t>(layout.Y);
  SequenceCounts out;
  out.rows.assign((d.length(i) + d.n_sites(i)) * Y, 0.0);
  out.pairs.assign(Y * Y, 0.0);
  out.starts.assign(Y, 0.0);
  out.ends.assign(Y, 0.0);
  out.patterns.assign(layout.n_plain, 0.0);
  for_pattern_weights(layout, d, i, [&](auto&&...) { out.fired.push_back(0.0); });
  for_pair_weights(layout, d, i, [&](auto&&...) { out.edges.push_back(0.0); });
  return out;
}

// What is barred has no count.
double dot(const SequenceCounts& scores, const SequenceCounts& counts) {
  double total = 0.0;
  std::vector<const std::vector<double>*> parts;
  each_part(counts, [&](const std::vector<double>& part) { parts.push_back(&part); });
  std::size_t p = 0;
  each_part(scores, [&](const std::vector<double>& part) {
    for (std::size_t k = 0; k < part.size(); ++k) {
      if (part[k] > kMinusInfinity) total += part[k] * (*parts[p])[k];
    }
    ++p;
  });
  return total;
}

// a theta + b scores; what is barred stays so.
void mix(SequenceCounts& theta, double a, double b, const SequenceCounts& scores) {
  std::vector<const std::vector<double>*> parts;
  each_part(scores, [&](const std::vector<double>& part) { parts.push_back(&part); });
  std::size_t p = 0;
  each_part(theta, [&](std::vector<double>& part) {
    for (std::size_t k = 0; k < part.size(); ++k) {
      const double score = (*parts[p])[k];
      part[k] = score == kMinusInfinity ? kMinusInfinity : a * part[k] + b * score;
    }
    ++p;
  });
}

}  // namespace

std::int64_t DualPass::n_scores(const Objective& objective) {
  std::int64_t total = 0;
  for (int i = 0; i < objective.design().n_sequences(); ++i) {
    const SequenceCounts none = no_scores(objective.layout(), objective.design(), i);
    each_part(none, [&](const std::vector<double>& part) {
      total += static_cast<std::int64_t>(part.size());
    });
  }
  return total;
}

DualPass::DualPass(std::shared_ptr<Objective> objective, Rule rule, const double* w,
                   const State& state, const double* centre, bool fresh)
    : SparseWeights(std::move(objective), w, centre, rule.c2), rule_(std::move(rule)) {
  const auto held = objective_->hold();
  const Design& d = objective_->design();
  const double* from = state.theta;
  blocks_.resize(n_sequences());
  const SequenceCounts bars = [&] {
    SequenceCounts out;
    out.pairs = unpacked_.transition;
    out.starts = unpacked_.start;
    out.ends = unpacked_.end;
    return out;
  }();
  auto bar = [](const std::vector<double>& scores, std::vector<double>& theta) {
    for (std::size_t k = 0; k < scores.size(); ++k) {
      if (scores[k] == kMinusInfinity) theta[k] = kMinusInfinity;
    }
  };
  for (int i = 0; i < n_sequences(); ++i) {
    check_interrupt();
    Block& block = blocks_[i];
    block.theta = no_scores(layout_, d, i);
    each_part(block.theta, [&](std::vector<double>& part) {
      std::copy(from, from + part.size(), part.begin());
      from += part.size();
    });
    const LabelledSegment* truth = objective_->gold().segments.data() + objective_->gold().ptr[i];
    const std::int64_t n_truth = objective_->gold().ptr[i + 1] - objective_->gold().ptr[i];
    // From here the weights are small, and no probability is so near to 0 that it hardly moves.
    constexpr double kGold = 5.0;
    for (std::int64_t s = 0; fresh && s < n_truth; ++s) {
      for (int t = truth[s].start; t < truth[s].end; ++t)
        block.theta.rows[static_cast<std::size_t>(t) * layout_.Y + truth[s].label] = kGold;
    }
    for (int y = 0; fresh && y < layout_.Y; ++y) {  // nor is a segment cut into two
      bool there = false;
      for (std::int64_t s = 1; s < n_truth; ++s)
        there |= truth[s - 1].label == y && truth[s].label == y;
      if (!there && layout_.bounds[y] != 1) block.theta.pairs[y * layout_.Y + y] = -kGold;
    }
    bar(bars.pairs, block.theta.pairs);
    bar(bars.starts, block.theta.starts);
    bar(bars.ends, block.theta.ends);
    block.m = state.m[i];
    block.eta = state.eta[i];
    if (d.length(i) == 0) continue;
    expect(i, block);
    if (!fresh) continue;
    SequenceCounts counts = path_counts(layout_, d, i, truth, n_truth);
    subtract(counts, block.mean);
    collect(i, counts, objective_->weight_of(i));
    for (const std::int64_t place : touched_) add(place, inverse_[place] * delta_[place]);
    clear_touched();
  }
  apply_labels();
}

double DualPass::expected_cost(int i, const SequenceCounts& mean,
                               const std::vector<double>& sites) const {
  const int Y = layout_.Y;
  const Known known = objective_->costs_of(i);
  double total = known.n_cost_sites > 0 || known.entry != nullptr
                     ? objective_->segment_costs[i]->constant
                     : 0.0;
  const std::size_t tokens = static_cast<std::size_t>(objective_->design().length(i)) * Y;
  for (std::size_t k = 0; known.cost != nullptr && k < tokens; ++k)
    total += known.cost[k] * mean.rows[k];
  for (std::size_t k = 0; k < sites.size(); ++k) total += known.cost_rows[k] * sites[k];
  for (int y = 0; known.entry != nullptr && y < Y; ++y) {
    double begun = mean.starts[y];
    for (int before = 0; before < Y; ++before) begun += mean.pairs[before * Y + y];
    total += known.entry[y] * begun;
  }
  return total;
}

// The expected counts of a distribution, and its entropy or expected cost:
//   H = ln Z - theta . E[counts]
void DualPass::expect(int i, Block& block) {
  const Design& d = objective_->design();
  Known known;
  std::vector<double> cost, rows, entry;
  if (!rule_.log) {
    known = objective_->costs_of(i);
    auto scaled = [&](const double*& from, std::size_t count, std::vector<double>& to) {
      if (from == nullptr) return;
      to.assign(from, from + count);
      for (double& x : to) x *= block.m;
      from = to.data();
    };
    const auto Y = static_cast<std::size_t>(layout_.Y);
    scaled(known.cost, d.length(i) * Y, cost);
    scaled(known.cost_rows, known.n_cost_sites * Y, rows);
    scaled(known.entry, Y, entry);
  }
  const auto scored =
      problem_of(layout_, d, i, block.theta, known, objective_->automaton, objective_->order, true);
  scored->problem->prepare(Method::kOverlapping);
  std::vector<double> sites;
  const double log_z = expected_counts(layout_, d, i, *scored->problem, block.mean, work_, &sites);
  if (log_z == kMinusInfinity) throw NoAgreement(i);
  block.value =
      rule_.log ? log_z - dot(block.theta, block.mean) : expected_cost(i, block.mean, sites);
}

// One step, which is taken back as long as D falls.  With u = weight (E_old - E_new) and v = what
// the centre scores of it,
//   D_new - D = weight (value_new - value) - v - (u . w + |u|^2 / (4 c2))
void DualPass::step(int i) {
  const Design& d = objective_->design();
  const double weight = objective_->weight_of(i);
  if (d.length(i) == 0 || weight == 0.0) return;
  Block& block = blocks_[i];
  const SequenceCounts scores = sequence_scores(layout_, d, unpacked_, i, work_);
  constexpr int kTries = 8;
  for (int k = 0; k < kTries; ++k) {
    Block next = block;
    mix(next.theta, rule_.log ? 1.0 - block.eta : 1.0, block.eta, scores);
    if (!rule_.log) next.m += block.eta;
    expect(i, next);
    SequenceCounts moved = block.mean;
    subtract(moved, next.mean);
    collect(i, moved, weight);
    double gain = weight * (next.value - block.value), size = weight * std::abs(block.value);
    for (const std::int64_t place : touched_) {
      const double u = delta_[place], change = u * (w_[place] + 0.5 * inverse_[place] * u);
      gain -= change;
      size += std::abs(change);
      if (!centre_.empty()) gain -= u * centre_[place];
    }
    // What is lost to rounding is no reason for shorter steps.
    const bool good = gain >= -1e-12 * size;
    if (good) {
      for (const std::int64_t place : touched_) add(place, inverse_[place] * delta_[place]);
      // A distribution that is all but certain gains nothing, however far its scores move.
      if (gain > 1e-12 * size)
        next.eta = rule_.log ? std::min(1.05 * block.eta, 1.0) : 1.5 * block.eta;
      block = std::move(next);
    } else {
      block.eta *= 0.5;
    }
    clear_touched();
    if (good) break;
  }
  apply_labels();
}

int DualPass::run(const std::int32_t* order, int count, int begin, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto held = objective_->hold();
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  while (begin < count) {
    step(order[begin++]);
    if (Clock::now() >= until) break;
  }
  return begin;
}

void DualPass::finish(double* w, const State& state) {
  write(w);
  double* to = state.theta;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    each_part(blocks_[i].theta, [&](const std::vector<double>& part) {
      for (const double x : part) *to++ = x == kMinusInfinity ? 0.0 : x;
    });
    state.m[i] = blocks_[i].m;
    state.eta[i] = blocks_[i].eta;
  }
}

double DualPass::dual() const {
  double total = -penalty();
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const int k = static_cast<int>(i);
    total += objective_->weight_of(k) * blocks_[i].value;
  }
  if (centre_.empty()) return total;
  // less the sum of (counts(gold) - E[counts]) . centre = 2 c2 w . centre
  for (std::size_t k = 0; k < w_.size(); ++k) {
    if (inverse_[k] > 0.0) total -= w_[k] * centre_[k] / inverse_[k];
  }
  return total;
}

}  // namespace caesura
