// The expected number of segments of bounded labels that cover each boundary: the part of the
// backward pass of high_order.hpp that sums over blocks of starts and not boundary by boundary.
#pragma once

#include "learn/high_order.hpp"

namespace caesura::CAESURA_ISA {

// The expected number of segments of a label with a bound L that have joined before e and end at e
// or later:
//
//   cover[e] = sum of P(s, end) over the starts s with joins[s] < e and the ends e <= end <= s + L
//
// Differences of probabilities would lose digits, so the segments are summed in blocks of
// boundaries where they join, lo <= joins[s] < hi.  Blocks are so short that a segment which also
// ends before hi is never too long.  The sum over such segments is therefore a product: the forward
// sum of those that continue to e, times the backward sum from e.  The other segments cross hi, and
// P(s, end) = a[s] b[end], the factors gained before and after hi:
//
//   cover[e] = sum over joins[s] < e of a[s] * (sum of b[end] up to s + L)      for e <= hi
//   cover[e] = sum over end >= e of b[end] * (sum of a[s] from end - L on)      for e > hi
//
// Both inner sums are running sums.
template <bool kByState>
void HighOrder<kByState>::prepare_cover() {
  std::size_t rows = 0, most = 0;
  // The scratch rows hold one block: all ends from hi to the last one that its starts reach, and
  // all its starts.
  for (int y = 0; y < h.Y; ++y) {
    if (!has_blocks(y)) continue;
    rows = std::max<std::size_t>(rows, bound(y) + spans.widest + 2);
    most = std::max<std::size_t>(most, count(y));
  }
  for (int i = 0; i < 4; ++i) scratch[i] = reals(work, rows * most * W);
  scratch[4] = reals(work, most * W);
  scratch[5] = reals(work, c * W);
}

// Handles the block of one label y with lo <= joins[s] < hi, as soon as back[e] is known for all
// e > lo.  A block costs O(L + widest) rows of the states of the label, and there are
// T / max(1, L - widest) blocks.
template <bool kByState>
void HighOrder<kByState>::cover_block(int y, int lo, real* back) {
  const int hi = std::min(lo + block(y), T + 1), m = count(y);
  const int begin = lo == 0 ? 0 : spans.reach[lo - 1] + 1, end = spans.reach[hi - 1] + 1;
  if (begin == end) return;
  // gone: [e - lo][m] forward sums of the segments that continue to e; going_on: [m] their current
  // row; ahead: [m] the current row of the backward sums.
  real *gone = scratch[0], *going_on = scratch[1], *ahead = scratch[2];
  fill(going_on, m * W, 0);
  // gone[e] = g[e] (gone[e - 1] + sum of hat[s] joined[s] over the starts with joins[s] = e - 1)
  for (int e = lo + 1, s = begin; e < hi; ++e) {
    for (; s < end && joins[s] < e; ++s) {
      if (can_join(y, s))
        add_products(states(hat, s) + h.first[y] * W, of(row(joined, s), y), m, going_on);
    }
    const Gains g = of(row(grow, e), y);
    real* now = gone + (e - lo) * m * W;
    for (int k = 0; k < m; ++k) {
      const vec value = load(going_on + k * W) * g[k];
      store(going_on + k * W, value);
      store(now + k * W, value);
    }
  }
  fill(ahead, m * W, 0);
  //
  //   cover[e]     += gone[e] (ahead[e] + closing[e] back[e])
  //   ahead[e - 1]  = g[e] (ahead[e] + closing[e] back[e]),       ahead[hi - 1] = 0
  //
  for (int e = hi - 1; e > lo; --e) {
    const real* now = gone + (e - lo) * m * W;
    const Ends ends = ends_at(y, e, back);
    const Gains g = of(row(grow, e), y);
    add_up(m, row(cover, e) + at_label(y), [&](int k) {
      const vec further = load(ahead + k * W) + ends[k];
      store(ahead + k * W, min(further * g[k], splat(kMost)));
      return load(now + k * W) * further;
    });
  }
  if (hi <= T) cover_crossing(y, begin, end, hi, back);
}

// Handles the segments from begin <= s < end that have joined before hi and end at hi or later.
template <bool kByState>
void HighOrder<kByState>::cover_crossing(int y, int begin, int end, int hi, real* back) {
  const int L = bound(y), m = count(y), width = kByState ? m : 1;
  const int last = std::min(T, end - 1 + L);
  // b: [ends from hi][m], near: its prefix sums.  a: [starts][m] suffix sums of a[s].  crossing:
  // [starts][width] the sum over all ends of a start.  gained: the factors gained up to hi, or from
  // there on.
  real *b = scratch[0], *near = scratch[1], *a = scratch[2], *crossing = scratch[3],
       *over = scratch[4], *gained = scratch[5];
  auto start_gains = [&] { for_numbers(y, [&](int q) { store(gained + q, splat(1)); }); };
  auto gain = [&](int e) {
    for_numbers(y, [&](int q) {
      store(gained + q, min(load(gained + q) * load(row(grow, e) + q), splat(kMost)));
    });
  };
  start_gains();
  // b[e] = closing[e] back[e] g[hi + 1] ... g[e],   near[e] = b[hi] + ... + b[e]
  for (int e = hi; e <= last; ++e) {
    if (e > hi) gain(e);
    real *own = b + (e - hi) * m * W, *sum = near + (e - hi) * m * W;
    const Ends ends = ends_at(y, e, back);
    const Gains by = of(gained, y);
    for (int k = 0; k < m; ++k) {
      const vec share = ends[k] * by[k];
      store(own + k * W, share);
      store(sum + k * W, e == hi ? share : load(sum + (k - m) * W) + share);
    }
  }
  start_gains();
  // a[s] = hat[s] joined[s] g[joins[s] + 1] ... g[hi]; its sums from s on are stored.  a and b
  // together cover the whole segment, as the gains meet at hi.
  // crossing[s] = a[s] near[min(T, s + L)].
  for (int s = end - 1, e = hi; s >= begin; --s) {
    for (; e > joins[s]; --e) gain(e);
    real* sum = a + (s - begin) * m * W;
    const int reached = std::min(T, s + L);
    const real *from = states(hat, s) + h.first[y] * W, *far = near + (reached - hi) * m * W;
    const Gains own = of(row(joined, s), y), by = of(gained, y);
    fill(crossing + (s - begin) * width * W, width * W, 0);
    add_up(m, crossing + (s - begin) * width * W, [&](int k) {
      const vec mass = reached < hi ? vec{} : load(from + k * W) * (own[k] * by[k]);
      store(sum + k * W, s == end - 1 ? mass : load(sum + (k + m) * W) + mass);
      return reached < hi ? vec{} : mass * load(far + k * W);
    });
  }
  // For e <= hi: cover[e] += sum over joins[s] < e of crossing[s], which is a running sum over e.
  fill(over, width * W, 0);
  for (int e = joins[begin] + 1, s = begin; e <= hi; ++e) {
    for (; s < end && joins[s] < e; ++s) add(over, crossing + (s - begin) * width * W, width * W);
    add(row(cover, e) + at_label(y), over, width * W);
  }
  // For e > hi: cover[e] += sum over end >= e of b[end] (sum of a[s] over s >= end - L).
  fill(over, width * W, 0);
  for (int e = last; e > hi; --e) {
    const real *sum = a + (std::max(begin, e - L) - begin) * m * W, *own = b + (e - hi) * m * W;
    add_up(m, over, [&](int k) { return load(own + k * W) * load(sum + k * W); });
    add(row(cover, e) + at_label(y), over, width * W);
  }
}

}  // namespace caesura::CAESURA_ISA
