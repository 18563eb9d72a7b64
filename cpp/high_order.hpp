// Forward-backward over segments and label histories, for learning with patterns of labels.
//
// As segmental.hpp, with states (histories.hpp) in place of labels where a segment begins or ends.  What a segment
// from s to e gains of its own, term[s, e], is the same for all states with one label, or for each state its own
// where features of its content look at the labels before it:
//
//   alpha[e][q] = sum over s of hat[s][q] term[s, e]  +  open[e - 1][q] g[e] closing[e]
//   hat[e]      = entry * in(alpha[e])        entry: what a state's patterns gain
//
// and back, with ratio[s][q] = P(a segment starts at s in state q) / hat[s][q]:
//
//   ratio[s]    = sum over e of term[s, e] back[e]  +  joined[s] beyond[A^-1(s)]
//   back[e]     = in'(entry * ratio[e])
//   beyond[e - 1] = g[e] (beyond[e] + closing[e] back[e])       for segments that are open at e and go on
//
// Returns false where a number leaves the safe range; then the general sweeps must answer.
#pragma once

#include "histories.hpp"
#include "segmental.hpp"

namespace caesura::CAESURA_ISA {

constexpr real kLeastState = kDouble ? 1e-200 : 1e-30f;

// kByState: rows are of states, else of labels.
template <bool kByState>
class HighOrder {
 public:
  HighOrder(const Weights<real>& weights, int length, const Site* sites, int n_sites, const Known& known, Workspace& workspace)
      : w(weights), h(*weights.histories), T(length), n(h.lanes), c(kByState ? h.lanes : weights.stride), sites(sites),
        n_sites(n_sites), known(known), work(workspace), spans(length, sites, n_sites, weights.longest, weights.has_open, workspace) {}

  // rows: [T + n_sites][c] scores, replaced by exps; entries: [T][n] what states gain at each boundary, or null
  // where it is the same everywhere.
  bool forward(real* rows, real* entries, double* log_z) {
    x = rows;
    entry = entries;
    prepare();
    return exponentials(x, T, n_sites, c, kByState ? c : w.Y, &log_scale) && sweep() && finish(log_z);
  }

  // Replaces the rows by expected counts times `weight`, and adds those of pairs, states, starts and ends.
  // Entries too become expected counts of states.
  void backward(real weight, Gradient<real>& gradient);

 private:
  const Weights<real>& w;
  const Histories& h;
  const int T, n, c;
  const Site* sites;
  const int n_sites;
  const Known& known;
  Workspace& work;
  const Spans spans;

  real* x = nullptr;        // [rows][c]
  real* entry = nullptr;    // [T][n]
  real* hat = nullptr;      // [T][n]
  real* open = nullptr;     // [T + 1][n]
  real* alpha = nullptr;    // [n] of the current end
  real* endings = nullptr;  // [n] S
  real* labels = nullptr;   // [T][stride] S of single labels
  real* gain = nullptr;     // [T + 1][c] g[e], with the scale
  real* closing = nullptr;  // [T + 1][c]
  real* terms = nullptr;    // [by e, s][c]
  real* joined = nullptr;   // [T][c] what a segment from s has gained when it joins the open ones
  real* live = nullptr;     // [ring][c]
  real* base = nullptr;     // [stride]
  std::int32_t* joins = nullptr;  // [T] where s joins, 0: nowhere
  std::int32_t* until = nullptr;  // [T] last e with a term of s
  std::int64_t* at = nullptr;     // [T + 1] terms
  int ring = 1;
  double log_scale = 0.0, masses = 1.0;
  real mass = 1, last_mass = 1;
  ivec bad = ivec{};  // lanes with an entry that is too small or too large

  real* states(real* table, std::int64_t t) const { return table + t * n; }
  real* row(real* table, std::int64_t t) const { return table + t * c; }
  real* term(int s, int e) const { return terms + (at[e] + s - spans.low[e]) * c; }
  const real* entry_at(int t) const { return entry == nullptr ? w.entry : entry + static_cast<std::ptrdiff_t>(t) * n; }
  bool marked(int e, BoundaryMarks mark) const { return known.boundary != nullptr && (known.boundary[e] & mark); }
  bool is_open(int y) const { return w.bounds[y] == 0; }
  // The first start of segments with label y that end at e and have a term of their own.
  int earliest(int e, int y) const {
    const int s = is_open(y) ? spans.reach[e - 1] + 1 : e - w.bounds[y];
    return s < spans.low[e] ? spans.low[e] : s;
  }
  // Vector q of a row of gains, of label y.
  static vec of(const real* gains, int y, int q) { return kByState ? load(gains + q) : splat(gains[y]); }
  // Calls visit(y, q) for each vector of states.
  template <class Visit>
  void each(Visit visit) const {
    for (int y = 0; y < h.Y; ++y) {
      for (int q = h.first[y]; q < h.first[y + 1]; q += W) visit(y, q);
    }
  }

  void prepare();
  bool sweep();
  void gain_step(int e);
  template <int B>
  void ending(int e, int y, int q);
  void state_step(int e);
  bool carry(int e);
  void enter(int e);
  bool finish(double* log_z);

  void begin_back(int s, const real* back, const real* beyond, real* ratio);
  void leave(int e, const real* ratio, real* into, real* passed, real* back, real* entered);
  void open_counts(int e, const real* back, const real* beyond, real* stops, real* goes);
  void row_counts(const real* stops, const real* goes);
};

template <bool kByState>
void HighOrder<kByState>::prepare() {
  ring = spans.ring();
  at = reinterpret_cast<std::int64_t*>(work.doubles(T + 2));
  joins = work.ints(T + 1);
  until = work.ints(T + 1);
  std::int64_t total = 0;
  for (int s = 0; s < T; ++s) joins[s] = 0;
  for (int e = 0; e <= T; ++e) {
    at[e] = total;
    total += e - spans.low[e];
    for (int s = spans.low[e]; s < e; ++s) until[s] = e;
    if (e > 0 && w.has_open) {
      for (int s = spans.reach[e - 1] + 1; s <= spans.reach[e]; ++s) joins[s] = e;
    }
  }
  const std::size_t size = static_cast<std::size_t>(T + 1) * n, gains = static_cast<std::size_t>(T + 1) * c;
  hat = reals(work, size);
  alpha = reals(work, n);
  endings = reals(work, n);
  base = reals(work, w.stride);
  labels = reals(work, static_cast<std::size_t>(T + 1) * w.stride);
  gain = reals(work, gains);
  terms = reals(work, total * c);
  live = reals(work, static_cast<std::size_t>(ring) * c);
  if (spans.closes) closing = reals(work, gains);
  if (w.has_open) {
    open = reals(work, size);
    joined = reals(work, gains);
  }
}

template <bool kByState>
bool HighOrder<kByState>::sweep() {
  fill(hat, n, 0);
  for (int y = 0; y < h.Y; ++y) hat[h.single[y]] = w.first[y];
  if (w.has_open) fill(open, n, 0);
  for (int e = 1; e <= T; ++e) {
    gain_step(e);
    state_step(e);
    if (e < T && marked(e, kBarred)) fill(alpha, n, 0);
    if (e < T && marked(e, kForced)) {
      fill(live, static_cast<std::ptrdiff_t>(ring) * c, 0);
      if (w.has_open) fill(states(open, e), n, 0);
    }
    if (e == T) break;
    if (!carry(e)) return false;
    enter(e);
  }
  return !any(bad);
}

// What segments that end at e, or go on, gain of their own.
template <bool kByState>
void HighOrder<kByState>::gain_step(int e) {
  const real scale = 1 / mass;
  real *g = row(gain, e), *close = spans.closes ? row(closing, e) : nullptr;
  const real* token = row(x, e - 1);
  for (int q = 0; q < c; q += W) store(g + q, load(token + q) * scale);
  if (close != nullptr) fill(close, c, 1);
  int k = spans.by_end[e];
  const int end = spans.by_end[e + 1];
  for (int s = e - 1; s >= spans.low[e]; --s) {
    const real *own = nullptr, *exact = nullptr;
    while (k < end && sites[k].start > s) ++k;
    for (; k < end && sites[k].start == s; ++k) {
      const real* values = row(x, T + k);
      if (sites[k].flags == (kOpenStart | kOpenEnd)) multiply(g, values, c);
      else if (sites[k].flags == kOpenStart) multiply(close, values, c);
      else if (sites[k].flags == kOpenEnd) own = values;
      else exact = values;
    }
    real *l = row(live, s & (ring - 1)), *ended = term(s, e);
    const bool begins = s == e - 1;
    for (int q = 0; q < c; q += W) {
      vec value = begins ? load(g + q) : load(l + q) * load(g + q);
      if (own != nullptr) value *= load(own + q);
      bad |= value > kMost;
      store(l + q, value);
      if (close != nullptr) value *= load(close + q);
      if (exact != nullptr) value *= load(exact + q);
      store(ended + q, value);
    }
    if (w.has_open && spans.joins_at(s, e)) std::memcpy(row(joined, s), l, sizeof(real) * c);
  }
}

// alpha and open at e, over B vectors of states of label y.
template <bool kByState>
template <int B>
void HighOrder<kByState>::ending(int e, int y, int q) {
  vec sums[B], going[B];
  for (int b = 0; b < B; ++b) sums[b] = going[b] = vec{};
  for (int s = earliest(e, y); s < e; ++s) {
    const real *ended = term(s, e), *from = states(hat, s) + q;
    for (int b = 0; b < B; ++b) sums[b] += load(from + b * W) * of(ended, y, q + b * W);
  }
  if (is_open(y)) {
    const real *before = states(open, e - 1) + q, *g = row(gain, e), *close = spans.closes ? row(closing, e) : nullptr;
    for (int b = 0; b < B; ++b) {
      going[b] = load(before + b * W) * of(g, y, q + b * W);
      sums[b] += close == nullptr ? going[b] : going[b] * of(close, y, q + b * W);
    }
    for (int s = spans.reach[e - 1] + 1; s <= spans.reach[e]; ++s) {
      for (int b = 0; b < B; ++b) going[b] += load(states(hat, s) + q + b * W) * of(row(joined, s), y, q + b * W);
    }
  }
  for (int b = 0; b < B; ++b) {
    store(alpha + q + b * W, sums[b]);
    if (w.has_open) store(states(open, e) + q + b * W, going[b]);
  }
}

template <bool kByState>
void HighOrder<kByState>::state_step(int e) {
  for (int y = 0; y < h.Y; ++y) {
    int q = h.first[y];
    for (; q + 4 * W <= h.first[y + 1]; q += 4 * W) ending<4>(e, y, q);
    for (; q < h.first[y + 1]; q += W) ending<1>(e, y, q);
  }
}

// The scale of what comes after e.
template <bool kByState>
bool HighOrder<kByState>::carry(int e) {
  const real* o = w.has_open ? states(open, e) : nullptr;
  vec total = vec{};
  for (int q = 0; q < n; q += W) {
    const vec value = load(alpha + q);
    bad |= (value < kLeastState) & (value > 0);
    total += value;
    if (o == nullptr) continue;
    const vec going = load(o + q);
    bad |= (going < kLeastState) & (going > 0);
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
  return true;
}

// From alpha[e] to hat[e].
template <bool kByState>
void HighOrder<kByState>::enter(int e) {
  std::memcpy(endings, alpha, sizeof(real) * n);
  h.add_longer(endings);
  real *sums = labels + static_cast<std::ptrdiff_t>(e) * w.stride, *to = states(hat, e);
  fill(sums, w.stride, 0);
  for (int y = 0; y < h.Y; ++y) sums[y] = endings[h.single[y]];
  product(w.panels, w.n_panels, sums, w.transition, w.stride, base);
  fill(to, n, 0);
  const real* by = entry_at(e);
  for (const std::int32_t q : h.rising) to[q] = alpha[h.before[q]];
  for (const Move& move : h.leading) to[move.to] += endings[move.from];
  for (int q = 0; q < n; q += W) {
    const vec value = load(to + q) * load(by + q);
    bad |= (value < kLeastState) & (value > 0);
    store(to + q, value);
  }
  for (int y = 0; y < h.Y; ++y) to[h.single[y]] = base[y];
}

template <bool kByState>
bool HighOrder<kByState>::finish(double* log_z) {
  vec total = vec{};
  each([&](int y, int q) { total += load(alpha + q) * splat(w.last[y]); });
  last_mass = sum(total);
  if (!(last_mass > kLeast)) return false;
  *log_z = log_scale + std::log(masses) + std::log(static_cast<double>(last_mass));
  return std::isfinite(*log_z);
}

}  // namespace caesura::CAESURA_ISA
