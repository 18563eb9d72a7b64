// Forward-backward over segments of any length, for learning: rows of scores in, expected counts
// out.
//
// The general sweeps work on logarithms and support every query; here all labels share one span,
// rows are plain numbers with a running scale, and there is one exp for each score.  Where all
// segments have length 1 and rows are of tokens only, scaled_chain.hpp answers.  With g[e] the
// product of the factors that all open segments share at e:
//
//   live[s, e] = hat[s] * (all that a segment from s has gained up to e, going on)
//   term[s, e] = live[s, e] * (what it gains by ending at e)
//   alpha[e]   = sum over s of term[s, e]  +  open[e - 1] g[e] closing[e]
//   open[e]    = open[e - 1] g[e]  +  sum of live[s, e] over the starts s <= A(e) that join
//   hat[e]     = transition' alpha[e]
//
// A(e) is the last start whose rows have all ended at e: from there on it shares all factors with
// the earlier ones, so that at most m starts are live at a time.  A step is short where only the
// start e - 1 is live and joins at once, which holds where no feature spans two tokens.  The
// backward pass carries probabilities:
//
//   P(s, e) = term[s, e] back[e],   back[e] = transition (begun[e] / hat[e]),   begun[s] = sum over
//   e P(s, e)
//
// Returns false where a number leaves the safe range; then the general sweeps must answer.  With
// features gathered and gradients added up it is 4.0 to 4.5 times as fast as they are (lines
// "segments counts", L1+L3, of bench/twins.py).
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "base/vector.hpp"
#include "base/workspace.hpp"
#include "infer/scaled_chain.hpp"
#include "lattice/lattice.hpp"
#include "lattice/problem.hpp"
#include "learn/design.hpp"
#include "learn/live_starts.hpp"

namespace caesura::CAESURA_ISA {

// Scores of tokens and sites beyond these, and entries of rows below kLeast, go to the general
// sweeps.
constexpr real kFarthest = kDouble ? 100 : 60;
constexpr real kFarthestSite = kDouble ? 30 : 15;
constexpr real kNothing = kDouble ? 1e-300 : 1e-37f;  // instead of 0 in a division

inline void fill(real* row, std::ptrdiff_t n, real x) {
  for (std::ptrdiff_t q = 0; q < n; q += W) store(row + q, splat(x));
}
inline void multiply(real* row, const real* by, int n) {
  for (int q = 0; q < n; q += W) store(row + q, load(row + q) * load(by + q));
}
inline void add(real* row, const real* more, std::ptrdiff_t n) {
  for (std::ptrdiff_t q = 0; q < n; q += W) store(row + q, load(row + q) + load(more + q));
}

// Adds what is known of token t to its scores.
inline void apply(const Known& known, int t, int Y, real* scores) {
  if (known.cost != nullptr) {
    for (int y = 0; y < Y; ++y)
      scores[y] += static_cast<real>(known.cost[static_cast<std::ptrdiff_t>(t) * Y + y]);
  }
  if (known.allowed != nullptr) {
    for (int y = 0; y < Y; ++y) {
      if (!known.allowed[static_cast<std::ptrdiff_t>(t) * Y + y]) scores[y] = -kInfinity;
    }
  }
}

// The exps of all scores, in rows of n lanes of which some are used.  Each token lies in just one
// segment, so its row may be scaled by its maximum.  False: one is out of range.
inline bool exponentials(real* x, int T, int n_sites, int n, int used, double* log_scale) {
  ivec far = ivec{};
  // exp(score[t, q] - max over q of score[t, q]); the maxima are added to ln Z.
  const int tail = n - W;  // the last vector, with lanes that are not used
  for (int t = 0; t < T; ++t) {
    real* scores = x + static_cast<std::ptrdiff_t>(t) * n;
    // Lanes beyond `used` may hold anything; they become -inf, so that their exps are 0.
    const vec last = lanes_in(tail, 0, used) ? load(scores + tail) : splat(-kInfinity);
    vec top = last;
    for (int q = 0; q < tail; q += W) top = max(top, load(scores + q));
    const real most = max_of(top);
    if (!(most > -std::numeric_limits<real>::max())) return false;
    *log_scale += most;
    for (int q = 0; q < n; q += W) {
      const vec gap = (q < tail ? load(scores + q) : last) - most;
      far |= (gap < -kFarthest) & (gap > -kInfinity);
      store(scores + q, exp(gap));
    }
  }
  real* sites = x + static_cast<std::ptrdiff_t>(T) * n;
  // Rows of sites are not scaled, for a segmentation may use a site or not.  A score of -inf is out
  // of range too, so that the general sweeps answer.
  for (std::ptrdiff_t q = 0; q < static_cast<std::ptrdiff_t>(n_sites) * n; q += W) {
    const vec score = load(sites + q);
    far |= (score < -kFarthestSite) | (score > kFarthestSite);
    store(sites + q, exp(score));
  }
  return !any(far);
}

// What else the backward pass is asked: probabilities of segments, the last of which ends first,
// and of boundaries.  Null: not wanted.
struct Asked {
  const LabelledSegment* segments = nullptr;  // [count] by rising end
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

  // ln Z and, where there is a gradient, `weight` times the expected counts: those of rows take
  // their place, those of pairs, starts and ends are added to the gradient.  Where gradient.outer
  // is null, pairs are not counted.  False, and nothing added: a number left the safe range.
  // rows: [T + n_sites][stride] scores; edges: [T][stride * stride] the transitions at each
  // boundary, which become expected counts too, or null where they are the same everywhere.
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

  // Whether all segments have length 1 and rows are of tokens only.
  bool is_chain() const { return chain.has_value(); }

  // After run() with a gradient over a chain of tags: the probability that tags of one group say a
  // segment [s, e). joined: [Y][Y] whether the second of two tags goes on with the segment of the
  // first, which tags of one group alone do; apart: [stride] all 1, and 1 again afterwards
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
  real* step = nullptr;        // [T + 1][n] g[e], with the scale
  real* closing = nullptr;     // [T + 1][n]
  real* terms = nullptr;       // [by e, s][n]
  real* joined = nullptr;      // [T][n] live[s] when it joins
  real* live = nullptr;        // [ring][n]
  std::optional<Spans> spans;  // not of a chain
  std::int64_t* at = nullptr;  // [T + 1] terms
  int ring = 1;
  double log_scale = 0.0;
  real mass = 1;        // of the row before, which the next row is divided by
  double masses = 1.0;  // their product since log_scale was last added to
  ivec small = ivec{};  // lanes with an entry that is too small
  real last_mass = 1;   // alpha[T] . last
  // Segments of length 1 and rows of tokens only: the loops are much shorter.
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
  // The rows of the sites over the last token alone; where there is none, null.
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

// Which starts are live, and where the terms go.
inline void Segmental::prepare() {
  spans.emplace(T, sites, n_sites, w.longest, w.has_open, work);
  ring = spans->ring();
  at = reinterpret_cast<std::int64_t*>(work.doubles(T + 2));
  std::int64_t total = 0;
  // terms are rows by end and start: row at[e] + s - low[e] is term[s, e].  Their number is the sum
  // over e of e - low[e], at most T times the widest span, and T where only one start is live
  // at each end.
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

// alpha[1], ..., alpha[T] and what goes with them.  With a matrix of transitions without zeros it
// costs O(T Y (m + Y)), where m starts are live at a time.
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
    // No segment ends at a forbidden boundary.  At a forced one all end, so that none is live or
    // open.
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

// At a short end every site that ends at e is [e - 1, e), one of each kind at most.
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

// One step where only the start e - 1 is live, and joins at once:
//
//   g[e]     = token both / mass
//   live     = hat[e - 1] g[e] first
//   alpha[e] = (live single  +  open[e - 1] g[e]) last
//   open[e]  = live (of labels without a bound)  +  open[e - 1] g[e]
//
// It needs neither live nor terms, for the backward pass finds all it needs in hat, open and step.
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

// One step with any number of live starts, in O((e - low[e]) Y):
//
//   live[s, e] = live[s, e - 1] g[e] own[s, e],       live[s, s] = hat[s]
//   term[s, e] = live[s, e] closing[e] exact[s, e] fits[e - s]
//   alpha[e]   = sum over s of term[s, e]  +  open[e - 1] g[e] closing[e]
//   open[e]    = open[e - 1] g[e]  +  sum over the starts s that join at e of live[s, e]
//
// Starts fall from e - 1 to low[e].  A site [s', e) with an open start multiplies g or closing when
// s' is reached, which is right for s' and all earlier starts, and for the open ones at the end.
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
    // fits[k] is 1 for the labels that may have length k, else 0; beyond the longest bound only
    // labels without a bound remain, which is what w.open says.
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
    // open[e] += live[s, e] of labels without a bound, which leave live, so that they count once.
    // Labels with a bound stay live until they are too long.
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
  // All the starts that joined before e: alpha += open g closing, open += open g.
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

// From alpha[e] (and open[e]) to hat[e], and the scale of what comes after.
inline bool Segmental::carry(const real* a, const real* o, int e) {
  // mass = sum over q of alpha[e][q] + open[e][q].  The next gains are divided by it, so rows
  // neither overflow nor vanish; ln Z takes the logarithm of the product, once for many rows.
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
