// The way back of high_order.hpp: expected counts in place of the rows.
#pragma once

#include "high_order.hpp"

namespace caesura::CAESURA_ISA {

inline vec most(vec value) { return min(value, splat(kMost)); }

// ratio[s]; and terms become probabilities, as do those of the segments that join.
template <bool kByState>
void HighOrder<kByState>::begin_back(int s, const real* back, const real* beyond, real* ratio) {
  const real* from = states(hat, s);
  fill(ratio, n, 0);
  // row[y], or each row[q], times the part of `to` that it meets.
  auto meet = [&](real* gained, int y, const real* to) {
    vec dot = vec{};
    for (int q = h.first[y]; q < h.first[y + 1]; q += W) {
      const vec reached = load(to + q) * of(gained, y, q);
      store(ratio + q, load(ratio + q) + reached);
      if (kByState) store(gained + q, load(from + q) * most(reached));
      else dot += load(from + q) * load(to + q);
    }
    if (!kByState) gained[y] *= sum(dot);
  };
  auto clear = [&](real* gained, int y) {
    if (kByState) fill(gained + h.first[y], h.first[y + 1] - h.first[y], 0);
    else gained[y] = 0;
  };
  for (int y = 0; y < h.Y; ++y) {
    const int longest = is_open(y) ? (joins[s] > 0 ? joins[s] : T) : (T - s < w.bounds[y] ? T : s + w.bounds[y]);
    for (int e = s + 1; e <= until[s]; ++e) {
      if (e <= longest) meet(term(s, e), y, back + static_cast<std::ptrdiff_t>(e) * n);
      else clear(term(s, e), y);
    }
    if (joins[s] == 0) continue;
    if (is_open(y)) meet(row(joined, s), y, beyond + static_cast<std::ptrdiff_t>(joins[s]) * n);
    else clear(row(joined, s), y);
  }
  for (int q = 0; q < n; q += W) store(ratio + q, most(load(ratio + q)));
}

// back[e] from what is entered at e.  into: [n] entry * ratio; entered: [stride] its part of single labels
template <bool kByState>
void HighOrder<kByState>::leave(int e, const real* ratio, real* into, real* passed, real* back, real* entered) {
  const real* by = entry_at(e);
  for (int q = 0; q < n; q += W) store(into + q, load(ratio + q) * load(by + q));
  for (int y = 0; y < h.Y; ++y) entered[y] = ratio[h.single[y]];
  product(w.back_panels, w.n_back_panels, entered, w.transposed, w.stride, base);
  for (int y = 0; y < h.Y; ++y) passed[h.single[y]] = base[y];
  for (const std::int32_t q : h.rising) passed[q] = 0;
  for (const Move& move : h.leading) passed[move.from] += into[move.to];
  h.add_shorter(passed);
  std::memcpy(back, passed, sizeof(real) * n);
  for (const std::int32_t q : h.rising) back[h.before[q]] += into[q];
}

// Probabilities of open segments at e: that they end there, and that they go on.
template <bool kByState>
void HighOrder<kByState>::open_counts(int e, const real* back, const real* beyond, real* stops, real* goes) {
  const real *before = states(open, e - 1), *g = row(gain, e), *close = spans.closes ? row(closing, e) : nullptr;
  for (int y = 0; y < h.Y; ++y) {
    vec stopping = vec{}, going = vec{};
    for (int q = h.first[y]; q < h.first[y + 1]; q += W) {
      const vec mass = load(before + q) * of(g, y, q);
      vec stop = mass * load(back + q);
      if (close != nullptr) stop *= of(close, y, q);
      const vec go = mass * load(beyond + q);
      if (kByState) {
        store(stops + q, stop);
        store(goes + q, go);
      }
      stopping += stop;
      going += go;
    }
    if (kByState) continue;
    stops[y] = sum(stopping);
    goes[y] = sum(going);
  }
}

// Expected counts of all rows, as Segmental::long_back.
template <bool kByState>
void HighOrder<kByState>::row_counts(const real* stops, const real* goes) {
  real *ended = reals(work, c), *covering = reals(work, c), *gathered = reals(work, static_cast<std::size_t>(ring) * c);
  fill(gathered, static_cast<std::ptrdiff_t>(ring) * c, 0);
  for (int i = 0; i < n_sites; ++i) {  // those that no segment can reach stay zero
    if (sites[i].start < spans.low[sites[i].end]) fill(row(x, T + i), c, 0);
  }
  for (int e = T; e >= 1; --e) {
    for (int q = 0; q < c; q += W) {
      const vec stop = w.has_open ? load(stops + static_cast<std::ptrdiff_t>(e) * c + q) : vec{};
      store(ended + q, stop);
      store(covering + q, w.has_open ? stop + load(goes + static_cast<std::ptrdiff_t>(e) * c + q) : stop);
    }
    int k = spans.by_end[e + 1] - 1;
    const int first = spans.by_end[e];
    for (int s = spans.low[e]; s < e; ++s) {
      const real* p = term(s, e);
      const real* entering = w.has_open && spans.joins_at(s, e) ? row(joined, s) : nullptr;
      real* g = row(gathered, s & (ring - 1));
      for (int q = 0; q < c; q += W) {
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
        std::memcpy(row(x, T + k), counts, sizeof(real) * c);
      }
    }
    std::memcpy(row(x, e - 1), covering, sizeof(real) * c);
    fill(row(gathered, (e - 1) & (ring - 1)), c, 0);
  }
}

template <bool kByState>
void HighOrder<kByState>::backward(real weight, Gradient<real>& gradient) {
  const std::size_t size = static_cast<std::size_t>(T + 1) * n, wide = static_cast<std::size_t>(T + 1) * c;
  real *back = reals(work, size), *beyond = reals(work, w.has_open ? size : n);
  real *ratio = reals(work, n), *into = reals(work, n), *passed = reals(work, n);
  real *bases = reals(work, static_cast<std::size_t>(T + 1) * w.stride);
  real *stops = nullptr, *goes = nullptr;
  fill(bases, static_cast<std::ptrdiff_t>(T + 1) * w.stride, 0);
  fill(passed, n, 0);
  if (w.has_open) {
    stops = reals(work, wide);
    goes = reals(work, wide);
    fill(stops, wide, 0);
    fill(goes, wide, 0);
    fill(states(beyond, T), n, 0);
  }
  const real share = weight / last_mass;
  each([&](int y, int q) {
    const vec b = splat(w.last[y] * share);
    store(states(back, T) + q, b);
    gradient.ends[y] += sum(load(alpha + q) * b);
  });
  for (int e = T; e >= 1; --e) {
    real* b = states(back, e);
    if (e < T && marked(e, kBarred)) fill(b, n, 0);
    if (w.has_open) {
      real* go = states(beyond, e);
      if (e < T && marked(e, kForced)) fill(go, n, 0);
      open_counts(e, b, go, row(stops, e), row(goes, e));
      const real *g = row(gain, e), *close = spans.closes ? row(closing, e) : nullptr;
      each([&](int y, int q) {
        vec stop = load(b + q);
        if (close != nullptr) stop *= of(close, y, q);
        store(states(beyond, e - 1) + q, most(of(g, y, q) * (load(go + q) + stop)));
      });
    }
    const int s = e - 1;
    begin_back(s, back, beyond, ratio);
    if (s == 0) {
      for (int y = 0; y < h.Y; ++y) gradient.starts[y] += hat[h.single[y]] * ratio[h.single[y]];
      break;
    }
    leave(s, ratio, into, passed, states(back, s), bases + static_cast<std::ptrdiff_t>(s) * w.stride);
    const real* from = states(hat, s);
    real* begun = entry == nullptr ? nullptr : states(entry, s);
    for (int q = 0; q < n; q += W) {
      const vec p = load(from + q) * load(ratio + q);
      store(gradient.entered + q, load(gradient.entered + q) + p);
      if (begun != nullptr) store(begun + q, p);
    }
  }
  row_counts(stops, goes);
  if (T > 1) outer(w, labels + w.stride, bases + w.stride, T - 1, gradient.outer);
}

}  // namespace caesura::CAESURA_ISA
