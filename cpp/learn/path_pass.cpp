#include "learn/path_pass.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "infer/answers.hpp"
#include "learn/gold.hpp"

namespace caesura {

PathPass::PathPass(std::shared_ptr<Objective> objective, PathRule rule, const State& state,
                   const Blocks* blocks, const double* centre, std::int64_t done)
    : objective_(std::move(objective)),
      layout_(objective_->layout()),
      rule_(std::move(rule)),
      done_(done) {
  const auto held = objective_->hold();
  const Design& d = objective_->design();
  const int width = trainer<double>().width;
  places_ = places_of(layout_, d, width);
  std::vector<double> all(layout_.size());
  for (std::int64_t k = 0; k < layout_.size(); ++k)
    all[k] = state.w[k] + (centre == nullptr ? 0.0 : centre[k]);
  unpacked_.set(layout_, d, places_, all.data(), width, 1);
  wide_ = unpacked_.view().wide;
  first_single_ = layout_.n_dense * wide_;
  first_edge_ = first_single_ + layout_.n_sparse;
  first_label_ = first_edge_ + layout_.n_edges;
  const std::int64_t n = first_label_ + layout_.size() - layout_.first_transition();
  for (Table<double>* one : {&w_, state.sums ? &sums_ : nullptr, centre ? &seen_ : nullptr,
                             centre ? &centre_ : nullptr}) {
    if (one != nullptr) one->assign(n, 0.0);
  }
  if (state.variance != nullptr) variance_.assign(n, 0.0);
  if (rule_.kind == PathRule::kFrankWolfe) {
    inverse_.assign(n, 0.0);
    blocks_.resize(d.n_sequences());
  }
  there_.assign(n, kNoWeight);
  delta_.assign(n, 0.0);
  for (std::int64_t k = 0; k < layout_.size(); ++k) {
    const std::int64_t place = place_of(k);
    there_[place] = kWeight;
    w_[place] = state.w[k];
    if (state.sums != nullptr) sums_[place] = state.sums[k];
    if (state.variance != nullptr) variance_[place] = state.variance[k];
    if (!inverse_.empty()) inverse_[place] = 0.5 / rule_.c2[rule_.c2.size() == 1 ? 0 : k];
    if (centre == nullptr) continue;
    centre_[place] = centre[k];
    seen_[place] = all[k];
  }
  const double* seen = centre == nullptr ? w_.data() : seen_.data();
  unpacked_.point_to(seen, seen + first_single_, seen + first_edge_);
  auto index = [](int size, const std::vector<std::int32_t>& what) {
    std::vector<std::int32_t> out(size, -1);
    for (std::size_t k = 0; k < what.size(); ++k) out[what[k]] = static_cast<std::int32_t>(k);
    return out;
  };
  pair_ = index(layout_.Y * layout_.Y, layout_.transition);
  start_ = index(layout_.Y, layout_.start);
  end_ = index(layout_.Y, layout_.end);
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

std::int64_t PathPass::place_of(std::int64_t weight) const {
  return weight < layout_.first_edge() ? places_[weight]
                                       : first_edge_ + weight - layout_.first_edge();
}

int PathPass::run(const std::int32_t* order, int count, int begin, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto held = objective_->hold();
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  while (begin < count) {
    step(order[begin++]);
    if (!std::isfinite(loss)) return count;  // diverged: there is nothing to go on with
    if (begin % 16 == 0 && Clock::now() >= until) break;
  }
  return begin;
}

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

void PathPass::clear_touched() {
  for (const std::int64_t place : touched_) {
    delta_[place] = 0.0;
    there_[place] = kWeight;
  }
  touched_.clear();
}

double PathPass::margin(const std::vector<LabelledSegment>& path, int i) const {
  if (objective_->loss().kind != Loss::kNone)
    return objective_->cost_of(i, path.data(), static_cast<int>(path.size()));
  const Gold& gold = objective_->gold();
  const int wrong = wrong_tokens(path, gold.segments.data() + gold.ptr[i]);
  if (rule_.kind == PathRule::kPassive) return std::sqrt(static_cast<double>(wrong));
  return rule_.kind == PathRule::kArow ? wrong : 0.0;
}

// ---- counts to places ----

void PathPass::collect_row(const Design& d, std::int64_t row, int lane, double count) {
  for (std::int64_t k = d.dense_ptr[row]; k < d.dense_ptr[row + 1]; ++k) {
    const double value = d.dense_value.empty() ? 1.0 : d.dense_value[k];
    touch(d.dense[k] * wide_ + lane, count * value);
  }
  for (std::int64_t k = d.sparse_ptr[row]; k < d.sparse_ptr[row + 1]; ++k) {
    if (d.sparse_lane[k] != lane) continue;
    const double value = d.sparse_value.empty() ? 1.0 : d.sparse_value[k];
    touch(first_single_ + d.sparse[k], count * value);
  }
}

// delta += sign * counts
void PathPass::collect(int i, const SequenceCounts& counts, double sign) {
  const Design& d = objective_->design();
  const int T = d.length(i), Y = layout_.Y, n_rows = T + d.n_sites(i);
  const std::int64_t first = d.first_row(i);
  for (int r = 0; r < n_rows; ++r) {
    for (int y = 0; y < Y; ++y) {
      const double count = sign * counts.rows[static_cast<std::size_t>(r) * Y + y];
      if (count == 0.0) continue;
      collect_row(d, first + r, y, count);
      if (r < T) continue;
      const Site& site = d.site[d.sites[i] + r - T];  // its plane is in the row of a token
      if (site.plane > 0) collect_row(d, first + site.start, site.plane * Y + y, count);
    }
  }
  auto label = [&](std::int64_t weight, double count) {
    touch(first_label_ + weight - layout_.first_transition(), sign * count);
  };
  for (int k = 0; k < Y * Y; ++k) {
    if (pair_[k] >= 0) label(layout_.first_transition() + pair_[k], counts.pairs[k]);
  }
  for (int y = 0; y < Y; ++y) {
    if (start_[y] >= 0) label(layout_.first_start() + start_[y], counts.starts[y]);
    if (end_[y] >= 0) label(layout_.first_end() + end_[y], counts.ends[y]);
  }
  for (std::int64_t k = 0; k < layout_.n_plain; ++k)
    label(layout_.first_pattern() + k, counts.patterns[k]);
  std::size_t k = 0, edge = 0;
  for_pattern_weights(
      layout_, d, i, [&](const Site&, std::int32_t, std::int32_t id, double value, bool at_edge) {
        touch((at_edge ? first_edge_ : first_single_) + id, sign * value * counts.fired[k++]);
      });
  for_pair_weights(layout_, d, i, [&](int, std::int32_t, std::int32_t id, double value) {
    touch(first_edge_ + id, sign * value * counts.edges[edge++]);
  });
}

// ---- steps ----

void PathPass::change(std::int64_t place, double x) {
  w_[place] += x;
  if (!seen_.empty()) seen_[place] += x;
  if (!sums_.empty()) sums_[place] += static_cast<double>(done_ - 1) * x;
  if (place >= first_label_) labels_.push_back(place);
}

// The rules but for Frank-Wolfe; returns weight h.
double PathPass::move(int i, double cost) {
  const double* seen = seen_.empty() ? w_.data() : seen_.data();
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

// cost - u . w
double PathPass::gain(const Plane& plane) const {
  double total = plane.cost;
  for (std::size_t k = 0; k < plane.place.size(); ++k) total -= w_[plane.place[k]] * plane.value[k];
  return total;
}

// Moves some share from the path with the least gain to that with the most:
//   as much as  (gain - gain') / (|u - u'|^2 / (2 c2)),  or all of it.
// False: all that have a share gain the same.
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
  for (const auto& [plane, sign] : {std::pair{&planes[best], 1.0}, {&planes[worst], -1.0}}) {
    for (std::size_t k = 0; k < plane->place.size(); ++k)
      touch(plane->place[k], sign * plane->value[k]);
  }
  double norm = 0.0;
  for (const std::int64_t place : touched_) norm += delta_[place] * delta_[place] * inverse_[place];
  const double most = planes[worst].share;
  const double share = norm * most > more ? more / norm : most;
  for (const std::int64_t place : touched_) {
    if (delta_[place] != 0.0) change(place, share * inverse_[place] * delta_[place]);
  }
  clear_touched();
  planes[best].share += share;
  planes[worst].share = share == most ? 0.0 : most - share;
  return true;
}

// delta: weight (counts(gold) - counts(best)); returns weight h.
double PathPass::frank_wolfe(int i, double cost) {
  std::vector<Plane>& planes = blocks_[i];
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
  constexpr int kSteps = 10;
  for (int k = 0; k < kSteps && pairwise(planes); ++k) {
  }
  planes.erase(std::remove_if(planes.begin(), planes.end(),
                              [](const Plane& plane) { return plane.share == 0.0; }),
               planes.end());
  return h;
}

// The labels that a step has changed, as the kernels see them.
void PathPass::apply_labels() {
  if (labels_.empty()) return;
  const double* seen = seen_.empty() ? w_.data() : seen_.data();
  if (layout_.histories != nullptr) {
    std::vector<double> all(layout_.size(), 0.0);
    std::copy(seen + first_label_,
              seen + first_label_ + layout_.size() - layout_.first_transition(),
              all.begin() + layout_.first_transition());
    unpacked_.set_labels(layout_, objective_->design(), all.data());
  } else {
    for (const std::int64_t place : labels_)
      unpacked_.put_label(layout_, layout_.first_transition() + place - first_label_, seen[place]);
  }
  labels_.clear();
}

// ---- the end of a pass ----

void PathPass::finish(const State& state) {
  for (std::int64_t k = 0; k < layout_.size(); ++k) {
    const std::int64_t place = place_of(k);
    state.w[k] = w_[place];
    if (state.sums != nullptr) state.sums[k] = sums_[place];
    if (state.variance != nullptr) state.variance[k] = variance_[place];
    // As a pass that begins here would see it.
    if (seen_.empty()) continue;
    seen_[place] = w_[place] + centre_[place];
    if (place >= first_label_) labels_.push_back(place);
  }
  apply_labels();
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
  constexpr int kShards = 32;  // for any number of threads
  const std::int64_t n = n_sequences();
  std::vector<double> sums(kShards, 0.0);
  for_each(kShards, n_threads, [&](int s, Workspace& work) {
    for (std::int64_t i = n * s / kShards; i < n * (s + 1) / kShards; ++i)
      sums[s] += objective_->hinge(static_cast<int>(i), unpacked_, work);
  });
  double total = 0.0;
  for (const double sum : sums) total += sum;
  return total;
}

double PathPass::penalty() const {
  double total = 0.0;
  for (std::size_t k = 0; k < inverse_.size(); ++k) {
    if (there_[k]) total += 0.5 * w_[k] * w_[k] / inverse_[k];
  }
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
