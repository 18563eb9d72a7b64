#include "learn/dual_pass.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "infer/answers.hpp"
#include "learn/gold.hpp"
#include "learn/tag_segments.hpp"

namespace caesura {
namespace {

// Calls visit for each array of the scores or counts.
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

// Returns zero scores for all places of sequence i: rows [T + sites][Y], pairs [Y][Y], starts and
// ends [Y], and one score for each use of a pattern or edge weight and for each plain pattern.
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

// Returns theta . E[counts]; forbidden places have no counts.
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

// theta = a theta + b scores; forbidden places stay forbidden.
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

// The number of scores of all distributions, which is the length of State::theta.
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

// Resumes from a state that finish() wrote or, if fresh, starts near the gold labels.
DualPass::DualPass(std::shared_ptr<Objective> objective, Rule rule, const double* w,
                   const State& state, const double* centre, bool fresh)
    : SparseWeights(std::move(objective), w, centre, rule.c2), rule_(std::move(rule)) {
  const auto held = objective_->hold();
  const Design& d = objective_->design();
  const double* from = state.theta;
  blocks_.resize(n_sequences());
  for (int i = 0; i < n_sequences(); ++i) {
    check_interrupt();
    Block& block = blocks_[i];
    block.theta = no_scores(layout_, d, i);
    each_part(block.theta, [&](std::vector<double>& part) {
      std::copy(from, from + part.size(), part.begin());
      from += part.size();
    });
    block.m = state.m[i];
    block.eta = state.eta[i];
    bar(block.theta);
    if (!fresh && d.length(i) > 0) expect(i, block);
  }
  if (fresh) start();
}

// Sets theta to -inf at the places that the model forbids.
void DualPass::bar(SequenceCounts& theta) const {
  auto all = [](const std::vector<double>& scores, std::vector<double>& to) {
    for (std::size_t k = 0; k < scores.size(); ++k) {
      if (scores[k] == kMinusInfinity) to[k] = kMinusInfinity;
    }
  };
  all(unpacked_.transition, theta.pairs);
  all(unpacked_.start, theta.starts);
  all(unpacked_.end, theta.ends);
}

// Finds initial distributions near the gold segmentations.  How near depends on c2: other
// segmentations contribute weights in proportion to 1 / (2 c2), so a small c2 requires small
// probabilities for them.
void DualPass::start() {
  std::vector<Block> best;
  double most = kMinusInfinity;
  for (double sharpness = 5.0; sharpness <= 40.0; sharpness += 2.5) {
    start_near_gold(sharpness);
    const double value = dual() + (rule_.log ? 0.0 : rule_.mu * entropy());
    if (!best.empty() && !(value > most)) break;
    most = value;
    best = blocks_;
  }
  blocks_ = std::move(best);
  find_weights();
  apply_labels();
}

// Sets theta to `sharpness` at the gold label of each token, and to -sharpness at each pair of
// equal labels that the gold labels do not contain.
void DualPass::start_near_gold(double sharpness) {
  const Gold& gold = objective_->gold();
  const int Y = layout_.Y;
  for (int i = 0; i < n_sequences(); ++i) {
    check_interrupt();
    Block& block = blocks_[i];
    const LabelledSegment* truth = gold.segments.data() + gold.ptr[i];
    const std::int64_t n_truth = gold.ptr[i + 1] - gold.ptr[i];
    for (std::int64_t s = 0; s < n_truth; ++s) {
      for (int t = truth[s].start; t < truth[s].end; ++t)
        block.theta.rows[static_cast<std::size_t>(t) * Y + truth[s].label] = sharpness;
    }
    for (int y = 0; y < Y; ++y) {  // without this, segments would be split in two
      bool there = false;
      for (std::int64_t s = 1; s < n_truth; ++s)
        there |= truth[s - 1].label == y && truth[s].label == y;
      if (!there && layout_.bounds[y] != 1) block.theta.pairs[y * Y + y] = -sharpness;
    }
    bar(block.theta);
    if (objective_->design().length(i) > 0) expect(i, block);
  }
  find_weights();
}

// w = sum of weight (counts(gold) - E[counts]) / (2 c2)
void DualPass::find_weights() {
  const Gold& gold = objective_->gold();
  const Design& d = objective_->design();
  for (std::size_t place = 0; place < w_.size(); ++place) {
    if (w_[place] != 0.0) add(static_cast<std::int64_t>(place), -w_[place]);
  }
  for (int i = 0; i < n_sequences(); ++i) {
    check_interrupt();
    if (d.length(i) == 0) continue;
    SequenceCounts counts = path_counts(layout_, d, i, gold.segments.data() + gold.ptr[i],
                                        gold.ptr[i + 1] - gold.ptr[i]);
    subtract(counts, blocks_[i].mean);
    collect(i, counts, objective_->weight_of(i));
    for (const std::int64_t place : touched_) add(place, inverse_[place] * delta_[place]);
    clear_touched();
  }
}

// The part of the cost of sequence i that all segmentations share.
double DualPass::constant_cost(int i) const {
  return objective_->segment_costs.empty() ? 0.0 : objective_->segment_costs[i]->constant;
}

// E[cost] = constant + sum of cost[t, y] P(t, y) + expected costs of sites and of segment entries.
double DualPass::expected_cost(int i, const SequenceCounts& mean,
                               const std::vector<double>& sites) const {
  const int Y = layout_.Y;
  const Known known = objective_->costs_of(i);
  double total = constant_cost(i);
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

// Computes the expected counts of a distribution, its expected cost, ln Z and E[theta + m cost]:
//
//   P(s) = exp(theta . counts(s) + m cost(s)) / Z
//   H    = ln Z - theta . E[counts] - m E[cost]
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
  const Loss& loss = objective_->loss();
  if (!rule_.log && loss.kind == Loss::kSegments && loss.reading.tags()) {
    const TagExpectation found =
        expected_tag_segments(layout_, d, i, *scored->problem, objective_->gold(), loss.reading,
                              block.m, block.mean, work_);
    block.log_z = found.log_z;
    block.cost = found.cost;
  } else {
    scored->problem->prepare(Method::kOverlapping);
    std::vector<double> sites;
    block.log_z = expected_counts(layout_, d, i, *scored->problem, block.mean, work_, &sites);
    if (block.log_z == kMinusInfinity) throw NoAgreement(i);
    block.cost = rule_.log ? 0.0 : expected_cost(i, block.mean, sites);
    block.log_z += rule_.log ? 0.0 : block.m * constant_cost(i);
  }
  if (block.log_z == kMinusInfinity) throw NoAgreement(i);
  block.theta_mean = dot(block.theta, block.mean) + block.m * block.cost;
}

// Takes one step along d = s(w) + cost - mu (theta + m cost), shortened until D does not decrease.
// With u = weight (E_old - E_new) and v the score of u under the centre,
//
//   D_new - D = weight (value_new - value) - v - (u . w + |u|^2 / (4 c2))
//
// The slope of D along d is the variance of d, and K = KL(P_old || P_new) is about half the
// variance times eta^2.  The parabola with this slope and the gain of the step has its maximum at
// eta K / (2 K - gain).
void DualPass::step(int i) {
  const Design& d = objective_->design();
  const double weight = objective_->weight_of(i);
  if (d.length(i) == 0 || weight == 0.0) return;
  Block& block = blocks_[i];
  // With a longer step, the factor 1 - eta mu of the old scores would be negative.
  block.eta = std::min(block.eta, 1.0 / rule_.mu);
  const SequenceCounts scores = sequence_scores(layout_, d, unpacked_, i, work_);
  // E_old[d]: the first-order gain of the step.
  const double expected = dot(scores, block.mean) + block.cost - rule_.mu * block.theta_mean;
  constexpr int kTries = 30;
  for (int k = 0; k < kTries; ++k) {
    Block next = block;
    // theta_new = (1 - eta mu) theta + eta s(w), m_new = (1 - eta mu) m + eta
    const double kept = 1.0 - block.eta * rule_.mu;
    mix(next.theta, kept, block.eta, scores);
    if (!rule_.log) next.m = kept * block.m + block.eta;
    expect(i, next);
    // u = weight (E_old - E_new) as weights, in delta_
    SequenceCounts moved = block.mean;
    subtract(moved, next.mean);
    collect(i, moved, weight);
    // gain = D_new - D; size: the magnitude of its terms, to which the rounding error is relative
    double gain = weight * (value(next) - value(block)), size = weight * std::abs(value(block));
    for (const std::int64_t place : touched_) {
      const double u = delta_[place], change = u * (w_[place] + 0.5 * inverse_[place] * u);
      gain -= change;
      size += std::abs(change);
      if (!centre_.empty()) gain -= u * centre_[place];
    }
    // promise = weight KL(P_old || P_new) = weight (ln Z_new - ln Z - eta E_old[d])
    const double promise = weight * (next.log_z - block.log_z - block.eta * expected);
    // The maximum of the parabola through the gain of this step, in units of eta.
    const double top = promise / std::max(2.0 * promise - gain, 1e-3 * promise);
    // A decrease within the rounding error does not shorten the step.
    const bool good = gain >= -1e-12 * size;
    if (good) {
      for (const std::int64_t place : touched_) add(place, inverse_[place] * delta_[place]);
      // An almost certain distribution gains nothing however far its scores move, so eta is kept.
      if (gain > 1e-12 * size && promise > 1e-12 * size)
        next.eta = block.eta * std::clamp(top, 0.5, 2.0);
      block = std::move(next);
    } else {
      block.eta *= promise > 0.0 ? std::clamp(top, 0.1, 0.5) : 0.5;
    }
    clear_touched();
    if (good) break;
  }
  apply_labels();
}

// Takes steps in the given order until the time is up; a single step is never interrupted.
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

// Writes the weights and the dual as arrays.  Forbidden places are written as 0; bar() restores
// them.
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

// Returns the sum of weight_i H(P_i).
double DualPass::entropy() const {
  double total = 0.0;
  for (int i = 0; i < n_sequences(); ++i) {
    if (objective_->design().length(i) > 0)
      total += objective_->weight_of(i) * entropy_of(blocks_[i]);
  }
  return total;
}

// D = sum of weight_i (E_i[cost], or H(P_i) for the log loss) - c2 |w|^2, minus the score under the
// centre.
double DualPass::dual() const {
  double total = -penalty();
  for (int i = 0; i < n_sequences(); ++i) total += objective_->weight_of(i) * blocks_[i].cost;
  if (rule_.log) total += entropy();
  if (centre_.empty()) return total;
  // minus the sum of (counts(gold) - E[counts]) . centre = 2 c2 w . centre
  for (std::size_t k = 0; k < w_.size(); ++k) {
    if (inverse_[k] > 0.0) total -= w_[k] * centre_[k] / inverse_[k];
  }
  return total;
}

}  // namespace caesura
