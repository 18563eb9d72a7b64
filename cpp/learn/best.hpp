// The best segmentation: the recursion of segmental.hpp over scores, with the maximum in place of
// the sum.  It is 3.4 to 4.0 times as fast as the general sweep (lines "chain best" and "segments
// ... best" of bench/twins.py).
#pragma once

#include <algorithm>
#include <utility>

#include "lattice/problem.hpp"
#include "learn/segmental.hpp"
#include "learn/trainers.hpp"

namespace caesura::CAESURA_ISA {

// One step of the best path over a panel of B vectors of labels: out[j] = max over i of
// before[i] + m[i][j], and from[j] is the first i that attains the maximum.  Only the sources of
// the panel are read, that is, the labels that may precede one of its labels.
template <int B>
inline void best_panel(const Panel& panel, const real* before, const real* m, int stride, real* out,
                       real* from) {
  // best, where: [B][W] the best scores and the labels i that attain them; both stay in registers
  // over all sources.
  vec best[B], where[B];
  for (int b = 0; b < B; ++b) {
    best[b] = splat(-kInfinity);
    where[b] = vec{};
  }
  // Sources are in ascending order and only a greater value replaces the best, so ties keep the
  // first source.
  for (int k = 0; k < panel.count; ++k) {
    const int i = panel.sources[k];
    const vec x = splat(before[i]), here = splat(static_cast<real>(i));
    for (int b = 0; b < B; ++b) {
      const vec value = x + load(m + i * stride + b * W);
      const ivec better = value > best[b];
      best[b] = better ? value : best[b];
      where[b] = better ? here : where[b];
    }
  }
  for (int b = 0; b < B; ++b) {
    store(out + b * W, best[b]);
    store(from + b * W, where[b]);
  }
}

// The same over all panels, in O(Y^2) at most, and less if panels have few sources.
inline void best_step(const Weights<real>& w, const real* before, const real* m, real* out,
                      real* from) {
  for (int p = 0; p < w.n_best_panels; ++p) {
    const Panel& panel = w.best_panels[p];
    const int at = panel.begin * W;
    switch (panel.width) {
      case 1:
        best_panel<1>(panel, before, m + at, w.stride, out + at, from + at);
        break;
      case 2:
        best_panel<2>(panel, before, m + at, w.stride, out + at, from + at);
        break;
      default:
        best_panel<3>(panel, before, m + at, w.stride, out + at, from + at);
        break;
    }
  }
}

// The best path through one sequence of at least one token.  Starts of segments and previous labels
// are stored as floating-point numbers, so that vector code selects them along with the scores.
// They are exact up to 2^53 in a double.
//
//   hat[e][y]   = max over y0 of alpha[e][y0] + transition[y0, y]
//   alpha[e][y] = max over s of hat[s][y] + theta(s, e, y),   the best start is start[e][y]
//
// theta(s, e, y) is the sum of the scores of all rows that apply to the segment.  Live starts and
// the open term are defined in segmental.hpp.  A sequence costs O(T Y (m + Y)) if at most m starts
// are live at a time.
class Best {
 public:
  // rows: [T + n_sites][stride] scores.  `tables` receives the rows of the sweep, and may be null.
  Best(const Weights<real>& weights, int length, const Site* sites, int n_sites, const real* rows,
       const Known& known, Workspace& work, BestTables* tables = nullptr)
      : w(weights),
        known(known),
        T(length),
        n(weights.stride),
        sites(sites),
        x(rows),
        spans(length, sites, n_sites, weights.longest, weights.has_open, work),
        ring(spans.ring()) {
    const std::size_t size = static_cast<std::size_t>(T + 1) * n;
    hat = reals(work, size);
    start = reals(work, size);
    previous = reals(work, size);
    live = reals(work, static_cast<std::size_t>(ring) * n);
    for (real** one : {&alpha, &gain, &close, &open, &open_start, &entering, &entering_start})
      *one = reals(work, n);
    if (tables == nullptr) return;
    alphas = reals(work, size);
    *tables = {alphas, hat, start, previous};
  }

  // transitions(e) returns the scores of the label pairs at boundary e, [stride][stride].  Writes
  // the segments to `out` in order and returns their number, which is 0 if no segmentation is
  // possible.
  template <class Transitions>
  int run(Transitions transitions, LabelledSegment* out) {
    std::memcpy(hat, w.log_first, sizeof(real) * n);
    if (known.entry != nullptr) enter(hat);
    for (real* one : {open, entering}) fill(one, n, -kInfinity);
    for (real* one : {open_start, entering_start}) fill(one, n, 0);
    // Invariant at the top of the loop: hat[s], start[s] and previous[s] are known for s < e, and
    // `open` holds the best of the segments that joined the open term before e.
    for (int e = 1; e <= T; ++e) {
      if (e % kPatience == 0) check_interrupt();
      if (alphas != nullptr) alpha = row(alphas, e);
      step(e);
      if (e < T && known.boundary != nullptr) restrict_boundary(e);
      if (e < T) best_step(w, alpha, transitions(e), row(hat, e), row(previous, e));
      if (e < T && known.entry != nullptr) enter(row(hat, e));
    }
    // The last label maximises alpha[T][y] + last[y]; ties go to the smallest.
    int label = 0;
    for (int y = 0; y < w.Y; ++y) {
      alpha[y] += w.log_last[y];
      if (alpha[y] > alpha[label]) label = y;
    }
    if (alpha[label] == -kInfinity) return 0;
    int count = 0;
    // Follow the back-pointers from T to 0: start[e][y] is where the segment that ends at e starts,
    // and previous[s][y] is the label before it.
    for (int e = T; e > 0;) {
      const int s = static_cast<int>(row(start, e)[label]);
      out[count++] = {s, e, label};
      if (s > 0) label = static_cast<int>(row(previous, s)[label]);
      e = s;
    }
    std::reverse(out, out + count);
    return count;
  }

 private:
  const Weights<real>& w;
  const Known& known;
  const int T, n;
  const Site* sites;
  const real* x;
  const Spans spans;
  const int ring;
  real *hat, *start, *previous;  // [T + 1][n]; start, previous: back-pointers
  real* alphas = nullptr;        // [T + 1][n], or null if only the row of the current end is kept
  real* live;                    // [ring][n] scores of the live starts
  real *alpha, *gain, *close;    // [n] at the current end
  real *open, *open_start;       // [n] the open term before the current end, and its starts
  real *entering, *entering_start;  // [n] the same after the current end

  real* row(real* table, std::int64_t t) const { return table + t * n; }
  const real* row(const real* table, std::int64_t t) const { return table + t * n; }

  // Computes alpha and the open term at e.
  void step(int e) {
    std::memcpy(gain, row(x, e - 1), sizeof(real) * n);
    if (known.any()) apply(known, e - 1, w.Y, gain);
    fill(close, n, 0);
    fill(alpha, n, -kInfinity);
    real* from = row(start, e);
    fill(from, n, 0);
    // Starts descend from e - 1 to low[e].  The row of a site with an open start is added to gain
    // or close when the start of the site is reached, so it counts for this start, for all earlier
    // ones and for the open term.
    spans.for_starts(
        e, [&](int k) { return row(x, T + k); }, [&](const real* values) { add(gain, values, n); },
        [&](const real* values) { add(close, values, n); },
        [&](int s, const real* own, const real* exact) { extend(s, e, own, exact, from); });
    if (w.has_open) extend_open(from);
  }

  // Adds the entry costs to the segments that start at one boundary.
  void enter(real* to) const {
    for (int y = 0; y < w.Y; ++y) to[y] += static_cast<real>(known.entry[y]);
  }

  // No segment ends at a forbidden boundary, and none continues beyond a required one.
  void restrict_boundary(int e) {
    if (known.boundary[e] & kBarred) fill(alpha, n, -kInfinity);
    if (!(known.boundary[e] & kForced)) return;
    fill(open, n, -kInfinity);
    fill(live, static_cast<std::ptrdiff_t>(ring) * n, -kInfinity);
  }

  // Extends the segments that start at s to e: they end there or continue.
  void extend(int s, int e, const real* own, const real* exact, real* from) {
    real* l = row(live, s & (ring - 1));
    const real* before = s == e - 1 ? row(hat, s) : l;
    const real* fits = e - s == 1 ? nullptr : e - s <= w.longest ? row(w.fits, e - s) : w.open;
    const bool joining = w.has_open && spans.joins_at(s, e);
    const vec here = splat(static_cast<real>(s));
    //
    //   live[s, e]  = live[s, e - 1] + gain[e] + own[s, e],     live[s, s] = hat[s]
    //   alpha[e]    = max(alpha[e], live[s, e] + close[e] + exact[s, e])   if y may have length e-s
    //   entering[e] = max(entering[e], live[s, e])                         if s joins at e
    //
    // Labels that join the open term are removed from live, so that they are not counted twice.
    // Later starts come first and only a greater score replaces the best, so ties keep the latest
    // start.
    for (int q = 0; q < n; q += W) {
      vec value = load(before + q) + load(gain + q);
      if (own != nullptr) value += load(own + q);
      vec ended = value + load(close + q);
      if (exact != nullptr) ended += load(exact + q);
      if (fits != nullptr) ended = load(fits + q) > 0 ? ended : splat(-kInfinity);
      take(ended, here, alpha + q, from + q);
      if (joining) {
        const ivec joins = load(w.open + q) > 0;
        take(joins ? value : splat(-kInfinity), here, entering + q, entering_start + q);
        value = joins ? splat(-kInfinity) : value;
      }
      store(l + q, value);
    }
  }

  // Extends the segments in the open term, which share all further scores.
  void extend_open(real* from) {
    //
    //   alpha[e] = max(alpha[e], open[e - 1] + gain[e] + close[e])
    //   open[e]  = max(entering[e], open[e - 1] + gain[e])
    //
    // open_start moves with `open`: two starts are compared only once, when they join, because
    // their scores change equally afterwards.
    for (int q = 0; q < n; q += W) {
      const vec value = load(open + q) + load(gain + q), here = load(open_start + q);
      take(value + load(close + q), here, alpha + q, from + q);
      take(value, here, entering + q, entering_start + q);
    }
    // `entering` becomes the open term after e.  Its starts need no reset: an entry of -inf is
    // never selected.
    std::swap(open, entering);
    std::swap(open_start, entering_start);
    fill(entering, n, -kInfinity);
  }

  // Replaces the entries of best and from where the new score is greater.
  static void take(vec score, vec start, real* best, real* from) {
    const vec old = load(best);
    const ivec better = score > old;
    store(best, better ? score : old);
    store(from, better ? start : load(from));
  }
};

}  // namespace caesura::CAESURA_ISA
