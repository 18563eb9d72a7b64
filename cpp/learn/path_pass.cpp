#include "learn/path_pass.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "infer/answers.hpp"
#include "learn/gold.hpp"

namespace caesura {

PathPass::PathPass(std::shared_ptr<Objective> objective, PathRule rule, const State& state,
                   const Blocks* blocks, const double* centre, std::int64_t done)
    : SparseWeights(std::move(objective), state.w, centre, rule.c2),
      rule_(std::move(rule)),
      done_(done) {
  if (state.sums != nullptr) sums_.assign(w_.size(), 0.0);
  if (state.variance != nullptr) variance_.assign(w_.size(), 0.0);
  for (std::int64_t k = 0; k < size(); ++k) {
    if (state.sums != nullptr) sums_[place_of(k)] = state.sums[k];
    if (state.variance != nullptr) variance_[place_of(k)] = state.variance[k];
  }
  if (rule_.kind == PathRule::kFrankWolfe) blocks_.resize(n_sequences());
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks == nullptr || blocks->first[i] == blocks->first[i + 1]) {
      blocks_[i].emplace_back();  // the gold path
      blocks_[i].back().share = 1.0;
      continue;
    }
    for (std::int64_t p = blocks->first[i]; p < blocks->first[i + 1]; ++p) {
      Plane plane;
      for (std::int64_t k = blocks->ptr[p]; k < blocks->ptr[p + 1]; ++k) {
        plane.place.push_back(place_of(blocks->weight[k]));
        plane.value.push_back(blocks->value[k]);
      }
      plane.cost = blocks->cost[p];
      plane.share = blocks->share[p];
      blocks_[i].push_back(std::move(plane));
    }
  }
}

int PathPass::run(const std::int32_t* order, int count, int begin, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto held = objective_->hold();
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  while (begin < count) {
    step(order[begin++]);
    if (!std::isfinite(loss)) return count;  // diverged
    if (begin % 16 == 0 && Clock::now() >= until) break;
  }
  return begin;
}

// One step for sequence i: delta = counts(gold) - counts(best) for the best path under the current
// weights, with the costs of the loss added to its score if there is one.
void PathPass::step(int i) {
  const Design& d = objective_->design();
  const Gold& gold = objective_->gold();
  const bool dual = rule_.kind == PathRule::kFrankWolfe;
  ++done_;
  if (d.length(i) == 0 || objective_->weight_of(i) == 0.0) return;
  const bool costed = objective_->loss().kind != Loss::kNone;
  const std::vector<LabelledSegment> path = objective_->best_path(d, i, costed, unpacked_, work_);
  const LabelledSegment* truth = gold.segments.data() + gold.ptr[i];
  const std::int64_t n_truth = gold.ptr[i + 1] - gold.ptr[i];
  const bool right = same_path(path, truth, n_truth);
  if (right && !dual) return;
  if (!right) {
    SequenceCounts counts = path_counts(layout_, d, i, truth, n_truth);
    subtract(counts, path_counts(layout_, d, i, path.data(), static_cast<int>(path.size())));
    collect(i, counts, dual ? objective_->weight_of(i) : 1.0);
    ++mistakes;
  }
  const double cost = right ? 0.0 : margin(path, i);
  loss += dual ? frank_wolfe(i, cost) : move(i, cost);
  clear_touched();
  apply_labels();
}

double PathPass::margin(const std::vector<LabelledSegment>& path, int i) const {
  if (objective_->loss().kind != Loss::kNone)
    return objective_->cost_of(i, path.data(), static_cast<int>(path.size()));
  const Gold& gold = objective_->gold();
  const int wrong = wrong_tokens(path, gold.segments.data() + gold.ptr[i]);
  if (rule_.kind == PathRule::kPassive)
    return rule_.by_errors ? std::sqrt(static_cast<double>(wrong)) : 1.0;
  return rule_.kind == PathRule::kArow ? wrong : 0.0;
}

// ---- updates ----

// w[place] += x, and sums[place] += (t - 1) x, from which finish() computes the average.
void PathPass::change(std::int64_t place, double x) {
  add(place, x);
  if (!sums_.empty()) sums_[place] += static_cast<double>(done_ - 1) * x;
}

// The updates of all rules except Frank-Wolfe; returns weight h.  Over the touched weights k, with
// S = 1 except for AROW,
//
//   h    = cost - sum of w[k] delta[k]
//   norm = sum of S[k] delta[k]^2
//   w[k] += tau S[k] delta[k],   and for AROW then   S[k] = 1 / (1 / S[k] + delta[k]^2 / r)
//
// with tau as in path_pass.hpp, times the weight of the sequence.
double PathPass::move(int i, double cost) {
  const double* seen = this->seen();
  double score = 0.0, norm = 0.0;
  for (const std::int64_t place : touched_) {
    const double x = delta_[place];
    score += seen[place] * x;
    norm += x * x * (rule_.kind == PathRule::kArow ? variance_[place] : 1.0);
  }
  const double h = cost - score, weight = objective_->weight_of(i);
  double tau = 1.0;
  if (rule_.kind == PathRule::kPassive) {
    const double soft = rule_.pa_type == 2 ? 0.5 / rule_.C : 0.0;
    tau = norm + soft > 0.0 ? h / (norm + soft) : 0.0;
    if (rule_.pa_type == 1) tau = std::min(tau, rule_.C);
  } else if (rule_.kind == PathRule::kArow) {
    tau = h / (rule_.r + norm);
  }
  tau *= weight;
  for (const std::int64_t place : touched_) {
    const double x = delta_[place];
    if (x == 0.0) continue;
    if (rule_.kind != PathRule::kArow) {
      change(place, tau * x);
      continue;
    }
    change(place, tau * variance_[place] * x);
    variance_[place] = 1.0 / (1.0 / variance_[place] + x * x / rule_.r);
  }
  return weight * h;
}

// Returns cost - u . w, the derivative of D by the share of a path, up to a constant.
double PathPass::gain(const Plane& plane) const {
  double total = plane.cost;
  for (std::size_t k = 0; k < plane.place.size(); ++k) total -= w_[plane.place[k]] * plane.value[k];
  return total;
}

// Moves share from the path with the least gain to the one with the greatest,
//
//   (gain - gain') / (|u - u'|^2 / (2 c2)),  or all of it if that is less.
//
// Returns false if all paths that have a share gain the same.
bool PathPass::pairwise(std::vector<Plane>& planes) {
  std::vector<double> gains;
  for (const Plane& plane : planes) gains.push_back(gain(plane));
  std::size_t best = 0, worst = planes.size();
  for (std::size_t p = 0; p < planes.size(); ++p) {
    if (gains[p] > gains[best]) best = p;
    if (planes[p].share > 0.0 && (worst == planes.size() || gains[p] < gains[worst])) worst = p;
  }
  const double more = gains[best] - gains[worst];
  if (!(more > 1e-12 * (1.0 + std::abs(gains[best])))) return false;
  // delta = u - u', of the best and the worst path; norm = |delta|^2 / (2 c2)
  for (const auto& [plane, sign] : {std::pair{&planes[best], 1.0}, {&planes[worst], -1.0}}) {
    for (std::size_t k = 0; k < plane->place.size(); ++k)
      touch(plane->place[k], sign * plane->value[k]);
  }
  double norm = 0.0;
  for (const std::int64_t place : touched_) norm += delta_[place] * delta_[place] * inverse_[place];
  const double most = planes[worst].share;
  const double share = norm * most > more ? more / norm : most;
  // w[k] += share delta[k] / (2 c2)
  for (const std::int64_t place : touched_) {
    if (delta_[place] != 0.0) change(place, share * inverse_[place] * delta_[place]);
  }
  clear_touched();
  planes[best].share += share;
  planes[worst].share = share == most ? 0.0 : most - share;
  return true;
}

// Takes pairwise steps between the paths of one sequence if there is more than `little` to gain.
// Returns how much D could grow to first order, before the first step, by moving all share to the
// best path.
double PathPass::settle(std::vector<Plane>& planes, double little) {
  // most = max over the paths of their gain,  mean = sum of share times gain
  double most = kMinusInfinity, mean = 0.0;
  for (const Plane& plane : planes) {
    const double gained = gain(plane);
    most = std::max(most, gained);
    mean += plane.share * gained;
  }
  for (int k = 0; most - mean > little && k < kSteps && pairwise(planes); ++k) {
  }
  return most - mean;
}

// delta_ has weight (counts(gold) - counts(best)).  Returns weight h.
double PathPass::frank_wolfe(int i, double cost) {
  std::vector<Plane>& planes = blocks_[i];
  planes.erase(std::remove_if(planes.begin(), planes.end(),
                              [](const Plane& plane) { return plane.share == 0.0; }),
               planes.end());
  Plane found;
  found.cost = objective_->weight_of(i) * cost;
  for (const std::int64_t place : touched_) {
    if (delta_[place] == 0.0) continue;
    found.place.push_back(place);
    found.value.push_back(delta_[place]);
    if (!centre_.empty()) found.cost -= centre_[place] * delta_[place];
  }
  clear_touched();
  const double h = gain(found);
  if (std::find(planes.begin(), planes.end(), found) == planes.end())
    planes.push_back(std::move(found));
  found_ += settle(planes, 0.0);
  return h;
}

// Repeats pairwise steps for all sequences until the gain that is still possible is at most the
// share kLeft of what was possible during the pass.  Sequences with little to gain are left out.
void PathPass::settle() {
  const double little = 0.02 * kLeft * found_ / n_sequences();
  for (int pass = 0; pass < kPasses; ++pass) {
    double left = 0.0;
    for (std::vector<Plane>& planes : blocks_) {
      check_interrupt();
      if (planes.size() > 1) left += settle(planes, little);
    }
    apply_labels();
    if (left <= kLeft * found_) break;
  }
  found_ = 0.0;
}

// ---- state and values ----

void PathPass::finish(const State& state) {
  write(state.w);
  for (std::int64_t k = 0; k < size(); ++k) {
    if (state.sums != nullptr) state.sums[k] = sums_[place_of(k)];
    if (state.variance != nullptr) state.variance[k] = variance_[place_of(k)];
  }
}

PathPass::Blocks PathPass::blocks() const {
  std::vector<std::int64_t> weight_at(w_.size(), -1);
  for (std::int64_t k = 0; k < layout_.size(); ++k) weight_at[place_of(k)] = k;
  Blocks out;
  out.first.push_back(0);
  out.ptr.push_back(0);
  for (const std::vector<Plane>& planes : blocks_) {
    for (const Plane& plane : planes) {
      for (const std::int64_t place : plane.place) out.weight.push_back(weight_at[place]);
      out.value.insert(out.value.end(), plane.value.begin(), plane.value.end());
      out.ptr.push_back(static_cast<std::int64_t>(out.weight.size()));
      out.cost.push_back(plane.cost);
      out.share.push_back(plane.share);
    }
    out.first.push_back(static_cast<std::int64_t>(out.cost.size()));
  }
  return out;
}

double PathPass::hinge(int n_threads) {
  const auto held = objective_->hold();
  constexpr int kShards = 32;  // fixed, so that the sum does not depend on n_threads
  const std::int64_t n = n_sequences();
  std::vector<double> sums(kShards, 0.0);
  for_each(kShards, n_threads, [&](int s, Workspace& work) {
    for (std::int64_t i = n * s / kShards; i < n * (s + 1) / kShards; ++i) {
      check_interrupt();
      sums[s] += objective_->hinge(static_cast<int>(i), unpacked_, work);
    }
  });
  double total = 0.0;
  for (const double sum : sums) total += sum;
  return total;
}

double PathPass::dual() const {
  double total = -penalty();
  for (const std::vector<Plane>& planes : blocks_) {
    for (const Plane& plane : planes) total += plane.share * plane.cost;
  }
  return total;
}

}  // namespace caesura
