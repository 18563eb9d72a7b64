#include "learn/objective.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/interrupt.hpp"
#include "infer/answers.hpp"
#include "learn/gold.hpp"
#include "learn/gradient_buffer.hpp"
#include "learn/row_sums.hpp"
#include "learn/terms.hpp"
#include "optimise/vectors.hpp"

namespace caesura {

Objective::Objective(std::shared_ptr<const Layout> layout, std::shared_ptr<Design> design,
                     std::shared_ptr<const Gold> gold, std::vector<double> weight,
                     std::vector<double> observed)
    : layout_(std::move(layout)),
      design_(std::move(design)),
      gold_(std::move(gold)),
      weight_(weight.begin(), weight.end(), Mapping<double>(design_->folder)),
      observed_(observed.begin(), observed.end(), Mapping<double>(design_->folder)) {}

bool Objective::is_partial(int i) const { return gold_->hint(i) != nullptr; }

std::unique_lock<std::mutex> Objective::hold() {
  std::unique_lock<std::mutex> lock(guard_);
  set_shared(false);
  return lock;
}

void Objective::set_shared(bool shared) {
  if (shared == shared_) return;
  shared ? share(*design_) : unshare(*design_);
  shared_ = shared;
  scratch_.reset();
  single_scratch_.reset();
  n_shards_ = shards_for();
}

// Returns the number of shards: a power of two that does not depend on the number of threads, so
// that results do not either.  Each shard costs several passes over the weights.
int Objective::shards_for() const {
  const auto work = static_cast<std::int64_t>(design_->dense.size() + design_->sparse.size());
  int n = 1;
  while (n < 8 && 4 * n * (layout_->size() + 10000) <= work) n *= 2;
  return n;
}

// Returns the parts of sequences k, or some[k], for begin <= k < end: ln Z and, if it has partial
// labels, minus ln Z of the segmentations that agree with them.
std::vector<Objective::Part> Objective::parts_of(const std::int32_t* some, int begin,
                                                 int end) const {
  std::vector<Part> parts;
  for (int k = begin; k < end; ++k) {
    const int i = some == nullptr ? k : some[k];
    parts.push_back({i, false, weight_[i]});
    if (gold_->hint(i) != nullptr) parts.push_back({i, true, -weight_[i]});
  }
  return parts;
}

Known Objective::known_of(const Part& part, bool costed) const {
  Known known;
  const int i = part.sequence;
  if (!part.constrained) {
    if (costed && !cost.empty()) known.cost = cost.data() + design_->tokens[i] * layout_->Y;
    if (costed && !entry_cost.empty()) known.entry = entry_cost.data();
    if (costed && !segment_costs.empty() && segment_costs[i] != nullptr) {
      known.cost_sites = segment_costs[i]->sites.data();
      known.cost_rows = segment_costs[i]->rows.data();
      known.n_cost_sites = static_cast<int>(segment_costs[i]->sites.size());
    }
    return known;
  }
  const Hint& hint = *gold_->hint(i);
  if (!hint.allowed.empty()) known.allowed = hint.allowed.data();
  if (!hint.boundary.empty()) known.boundary = hint.boundary.data();
  return known;
}

template <class Real>
struct Objective::Scratch {
  std::vector<std::int64_t> places;
  Unpacked<Real> weights;
  std::vector<Buffer<Real>> buffers;      // [shards]
  std::vector<std::vector<Part>> failed;  // [shards] the parts that the general sweeps must compute
  // If the kernels use single precision, the general sweeps add to separate buffers in double
  // precision.
  std::vector<std::int64_t> exact_places;
  Unpacked<double> exact;
  std::vector<Buffer<double>> extra;  // [shards], or empty
};

template <class Real>
Objective::Scratch<Real>& Objective::scratch() {
  std::shared_ptr<void>& kept = sizeof(Real) == 8 ? scratch_ : single_scratch_;
  if (kept == nullptr) {
    auto made = std::make_shared<Scratch<Real>>();
    made->places = places_of(*layout_, *design_, trainer<Real>().width);
    kept = made;
  }
  return *static_cast<Scratch<Real>*>(kept.get());
}

// ---- sums over segmentations ----

// Evaluates the parts in batches of sequences of similar length, one in each lane.
template <class Real>
double Objective::add_batches(const Design& d, std::vector<Part> parts, const Weights<Real>& w,
                              Gradient<Real>* gradient, Workspace& work,
                              std::vector<Part>& failed) {
  const Trainer<Real>& kernel = trainer<Real>();
  auto length = [&](const Part& part) { return d.length(part.sequence); };
  parts.erase(std::remove_if(parts.begin(), parts.end(),
                             [&](const Part& part) { return length(part) == 0; }),
              parts.end());
  std::stable_sort(parts.begin(), parts.end(),
                   [&](const Part& a, const Part& b) { return length(a) < length(b); });
  double loss = 0.0;
  for (std::size_t first = 0; first < parts.size(); first += kernel.width) {
    check_interrupt();
    const int count = static_cast<int>(std::min<std::size_t>(kernel.width, parts.size() - first));
    constexpr int kWidest = 16;
    std::int32_t sequences[kWidest];
    Known known[kWidest];
    double weights[kWidest], log_z[kWidest];
    for (int b = 0; b < count; ++b) {
      sequences[b] = parts[first + b].sequence;
      known[b] = known_of(parts[first + b]);
      weights[b] = parts[first + b].weight;
    }
    // With many states, the general sweeps take less memory: they do one sequence at a time.
    const Part& longest = parts[first + count - 1];
    const int sites = w.by_state ? d.n_sites(longest.sequence) : 0;
    const std::int64_t rows = std::int64_t{length(longest) + 1 + sites} * kernel.width;
    if (!w.program->fits_each(2 * rows)) {
      failed.insert(failed.end(), parts.begin() + first, parts.begin() + first + count);
      continue;
    }
    kernel.evaluate_many(d, w, sequences, known, weights, count, log_z, gradient, work);
    for (int b = 0; b < count; ++b) {
      if (std::isnan(log_z[b]))
        failed.push_back(parts[first + b]);
      else
        loss += weights[b] * log_z[b];
    }
  }
  return loss;
}

// Returns the sum of weight * ln Z over the parts.  The parts that are out of the kernels' range
// are listed in `failed`.  with_gold: subtract the gold scores too, unless there are label
// patterns.
template <class Real>
double Objective::add_kernels(const Design& d, const std::vector<Part>& parts, bool with_gold,
                              const Weights<Real>& w, Gradient<Real>* gradient, Workspace& work,
                              std::vector<Part>& failed) {
  if (!segment_costs.empty() || !entry_cost.empty()) {  // the kernels support costs of tokens only
    failed = parts;
    return 0.0;
  }
  if (sizeof(Real) == sizeof(double) && layout_->histories != nullptr)
    return add_batches(d, parts, w, gradient, work, failed);
  double loss = 0.0;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (k % 8 == 0) check_interrupt();
    const Part& part = parts[k];
    const int i = part.sequence;
    Known known = known_of(part);
    if (with_gold && gold_->hint(i) == nullptr) {
      known.path = gold_->segments.data() + gold_->ptr[i];
      known.n_path = static_cast<int>(gold_->ptr[i + 1] - gold_->ptr[i]);
    }
    if (!trainer<Real>().evaluate(d, w, i, known, part.weight, &loss, gradient, work))
      failed.push_back(part);
  }
  return loss;
}

template double Objective::add_kernels(const Design&, const std::vector<Part>&, bool,
                                       const Weights<double>&, Gradient<double>*, Workspace&,
                                       std::vector<Part>&);

// ---- all sequences, in shards ----

// Shards have about the same number of rows; shard s has the sequences [bounds[s], bounds[s + 1]).
std::vector<int> Objective::shard_bounds() const {
  const int n = design_->n_sequences();
  auto rows = [&](int i) { return design_->tokens[i] + design_->sites[i]; };  // before sequence i
  std::vector<int> bounds{0};
  for (int s = 1; s < n_shards_; ++s) {
    int i = bounds.back();
    while (rows(i) < rows(n) * s / n_shards_) ++i;
    bounds.push_back(i);
  }
  bounds.push_back(n);
  return bounds;
}

template <class Real>
double Objective::run(const double* w, int n_threads, double* gradient) {
  Scratch<Real>& kept = scratch<Real>();
  const int width = trainer<Real>().width;
  const bool near = kept.weights.set(*layout_, *design_, kept.places, w, width, n_threads);
  // Gold scores are rounded too, so that the errors mostly cancel.
  if (sizeof(Real) < sizeof(double)) w = kept.weights.rounded();
  const std::vector<int> bounds = shard_bounds();
  kept.buffers.resize(n_shards_);
  kept.failed.assign(n_shards_, {});
  kept.extra.clear();
  for_each(n_shards_, n_threads, [&](int s, Workspace& work) {
    Buffer<Real>& buffer = kept.buffers[s];
    buffer.make(*layout_, *design_, kept.weights.view());
    Gradient<Real>* g = gradient == nullptr ? nullptr : &buffer.view;
    const std::vector<Part> parts = parts_of(nullptr, bounds[s], bounds[s + 1]);
    if (near)
      buffer.loss =
          add_kernels(*design_, parts, false, kept.weights.view(), g, work, kept.failed[s]);
    else
      kept.failed[s] = parts;
  });
  fall_back(kept, w, n_threads, gradient != nullptr);
  // loss = sum of weight * ln Z - w . observed, in the order of the shards
  double loss = 0.0;
  for (const Buffer<Real>& buffer : kept.buffers) loss += buffer.loss;
  for (const Buffer<double>& buffer : kept.extra) loss += buffer.loss;
  loss -= dot(w, observed_.data(), layout_->size(), n_threads);
  if (gradient != nullptr) reduce(kept, observed_.data(), n_threads, gradient);
  return loss;
}

// Computes the failed parts with the general sweeps, shard by shard.
template <class Real>
void Objective::fall_back(Scratch<Real>& kept, const double* w, int n_threads, bool counts) {
  n_careful_ = 0;
  for (const std::vector<Part>& failed : kept.failed)
    n_careful_ += static_cast<std::int64_t>(failed.size());
  if (n_careful_ == 0) return;
  constexpr bool kExact = std::is_same_v<Real, double>;
  bool exact_near = false;
  if constexpr (!kExact) {
    const int width = trainer<double>().width;
    kept.exact_places = places_of(*layout_, *design_, width);
    exact_near = kept.exact.set(*layout_, *design_, kept.exact_places, w, width, n_threads);
    kept.extra.resize(n_shards_);
  }
  std::vector<std::int64_t> n_left(n_shards_, 0);
  for_each(n_shards_, n_threads, [&](int s, Workspace& work) {
    const std::vector<Part>& failed = kept.failed[s];
    if constexpr (kExact) {
      Buffer<double>& buffer = kept.buffers[s];
      buffer.loss +=
          add_fallback(*design_, failed, kept.weights, counts ? &buffer.view : nullptr, work);
    } else {
      Buffer<double>& buffer = kept.extra[s];
      buffer.make(*layout_, *design_, kept.exact.view());
      Gradient<double>* g = counts ? &buffer.view : nullptr;
      // Most values that are out of the range of float are in that of double.
      std::vector<Part> left;
      if (exact_near)
        buffer.loss += add_kernels(*design_, failed, false, kept.exact.view(), g, work, left);
      else
        left = failed;
      n_left[s] = static_cast<std::int64_t>(left.size());
      buffer.loss += add_fallback(*design_, left, kept.exact, g, work);
    }
  });
  if (!kExact) n_careful_ = std::accumulate(n_left.begin(), n_left.end(), std::int64_t{0});
}

// gradient = counts of all shards - gold, where gold may be null.  The shards are added to the
// first one in order, block by block.
template <class Real>
void Objective::reduce(Scratch<Real>& kept, const double* gold, int n_threads, double* gradient) {
  add_up(kept.buffers, n_threads);
  add_up(kept.extra, n_threads);
  const Weights<Real>& w = kept.weights.view();
  Buffer<Real>& total = kept.buffers[0];
  total.finish(*layout_, *design_, w);
  if (!kept.extra.empty()) kept.extra[0].finish(*layout_, *design_, kept.exact.view());
  for_blocks(layout_->size(), n_threads, [&](std::int64_t begin, std::int64_t end) {
    double* to = gradient;  // a pointer of its own, which the loop need not load again
    for (std::int64_t k = begin; k < end; ++k) to[k] = gold == nullptr ? 0.0 : -gold[k];
    add_packed(*layout_, kept.places, w, total.view, begin, end, gradient);
    if (!kept.extra.empty())
      add_packed(*layout_, kept.exact_places, kept.exact.view(), kept.extra[0].view, begin, end,
                 gradient);
  });
}

// Returns the sum of what add(shard, weights, near, gradient, work) returns and writes its
// gradient, added in the order of the shards.
template <class Add>
double Objective::run_some(const double* w, int n_threads, double* gradient, Add add,
                           int n_shards) {
  Scratch<double>& kept = scratch<double>();
  const int width = trainer<double>().width;
  const bool near = kept.weights.set(*layout_, *design_, kept.places, w, width, n_threads);
  kept.buffers.resize(n_shards);
  kept.extra.clear();
  n_careful_ = 0;
  for_each(n_shards, n_threads, [&](int s, Workspace& work) {
    Buffer<double>& buffer = kept.buffers[s];
    buffer.make(*layout_, *design_, kept.weights.view());
    Gradient<double>* g = gradient == nullptr ? nullptr : &buffer.view;
    buffer.loss = add(s, kept.weights, near, g, work);
  });
  double value = 0.0;
  for (const Buffer<double>& buffer : kept.buffers) value += buffer.loss;
  if (gradient != nullptr) reduce(kept, nullptr, n_threads, gradient);
  return value;
}

double Objective::maximum(const double* w, const std::int32_t* some, int count, bool costed,
                          int n_threads, double* gradient) {
  const std::lock_guard<std::mutex> lock(guard_);
  const int n = some == nullptr ? shards_for() : 1;
  auto add = [&](int s, const auto& weights, bool, auto* g, auto& work) {
    const auto share = [&](int k) { return static_cast<int>(std::int64_t{count} * k / n); };
    double loss = 0.0;
    for (const Part& part : parts_of(some, share(s), share(s + 1))) {
      check_interrupt();
      loss += is_partial(part.sequence)
                  ? add_best(*design_, part, costed, weights, g, work)
                  : add_hinge(*design_, part.sequence, costed, weights, g, work);
    }
    return loss;
  };
  return run_some(w, n_threads, gradient, add, n);
}

std::vector<LabelledSegment> Objective::best_path(const double* w, int i, bool costed) {
  const std::lock_guard<std::mutex> lock(guard_);
  std::vector<LabelledSegment> path;
  run_some(w, 1, nullptr, [&](int, const auto& weights, bool, auto*, auto& work) {
    path = best_path(*design_, i, costed, weights, work);
    return 0.0;
  });
  return path;
}

double Objective::path(const double* w, int i, const LabelledSegment* segments, int count,
                       double* counts) {
  const std::lock_guard<std::mutex> lock(guard_);
  return run_some(w, 1, counts, [&](int, const auto& weights, bool, auto* g, auto& work) {
    return add_path(*design_, i, segments, count, 1.0, weights, g, work);
  });
}

double Objective::expectations(const double* w, int i, bool constrained, double* counts) {
  const std::lock_guard<std::mutex> lock(guard_);
  return run_some(w, 1, counts, [&](int, const auto& weights, bool near, auto* g, auto& work) {
    return add_log_z(*design_, {{i, constrained, 1.0}}, false, weights, near, g, work);
  });
}

void Objective::release() {
  const std::lock_guard<std::mutex> lock(guard_);
  scratch_.reset();
  single_scratch_.reset();
#ifdef __GLIBC__
  malloc_trim(0);  // otherwise the process keeps the memory
#endif
}

double Objective::evaluate(const double* w, const std::int32_t* some, int count, bool single,
                           int n_threads, double* gradient) {
  const std::lock_guard<std::mutex> lock(guard_);
  if (some == nullptr) set_shared(true);
  single &= layout_->histories == nullptr;  // long histories are too improbable for it
  single &= some == nullptr && has_single_precision();
  (single ? scratch_ : single_scratch_).reset();  // a run changes its precision at most once
  if (some != nullptr) {
    return run_some(w, n_threads, gradient,
                    [&](int, const auto& weights, bool near, auto* g, auto& work) {
                      return add_sequences(*design_, some, count, weights, near, g, work);
                    });
  }
  return single ? run<float>(w, n_threads, gradient) : run<double>(w, n_threads, gradient);
}

}  // namespace caesura
