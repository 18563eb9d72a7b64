// The way back of high_order.hpp: expected counts in place of the rows.
#pragma once

#include "high_order.hpp"

namespace caesura::CAESURA_ISA {

// What is ahead of a segment in state q, with label y, that ends at e.
template <bool kByState>
vec HighOrder<kByState>::closed(const real* back, int e, int y, int q) const {
  const vec value = load(back + (static_cast<std::ptrdiff_t>(e) * n + q) * W);
  return spans.closes ? value * load(closing + static_cast<std::ptrdiff_t>(e) * c * W + of(y, q)) : value;
}

// The sums over the ends after e, from the nearest to each, as they are at e.
template <bool kByState>
void HighOrder<kByState>::turn_back(int y, int e, real* back) {
  for_numbers(y, [&](int q) { store(queue.since + q, splat(1)); });
  const real* nearer = nullptr;
  for (int end = e + 1; end <= queue.oldest[y]; ++end) {
    gain_since(y, row(grow, end));
    real* to = older(y, end);
    for (int q = h.first[y]; q < h.last[y]; ++q) {
      const int k = (q - h.first[y]) * W;
      const vec value = closed(back, end, y, q) * load(queue.since + of(y, q));
      store(to + k, nearer == nullptr ? value : load(nearer + k) + value);
    }
    nearer = to;
  }
  for_numbers(y, [&](int q) { store(queue.since + q, splat(1)); });
  for (int q = h.first[y]; q < h.last[y]; ++q) store(queue.younger + q * W, vec{});
  queue.turn[y] = e + 1;
}

// beyond[s], where s joins.
template <bool kByState>
void HighOrder<kByState>::ahead(int s, real* back, real* beyond) {
  real* to = states(beyond, s);
  for (int y = 0; y < h.Y; ++y) {
    const int farthest = std::min(T, s + bound(y));
    if (farthest <= joins[s]) continue;
    if (farthest < queue.oldest[y]) {
      queue.oldest[y] = farthest;
      if (farthest < queue.turn[y] - 1) turn_back(y, joins[s], back);
    }
    const real* old = queue.oldest[y] >= queue.turn[y] ? older(y, queue.oldest[y]) : nullptr;
    for (int q = h.first[y]; q < h.last[y]; ++q) {
      vec value = load(queue.younger + q * W);
      if (old != nullptr) value += load(old + (q - h.first[y]) * W) * load(queue.since + of(y, q));
      store(to + q * W, most(value));
    }
  }
}

// Segments that have joined before e and end there: their probabilities, and the queue as it is before e.
template <bool kByState>
void HighOrder<kByState>::end_back(int e, real* back, real* stops) {
  const real* g = row(grow, e);
  for (int y = 0; y < h.Y; ++y) {
    vec stopping = vec{};
    if (bound(y) > 1 && queue.oldest[y] >= queue.turn[y]) gain_since(y, g);
    for (int q = h.first[y]; q < h.last[y]; ++q) {
      const vec end = bound(y) > 1 ? closed(back, e, y, q) : vec{}, stop = load(states(going, e) + q * W) * end;
      stopping += stop;
      if (kByState) store(stops + q * W, stop);
      store(queue.younger + q * W, most((load(queue.younger + q * W) + end) * load(g + of(y, q))));
    }
    if (!kByState) store(stops + y * W, stopping);
  }
}

// ratio[s]; and terms become probabilities, as do those of the segments that join.
template <bool kByState>
void HighOrder<kByState>::begin_back(int s, real* back, const real* beyond, real* ratio) {
  const real* from = states(hat, s);
  fill(ratio, n * W, 0);
  auto meet = [&](real* gained, int y, const real* to) {
    vec dot = vec{};
    for (int q = h.first[y]; q < h.last[y]; ++q) {
      const vec reached = load(to + q * W) * load(gained + of(y, q));
      store(ratio + q * W, load(ratio + q * W) + reached);
      if (kByState) store(gained + q * W, load(from + q * W) * most(reached));
      else dot += load(from + q * W) * load(to + q * W);
    }
    if (!kByState) store(gained + y * W, load(gained + y * W) * dot);
  };
  auto clear = [&](real* gained, int y) { for_numbers(y, [&](int q) { store(gained + q, vec{}); }); };
  for (int y = 0; y < h.Y; ++y) {
    const int farthest = std::min(T, s + bound(y));
    for (int e = s + 1; e <= std::min(joins[s], T); ++e) {
      if (e <= farthest) meet(term(s, e), y, states(back, e));
      else clear(term(s, e), y);
    }
    if (joins[s] > T) continue;
    if (joins[s] < farthest) meet(row(joined, s), y, beyond + static_cast<std::ptrdiff_t>(s) * n * W);
    else clear(row(joined, s), y);
  }
  for (int q = 0; q < n * W; q += W) store(ratio + q, most(load(ratio + q)));
}

// back[e] from what is entered at e.  into: [n] entry * ratio
template <bool kByState>
void HighOrder<kByState>::leave(int e, const real* ratio, real* into, real* passed, real* back) {
  const real* own = entry == nullptr ? nullptr : entry + static_cast<std::ptrdiff_t>(e) * h.n_classes() * W;
  for (const std::int32_t q : h.rising) {
    vec value = load(ratio + q * W) * splat(w.entry[q]);
    if (own != nullptr) value *= load(own + h.entry_class[q] * W);
    store(into + q * W, value);
  }
  fill(passed, n * W, 0);
  for (int k = 0; k < w.n_base; ++k) {
    const Move& pair = w.base[k];
    real* to = passed + h.single[pair.from] * W;
    store(to, load(to) + load(ratio + h.single[pair.to] * W) * splat(w.transition[pair.from * w.stride + pair.to]));
  }
  for (const Move& move : h.leading) add(passed + move.from * W, into + move.to * W, W);
  for (const std::int32_t q : h.rising) add(passed + q * W, passed + h.shorter[q] * W, W);
  std::memcpy(back, passed, sizeof(real) * n * W);
  for (const std::int32_t q : h.rising) add(back + h.before[q] * W, into + q * W, W);
}

// Expected segments that start at s: by state, and by what attributes at the boundary go with.
template <bool kByState>
void HighOrder<kByState>::count_begun(int s, const real* ratio, real* entered) {
  const real* from = states(hat, s);
  real* own = entry == nullptr ? nullptr : entry + static_cast<std::ptrdiff_t>(s) * h.n_classes() * W;
  if (own != nullptr) fill(own, h.n_classes() * W, 0);
  for (const std::int32_t q : h.rising) {
    const vec p = load(from + q * W) * load(ratio + q * W);
    store(entered + q * W, load(entered + q * W) + p);
    if (own == nullptr) continue;
    real* to = own + h.entry_class[q] * W;
    store(to, load(to) + p);
  }
  for (int k = h.n_classes() - 1; own != nullptr && k > 0; --k) add(own + h.shorter_class[k] * W, own + k * W, W);
}

// Expected counts of all rows, as Segmental::long_back, and of the last labels.
template <bool kByState>
void HighOrder<kByState>::row_counts(real* stops, const ivec& counted, Gradient<real>& gradient) {
  const int width = c * W;
  real *ended = reals(work, width), *covering = reals(work, width), *on = reals(work, width);
  real* gathered = reals(work, static_cast<std::size_t>(ring) * width);
  fill(gathered, static_cast<std::ptrdiff_t>(ring) * width, 0);
  fill(on, width, 0);  // those that have joined and go on after e
  for (int e = T; e >= 1; --e) {
    for (int s = spans.reach[e - 1] + 1; s <= spans.reach[e]; ++s) {
      for (int q = 0; q < width; q += W) store(on + q, load(on + q) - load(row(joined, s) + q));
    }
    for (int q = 0; q < width; q += W) {
      const vec stop = load(row(stops, e) + q), all = load(on + q) + stop;
      store(ended + q, stop);
      store(covering + q, all);
      store(on + q, all);
    }
    int k = spans.by_end[e + 1] - 1;
    const int first = spans.by_end[e];
    for (int s = spans.low[e]; s < e; ++s) {
      const real *p = term(s, e), *entering = joins[s] == e ? row(joined, s) : nullptr;
      real* g = row(gathered, s & (ring - 1));
      for (int q = 0; q < width; q += W) {
        vec reaching = load(g + q) + load(p + q);
        if (entering != nullptr) reaching += load(entering + q);
        store(g + q, reaching);
        store(ended + q, load(ended + q) + load(p + q));
        store(covering + q, load(covering + q) + reaching);
      }
      while (k >= first && sites[k].start < s) --k;
      for (; k >= first && sites[k].start == s; --k) {
        const std::uint8_t flags = sites[k].flags;
        const real* counts = flags == (kOpenStart | kOpenEnd) ? covering : flags == kOpenStart ? ended : flags == kOpenEnd ? g : p;
        std::memcpy(row(x, T + k), counts, sizeof(real) * width);
      }
    }
    std::memcpy(row(x, e - 1), covering, sizeof(real) * width);
    fill(row(gathered, (e - 1) & (ring - 1)), width, 0);
    for (int b = 0; b < W; ++b) {
      if (lengths[b] != e || !counted[b]) continue;
      for (int y = 0; y < h.Y; ++y) for_numbers(y, [&](int q) { gradient.ends[y] += ended[q + b]; });
    }
  }
}

template <bool kByState>
void HighOrder<kByState>::backward(const real* weight, Gradient<real>& gradient) {
  const std::size_t size = static_cast<std::size_t>(T + 1) * n * W;
  real *back = reals(work, size), *beyond = reals(work, size), *stops = reals(work, static_cast<std::size_t>(T + 1) * c * W);
  real *ratio = reals(work, n * W), *into = reals(work, n * W), *passed = reals(work, n * W), *entered = reals(work, n * W);
  real* pairs = reals(work, w.n_weighted * W + W);
  fill(entered, n * W, 0);
  fill(pairs, w.n_weighted * W, 0);
  fill(states(back, T), n * W, 0);
  fill(into, n * W, 0);
  clear(T, T + 1);
  vec share = vec{};
  ivec counted = ivec{};
  for (int b = 0; b < W; ++b) {
    counted[b] = weight[b] != 0 ? -1 : 0;
    if (counted[b]) share[b] = weight[b] / last_mass[b];
  }
  auto total = [&](const real* values) { return sum(counted ? load(values) : vec{}); };
  for (int e = T; e >= 1; --e) {
    const vec passes = without(e, kBarred);
    vec ending = vec{};
    for (int b = 0; b < W; ++b) ending[b] = lengths[b] == e ? share[b] : 0;
    for (int y = 0; y < h.Y; ++y) {
      for (int q = h.first[y]; q < h.last[y]; ++q) {
        real* to = states(back, e) + q * W;
        store(to, load(to) * passes + splat(w.last[y]) * ending);
      }
    }
    for (int s = spans.reach[e]; s > spans.reach[e - 1]; --s) ahead(s, back, beyond);
    end_back(e, back, row(stops, e));
    const int s = e - 1;
    begin_back(s, back, beyond, ratio);
    if (s == 0) break;
    for (int k = 0; k < w.n_weighted; ++k) {
      const vec p = load(singles + (static_cast<std::ptrdiff_t>(s) * h.Y + w.weighted[k].from) * W) * load(ratio + h.single[w.weighted[k].to] * W);
      store(pairs + k * W, load(pairs + k * W) + p);
    }
    leave(s, ratio, into, passed, states(back, s));
    count_begun(s, ratio, entered);
  }
  for (int y = 0; y < h.Y; ++y) {
    real* start = hat + h.single[y] * W;
    store(start, load(start) * load(ratio + h.single[y] * W));
    gradient.starts[y] += total(start);
  }
  for (int k = 0; k < w.n_weighted; ++k) gradient.outer[w.weighted[k].from * w.stride + w.weighted[k].to] += total(pairs + k * W);
  for (const std::int32_t q : h.rising) gradient.entered[q] += total(entered + q * W);
  row_counts(stops, counted, gradient);
}

}  // namespace caesura::CAESURA_ISA
