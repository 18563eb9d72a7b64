// The backward pass of high_order.hpp, which replaces the rows of scores by expected counts.
#pragma once

#include "learn/high_order_cover.hpp"

namespace caesura::CAESURA_ISA {

// Converts the queue of label y, at boundary e, to sums over ends: for each end after e, over all
// ends from the nearest to it, as seen from e.
//
//   older[end] = sum over e < a <= end of back[a] closing[a] g[e + 1] ... g[a]
//
// An earlier start reads a shorter prefix; nothing is subtracted.  Each end is summed once here and
// once among the younger ends, so the queue of a label costs O(T) additions of its states in total.
template <bool kByState>
void HighOrder<kByState>::turn_back(int y, int e, real* back) {
  for_numbers(y, [&](int q) { store(queue.since + q, splat(1)); });
  const real* nearer = nullptr;
  const int m = count(y);
  const bool closed = spans.closes;
  Ahead bounded;
  // Prefix sums over the ends, nearest first; `since` is g[e + 1] ... g[end].
  for (int end = e + 1; end <= queue.oldest[y]; ++end) {
    gain_since(y, row(grow, end));
    real* to = older(y, end);
    const real* from = back_at(back, end) + h.first[y] * W;
    const Gains since = of(queue.since, y),
                closes = spans.closes ? of(row(closing, end), y) : Gains{since.row, splat(1)};
    for (int k = 0; k < m; ++k) {
      const vec value = bounded(load(from + k * W) * (closed ? since[k] * closes[k] : since[k]));
      store(to + k * W, nearer == nullptr ? value : load(nearer + k * W) + value);
    }
    nearer = to;
  }
  bad |= bounded.far;
  // From now on `since` collects the factors that the older ends gain at boundaries up to e, and
  // the ends up to e are the younger ones.
  for_numbers(y, [&](int q) { store(queue.since + q, splat(1)); });
  fill(queue.younger + h.first[y] * W, m * W, 0);
  queue.turn[y] = e + 1;
}

// Computes beyond[s] at the boundary where s joins.
//
//   beyond[s] = younger  +  older[farthest] since,       farthest = min(T, s + L)
//
// Starts descend, so `farthest` never rises and the queue only drops ends.  Labels for which no
// segment from s is long enough to join have no sum.
template <bool kByState>
void HighOrder<kByState>::ahead(int s, real* back) {
  Ahead bounded;
  for (int y = 0; y < h.Y; ++y) {
    const int farthest = std::min(T, s + bound(y)), m = count(y);
    if (farthest <= joins[s]) continue;
    if (farthest < queue.oldest[y]) {
      queue.oldest[y] = farthest;
      if (farthest < queue.turn[y] - 1) turn_back(y, joins[s], back);
    }
    // If `oldest` lies before the turn, no older ends are left, and `younger` is the whole sum.
    const real *old = queue.oldest[y] >= queue.turn[y] ? older(y, queue.oldest[y]) : nullptr,
               *younger = queue.younger + h.first[y] * W;
    const Gains since = of(queue.since, y);
    real* to = states(beyond, s & (ring - 1)) + h.first[y] * W;
    for (int k = 0; k < m; ++k) {
      vec value = load(younger + k * W);
      if (old != nullptr) value += load(old + k * W) * since[k];
      store(to + k * W, bounded(value));
    }
  }
  bad |= bounded.far;
}

// Computes the probabilities of the segments that have joined before e and end there or later, and
// moves the queue from e to e - 1.
//
//   P(one ends at e)     = going[e] closing[e] back[e]                            -> stops[e]
//   P(one reaches e)     = going[e] (younger[e] + closing[e] back[e])             -> cover[e]
//   younger[e - 1]       = g[e] (younger[e] + closing[e] back[e])
//
// cover[e] is computed here for labels without a bound only, because every later end is possible
// for each of their starts; cover_block handles the other labels.
template <bool kByState>
void HighOrder<kByState>::end_back(int e, real* back, real* stops) {
  const bool closed = spans.closes;
  Ahead bounded;
  for (int y = 0; y < h.Y; ++y) {
    const std::ptrdiff_t first = h.first[y] * W;
    const int m = count(y);
    // Segments of length 1 end before they can join.
    if (bound(y) == 1) {
      for_numbers(y, [&](int q) { store(stops + q, vec{}); });
      continue;
    }
    if (queue.oldest[y] >= queue.turn[y]) gain_since(y, row(grow, e));
    const Gains g = of(row(grow, e), y),
                closes = spans.closes ? of(row(closing, e), y) : Gains{nullptr, splat(1)};
    const real *ends = back_at(back, e) + first, *go = states(going, e) + first;
    real *younger = queue.younger + first, *out = stops + (kByState ? first : 0),
         *over = row(cover, e) + (kByState ? first : y * W);
    const bool unbounded = bound(y) == T;
    vec stopping = vec{}, covering = vec{};
    // One pass over the states of a label.  If rows are by label, its states are added up in
    // registers.
    for (int k = 0; k < m; ++k) {
      const vec end = closed ? load(ends + k * W) * closes[k] : load(ends + k * W),
                ahead = load(younger + k * W) + end, mass = load(go + k * W);
      stopping += mass * end;
      covering += mass * ahead;
      if (kByState) store(out + k * W, mass * end);
      if (kByState && unbounded) store(over + k * W, mass * ahead);
      store(younger + k * W, bounded(ahead * g[k]));
    }
    if (!kByState) store(stops + y * W, stopping);
    if (!kByState && unbounded) store(over, covering);
  }
  bad |= bounded.far;
}

// Computes ratio[s], and replaces the terms from s and the factor with which s joins by
// probabilities.
//
//   ratio[s][q] = sum over s < e <= joins[s] of term[s, e] back[e][q]  +  joined[s] beyond[s][q]
//   P(s, e)     = sum over q of hat[s][q] term[s, e] back[e][q]
//
// The sum over q runs over the states that share a row: a single state if rows are by state, else
// all states of a label.  ratio is a sum and not a quotient, so a hat of 0 needs no special case.
template <bool kByState>
void HighOrder<kByState>::begin_back(int s, real* back, real* ratio) {
  for (int y = 0; y < h.Y; ++y) {
    const std::ptrdiff_t first = h.first[y] * W;
    const int farthest = std::min(T, s + bound(y));
    Meeting waiting[kMeetings];
    int n_waiting = 0;
    bool fresh = true;
    auto meet = [&](real* gained, const real* to, real* share) {
      waiting[n_waiting++] = {of(gained, y), to + first, share + at_label(y)};
      if (n_waiting < kMeetings) return;
      meet_ends<kMeetings>(waiting, s, y, fresh, ratio);
      n_waiting = 0;
      fresh = false;
    };
    auto clear = [&](real* share) { for_numbers(y, [&](int q) { store(share + q, vec{}); }); };
    // Segments that are too long for the label have probability 0, which row_counts reads.
    for (int e = s + 1; e <= std::min(joins[s], T); ++e) {
      if (e <= farthest)
        meet(term(s, e), back_at(back, e), term(s, e));
      else
        clear(term(s, e));
    }
    if (joins[s] < farthest)
      meet(row(joined, s), states(beyond, s & (ring - 1)), row(joining_share, s));
    else if (joins[s] <= T)
      clear(row(joining_share, s));
    if (n_waiting == 1) meet_ends<1>(waiting, s, y, fresh, ratio);
    if (n_waiting == 2) meet_ends<2>(waiting, s, y, fresh, ratio);
  }
}

// Handles N ends of the segments from s at once, so that ratio and hat pass through the registers
// once: adds term back to ratio, and replaces the terms by hat term back.  `fresh`: these are the
// first ends of s, so ratio is set rather than added to.  Every s has some, as the end s + 1 always
// fits.
template <bool kByState>
template <int N>
void HighOrder<kByState>::meet_ends(const Meeting* ends, int s, int y, bool fresh, real* ratio) {
  const real* from = states(hat, s) + h.first[y] * W;
  real* sums = ratio + h.first[y] * W;
  Meeting end[N];  // by value, because a store might alias anything else
  std::copy(ends, ends + N, end);
  Ahead bounded;
  vec dot[N] = {};
  for (int k = 0, m = count(y); k < m; ++k) {
    const vec hats = load(from + k * W);
    vec sum = fresh ? vec{} : load(sums + k * W);
    for (int i = 0; i < N; ++i) {
      const vec ahead = load(end[i].to + k * W), reached = ahead * end[i].by[k];
      sum += reached;
      if (kByState)
        store(end[i].share + k * W, hats * min(reached, splat(kFarAhead)));
      else
        dot[i] += hats * ahead;
    }
    store(sums + k * W, bounded(sum));
  }
  for (int i = 0; !kByState && i < N; ++i) store(end[i].share, end[i].by.same * dot[i]);
  bad |= bounded.far;
}

// Computes back[e] from ratio[e], and the expected segments that start at e: by state, and by class
// of the attributes at the boundary.  into: [n] receives entry * ratio.  direct: [2 n + 1] receives
// the backward sums that go directly to alpha and to S.
//
// This is the program of enter(), transposed and with its steps in reverse order:
//
//   into[q]      = entry[q] own[q] ratio[e][q]
//   direct[p]    = sum of into[q] over the states q entered from p     p: in alpha or S (passed)
//   passed[p]   += sum of transition[x, y] ratio[e][q]   over the arcs (p, q) of label pairs x, y
//   passed[x h] += passed[h]                             for S(h) = alpha(h) + sum of S(x h)
//   back[e]      = direct to alpha  +  passed
template <bool kByState>
void HighOrder<kByState>::leave(int e, const real* ratio, real* into, real* direct, real* back,
                                real* entered) {
  const std::int32_t *rising = h.rising.data(), *source = h.source.data(),
                     *classes = h.entry_class.data();
  const int count = static_cast<int>(h.rising.size()), width = n_classes * W;
  const real *gained = w.entry, *from = states(hat, e);
  real *own = entry == nullptr ? nullptr : entry + static_cast<std::ptrdiff_t>(e) * width,
       *begun = classed;
  fill(begun, width, 0);
  fill(direct, (2 * n + 1) * W, 0);
  // P(a segment starts at e in state q) = hat[e][q] ratio[e][q], by state and by entry class.
  for (int k = 0; k < count; ++k) {
    const int q = rising[k];
    const vec r = load(ratio + q * W), p = load(from + q * W) * r;
    vec value = r * splat(gained[q]);
    store(entered + q * W, load(entered + q * W) + p);
    if (own != nullptr) {
      real* to = begun + classes[q] * W;
      value *= load(own + classes[q] * W);
      store(to, load(to) + p);
    }
    store(into + q * W, value);
    real* from_where = direct + source[q] * W;
    store(from_where, load(from_where) + value);
  }
  if (own != nullptr) {
    // A class also counts for the class that it ends in, which has a smaller number; in descending
    // order the counts propagate all the way.  For most classes this is class 0, whose sum is kept
    // in a register, so that additions do not wait for stores.
    vec all = load(begun);
    for (int k = n_classes - 1; k > 0; --k) {
      if (shorter_class[k] == 0)
        all += load(begun + k * W);
      else
        add(begun + shorter_class[k] * W, begun + k * W, W);
    }
    store(begun, all);
    std::memcpy(own, begun, sizeof(real) * width);
  }
  real* passed = direct + n * W;  // the part of `direct` for S
  const real* transition = w.transition;
  // Arcs of label pairs lead to histories of one label, which have no entry factor, so they read
  // ratio and not `into`.
  for (const PairArc* arc = w.base_back; arc->from >= 0;) {
    const std::int32_t p = arc->from;
    vec all = load(passed + p * W);
    for (; arc->from == p; ++arc) all += load(ratio + arc->to * W) * splat(transition[arc->pair]);
    store(passed + p * W, all);
  }
  move_back(h.leading, into, direct);
  // alpha[q] is a term of S[q], and may itself be a source.
  for (const std::int32_t q : h.singles)
    store(back + q * W, load(direct + q * W) + load(passed + q * W));
  // S is computed from longer histories to shorter ones, so its transpose runs from shorter to
  // longer ones.  Each history of several labels occurs once, after the shorter one, whose sum is
  // then final.
  const Move *last = h.longer.data(), *one = last + h.longer.size();
  while (one != last) {
    --one;
    const std::ptrdiff_t q = one->from * W;
    const vec all = load(passed + q) + load(passed + one->to * W);
    store(passed + q, all);
    store(back + q, load(direct + q) + all);
  }
}

// Computes the expected counts of all rows, as Segmental::long_back does, and of the last labels.
// By now the terms hold P(s, e), and `stops` and `cover` those of the segments that have joined:
//
//   ended[e]    = stops[e]  +  sum over s of P(s, e)
//   covering[e] = cover[e]  +  sum over s of gathered[s]
//
// where gathered[s] is P(a segment from s reaches e or beyond).
template <bool kByState>
void HighOrder<kByState>::row_counts(real* stops, vec weight, Gradient<real>& gradient) {
  const int width = c * W;
  real *ended = reals(work, width), *covering = reals(work, width);
  real* gathered = reals(work, static_cast<std::size_t>(ring) * width);
  fill(gathered, static_cast<std::ptrdiff_t>(ring) * width, 0);
  for (int e = T; e >= 1; --e) {
    if (e % h.patience() == 0) check_interrupt();
    std::memcpy(ended, row(stops, e), sizeof(real) * width);
    std::memcpy(covering, row(cover, e), sizeof(real) * width);
    // Starts are in ascending order, so `ended` and `covering` hold the starts up to s when the
    // sites that start at s are read.
    int k = spans.by_end[e + 1] - 1;
    const int first = spans.by_end[e];
    for (int s = spans.low[e]; s < e; ++s) {
      const real *p = term(s, e), *entering = joins[s] == e ? row(joining_share, s) : nullptr;
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
        const real* counts = flags == (kOpenStart | kOpenEnd) ? covering
                             : flags == kOpenStart            ? ended
                             : flags == kOpenEnd              ? g
                                                              : p;
        std::memcpy(row(x, T + k), counts, sizeof(real) * width);
      }
    }
    std::memcpy(row(x, e - 1), covering, sizeof(real) * width);
    fill(row(gathered, (e - 1) & (ring - 1)), width, 0);
    // In the lanes whose sequence has length e, the segments that end at e have the last labels.
    for (int b = 0; b < W; ++b) {
      if (lengths[b] != e || weight[b] == 0) continue;
      for (int y = 0; y < h.Y; ++y)
        for_numbers(y, [&](int q) { gradient.ends[y] += weight[b] * ended[q + b]; });
    }
  }
}

// Completes back[e]: it becomes 0 in the lanes in which boundary e is forbidden, and lanes of
// length e get their end scores.
//
//   back[e][q] = passes back[e][q]  +  ending[q] / (mass of the last row)     second term: length e
template <bool kByState>
void HighOrder<kByState>::end_at(int e, vec share, real* back) const {
  vec ending = vec{};
  bool any = false;
  for (int b = 0; b < W; ++b) {
    if (lengths[b] != e) continue;
    ending[b] = share[b];
    any = true;
  }
  if (!any && grow == gain) return;
  const vec passes = without(e, kBarred);
  for (int y = 0; y < h.Y; ++y) {
    for (int q = h.first[y]; q < h.last[y]; ++q)
      store(back + q * W, load(back + q * W) * passes + splat(w.ending[q]) * ending);
  }
}

template <bool kByState>
void HighOrder<kByState>::backward(real* weight, Gradient<real>& gradient) {
  real *back = reals(work, static_cast<std::size_t>(kept) * n * W),
       *stops = reals(work, static_cast<std::size_t>(T + 1) * c * W);
  real *ratio = reals(work, n * W), *into = reals(work, n * W),
       *direct = reals(work, (2 * n + 1) * W), *entered = reals(work, n * W);
  real* pairs = reals(work, w.n_weighted * W + W);
  cover = reals(work, static_cast<std::size_t>(T + 1) * c * W);
  joining_share = reals(work, static_cast<std::size_t>(T + 1) * c * W);
  prepare_cover();
  fill(cover, static_cast<std::ptrdiff_t>(T + 1) * c * W, 0);
  fill(entered, n * W, 0);
  fill(pairs, w.n_weighted * W, 0);
  fill(back_at(back, T), n * W, 0);
  fill(into, n * W, 0);
  clear(T, T + 1);
  vec share = vec{};
  for (int b = 0; b < W; ++b) share[b] = weight[b] != 0 ? 1 / last_mass[b] : 0;
  // The boundaries from T to 1.  At e, end_at completes back[e], the starts that join at e read the
  // queue before it takes in the end e, and then all ends of the segments from e - 1 have been
  // visited, so that ratio[e - 1] and back[e - 1] follow.  The rows of `back` are a ring of `kept`
  // rows, which holds all ends that are still read.
  for (int e = T; e >= 1; --e) {
    if (e % h.patience() == 0) check_interrupt();
    end_at(e, share, back_at(back, e));
    for (int s = spans.reach[e]; s > spans.reach[e - 1]; --s) ahead(s, back);
    end_back(e, back, row(stops, e));
    const int s = e - 1;
    for (int y = 0; y < h.Y; ++y) {
      if (has_blocks(y) && s % block(y) == 0) cover_block(y, s, back);
    }
    begin_back(s, back, ratio);
    if (s == 0) break;
    const real* labels = singles + static_cast<std::ptrdiff_t>(s) * h.singles.size() * W;
    // E[x, y] = sum over e, and over the arcs (p, q) of x, y, of S[e][p] ratio[e][q], for the label
    // pairs with a weight
    real* to = pairs;
    for (const PairArc* arc = w.weighted; arc->pair >= 0; to += W) {
      const std::int32_t pair = arc->pair;
      vec all = load(to);
      for (; arc->pair == pair; ++arc)
        all += load(labels + arc->from * W) * load(ratio + arc->to * W);
      store(to, all);
    }
    leave(s, ratio, into, direct, back_at(back, s), entered);
  }
  for (int b = 0; b < W; ++b) weight[b] = bad[b] ? 0 : weight[b];
  const vec times = load(weight);
  // A lane of weight 0 may hold any value, so it is left out rather than multiplied by 0.
  auto total = [&](const real* values) { return sum(times != 0 ? load(values) * times : vec{}); };
  for (int y = 0; y < h.Y; ++y) {
    if (h.start[y] < 0) continue;
    real* start = hat + h.start[y] * W;
    store(start, load(start) * load(ratio + h.start[y] * W));
    gradient.starts[y] += total(start);
  }
  for (const PairArc* arc = w.weighted; arc->pair >= 0; ++arc) {
    if (arc[1].pair == arc->pair) continue;  // only once for each pair
    gradient.outer[arc->pair] += total(pairs);
    pairs += W;
  }
  for (const std::int32_t q : h.rising) gradient.entered[h.history[q]] += total(entered + q * W);
  row_counts(stops, times, gradient);
}

}  // namespace caesura::CAESURA_ISA
