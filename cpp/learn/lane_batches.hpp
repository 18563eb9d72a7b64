// Objective and gradient of models with label patterns: high_order.hpp with one sequence in each
// lane.
#pragma once

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include "learn/feature_rows.hpp"
#include "learn/high_order_back.hpp"
#include "learn/high_order_forward.hpp"

namespace caesura::CAESURA_ISA {

// Flushes denormal numbers to 0 during its lifetime: they would make arithmetic a hundred times
// slower, and no result depends on them (see kFarAhead).
class NoDenormals {
 public:
#ifdef __SSE2__
  NoDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~NoDenormals() { _mm_setcsr(before_); }

 private:
  const unsigned before_;
#else
  NoDenormals() {}
#endif
};

// A batch of up to W sequences; empty lanes have length 0.
struct Batch : FeatureRows {
  std::int32_t sequence[W] = {}, lengths[W] = {};
  Known known[W] = {};
  int T = 0, n_sites = 0;
  Site* sites = nullptr;           // the sites of all lanes, sorted like those of a sequence
  std::int32_t* site_row[W] = {};  // [sites of the lane] the index of each in `sites`

  void add(int b, int i, const Known& what) {
    sequence[b] = i;
    lengths[b] = d.length(i);
    known[b] = what;
    T = std::max(T, lengths[b]);
  }

  void merge_sites() {
    int total = 0;
    for (int b = 0; b < W; ++b) total += lengths[b] == 0 ? 0 : d.n_sites(sequence[b]);
    sites = reinterpret_cast<Site*>(work.ints((total + 1) * sizeof(Site) / sizeof(std::int32_t)));
    int next[W] = {};
    for (int b = 0; b < W; ++b)
      site_row[b] = work.ints(lengths[b] == 0 ? 1 : d.n_sites(sequence[b]) + 1);
    auto comes_before = [](const Site& a, const Site& b) {
      return a.end != b.end       ? a.end < b.end
             : a.start != b.start ? a.start > b.start
                                  : a.flags < b.flags;
    };
    for (;; ++n_sites) {
      const Site* least = nullptr;
      for (int b = 0; b < W; ++b) {
        const Site* one = site(b, next[b]);
        if (one != nullptr && (least == nullptr || comes_before(*one, *least))) least = one;
      }
      if (least == nullptr) return;
      sites[n_sites] = *least;
      for (int b = 0; b < W; ++b) {
        const Site* one = site(b, next[b]);
        if (one == nullptr || comes_before(sites[n_sites], *one)) continue;
        site_row[b][next[b]++] = n_sites;
      }
    }
  }
  const Site* site(int b, int k) const {
    return lengths[b] > 0 && k < d.n_sites(sequence[b]) ? d.site.data() + d.sites[sequence[b]] + k
                                                        : nullptr;
  }
  int row_of(int b, int r) const { return r < lengths[b] ? r : T + site_row[b][r - lengths[b]]; }

  // Returns the scores of all rows, [T + n_sites][c][W].
  template <bool kByState>
  real* scores() const {
    const ArcProgram& h = *w.program;
    const int c = kByState ? h.lanes : h.Y;
    real* out = reals(work, static_cast<std::size_t>(T + n_sites) * c * W);
    fill(out, static_cast<std::ptrdiff_t>(T) * c * W, -kInfinity);
    fill(out + static_cast<std::ptrdiff_t>(T) * c * W, static_cast<std::ptrdiff_t>(n_sites) * c * W,
         0);
    real* states = reals(work, w.histories->lanes);
    for (int b = 0; b < W; ++b) {
      if (lengths[b] == 0) continue;
      const std::int64_t first = d.first_row(sequence[b]);
      const int rows = lengths[b] + d.n_sites(sequence[b]);
      real* raw = reals(work, static_cast<std::size_t>(rows) * w.row);
      gather(first, rows, raw);
      for (int r = 0; r < rows; ++r) {
        real *from = raw + static_cast<std::ptrdiff_t>(r) * w.row,
             *to = out + static_cast<std::ptrdiff_t>(row_of(b, r)) * c * W + b;
        if (r < lengths[b] && known[b].any()) apply(known[b], r, d.Y, from);
        if (kByState) to_states(first + r, r < lengths[b], from, states);
        for (int q = 0; q < c; ++q) {
          if (!kByState)
            to[q * W] = from[q];
          else if (h.history[q] >= 0)
            to[q * W] = states[h.history[q]];
        }
      }
    }
    return out;
  }

  // Adds the expected counts of all rows, times the weight of each lane, to the gradient.  counts:
  // [T + n_sites][c][W], weight: [W].
  template <bool kByState>
  void add_rows(const real* counts, const real* weight) const {
    const ArcProgram& h = *w.program;
    const int c = kByState ? h.lanes : d.Y;
    real* states = reals(work, w.histories->lanes);
    for (int b = 0; b < W; ++b) {
      if (weight[b] == 0) continue;
      const std::int64_t first = d.first_row(sequence[b]);
      const int rows = lengths[b] + d.n_sites(sequence[b]);
      real* raw = reals(work, static_cast<std::size_t>(rows) * w.row);
      for (int r = 0; r < rows; ++r) {
        const real* from = counts + static_cast<std::ptrdiff_t>(row_of(b, r)) * c * W + b;
        real* to = raw + static_cast<std::ptrdiff_t>(r) * w.row;
        if (kByState) fill(states, w.histories->lanes, 0);
        for (int q = 0; q < c; ++q) {
          if (!kByState)
            to[q] = weight[b] * from[q * W];
          else if (h.history[q] >= 0)
            states[h.history[q]] += weight[b] * from[q * W];
        }
        if (kByState)
          from_states(first + r, states, to);
        else
          fill_padding(to);
      }
      scatter(first, rows, raw);
    }
  }
  void fill_padding(real* row) const {
    for (int y = d.Y; y < w.stride; ++y) row[y] = 0;
  }

  // Returns the scores of the attributes at boundaries, [T][entry classes][W], or null if there are
  // none.
  real* entries() const {
    if (d.edge_ptr.empty()) return nullptr;
    const Histories& h = *w.histories;
    const int k = h.n_classes();
    real* out = reals(work, static_cast<std::size_t>(T) * k * W);
    fill(out, static_cast<std::ptrdiff_t>(T) * k * W, 0);
    for (int t = 1; t < T; ++t) {
      real* scores = out + static_cast<std::ptrdiff_t>(t) * k * W;
      for_entries(t, [&](int b, std::int32_t id, int at, real value) {
        scores[at * W + b] += w.edge[id] * value;
      });
      for (int j = 1; j < k; ++j)
        caesura::CAESURA_ISA::add(scores + j * W, scores + h.shorter_class[j] * W, W);
    }
    return out;
  }
  // Calls visit(lane, weight, class, value) for the edge weights at boundary t.
  template <class Visit>
  void for_entries(int t, Visit visit) const {
    const Histories& h = *w.histories;
    const int square = d.Y * d.Y;
    for (int b = 0; b < W; ++b) {
      if (t >= lengths[b]) continue;
      d.for_edges(sequence[b], t, [&](std::int32_t id, std::int32_t code, double value) {
        visit(b, id, code < square ? h.pair_class[code] : h.pattern_class[code - square],
              static_cast<real>(value));
      });
    }
  }

  // Computes ln Z of all lanes, NaN where the general sweeps must answer, and adds weights times
  // their gradients to the gradient, unless it is null.
  template <bool kByState>
  void evaluate(const double* weights, double* log_z) {
    merge_sites();
    real *x = scores<kByState>(), *m = entries();
    HighOrder<kByState> kernel(w, lengths, known, sites, n_sites, work);
    const NoDenormals fast;
    kernel.forward(x, m, log_z);
    if (gradient == nullptr) return;
    real weight[W] = {};
    bool counts[W];
    for (int b = 0; b < W; ++b) {
      if (lengths[b] > 0 && !std::isnan(log_z[b])) weight[b] = static_cast<real>(weights[b]);
      counts[b] = weight[b] != 0;
    }
    if (std::none_of(counts, counts + W, [](bool one) { return one; })) return;
    kernel.backward(weight, *gradient);
    for (int b = 0; b < W; ++b) {
      if (counts[b] && weight[b] == 0) log_z[b] = std::numeric_limits<double>::quiet_NaN();
    }
    add_rows<kByState>(x, weight);
    for (int t = 1; m != nullptr && t < T; ++t) {
      const real* begun = m + static_cast<std::ptrdiff_t>(t) * w.histories->n_classes() * W;
      for_entries(t, [&](int b, std::int32_t id, int at, real value) {
        if (weight[b] != 0) gradient->edge[id] += weight[b] * begun[at * W + b] * value;
      });
    }
  }
};

}  // namespace caesura::CAESURA_ISA
