// Objective and gradient of a shard of a corpus: rows of features to scores, segmental.hpp, and back.
#include <algorithm>

#include "best.hpp"
#include "segmental_back.hpp"
#include "trainers.hpp"

namespace caesura::CAESURA_ISA {
namespace {

// Rows of the table are far away: ask for one some attributes before it is used.  The ids of a design end
// with kAhead more, for this.
inline void expect(const std::int32_t* ids, const real* table, int stride, int width) {
  const real* row = table + static_cast<std::ptrdiff_t>(ids[Design::kAhead]) * stride;
  for (int q = 0; q < width; q += 64 / static_cast<int>(sizeof(real))) __builtin_prefetch(row + q);
}

// out += the rows of the table named by ids, B vectors at a time.
template <int B, bool kValues>
inline void gather_panel(const std::int32_t* ids, const double* values, int count, const real* table, int stride,
                         real* out) {
  vec sums[B];
  for (int b = 0; b < B; ++b) sums[b] = vec{};
  for (int k = 0; k < count; ++k) {
    const real* row = table + static_cast<std::ptrdiff_t>(ids[k]) * stride;
    expect(ids + k, table, stride, B * W);
    for (int b = 0; b < B; ++b) {
      if (kValues) sums[b] += load(row + b * W) * static_cast<real>(values[k]);
      else sums[b] += load(row + b * W);
    }
  }
  for (int b = 0; b < B; ++b) store(out + b * W, sums[b]);
}

// The rows of the table named by ids += row, B vectors at a time.
template <int B, bool kValues>
inline void scatter_panel(const std::int32_t* ids, const double* values, int count, const real* row, int stride,
                          real* table) {
  vec held[B];
  for (int b = 0; b < B; ++b) held[b] = load(row + b * W);
  for (int k = 0; k < count; ++k) {
    real* to = table + static_cast<std::ptrdiff_t>(ids[k]) * stride;
    expect(ids + k, table, stride, B * W);
    for (int b = 0; b < B; ++b) {
      if (kValues) store(to + b * W, load(to + b * W) + held[b] * static_cast<real>(values[k]));
      else store(to + b * W, load(to + b * W) + held[b]);
    }
  }
}

struct Gather {
  template <int B, bool kValues, class... Rest>
  static void run(Rest... rest) { gather_panel<B, kValues>(rest...); }
};
struct Scatter {
  template <int B, bool kValues, class... Rest>
  static void run(Rest... rest) { scatter_panel<B, kValues>(rest...); }
};

// One of the two above, over all panels of a row.
template <class Move, class From, class To>
inline void panels(const std::int32_t* ids, const double* values, int count, From* from, int stride, To* to) {
  for (int begin = 0; begin < stride; begin += 6 * W) {
    const int width = std::min(6, (stride - begin) / W);
    From* f = from + begin;
    To* t = to + begin;
#define CAESURA_PANEL(B) \
  case B: \
    values != nullptr ? Move::template run<B, true>(ids, values, count, f, stride, t) \
                      : Move::template run<B, false>(ids, values, count, f, stride, t); \
    break;
    switch (width) {
      CAESURA_PANEL(1)
      CAESURA_PANEL(2)
      CAESURA_PANEL(3)
      CAESURA_PANEL(4)
      CAESURA_PANEL(5)
      CAESURA_PANEL(6)
    }
#undef CAESURA_PANEL
  }
}

// Where the planes are in the row of a token; those that are not there are the first, times 0.
struct Lanes {
  int first = 0, last = 0, single = 0;
  real has_first = 0, has_last = 0, has_single = 0;
  explicit Lanes(const Design& d) {
    auto put = [&](int p, int& lane, real& has) {
      lane = p * d.Y;
      has = 1;
    };
    for (int p = 1; p < d.planes; ++p) {
      if (d.plane_flags[p] == kOpenEnd) put(p, first, has_first);
      else if (d.plane_flags[p] == kOpenStart) put(p, last, has_last);
      else put(p, single, has_single);
    }
  }
};

struct Evaluator {
  const Design& d;
  const Weights<real>& w;
  Gradient<real>* gradient;  // null: the objective alone
  Workspace& work;
  const int n;

  const double* dense_values(std::int64_t k) const { return d.dense_value.empty() ? nullptr : d.dense_value.data() + k; }

  // out: [rows][wide]
  void gather(std::int64_t first, std::int64_t rows, real* out) const {
    const int wide = w.wide;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t begin = d.dense_ptr[first + r], end = d.dense_ptr[first + r + 1];
      panels<Gather>(d.dense.data() + begin, dense_values(begin), static_cast<int>(end - begin), w.dense, wide, out + r * wide);
    }
    if (d.sparse_ptr[first] == d.sparse_ptr[first + rows]) return;
    // Weights of one label often follow each other: every second goes to a row of its own, so that an addition
    // need not wait for the one before.
    real* second = reals(work, rows * wide);
    fill(second, rows * wide, 0);
    const bool values = !d.sparse_value.empty();
    for (std::int64_t r = 0; r < rows; ++r) {
      real *even = out + r * wide, *odd = second + r * wide;
      for (std::int64_t k = d.sparse_ptr[first + r]; k < d.sparse_ptr[first + r + 1]; ++k) {
        __builtin_prefetch(w.sparse + d.sparse[k + Design::kFarAhead]);
        real weight = w.sparse[d.sparse[k]];
        if (values) weight *= static_cast<real>(d.sparse_value[k]);
        (k % 2 == 0 ? even : odd)[d.sparse_lane[k]] += weight;
      }
    }
    caesura::CAESURA_ISA::add(out, second, rows * wide);
  }

  // expected: [rows][wide]
  void scatter(std::int64_t first, std::int64_t rows, const real* expected) const {
    const int wide = w.wide;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t begin = d.dense_ptr[first + r], end = d.dense_ptr[first + r + 1];
      panels<Scatter>(d.dense.data() + begin, dense_values(begin), static_cast<int>(end - begin), expected + r * wide, wide,
                      gradient->dense);
      for (std::int64_t k = d.sparse_ptr[first + r]; k < d.sparse_ptr[first + r + 1]; ++k) {
        const real value = d.sparse_value.empty() ? 1 : static_cast<real>(d.sparse_value[k]);
        __builtin_prefetch(gradient->sparse + d.sparse[k + Design::kFarAhead], 1);
        gradient->sparse[d.sparse[k]] += expected[r * wide + d.sparse_lane[k]] * value;
      }
    }
  }

  // The scores of the rows of sequence i.  out: [T + sites][stride]
  void scores(int i, real* out) const {
    const int T = d.length(i), sites = d.n_sites(i), Y = d.Y;
    const std::int64_t first = d.first_row(i);
    if (d.planes == 1) {
      gather(first, T + sites, out);
      return;
    }
    real* wide = reals(work, static_cast<std::size_t>(T + 1) * w.wide);
    real* own = wide + static_cast<std::ptrdiff_t>(T) * w.wide;
    gather(first, T, wide);
    fill(out, static_cast<std::ptrdiff_t>(T + sites) * n, 0);
    for (int t = 0; t < T; ++t) std::memcpy(out + t * n, wide + t * w.wide, sizeof(real) * Y);
    for (int k = 0; k < sites; ++k) {
      const Site& site = d.site[d.sites[i] + k];
      real* to = out + static_cast<std::ptrdiff_t>(T + k) * n;
      if (!d.is_empty(first + T + k)) {
        gather(first + T + k, 1, own);
        std::memcpy(to, own, sizeof(real) * Y);
      }
      if (site.plane == 0) continue;
      const real* from = wide + static_cast<std::ptrdiff_t>(site.start) * w.wide + site.plane * Y;
      for (int y = 0; y < Y; ++y) to[y] += from[y];
    }
  }

  // The way back: expected counts of the rows of sequence i to the gradient.
  void add_gradient(int i, const real* expected) const {
    const int T = d.length(i), sites = d.n_sites(i), Y = d.Y;
    const std::int64_t first = d.first_row(i);
    if (d.planes == 1) {
      scatter(first, T + sites, expected);
      return;
    }
    real* wide = reals(work, static_cast<std::size_t>(T + 1) * w.wide);
    real* own = wide + static_cast<std::ptrdiff_t>(T) * w.wide;
    fill(wide, static_cast<std::ptrdiff_t>(T + 1) * w.wide, 0);
    for (int t = 0; t < T; ++t) std::memcpy(wide + t * w.wide, expected + t * n, sizeof(real) * Y);
    for (int k = 0; k < sites; ++k) {
      const Site& site = d.site[d.sites[i] + k];
      const real* from = expected + static_cast<std::ptrdiff_t>(T + k) * n;
      if (!d.is_empty(first + T + k)) {
        std::memcpy(own, from, sizeof(real) * Y);
        scatter(first + T + k, 1, own);
      }
      if (site.plane == 0) continue;
      std::memcpy(wide + static_cast<std::ptrdiff_t>(site.start) * w.wide + site.plane * Y, from, sizeof(real) * Y);
    }
    scatter(first, T, wide);
  }

  // Scores of tags from those of planes: a feature of first tokens fires at begin and unit, and so on.
  // A label of one token has no other tag than unit.
  void to_tags(int T, const real* wide, real* out) const {
    const int Y = d.Y;
    const Lanes at(d);
    for (int t = 0; t < T; ++t, wide += w.wide, out += w.tags->stride) {
      for (int y = 0; y < Y; ++y) {
        const real token = wide[y], first = at.has_first * wide[at.first + y], last = at.has_last * wide[at.last + y];
        const real inner = w.open[y] != 0 ? token : -kInfinity;
        out[kBegin * Y + y] = inner + first;
        out[kInside * Y + y] = inner;
        out[kEnd * Y + y] = inner + last;
        out[kUnit * Y + y] = token + first + last + at.has_single * wide[at.single + y];
      }
    }
  }
  void from_tags(int T, const real* tags, real* wide) const {
    const int Y = d.Y;
    const Lanes at(d);
    for (int t = 0; t < T; ++t, wide += w.wide, tags += w.tags->stride) {
      for (int y = 0; y < Y; ++y) {
        const real unit = tags[kUnit * Y + y], begin = tags[kBegin * Y + y], end = tags[kEnd * Y + y];
        const real covered = unit + begin + end + tags[kInside * Y + y];
        if (at.has_first != 0) wide[at.first + y] = unit + begin;
        if (at.has_last != 0) wide[at.last + y] = unit + end;
        if (at.has_single != 0) wide[at.single + y] = unit;
        wide[y] = covered;
      }
    }
  }

  // As add, over tags.
  bool add_tagged(int i, double weight, double* objective) const {
    const int T = d.length(i);
    real* wide = reals(work, static_cast<std::size_t>(T) * w.wide);
    real* x = reals(work, static_cast<std::size_t>(T) * w.tags->stride);
    gather(d.first_row(i), T, wide);
    to_tags(T, wide, x);
    const Known nothing;
    Segmental kernel(*w.tags, T, nullptr, 0, nothing, work);
    double log_z;
    if (!kernel.forward(x, nullptr, &log_z)) return false;
    *objective += weight * log_z;
    if (gradient == nullptr) return true;
    kernel.backward(static_cast<real>(weight), *gradient->tags);
    from_tags(T, x, wide);
    scatter(d.first_row(i), T, wide);
    return true;
  }

  // The transitions at each boundary of a sequence, or null where they are the same everywhere.
  real* edges(int i, bool* far) const {
    if (d.edge_ptr.empty()) return nullptr;
    ivec beyond = ivec{};
    const int T = d.length(i), size = n * n;
    real* out = reals(work, static_cast<std::size_t>(T) * size);
    for (int t = 1; t < T; ++t) {
      real* m = out + static_cast<std::ptrdiff_t>(t) * size;
      fill(m, size, 0);
      for_edges(i, t, [&](std::int32_t id, int at, real value) { m[at] += w.edge[id] * value; });
      for (int q = 0; q < size; q += W) {
        const vec score = load(m + q);
        beyond |= (score > kFarthest) | (score < -kFarthest);
        store(m + q, exp(score) * load(w.transition + q));
      }
    }
    *far = any(beyond);
    return out;
  }
  template <class Visit>
  void for_edges(int i, int t, Visit visit) const {
    for (std::int64_t k = d.edge_ptr[d.tokens[i] + t]; k < d.edge_ptr[d.tokens[i] + t + 1]; ++k) {
      const int pair = d.edge_pair[k];
      visit(d.edge[k], pair / d.Y * n + pair % d.Y, static_cast<real>(d.edge_value[k]));
    }
  }

  // Adds weight * ln Z to the objective, and its gradient.  False: out of range.
  bool add(int i, const Known& known, double weight, double* objective) const {
    const int T = d.length(i);
    if (T == 0) return true;
    if (d.tagged && !known.any()) return add_tagged(i, weight, objective);
    const std::int64_t rows = T + d.n_sites(i);
    real* x = reals(work, rows * n);
    scores(i, x);
    bool far = false;
    real* m = edges(i, &far);
    if (far) return false;
    Segmental kernel(w, T, d.site.data() + d.sites[i], d.n_sites(i), known, work);
    double log_z;
    if (!kernel.forward(x, m, &log_z)) return false;
    *objective += weight * log_z;
    if (gradient == nullptr) return true;
    kernel.backward(static_cast<real>(weight), *gradient);
    add_gradient(i, x);
    for (int t = 1; m != nullptr && t < T; ++t) {
      const real* pairs = m + static_cast<std::ptrdiff_t>(t) * n * n;
      for_edges(i, t, [&](std::int32_t id, int at, real value) { gradient->edge[id] += pairs[at] * value; });
    }
    return true;
  }
};

}  // namespace

bool evaluate(const Design& d, const Weights<real>& w, int i, const Known& known, double weight, double* objective,
              Gradient<real>* gradient, Workspace& work) {
  work.clear();
  return Evaluator{d, w, gradient, work, w.stride}.add(i, known, weight, objective);
}

void scores(const Design& d, const Weights<real>& w, int i, real* rows, Workspace& work) {
  Evaluator{d, w, nullptr, work, w.stride}.scores(i, rows);
}

bool best_chain(const Design& d, const Weights<real>& w, int i, std::int32_t* labels, Workspace& work) {
  work.clear();
  const int T = d.length(i), n = w.stride;
  real* x = reals(work, static_cast<std::size_t>(T) * n);     // scores, then those of the best way there
  real* from = reals(work, static_cast<std::size_t>(T) * n);
  real* reached = reals(work, n);
  Evaluator{d, w, nullptr, work, n}.gather(d.first_row(i), T, x);
  caesura::CAESURA_ISA::add(x, w.log_first, n);
  for (int t = 1; t < T; ++t) {
    const real* before = x + static_cast<std::ptrdiff_t>(t - 1) * n;
    real* back = from + static_cast<std::ptrdiff_t>(t) * n;
    best_step(before, w.log_transition, w.Y, n, reached, back);
    caesura::CAESURA_ISA::add(x + static_cast<std::ptrdiff_t>(t) * n, reached, n);
  }
  caesura::CAESURA_ISA::add(x + static_cast<std::ptrdiff_t>(T - 1) * n, w.log_last, n);
  int best = 0;
  const real* final = x + static_cast<std::ptrdiff_t>(T - 1) * n;
  for (int y = 1; y < w.Y; ++y) best = final[y] > final[best] ? y : best;
  if (final[best] == -kInfinity) return false;
  for (int t = T - 1; t >= 0; --t) {
    labels[t] = best;
    best = static_cast<int>(from[static_cast<std::ptrdiff_t>(t) * n + best]);
  }
  return true;
}

int best(const Design& d, const Weights<real>& w, int i, LabelledSegment* out, Workspace& work) {
  work.clear();
  const int T = d.length(i), n = w.stride, size = n * n;
  const Evaluator evaluator{d, w, nullptr, work, n};
  real* x = reals(work, static_cast<std::size_t>(T + d.n_sites(i)) * n);
  evaluator.scores(i, x);
  Best kernel(w, T, d.site.data() + d.sites[i], d.n_sites(i), x, work);
  if (d.edge_ptr.empty()) return kernel.run([&](int) { return w.log_transition; }, out);
  real* m = reals(work, size);
  return kernel.run([&](int t) -> const real* {
    std::memcpy(m, w.log_transition, sizeof(real) * size);
    evaluator.for_edges(i, t, [&](std::int32_t id, int at, real value) { m[at] += w.edge[id] * value; });
    return m;
  }, out);
}

void add(const Design& d, const Weights<real>& w, int i, const real* rows, Gradient<real>& gradient, Workspace& work) {
  Evaluator{d, w, &gradient, work, w.stride}.add_gradient(i, rows);
}

}  // namespace caesura::CAESURA_ISA

namespace caesura {
extern const Trainer<CAESURA_ISA::real> CAESURA_TRAINER = {CAESURA_ISA::W, CAESURA_ISA::evaluate, CAESURA_ISA::scores,
                                                            CAESURA_ISA::best_chain, CAESURA_ISA::best, CAESURA_ISA::add};
}  // namespace caesura
