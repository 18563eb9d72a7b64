#include "learn/objective.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "infer/answers.hpp"
#include "optimise/vectors.hpp"

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
    memory.assign(dense + layout.n_sparse + layout.n_edges + 2 * square + 2 * stride +
                      tagged * (tagged + 2) + lanes + layout.n_plain,
                  Real{0});
    Real* at = memory.data();
    view.dense = at;
    view.sparse = at += dense;  // as in places_of
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
          for (const int in : {kBegin * Y + next, kUnit * Y + next})
            view.outer[y * w.stride + next] += tags.outer[out * n + in];
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

// to[k] += the gradient of weight k, for k in a range.
template <class Real>
void add_packed(const Layout& layout, const std::vector<std::int64_t>& places,
                const Weights<Real>& w, const Gradient<Real>& g, std::int64_t begin,
                std::int64_t end, double* to) {
  const int Y = layout.Y, stride = w.stride;
  auto over = [&](std::int64_t first, std::int64_t count, auto value) {
    for (std::int64_t k = std::max(begin, first); k < std::min(end, first + count); ++k)
      to[k] += value(k - first);
  };
  over(0, layout.first_edge(), [&](std::int64_t k) { return g.dense[places[k]]; });
  over(layout.first_edge(), layout.n_edges, [&](std::int64_t k) { return g.edge[k]; });
  over(layout.first_transition(), layout.transition.size(), [&](std::int64_t k) {
    const std::int32_t state =
        w.histories == nullptr ? -1 : w.histories->pair[layout.transition[k]];
    const int at = layout.transition[k] / Y * stride + layout.transition[k] % Y;
    const double pairs = g.pairs[at] + (state < 0 ? 0.0 : static_cast<double>(g.entered[state]));
    return g.outer[at] == 0 ? pairs : static_cast<double>(g.outer[at]) * w.transition[at] + pairs;
  });
  over(layout.first_pattern(), layout.n_plain, [&](std::int64_t k) {
    return static_cast<double>(g.entered[w.histories->pattern[k]]) + g.patterns[k];
  });
  over(layout.first_start(), layout.start.size(),
       [&](std::int64_t k) { return g.starts[layout.start[k]]; });
  over(layout.first_end(), layout.end.size(),
       [&](std::int64_t k) { return g.ends[layout.end[k]]; });
}

}  // namespace

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

template <class Real>
struct Objective::Scratch {
  std::vector<std::int64_t> places;
  Unpacked<Real> weights;
  std::vector<Buffer<Real>> buffers;
};

template <class Real>
Objective::Scratch<Real>& Objective::scratch() {
  std::shared_ptr<void>& kept = sizeof(Real) == 8 ? scratch_ : single_scratch_;
  if (kept == nullptr)
    kept = std::make_shared<Scratch<Real>>(
        Scratch<Real>{places_of(*layout_, *design_, trainer<Real>().width), {}, {}});
  return *static_cast<Scratch<Real>*>(kept.get());
}

// Sequences about as long as each other together.
template <class Real>
double Objective::add_batches(std::vector<int>& codes, const Weights<Real>& w,
                              Gradient<Real>* gradient, Workspace& work, std::vector<int>& failed) {
  const Trainer<Real>& kernel = trainer<Real>();
  auto length = [&](int code) { return design_->length(code < 0 ? -1 - code : code); };
  codes.erase(
      std::remove_if(codes.begin(), codes.end(), [&](int code) { return length(code) == 0; }),
      codes.end());
  std::stable_sort(codes.begin(), codes.end(), [&](int a, int b) { return length(a) < length(b); });
  double loss = 0.0;
  for (std::size_t first = 0; first < codes.size(); first += kernel.width) {
    const int count = static_cast<int>(std::min<std::size_t>(kernel.width, codes.size() - first));
    constexpr int kWidest = 16;
    std::int32_t sequences[kWidest];
    Known known[kWidest];
    double signed_weight[kWidest], log_z[kWidest];
    for (int b = 0; b < count; ++b) {
      const int code = codes[first + b];
      sequences[b] = code < 0 ? -1 - code : code;
      known[b] = known_of(sequences[b], code < 0);
      signed_weight[b] = code < 0 ? -weight[sequences[b]] : weight[sequences[b]];
    }
    kernel.evaluate_many(*design_, w, sequences, known, signed_weight, count, log_z, gradient,
                         work);
    for (int b = 0; b < count; ++b) {
      if (std::isnan(log_z[b]))
        failed.push_back(codes[first + b]);
      else
        loss += signed_weight[b] * log_z[b];
    }
  }
  return loss;
}

template <class Real>
double Objective::run(const double* w, const double* gold, const std::int32_t* some, int count,
                      int n_threads, double* gradient) {
  const Trainer<Real>& kernel = trainer<Real>();
  const std::vector<std::int64_t>& places = scratch<Real>().places;
  Unpacked<Real>& weights = scratch<Real>().weights;
  std::vector<Buffer<Real>>& buffers = scratch<Real>().buffers;
  const bool near = weights.set(*layout_, *design_, places, w, kernel.width, n_threads);
  if (sizeof(Real) < sizeof(double))
    w = weights.rounded();  // gold scores too: the error is then the gradient's small part
  auto sequence = [&](int k) { return some == nullptr ? k : some[k]; };

  // Shards of about as many rows each.
  std::vector<std::int64_t> rows(count + 1, 0);
  for (int k = 0; k < count; ++k) {
    rows[k + 1] = rows[k] + design_->length(sequence(k)) + design_->n_sites(sequence(k));
  }
  const int n_shards = some == nullptr ? n_shards_ : 1;
  std::vector<int> bounds;
  for (int s = 0; s <= n_shards; ++s) {
    bounds.push_back(static_cast<int>(
        std::lower_bound(rows.begin(), rows.end(), rows[count] * s / n_shards) - rows.begin()));
  }
  bounds.back() = count;

  buffers.resize(n_shards);
  for_each(n_shards, n_threads, [&](int s, Workspace& work) {
    Buffer<Real>& buffer = buffers[s];
    buffer.make(*layout_, *design_, weights.view());
    Gradient<Real>* g = gradient == nullptr ? nullptr : &buffer.view;
    if (sizeof(Real) == sizeof(double) && layout_->histories != nullptr) {
      std::vector<int> codes;  // -1 - i: what is known of sequence i
      for (int k = bounds[s]; k < bounds[s + 1]; ++k) {
        codes.push_back(sequence(k));
        if (hints[codes.back()] != nullptr) codes.push_back(-1 - codes.back());
      }
      if (near)
        buffer.loss = add_batches(codes, weights.view(), g, work, buffer.failed);
      else
        buffer.failed = std::move(codes);
      return;
    }
    for (int k = bounds[s]; k < bounds[s + 1]; ++k) {
      const int i = sequence(k);
      double loss = 0.0;
      const bool good = near && kernel.evaluate(*design_, weights.view(), i, known_of(i, false),
                                                weight[i], &loss, g, work);
      if (!good) buffer.failed.push_back(i);
      if (hints[i] != nullptr &&
          !(near && kernel.evaluate(*design_, weights.view(), i, known_of(i, true), -weight[i],
                                    &loss, g, work))) {
        buffer.failed.push_back(-i - 1);
      }
      buffer.loss += loss;
    }
  });

  double loss = 0.0;
  Buffer<double> extra;
  Unpacked<double> exact;
  std::vector<std::int64_t> exact_places;
  bool any_failed = false, exact_near = false;
  n_careful_ = 0;
  Workspace work;
  for (Buffer<Real>& buffer : buffers) {
    loss += buffer.loss;
    for (const int code : buffer.failed) {
      const bool constrained = code < 0;
      const int i = constrained ? -code - 1 : code;
      if (!any_failed) {
        exact_places = places_of(*layout_, *design_, trainer<double>().width);
        exact_near =
            exact.set(*layout_, *design_, exact_places, w, trainer<double>().width, n_threads);
        extra.make(*layout_, *design_, exact.view());
        any_failed = true;
      }
      const double sign = constrained ? -weight[i] : weight[i];
      Gradient<double>* g = gradient == nullptr ? nullptr : &extra.view;
      // What leaves the range of float is mostly within that of double.
      if (sizeof(Real) < sizeof(double) && exact_near &&
          trainer<double>().evaluate(*design_, exact.view(), i, known_of(i, constrained), sign,
                                     &loss, g, work))
        continue;
      ++n_careful_;
      if (!add_carefully(i, known_of(i, constrained), sign, exact, &loss, g, work)) {
        throw std::domain_error(std::to_string(i));
      }
    }
  }
  loss -= dot(w, gold, layout_->size(), n_threads);
  if (gradient == nullptr) return loss;
  // The shards are added up in their order, block by block, into the first.
  Buffer<Real>& total = buffers[0];
  for_blocks(static_cast<std::int64_t>(total.memory.size()), n_threads,
             [&](std::int64_t begin, std::int64_t end) {
               for (int s = 1; s < n_shards; ++s) {
                 const Real* from = buffers[s].memory.data();
                 for (std::int64_t k = begin; k < end; ++k) total.memory[k] += from[k];
               }
             });
  total.unshare(*design_, weights.view().wide);
  total.untag(weights.view());
  if (layout_->histories != nullptr) layout_->histories->add_longer(total.view.entered);
  if (any_failed) {
    extra.unshare(*design_, exact.view().wide);
    extra.untag(exact.view());
  }
  for_blocks(layout_->size(), n_threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) gradient[k] = -gold[k];
    add_packed(*layout_, places, weights.view(), total.view, begin, end, gradient);
    if (any_failed)
      add_packed(*layout_, exact_places, exact.view(), extra.view, begin, end, gradient);
  });
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

double Objective::evaluate(const double* w, const double* gold, const std::int32_t* some, int count,
                           bool single, int n_threads, double* gradient) {
  const std::lock_guard<std::mutex> lock(guard_);
  single &= layout_->histories == nullptr;        // states of long histories are too rare for it
  (single ? scratch_ : single_scratch_).reset();  // a run changes its precision once
  return single ? run<float>(w, gold, some, count, n_threads, gradient)
                : run<double>(w, gold, some, count, n_threads, gradient);
}

}  // namespace caesura
