// The forward pass of high_order.hpp.
#pragma once

#include "learn/high_order.hpp"

namespace caesura::CAESURA_ISA {

// Allocates the memory of a sweep.  at[e]: the first of the consecutive rows term[s, e], where
// low[e] <= s < e.  joins[s]: the boundary where segments from s join the open sum (T + 1:
// nowhere); they are part of `going` at the boundaries after it.  Rows hold [W] values for each of
// the n states, or for each of the c labels or states that gains are stored for.  queue.older:
// [states of y] for each of the last bound(y) starts of a label with a bound; labels with bound 1
// or without a bound need no queue.
template <bool kByState>
void HighOrder<kByState>::prepare() {
  ring = spans.ring();
  at = reinterpret_cast<std::int64_t*>(work.doubles(T + 2));
  joins = work.ints(T + 1);
  std::fill(joins, joins + T + 1, T + 1);
  std::int64_t total = 0;
  for (int e = 0; e <= T; ++e) {
    at[e] = total;
    total += e - spans.low[e];
    for (int s = e > 0 ? spans.reach[e - 1] + 1 : 0; s <= spans.reach[e]; ++s) joins[s] = e;
  }
  const std::size_t size = static_cast<std::size_t>(T + 1) * n * W,
                    gains = static_cast<std::size_t>(T + 1) * c * W;
  hat = reals(work, size);
  going = reals(work, size);
  alpha = reals(work, (2 * n + 1) * W);
  endings = alpha + n * W;
  fill(endings + n * W, W, 0);
  singles = reals(work, (T + 1) * h.singles.size() * W);
  gain = reals(work, gains);
  grow = is_hinted() ? reals(work, gains) : gain;
  terms = reals(work, total * c * W);
  joined = reals(work, gains);
  live = reals(work, static_cast<std::size_t>(ring) * c * W);
  if (spans.closes) closing = reals(work, gains);
  classed = reals(work, static_cast<std::size_t>(n_classes) * W);
  beyond = reals(work, static_cast<std::size_t>(ring) * n * W);
  queue.oldest = work.ints(h.Y);
  queue.turn = work.ints(h.Y);
  queue.first = reinterpret_cast<std::int64_t*>(work.doubles(h.Y));
  std::int64_t rows = 0;
  kept = spans.widest + 2;
  for (int y = 0; y < h.Y; ++y) {
    queue.first[y] = rows;
    if (bound(y) == 1 || bound(y) == T) continue;
    rows += static_cast<std::int64_t>(bound(y)) * count(y);
    kept = std::max(kept, 2 * bound(y) + spans.widest + 2);
  }
  queue.older = reals(work, rows * W);
  queue.since = reals(work, c * W);
  queue.younger = reals(work, n * W);
}

// Empties the queues: nothing has joined, and nothing was gained since.
template <bool kByState>
void HighOrder<kByState>::clear(int oldest, int turn) {
  std::fill(queue.oldest, queue.oldest + h.Y, oldest);
  std::fill(queue.turn, queue.turn + h.Y, turn);
  fill(queue.since, c * W, 1);
  fill(queue.younger, n * W, 0);
}

// Replaces all scores by their exps, those of a token relative to their maximum.
template <bool kByState>
void HighOrder<kByState>::exponentials() {
  ivec far = ivec{};  // held by value, because a store might alias a member
  for (int t = 0; t < T; ++t) {
    real* scores = row(x, t);
    // x[t, q] <- exp(x[t, q] - top[t]),  log_scale += top[t],  top[t] = max over q of x[t, q].
    // Every segmentation covers each token once, so the scale of a token is a factor of Z.
    vec top = splat(-kInfinity);
    for (int q = 0; q < c; ++q) top = max(top, load(scores + q * W));
    // No label is possible, or the lane has no token t.
    const ivec none = ~(top > -std::numeric_limits<real>::max());
    top = none ? vec{} : top;
    for (int b = 0; b < W; ++b) {
      if (t >= lengths[b]) continue;
      log_scale[b] += top[b];
      bad[b] |= none[b];
    }
    for (int q = 0; q < c; ++q) {
      const vec gap = load(scores + q * W) - top;
      far |= (gap < -kFarthest) & (gap > -kInfinity);
      store(scores + q * W, exp(gap));
    }
  }
  // A segmentation may or may not use a site or a boundary, so their scores keep their scale.
  real* scores = row(x, T);
  for (std::ptrdiff_t q = 0; q < static_cast<std::ptrdiff_t>(n_sites) * c; ++q) {
    const vec score = load(scores + q * W);
    far |= (score < -kFarthestSite) | (score > kFarthestSite);
    store(scores + q * W, exp(score));
  }
  for (std::ptrdiff_t q = n_classes;
       entry != nullptr && q < static_cast<std::ptrdiff_t>(T) * n_classes; ++q) {
    const vec score = load(entry + q * W);
    far |= (score < -kFarthest) | (score > kFarthest);
    store(entry + q * W, exp(score));
  }
  bad |= far;
}

// Computes ln Z of W sequences, one in each lane; NaN if a value left the range of the kernel.
// rows: [T + sites][c][W] scores, which become exps.  entries: [T][classes][W], or null.  The
// backward pass needs hat, going, terms and the gains, which are kept.
template <bool kByState>
void HighOrder<kByState>::forward(real* rows, real* entries, double* log_z) {
  x = rows;
  entry = entries;
  prepare();
  exponentials();
  clear(0, 0);
  for (int b = 0; b < W; ++b) {
    scale[b] = 1;
    masses[b] = 1.0;
    log_z[b] = std::numeric_limits<double>::quiet_NaN();
  }
  fill(hat, n * W, 0);
  for (int y = 0; y < h.Y; ++y) {
    if (h.start[y] >= 0) store(hat + h.start[y] * W, splat(w.first[y]));
  }
  // hat[0][q] = exp(start[y]) at the state of each single label.  Then, at each boundary, the gains
  // lead to alpha[e] and going[e], and these to hat[e].  The mass of alpha[e] + going[e] is divided
  // out by the gain of the next token (see carry) and added back to ln Z.
  for (int e = 1; e <= T; ++e) {
    if (e % h.patience() == 0) check_interrupt();
    gain_step(e);
    const vec total = state_step(e);
    finish(e, log_z);
    if (e == T) break;
    carry(e, total);
    enter(e);
  }
  for (int b = 0; b < W; ++b) {
    if (bad[b] || !std::isfinite(log_z[b])) log_z[b] = std::numeric_limits<double>::quiet_NaN();
  }
}

// Computes the factors of the segments that end at e or continue.  Rows are [c][W]: factors by
// label, or by state if attributes have weights with patterns.
template <bool kByState>
void HighOrder<kByState>::gain_step(int e) {
  real *g = row(gain, e), *close = spans.closes ? row(closing, e) : nullptr;
  const real* token = row(x, e - 1);
  const vec by = load(scale), passes = grow == gain ? splat(1) : without(e - 1, kForced);
  for (int q = 0; q < c * W; q += W) store(g + q, load(token + q) * by);
  if (close != nullptr) fill(close, c * W, 1);
  // g[e]: the factors of the token and of the sites that all live segments share.  passes: 0 where
  // e - 1 is a required boundary.
  //
  //   live[s, e] = live[s, e-1] g[e] passes own[s]       the factor of [s, e) if it continues;
  //                                                      g[e] own[s] where s = e - 1
  //   term[s, e] = live[s, e] closing[e] exact[s, e]     the factor of [s, e) if it ends
  //   joined[s]  = live[s, joins[s]]                     its factor up to where it joins
  auto extend = [&](int s, const real* own, const real* exact) {
    real *l = row(live, s & (ring - 1)), *ended = term(s, e);
    const bool begins = s == e - 1;
    for (int q = 0; q < c * W; q += W) {
      vec value = begins ? load(g + q) : load(l + q) * load(g + q) * passes;
      if (own != nullptr) value *= load(own + q);
      bad |= value > kMost;
      store(l + q, value);
      if (close != nullptr) value *= load(close + q);
      if (exact != nullptr) value *= load(exact + q);
      store(ended + q, value);
    }
    if (joins[s] == e) std::memcpy(row(joined, s), l, sizeof(real) * c * W);
  };
  spans.for_starts(
      e, [&](int k) { return row(x, T + k); },
      [&](const real* values) { multiply(g, values, c * W); },
      [&](const real* values) { multiply(close, values, c * W); }, extend);
  for (int q = 0; grow != gain && q < c * W; q += W) store(row(grow, e) + q, load(g + q) * passes);
}

// Turns the queue of label y at boundary e: the sums over all starts in the queue, as seen from e.
template <bool kByState>
void HighOrder<kByState>::turn(int y, int e) {
  for_numbers(y, [&](int q) { store(queue.since + q, splat(1)); });
  fill(queue.younger + h.first[y] * W, count(y) * W, 0);
  int r = e;
  const real* after = nullptr;
  const int m = count(y);
  // older[s] = sum over s <= a <= reach[e] of hat[a] joined[a] (product of g after joins[a] to e)
  //
  // This is a queue with two stacks: the older starts have suffix sums, and the younger ones a
  // single sum.  To drop the oldest start is to read the next suffix.  Nothing is subtracted, so
  // there is no cancellation, and each start is summed twice at most.
  for (int s = spans.reach[e]; s >= queue.oldest[y]; --s) {
    for (; r > joins[s]; --r) gain_since(y, row(grow, r));
    real* to = older(y, s);
    const real* from = states(hat, s) + h.first[y] * W;
    const Gains gained = of(row(joined, s), y), since = of(queue.since, y);
    for (int k = 0; k < m; ++k) {
      const vec value = load(from + k * W) * (gained[k] * since[k]);
      store(to + k * W, after == nullptr ? value : load(after + k * W) + value);
    }
    after = to;
  }
  for_numbers(y, [&](int q) { store(queue.since + q, splat(1)); });
  queue.turn[y] = spans.reach[e] + 1;
}

// since *= g[e]: the factors that the older starts gained after their sums were computed.
template <bool kByState>
void HighOrder<kByState>::gain_since(int y, const real* gains) {
  for_numbers(y, [&](int q) {
    const vec gained = load(queue.since + q) * load(gains + q);
    bad |= gained > kMost;
    store(queue.since + q, min(gained, splat(kMost)));
  });
}

// Computes alpha[e] and going[e]; returns the sum of all their states, by lane.
//
//   going[e] = sum over s <= A(e - 1) of hat[s] joined[s] (product of g after joins[s] up to e)
//   alpha[e] = going[e] closing[e] + sum over the live starts s of hat[s] term[s, e]
//
// For a label with a bound L, going[e] has the starts s >= e - L only, see turn().
template <bool kByState>
vec HighOrder<kByState>::state_step(int e) {
  const real* close = spans.closes ? row(closing, e) : nullptr;
  vec total = vec{};
  for (int y = 0; y < h.Y; ++y) {
    const int L = bound(y), m = count(y);
    const std::ptrdiff_t first = h.first[y] * W;
    real *a = alpha + first, *go = states(going, e) + first, *younger = queue.younger + first;
    const real* from = states(hat, e - 1) + first;
    const Gains last = of(term(e - 1, e), y), g = of(row(grow, e), y);
    // alpha[e] = hat[e-1] term[e-1, e], and going[e] = 0
    if (L == 1) {
      for (int k = 0; k < m; ++k) {
        store(a + k * W, load(from + k * W) * last[k]);
        store(go + k * W, vec{});
      }
    } else {
      if (e - L > queue.oldest[y]) {
        queue.oldest[y] = e - L;
        if (queue.oldest[y] > queue.turn[y]) turn(y, e - 1);
      }
      const bool has_older = queue.oldest[y] < queue.turn[y];
      if (has_older) gain_since(y, row(grow, e));
      const real* old = has_older ? older(y, queue.oldest[y]) : nullptr;
      const Gains since = of(queue.since, y),
                  closes = close == nullptr ? Gains{nullptr, splat(1)} : of(close, y);
      // going[e] = younger[e-1] g[e] + older[oldest] since
      // alpha[e] = hat[e-1] term[e-1, e] + going[e] closing[e]
      for (int k = 0; k < m; ++k) {
        vec gone = load(younger + k * W) * g[k];
        store(younger + k * W, gone);
        if (old != nullptr) gone += load(old + k * W) * since[k];
        store(go + k * W, gone);
        total += gone;
        store(a + k * W,
              load(from + k * W) * last[k] + (close == nullptr ? gone : gone * closes[k]));
      }
    }
    // alpha[e] += sum of hat[s] term[s, e] over the starts that are still live;
    // younger  += hat[s] joined[s] for those that join at e, which are part of going from e + 1 on.
    for (int s = std::max(spans.low[e], e - L); s < e - 1; ++s)
      add_products(states(hat, s) + first, of(term(s, e), y), m, a);
    for (int s = std::max(spans.reach[e - 1] + 1, e - L + 1); s <= spans.reach[e]; ++s) {
      add_products(states(hat, s) + first, of(row(joined, s), y), m, younger);
    }
  }
  // alpha[e] = 0 in the lanes in which boundary e is forbidden: no segment ends there.
  const vec passes = without(e, kBarred);
  for (int q = 0; grow != gain && q < n * W; q += W) store(alpha + q, load(alpha + q) * passes);
  // total = sum over q of alpha[e][q] + going[e][q]; the second term has been added above.
  for (int y = 0; y < h.Y; ++y) {
    const real *a = alpha + h.first[y] * W, *end = alpha + h.last[y] * W;
    for (; a != end; a += W) total += load(a);
  }
  return total;
}

// Sets the scale of the next step: rows are divided by the mass of alpha and going, lane by lane,
// so that products over long sequences stay in range.
template <bool kByState>
void HighOrder<kByState>::carry(int e, vec total) {
  for (int b = 0; b < W; ++b) {
    // scale[e+1] = 1 / mass; masses = product of all masses, moved to log_scale before it overflows
    real mass = total[b];
    if (!(mass > kLeast && mass < 1 / kLeast)) {
      bad[b] |= mass != 0 && e < lengths[b] ? -1 : 0;
      mass = 1;  // all segments are still live
    }
    masses[b] *= mass;
    scale[b] = 1 / mass;
    if (masses[b] < 1e-100 || masses[b] > 1e100) {
      log_scale[b] += std::log(masses[b]);
      masses[b] = 1.0;
    }
  }
}

// Computes hat[e] from alpha[e] with the arc program of automaton/program.hpp:
//
//   S(h)     = alpha(h) + sum of S(x h) over the histories x h
//   hat(y)   = sum over labels y0 of S(y0) exp(transition[y0, y])     histories of one label
//   hat(h y) = (alpha(h) + sum of S(x h) over the x h that lead to h y) exp(score)    longer ones
template <bool kByState>
void HighOrder<kByState>::enter(int e) {
  std::memcpy(endings, alpha, sizeof(real) * n * W);
  real *to = states(hat, e), *sums = endings,
       *labels = singles + static_cast<std::ptrdiff_t>(e) * h.singles.size() * W;
  const real* from = alpha;
  // sums[q] = sum of alpha over all states whose history ends in that of q, longest first, so that
  // one arc from a shorter history serves all of them.
  move(h.longer, sums, sums);
  for (const std::int32_t q : h.singles) {
    store(labels, load(sums + q * W));
    store(to + q * W, vec{});
    labels += W;
  }
  // hat[e][y] = sum over y0 of sums[y0] exp(transition[y0, y]), for the states of single labels
  const real* transition = w.transition;
  for (const PairArc* arc = w.base; arc->to >= 0;) {
    const std::int32_t q = arc->to;
    vec total = vec{};
    for (; arc->to == q; ++arc) total += load(sums + arc->from * W) * splat(transition[arc->pair]);
    store(to + q * W, total);
  }
  const std::int32_t *rising = h.rising.data(), *source = h.source.data(),
                     *classes = h.entry_class.data();
  const int count = static_cast<int>(h.rising.size());
  // hat[e][q] = source of q (an entry of alpha or S) + sum over the others that lead to q, for the
  // states of longer histories
  for (int k = 0; k < count; ++k) store(to + rising[k] * W, load(from + source[rising[k]] * W));
  move(h.leading, alpha, to);
  const real *gained = w.entry, *own = entry == nullptr
                                           ? nullptr
                                           : entry + static_cast<std::ptrdiff_t>(e) * n_classes * W;
  // hat[e][q] *= exp(score of entering q) exp(score of the attributes at boundary e for the entry
  // class of q)
  for (int k = 0; k < count; ++k) {
    const int q = rising[k];
    vec value = load(to + q * W) * splat(gained[q]);
    if (own != nullptr) value *= load(own + classes[q] * W);
    store(to + q * W, value);
  }
}

// Computes ln Z of the sequences of length e.
template <bool kByState>
void HighOrder<kByState>::finish(int e, double* log_z) {
  if (std::none_of(lengths, lengths + W, [&](int length) { return length == e; })) return;
  // ln Z = log_scale + ln masses + ln sum over q of alpha[e][q] ending[q], in the lanes of length e
  vec total = vec{};
  for (int y = 0; y < h.Y; ++y) {
    for (int q = h.first[y]; q < h.last[y]; ++q) total += load(alpha + q * W) * splat(w.ending[q]);
  }
  // A mass of 0 leaves NaN: either nothing is possible or everything underflowed, and the general
  // sweeps find out which.
  for (int b = 0; b < W; ++b) {
    if (lengths[b] != e) continue;
    last_mass[b] = total[b];
    if (total[b] > kLeast)
      log_z[b] = log_scale[b] + std::log(masses[b]) + std::log(static_cast<double>(total[b]));
  }
}

}  // namespace caesura::CAESURA_ISA
