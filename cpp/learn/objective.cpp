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

// A code names a sequence and what is known of it: i is all of sequence i, -1 - i what agrees with
// its partial labels.
namespace {
int sequence_of(int code) { return code < 0 ? -1 - code : code; }
}  // namespace

Objective::Objective(std::shared_ptr<const Layout> layout, std::shared_ptr<Design> design,
                     std::shared_ptr<const Gold> gold, std::vector<double> weight,
                     std::vector<double> observed)
    : layout_(std::move(layout)),
      design_(std::move(design)),
      gold_(std::move(gold)),
      weight_(std::move(weight)),
      observed_(std::move(observed)) {}

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
  // A power of two of them, for any number of threads; each costs some passes over the weights.
  const auto work = static_cast<std::int64_t>(design_->dense.size() + design_->sparse.size());
  n_shards_ = 1;
  while (n_shards_ < 8 && 4 * n_shards_ * (layout_->size() + 10000) <= work) n_shards_ *= 2;
}

std::vector<int> Objective::codes_of(const std::int32_t* some, int begin, int end) const {
  std::vector<int> codes;
  for (int k = begin; k < end; ++k) {
    codes.push_back(some == nullptr ? k : some[k]);
    if (gold_->hints[codes.back()] != nullptr) codes.push_back(-1 - codes.back());
  }
  return codes;
}

Known Objective::known_of(int code) const {
  Known known;
  const int i = sequence_of(code);
  if (code >= 0) {
    if (!cost.empty()) known.cost = cost.data() + design_->tokens[i] * layout_->Y;
    return known;
  }
  const Hint& hint = *gold_->hints[i];
  if (!hint.allowed.empty()) known.allowed = hint.allowed.data();
  if (!hint.boundary.empty()) known.boundary = hint.boundary.data();
  return known;
}

double Objective::signed_weight(int code) const {
  return code < 0 ? -weight_[sequence_of(code)] : weight_[code];
}

template <class Real>
struct Objective::Scratch {
  std::vector<std::int64_t> places;
  Unpacked<Real> weights;
  std::vector<Buffer<Real>> buffers;  // [shards]
  // Where the kernels are in single precision, what the general sweeps answer is kept beside it.
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

// ---- the terms of some sequences ----

// Sequences about as long as each other together.
template <class Real>
double Objective::add_batches(const Design& d, std::vector<int> codes, const Weights<Real>& w,
                              Gradient<Real>* gradient, Workspace& work, std::vector<int>& failed) {
  const Trainer<Real>& kernel = trainer<Real>();
  auto length = [&](int code) { return d.length(sequence_of(code)); };
  codes.erase(
      std::remove_if(codes.begin(), codes.end(), [&](int code) { return length(code) == 0; }),
      codes.end());
  std::stable_sort(codes.begin(), codes.end(), [&](int a, int b) { return length(a) < length(b); });
  double loss = 0.0;
  for (std::size_t first = 0; first < codes.size(); first += kernel.width) {
    check_interrupt();
    const int count = static_cast<int>(std::min<std::size_t>(kernel.width, codes.size() - first));
    constexpr int kWidest = 16;
    std::int32_t sequences[kWidest];
    Known known[kWidest];
    double weights[kWidest], log_z[kWidest];
    for (int b = 0; b < count; ++b) {
      sequences[b] = sequence_of(codes[first + b]);
      known[b] = known_of(codes[first + b]);
      weights[b] = signed_weight(codes[first + b]);
    }
    kernel.evaluate_many(d, w, sequences, known, weights, count, log_z, gradient, work);
    for (int b = 0; b < count; ++b) {
      if (std::isnan(log_z[b]))
        failed.push_back(codes[first + b]);
      else
        loss += weights[b] * log_z[b];
    }
  }
  return loss;
}

// sum over the codes of weight * ln Z, and its counts; those out of the kernels' range have failed.
// with_gold: the gold scores are subtracted too, unless there are patterns.
template <class Real>
double Objective::add_kernels(const Design& d, const std::vector<int>& codes, bool with_gold,
                              const Weights<Real>& w, Gradient<Real>* gradient, Workspace& work,
                              std::vector<int>& failed) {
  if (layout_->histories != nullptr) return add_batches(d, codes, w, gradient, work, failed);
  double loss = 0.0;
  for (std::size_t k = 0; k < codes.size(); ++k) {
    if (k % 8 == 0) check_interrupt();
    const int code = codes[k], i = sequence_of(code);
    Known known = known_of(code);
    if (with_gold && gold_->hints[i] == nullptr) {
      known.path = gold_->segments.data() + gold_->ptr[i];
      known.n_path = static_cast<int>(gold_->ptr[i + 1] - gold_->ptr[i]);
    }
    if (!trainer<Real>().evaluate(d, w, i, known, signed_weight(code), &loss, gradient, work))
      failed.push_back(code);
  }
  return loss;
}

// The same by the general sweeps.
double Objective::add_fallback(const Design& d, const std::vector<int>& codes,
                               const Unpacked<double>& weights, Gradient<double>* gradient,
                               Workspace& work) {
  double loss = 0.0;
  SequenceCounts counts;
  for (const int code : codes) {
    check_interrupt();
    const int i = sequence_of(code);
    const auto scored =
        scored_problem(*layout_, d, weights, i, known_of(code), automaton, order, true, work);
    scored->problem->prepare(Method::kOverlapping);
    const double log_z = expected_counts(*layout_, d, i, *scored->problem, counts, work);
    if (log_z == kMinusInfinity) throw NoAgreement(i);
    loss += signed_weight(code) * log_z;
    if (gradient != nullptr)
      add_counts(*layout_, d, i, counts, signed_weight(code), weights.view(), *gradient, work);
  }
  return loss;
}

// -weight * score(gold)
double Objective::add_gold(const Design& d, int i, const Unpacked<double>& weights,
                           Gradient<double>* gradient, Workspace& work) {
  const std::int64_t count = gold_->ptr[i + 1] - gold_->ptr[i];
  if (gold_->hints[i] != nullptr || count == 0) return 0.0;
  const SequenceCounts counts =
      path_counts(*layout_, d, i, gold_->segments.data() + gold_->ptr[i], count);
  if (gradient != nullptr)
    add_counts(*layout_, d, i, counts, -weight_[i], weights.view(), *gradient, work);
  return -weight_[i] * counted_score(*layout_, d, i, counts, weights, work);
}

double Objective::add_sequences(const Design& d, const std::int32_t* some, int count,
                                const Unpacked<double>& weights, bool near,
                                Gradient<double>* gradient, Workspace& work) {
  const std::vector<int> codes = codes_of(some, 0, count);
  std::vector<int> failed;
  double loss = 0.0;
  if (near)
    loss = add_kernels(d, codes, true, weights.view(), gradient, work, failed);
  else
    failed = codes;
  n_careful_ += static_cast<std::int64_t>(failed.size());
  loss += add_fallback(d, failed, weights, gradient, work);
  for (const int code : layout_->histories == nullptr ? failed : codes) {
    if (code >= 0) loss += add_gold(d, code, weights, gradient, work);
  }
  return loss;
}

// ---- all sequences, in shards ----

// Shards of about as many rows each: shard s has the sequences [bounds[s], bounds[s + 1]).
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
  if (sizeof(Real) < sizeof(double))
    w = kept.weights.rounded();  // gold scores too: the error is then the gradient's small part
  const std::vector<int> bounds = shard_bounds();
  kept.buffers.resize(n_shards_);
  kept.extra.clear();
  for_each(n_shards_, n_threads, [&](int s, Workspace& work) {
    Buffer<Real>& buffer = kept.buffers[s];
    buffer.make(*layout_, *design_, kept.weights.view());
    Gradient<Real>* g = gradient == nullptr ? nullptr : &buffer.view;
    const std::vector<int> codes = codes_of(nullptr, bounds[s], bounds[s + 1]);
    if (near)
      buffer.loss =
          add_kernels(*design_, codes, false, kept.weights.view(), g, work, buffer.failed);
    else
      buffer.failed = codes;
  });
  fall_back(kept, w, n_threads, gradient != nullptr);
  // loss = sum of weight * ln Z - w . observed, the shards in their order
  double loss = 0.0;
  for (const Buffer<Real>& buffer : kept.buffers) loss += buffer.loss;
  for (const Buffer<double>& buffer : kept.extra) loss += buffer.loss;
  loss -= dot(w, observed_.data(), layout_->size(), n_threads);
  if (gradient != nullptr) reduce(kept, observed_.data(), n_threads, gradient);
  return loss;
}

// Asks the general sweeps about what failed, shard by shard.
template <class Real>
void Objective::fall_back(Scratch<Real>& kept, const double* w, int n_threads, bool counts) {
  n_careful_ = 0;
  for (const Buffer<Real>& buffer : kept.buffers)
    n_careful_ += static_cast<std::int64_t>(buffer.failed.size());
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
    const std::vector<int>& failed = kept.buffers[s].failed;
    if constexpr (kExact) {
      Buffer<double>& buffer = kept.buffers[s];
      buffer.loss +=
          add_fallback(*design_, failed, kept.weights, counts ? &buffer.view : nullptr, work);
    } else {
      Buffer<double>& buffer = kept.extra[s];
      buffer.make(*layout_, *design_, kept.exact.view());
      Gradient<double>* g = counts ? &buffer.view : nullptr;
      // What leaves the range of float is mostly within that of double.
      std::vector<int> left;
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

// gradient = the counts of all shards - gold.  The shards are added up in their order, block by
// block, into the first.
template <class Real>
void Objective::reduce(Scratch<Real>& kept, const double* gold, int n_threads, double* gradient) {
  add_up(kept.buffers, n_threads);
  add_up(kept.extra, n_threads);
  const Weights<Real>& w = kept.weights.view();
  Buffer<Real>& total = kept.buffers[0];
  total.finish(*layout_, *design_, w);
  if (!kept.extra.empty()) kept.extra[0].finish(*layout_, *design_, kept.exact.view());
  for_blocks(layout_->size(), n_threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) gradient[k] = gold == nullptr ? 0.0 : -gold[k];
    add_packed(*layout_, kept.places, w, total.view, begin, end, gradient);
    if (!kept.extra.empty())
      add_packed(*layout_, kept.exact_places, kept.exact.view(), kept.extra[0].view, begin, end,
                 gradient);
  });
}

double Objective::run_some(const double* w, const std::int32_t* some, int count, int n_threads,
                           double* gradient) {
  Scratch<double>& kept = scratch<double>();
  const int width = trainer<double>().width;
  const bool near = kept.weights.set(*layout_, *design_, kept.places, w, width, n_threads);
  kept.buffers.resize(1);
  kept.extra.clear();
  kept.buffers[0].make(*layout_, *design_, kept.weights.view());
  n_careful_ = 0;
  Workspace work;
  const double loss = add_sequences(*design_, some, count, kept.weights, near,
                                    gradient == nullptr ? nullptr : &kept.buffers[0].view, work);
  if (gradient != nullptr) reduce(kept, nullptr, n_threads, gradient);
  return loss;
}

void Objective::release() {
  const std::lock_guard<std::mutex> lock(guard_);
  scratch_.reset();
  single_scratch_.reset();
#ifdef __GLIBC__
  malloc_trim(0);  // else the process keeps it
#endif
}

double Objective::evaluate(const double* w, const std::int32_t* some, int count, bool single,
                           int n_threads, double* gradient) {
  const std::lock_guard<std::mutex> lock(guard_);
  if (some == nullptr) set_shared(true);
  single &= layout_->histories == nullptr;  // states of long histories are too rare for it
  single &= some == nullptr;
  (single ? scratch_ : single_scratch_).reset();  // a run changes its precision once
  if (some != nullptr) return run_some(w, some, count, n_threads, gradient);
  return single ? run<float>(w, n_threads, gradient) : run<double>(w, n_threads, gradient);
}

}  // namespace caesura
