// How many segments of bounded labels cover each boundary: a part of the backward pass of
// high_order.hpp, in a file of its own because it sums over blocks of starts and not boundary by
// boundary.
#pragma once

#include "learn/high_order.hpp"

namespace caesura::CAESURA_ISA {

// How many segments of a label with a bound L have joined before e and go on to e or further:
//
//   cover[e] = sum of P(s, end) over the starts s with joins[s] < e and the ends e <= end <= s + L
//
// Differences of probabilities would lose digits, so the segments are summed in blocks of places
// where they join, lo <= joins[s] < hi.  Blocks are so short that a segment which also ends before
// hi is never too long; their sum is a product of what has gone on up to e and what is ahead of it.
// The others cross hi: P(s, end) = a[s] b[end], what is gained before hi and from there on, and
//
//   cover[e] = sum over joins[s] < e of a[s] * (sum of b[end] up to s + L)      for e <= hi
//   cover[e] = sum over end >= e of b[end] * (sum of a[s] from end - L on)      for e > hi
//
// where both inner sums are running ones.
template <bool kByState>
void HighOrder<kByState>::prepare_cover() {
  std::size_t rows = 0, most = 0;
  // The rows of scratch hold a block: all the ends from hi to the last that one of its starts
  // reaches, and all its starts.
  for (int y = 0; y < h.Y; ++y) {
    if (!has_blocks(y)) continue;
    rows = std::max<std::size_t>(rows, bound(y) + spans.widest + 2);
    most = std::max<std::size_t>(most, count(y));
  }
  for (int i = 0; i < 4; ++i) scratch[i] = reals(work, rows * most * W);
  scratch[4] = reals(work, most * W);
  scratch[5] = reals(work, c * W);
}

// The block of one label y that joins at lo <= joins[s] < hi, as soon as back[e] is known for all
// e > lo.  A block costs O(L + widest) rows of the label's states, and there are T / max(1,
// L - widest) of them.
template <bool kByState>
void HighOrder<kByState>::cover_block(int y, int lo, real* back) {
  const int hi = std::min(lo + block(y), T + 1), m = count(y);
  const int begin = lo == 0 ? 0 : spans.reach[lo - 1] + 1, end = spans.reach[hi - 1] + 1;
  if (begin == end) return;
  // What has gone on to each e, [e - lo][m]; what goes on now, and what is ahead, [m].
  real *gone = scratch[0], *going_on = scratch[1], *ahead = scratch[2];
  fill(going_on, m * W, 0);
  // gone[e] = g[e] (gone[e - 1]  +  sum over the starts s with joins[s] = e - 1 of hat[s]
  // joined[s])
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

// The segments from begin <= s < end, which have joined before hi, that end there or later.
template <bool kByState>
void HighOrder<kByState>::cover_crossing(int y, int begin, int end, int hi, real* back) {
  const int L = bound(y), m = count(y), width = kByState ? m : 1;
  const int last = std::min(T, end - 1 + L);
  // b[end] and its sums up to each end, [ends from hi][m]; sums of a[s] from each start on and what
  // all ends of a start make, [starts][m]; gains up to hi, or from there on.
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
  // a[s] = hat[s] joined[s] g[joins[s] + 1] ... g[hi]; kept are its sums from s on.  Together with
  // b this is the whole segment, since the gains meet at hi.  crossing[s] = a[s] near[min(T,
  // s + L)].
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
  // For e <= hi: cover[e] += sum over joins[s] < e of crossing[s].  The sum grows as e rises.
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
