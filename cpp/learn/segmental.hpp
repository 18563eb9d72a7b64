// Forward-backward over segments of any length, for learning: from the scores of rows to their
// expected counts.
//
// The general sweeps work on logarithms and support every query.  Here all labels have the same
// live starts, rows are plain numbers with a running scale, and each score needs a single exp.  If
// all segments have length 1 and all rows are those of tokens, scaled_chain.hpp is used.  With g[e]
// the product of the factors that all live segments gain at e, and closing[e] of those that they
// gain by ending there:
//
//   live[s, e] = hat[s] * (all that a segment from s gains up to e if it continues)
//   term[s, e] = live[s, e] * (what it gains by ending at e)
//   alpha[e]   = sum over s of term[s, e]  +  open[e - 1] g[e] closing[e]
//   open[e]    = open[e - 1] g[e]  +  sum of live[s, e] over the starts s <= A(e) that join
//   hat[e]     = transition' alpha[e]
//
// A(e) is the last start such that all rows from it or from earlier starts end at or before e (see
// reach.hpp).  Beyond e, segments from these starts gain the same factors; they join the open term,
// so at most m starts are live at a time.  A step is short if only the start e - 1 is live and
// joins immediately, as is the case if no feature spans two tokens.  The backward pass propagates
// probabilities:
//
//   P(s, e) = term[s, e] back[e],   back[e] = transition (begun[e] / hat[e])
//   begun[s] = sum over e of P(s, e)
//
// Functions return false if a value leaves the safe range; then the general sweeps must answer.
// Including the gathering of features and the accumulation of gradients, it is 4.0 to 4.5 times as
// fast as the general sweeps (lines "segments ... counts", L1+L3, of bench/twins.py).
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "base/vector.hpp"
#include "base/workspace.hpp"
#include "infer/scaled_chain.hpp"
#include "lattice/lattice.hpp"
#include "lattice/problem.hpp"
#include "learn/live_starts.hpp"
#include "learn/row_scores.hpp"

namespace caesura::CAESURA_ISA {

// Further results of the backward pass: probabilities of segments, which must have different ends,
// and of boundaries.  The arrays may be null if they are not needed.
struct Asked {
  const LabelledSegment* segments = nullptr;  // [count] in ascending order of their ends
  int count = 0;
  double* probabilities = nullptr;  // [count]
  double* boundaries = nullptr;     // [T + 1]
};

class Segmental {
 public:
  Segmental(const Weights<real>& weights, int length, const Site* sites, int n_sites,
            const Known& known, Workspace& workspace)
      : w(weights),
        T(length),
        n(weights.stride),
        sites(sites),
        n_sites(n_sites),
        known(known),
        work(workspace) {}

  // Computes ln Z and, if `gradient` is not null, `weight` times the expected counts: those of rows
  // replace the scores, and those of pairs, starts and ends are added to the gradient.  If
  // gradient.outer is null, pairs are not counted.  Returns false, with nothing added, if a value
  // leaves the safe range.  rows: [T + n_sites][stride] scores.  edges: [T][stride * stride] the
  // transitions at each boundary, which are replaced by expected counts, or null if they are the
  // same at all boundaries.
  bool run(real* rows, real* edges, double* log_z, real weight = 1,
           Gradient<real>* gradient = nullptr, const Asked* asked = nullptr) {
    x = rows;
    edge = edges;
    if (w.longest == 1 && !w.has_open && n_sites == 0)
      return run_chain(log_z, weight, gradient, asked);
    prepare();
    if (!exps() || !sweep() || !finish(log_z)) return false;
    if (gradient != nullptr) backward(weight, *gradient, asked);
    return true;
  }

  // Whether the last run() was over a chain: all segments have length 1 and there are no sites.
  bool is_chain() const { return chain.has_value(); }

  // Returns the probability that the tags of one group spell a segment [s, e), after run() with a
  // gradient over a chain of tags.  joined: [Y][Y] whether the second of two tags continues the
  // segment of the first, which is possible within a group only.  apart: [stride] must be all 1,
  // and is so again afterwards.
  double run_probability(int s, int e, const std::vector<std::int32_t>& group,
                         const std::uint8_t* joined, real* apart) const;

 private:
  const Weights<real>& w;
  const int T, n;
  const Site* sites;
  const int n_sites;
  const Known& known;
  Workspace& work;
  real* edge = nullptr;

  real* x = nullptr;           // [rows][n]
  real* alpha = nullptr;       // [T + 1][n]
  real* hat = nullptr;         // [T][n]
  real* open = nullptr;        // [T + 1][n]
  real* step = nullptr;        // [T + 1][n] g[e], including the scale
  real* closing = nullptr;     // [T + 1][n]
  real* terms = nullptr;       // [by e, s][n]
  real* joined = nullptr;      // [T][n] live[s] at the end where s joins
  real* live = nullptr;        // [ring][n]
  std::optional<Spans> spans;  // not set for a chain
  std::int64_t* at = nullptr;  // [T + 1] first of the terms that end at e
  int ring = 1;
  double log_scale = 0.0;
  real mass = 1;        // of the previous row; the next one is divided by it
  double masses = 1.0;  // product of the masses since log_scale was last updated
  ivec small = ivec{};  // lanes in which an entry is too small
  real last_mass = 1;   // alpha[T] . last
  // Set for a chain, for which the loops are much shorter.
  std::optional<ScaledChain> chain;

  real* row(real* table, std::int64_t t) const { return table + t * n; }
  const real* row(const real* table, std::int64_t t) const { return table + t * n; }
  real* pairs(int e) const { return edge + static_cast<std::ptrdiff_t>(e) * n * n; }
  bool forced(int e) const { return known.boundary != nullptr && (known.boundary[e] & kForced); }
  bool barred(int e) const { return known.boundary != nullptr && (known.boundary[e] & kBarred); }
  bool joins_at(int s, int e) const { return w.has_open && spans->joins_at(s, e); }
  bool is_short(int e) const {
    const int k = spans->by_end[e + 1] - 1;  // the site that ends at e and starts first
    return w.longest <= 1 && spans->low[e] == e - 1 && (!w.has_open || spans->reach[e] == e - 1) &&
           (k < spans->by_end[e] || sites[k].start == e - 1);
  }
  // The rows of the sites over the last token, null where there is none.
  struct Alone {
    real *both, *first, *last, *single;
  };
  Alone alone(int e) const;

  void prepare();
  void apply_known();
  bool exps();
  bool sweep();
  bool run_chain(double* log_z, real weight, Gradient<real>* gradient, const Asked* asked);
  void long_step(int e, real* a, real* o);
  template <bool kOpen>
  void short_step(int e, real* a, real* o);
  bool carry(const real* a, const real* o, int e);
  void start_back(real weight, Gradient<real>& gradient, real* back) const;
  void backward(real weight, Gradient<real>& gradient, const Asked* asked);
  bool finish(double* log_z);
  void long_back(int e, const real* back, real* open_back, real* gathered, real* sums, real* ratio);
  template <bool kOpen>
  void short_back(int e, const real* back, real* open_back, real* ratio, real* begun);
  void pass_back(int e, const real* ratio, real* back, real* total);
  real probability(int s, int e, int y, const real* back) const;
  double pair_probability(int e, int p, int q) const;
  double pairs_after(int e, int p, const real* factors) const;
  double pairs_before(int e, int q, const real* factors) const;
};

// Computes which starts are live, and allocates the rows.
inline void Segmental::prepare() {
  spans.emplace(T, sites, n_sites, w.longest, w.has_open, work);
  ring = spans->ring();
  at = reinterpret_cast<std::int64_t*>(work.doubles(T + 2));
  std::int64_t total = 0;
  // Row at[e] + s - low[e] of `terms` is term[s, e].  The number of rows is the sum over e of
  // e - low[e], which is at most T times the widest span, and T if only one start is live at each
  // end.
  for (int e = 0; e <= T; ++e) {
    at[e] = total;
    total += e - spans->low[e];
  }
  const std::size_t size = static_cast<std::size_t>(T + 1) * n;
  alpha = reals(work, size);
  hat = reals(work, size);
  step = reals(work, size);
  terms = reals(work, total * n);
  live = reals(work, static_cast<std::size_t>(ring) * n);
  if (spans->closes) closing = reals(work, size);
  if (w.has_open) {
    open = reals(work, size);
    joined = reals(work, size);
  }
}

inline void Segmental::apply_known() {
  for (int t = 0; t < T && known.any(); ++t) apply(known, t, w.Y, row(x, t));
}

inline bool Segmental::exps() {
  apply_known();
  return exponentials(x, T, n_sites, n, w.Y, &log_scale);
}

// Computes alpha[1], ..., alpha[T] and the other forward rows.  If no transition is forbidden, the
// cost is O(T Y (m + Y)), where at most m starts are live at a time.
inline bool Segmental::sweep() {
  std::memcpy(hat, w.first, sizeof(real) * n);
  if (w.has_open) {
    fill(row(open, 0), n, 0);
    fill(row(joined, 0), n, 0);
  }
  // Invariant at the top of the loop: hat[s], open[s] and step[s] are known for s < e, and row s of
  // live is live[s, e - 1] for the starts from low[e] to e - 2.
  for (int e = 1; e <= T; ++e) {
    if (e % kPatience == 0) check_interrupt();
    real* a = row(alpha, e);
    real* o = w.has_open ? row(open, e) : nullptr;
    if (!is_short(e))
      long_step(e, a, o);
    else if (w.has_open)
      short_step<true>(e, a, o);
    else
      short_step<false>(e, a, o);
    // No segment ends at a forbidden boundary.  All segments end at a required one, so that none
    // stays live or in the open term.
    if (known.boundary != nullptr && e < T) {
      if (barred(e)) fill(a, n, 0);
      if (forced(e)) {
        for (int s = 0; s < ring; ++s) fill(row(live, s), n, 0);
        if (w.has_open) fill(o, n, 0);
      }
    }
    if (e < T && !carry(a, o, e)) return false;
  }
  return !any(small);
}

// At a short end, every site that ends at e is [e - 1, e), and there is at most one of each kind.
inline Segmental::Alone Segmental::alone(int e) const {
  Alone out{};
  for (int k = spans->by_end[e]; k < spans->by_end[e + 1]; ++k) {
    real* values = row(x, T + k);
    if (sites[k].flags == (kOpenStart | kOpenEnd))
      out.both = values;
    else if (sites[k].flags == kOpenEnd)
      out.first = values;
    else if (sites[k].flags == kOpenStart)
      out.last = values;
    else
      out.single = values;
  }
  return out;
}

// A step in which only the start e - 1 is live and joins immediately, in O(Y):
//
//   g[e]     = token both / mass
//   live     = hat[e - 1] g[e] first
//   alpha[e] = (live single  +  open[e - 1] g[e]) last
//   open[e]  = live (of labels without a bound)  +  open[e - 1] g[e]
//
// live and terms are not needed, because the backward pass uses only hat, open and step.
template <bool kOpen>
inline void Segmental::short_step(int e, real* a, real* o) {
  const real scale = 1 / mass;
  const Alone on = alone(e);
  const real *token = row(x, e - 1), *h = row(hat, e - 1),
             *before = kOpen ? row(open, e - 1) : nullptr;
  real* g = row(step, e);
  for (int q = 0; q < n; q += W) {
    vec gain = load(token + q) * scale;
    if (on.both != nullptr) gain *= load(on.both + q);
    store(g + q, gain);
    vec value = load(h + q) * gain;
    if (on.first != nullptr) value *= load(on.first + q);
    vec ended = value, going = kOpen ? load(before + q) * gain : vec{};
    if (on.single != nullptr) ended *= load(on.single + q);
    if (kOpen) {
      ended += going;
      store(o + q, value * load(w.open + q) + going);
    }
    if (on.last != nullptr) ended *= load(on.last + q);
    store(a + q, ended);
  }
}

// A step with any number of live starts, in O((e - low[e]) Y):
//
//   live[s, e] = live[s, e - 1] g[e] own[s, e],       live[s, s] = hat[s]
//   term[s, e] = live[s, e] closing[e] exact[s, e] fits[e - s]
//   alpha[e]   = sum over s of term[s, e]  +  open[e - 1] g[e] closing[e]
//   open[e]    = open[e - 1] g[e]  +  sum over the starts s that join at e of live[s, e]
//
// Starts descend from e - 1 to low[e].  A site [s', e) with an open start multiplies g or closing
// when s' is reached, so it counts for s', for all earlier starts and for the open term at the end.
inline void Segmental::long_step(int e, real* a, real* o) {
  const real scale = 1 / mass;
  real* g = row(step, e);
  real* close = spans->closes ? row(closing, e) : nullptr;
  const real* token = row(x, e - 1);
  for (int q = 0; q < n; q += W) store(g + q, load(token + q) * scale);
  if (close != nullptr) fill(close, n, 1);
  if (w.has_open) fill(o, n, 0);
  fill(a, n, 0);
  auto extend = [&](int s, const real* own, const real* exact) {
    real* l = row(live, s & (ring - 1));
    const real* before = s == e - 1 ? row(hat, s) : l;
    real* term = row(terms, at[e] + s - spans->low[e]);
    const bool joining = joins_at(s, e);
    // fits[k] is 1 for the labels that may have length k, else 0.  Beyond the largest bound, only
    // labels without a bound remain, for which w.open is 1.
    const real* fits = e - s == 1 ? nullptr : e - s <= w.longest ? row(w.fits, e - s) : w.open;
    for (int q = 0; q < n; q += W) {
      vec value = load(before + q) * load(g + q);
      if (own != nullptr) value *= load(own + q);
      vec ended = value;
      if (close != nullptr) ended *= load(close + q);
      if (exact != nullptr) ended *= load(exact + q);
      store(l + q, value);
      if (fits != nullptr) ended *= load(fits + q);
      store(term + q, ended);
      store(a + q, load(a + q) + ended);
    }
    // open[e] += live[s, e] for labels without a bound, which are removed from live, so that they
    // count once.  Labels with a bound stay live until they are too long.
    if (joining) {
      real* j = row(joined, s);
      for (int q = 0; q < n; q += W) {
        const vec is_open = load(w.open + q), value = load(l + q);
        const vec entering = value * is_open;
        store(j + q, entering);
        store(o + q, load(o + q) + entering);
        store(l + q, value - entering);
      }
    }
  };
  spans->for_starts(
      e, [&](int k) { return row(x, T + k); }, [&](const real* values) { multiply(g, values, n); },
      [&](const real* values) { multiply(close, values, n); }, extend);
  // The starts that joined before e: alpha += open g closing, open += open g.
  if (w.has_open && e > 1) {
    const real* before = row(open, e - 1);
    for (int q = 0; q < n; q += W) {
      const vec value = load(before + q) * load(g + q);
      vec ended = value;
      if (close != nullptr) ended *= load(close + q);
      store(a + q, load(a + q) + ended);
      store(o + q, load(o + q) + value);
    }
  }
}

// Computes hat[e] from alpha[e], and the scale of the next step from alpha[e] and open[e].
inline bool Segmental::carry(const real* a, const real* o, int e) {
  // mass = sum over q of alpha[e][q] + open[e][q].  The next gains are divided by it, so that rows
  // neither overflow nor underflow; its logarithm is added to ln Z, once for many rows.
  vec total = vec{};
  for (int q = 0; q < n; q += W) {
    const vec value = load(a + q);
    if (kDouble) small |= (value < kLeast) & (value > 0);
    total += value;
    if (o == nullptr) continue;
    const vec going = load(o + q);
    if (kDouble) small |= (going < kLeast) & (going > 0);
    total += going;
  }
  mass = sum(total);
  if (!(mass > kLeast && mass < 1 / kLeast)) {
    if (mass != 0) return false;
    mass = 1;  // all segments are still live
  }
  masses *= mass;
  if (masses < 1e-100 || masses > 1e100) {
    log_scale += std::log(masses);
    masses = 1.0;
  }
  // hat[e][j] = sum over i of alpha[e][i] transition[i, j]
  product(w.panels, w.n_panels, a, edge != nullptr ? pairs(e) : w.transition, n, row(hat, e));
  return true;
}

// ln Z = log_scale + ln(product of masses) + ln(sum over q of alpha[T][q] last[q])
inline bool Segmental::finish(double* log_z) {
  vec total = vec{};
  for (int q = 0; q < n; q += W) total += load(row(alpha, T) + q) * load(w.last + q);
  last_mass = sum(total);
  if (!(last_mass > kLeast)) return false;
  *log_z = log_scale + std::log(masses) + std::log(static_cast<double>(last_mass));
  return std::isfinite(*log_z);
}

}  // namespace caesura::CAESURA_ISA
