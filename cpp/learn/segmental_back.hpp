// The backward pass of segmental.hpp, which replaces the rows by expected counts.
#pragma once

#include "learn/segmental.hpp"

namespace caesura::CAESURA_ISA {

// Computes the expected counts of the rows that end at e, and the row e - 1 of ratio and open_back.
// gathered[s] is P(a segment from s reaches e or beyond), and ratio[s] = begun[s] / hat[s] with
// begun[s] = P(a segment starts at s).
//
//   P(s, e)   = term[s, e] back[e]
//   ended     = sum over s of P(s, e)              covering = sum over s of gathered[s]
//   open_back[e - 1] = g[e] (open_back[e] + closing[e] back[e])
//
// The count of a site [s', e) is covering, ended, gathered[s'] or P(s', e), depending on which of
// its ends are open.  The cost is O((e - low[e]) Y), plus a row for each site that ends at e.
inline void Segmental::long_back(int e, const real* back, real* open_back, real* gathered,
                                 real* sums, real* ratio) {
  real* ended = sums;         // P(a segment ends at e), over the starts so far
  real* covering = sums + n;  // P(a segment reaches e), over the starts so far
  const real* close = spans->closes ? row(closing, e) : nullptr;
  // The starts that joined before e have a single sum, open[e - 1] g[e].
  if (w.has_open && e > 1) {
    const real* o = row(open, e - 1);
    const real* g = row(step, e);
    for (int q = 0; q < n; q += W) {
      const vec mass = load(o + q) * load(g + q);
      vec stop = mass * load(back + q);
      if (close != nullptr) stop *= load(close + q);
      store(ended + q, stop);
      store(covering + q, stop + mass * load(open_back + q));
    }
  } else {
    fill(ended, n, 0);
    fill(covering, n, 0);
  }
  int k = spans->by_end[e + 1] - 1;
  const int first = spans->by_end[e];
  // Starts ascend from low[e], and the sites that end at e are read in reverse order, which is also
  // by ascending start.  When s is reached, `ended` and `covering` therefore hold the starts up to
  // s, to which a site [s, e) with an open start applies.
  for (int s = spans->low[e]; s < e; ++s) {
    const real* term = row(terms, at[e] + s - spans->low[e]);
    real* g = row(gathered, s & (ring - 1));
    const real* j = joins_at(s, e) ? row(joined, s) : nullptr;
    while (k >= first && sites[k].start < s) --k;
    const bool here = k >= first && sites[k].start == s;
    // gathered[s] += P(s, e) and, if s joins at e, live[s, e] open_back[e] for the ends after e.
    // Labels that joined earlier have live = 0 and hence term = 0, so they are not counted twice.
    for (int q = 0; q < n; q += W) {
      const vec p = load(term + q) * load(back + q);
      vec reaching = load(g + q) + p;
      if (j != nullptr) reaching += load(j + q) * load(open_back + q);
      store(g + q, reaching);
      store(ended + q, load(ended + q) + p);
      store(covering + q, load(covering + q) + reaching);
    }
    if (!here) continue;
    for (; k >= first && sites[k].start == s; --k) {
      real* out = row(x, T + k);
      if (sites[k].flags == (kOpenStart | kOpenEnd)) {
        std::memcpy(out, covering, sizeof(real) * n);
      } else if (sites[k].flags == kOpenStart) {
        std::memcpy(out, ended, sizeof(real) * n);
      } else if (sites[k].flags == kOpenEnd) {
        std::memcpy(out, g, sizeof(real) * n);
      } else {
        for (int q = 0; q < n; q += W) store(out + q, load(term + q) * load(back + q));
      }
    }
  }
  // A token lies in each segment that covers it, so its count is the sum over all starts.
  std::memcpy(row(x, e - 1), covering, sizeof(real) * n);
  if (w.has_open) {
    // open_back[e - 1] = g[e] (open_back[e] + closing[e] back[e])
    const real* g = row(step, e);
    for (int q = 0; q < n; q += W) {
      vec stop = load(back + q);
      if (close != nullptr) stop *= load(close + q);
      store(open_back + q, load(g + q) * (load(open_back + q) + stop));
    }
  }
  const real *begun = row(gathered, (e - 1) & (ring - 1)), *h = row(hat, e - 1);
  // ratio[e - 1] = begun[e - 1] / hat[e - 1].  All ends of the segments from e - 1 have been
  // visited, so gathered is begun.  If hat is 0, begun is 0 too, and 0 / 0 must be avoided.
  for (int q = 0; q < n; q += W)
    store(ratio + q, load(begun + q) / max(load(h + q), splat(kNothing)));
}

// The same if only the start e - 1 is live, in one pass over the labels.  With first, last and
// single the rows of the sites over token e - 1:
//
//   begun / hat[e - 1] = g first (single last back[e]  +  open_back[e])
//   ended              = hat g first single last back[e]  +  open[e - 1] g last back[e]
//   covering           = begun  +  open[e - 1] g (last back[e] + open_back[e])
//
// where open_back counts for labels without a bound only (w.open).  Sites that are open on both
// sides are part of g.  back is clamped, so that its product with 0 is not NaN.
template <bool kOpen>
inline void Segmental::short_back(int e, const real* back, real* open_back, real* ratio,
                                  real* begun) {
  const Alone on = alone(e);
  const real *g = row(step, e), *h = row(hat, e - 1), *before = kOpen ? row(open, e - 1) : nullptr;
  real* token = row(x, e - 1);
  for (int q = 0; q < n; q += W) {
    const vec gain = load(g + q), b = within(load(back + q)), hatted = load(h + q);
    const vec stop = on.last != nullptr ? b * load(on.last + q) : b;
    const vec own = on.first != nullptr ? gain * load(on.first + q) : gain;
    vec alone_here = own * (on.single != nullptr ? stop * load(on.single + q) : stop);
    const vec single = hatted * alone_here;  // P(the segment has one token)
    vec started = single, ended = single, covering = single;
    if (kOpen) {
      const vec on_back = within(load(open_back + q)), going = load(before + q) * gain;
      alone_here += own * load(w.open + q) * on_back;
      started = hatted * alone_here;
      ended += going * stop;
      covering = started + going * (stop + on_back);
      store(open_back + q, gain * (on_back + stop));
    }
    store(ratio + q, alone_here);  // begun / hat without a division
    store(begun + q, started);
    store(token + q, covering);
    // Counts replace the factors of the sites, all of which have been read above in these lanes.
    if (on.both != nullptr) store(on.both + q, covering);
    if (on.first != nullptr) store(on.first + q, started);
    if (on.last != nullptr) store(on.last + q, ended);
    if (on.single != nullptr) store(on.single + q, single);
  }
}

// back = transition ratio.  If each boundary has its own transitions, they are replaced by expected
// counts.
//
//   back[e][i]  = sum over j of transition[i, j] ratio[e][j]
//   E[e][i, j]  = alpha[e][i] transition[i, j] ratio[e][j]
//
inline void Segmental::pass_back(int e, const real* ratio, real* back, real* total) {
  if (edge == nullptr) {
    product(w.back_panels, w.n_back_panels, ratio, w.transposed, n, back);
    return;
  }
  fill(back, n, 0);
  // m: the matrix of boundary e, [Y][n]; each entry is read before its count replaces it.
  for (int i = 0; i < w.Y; ++i) {
    real* m = pairs(e) + i * n;
    const vec a = splat(row(alpha, e)[i]);
    vec sum_over = vec{};
    for (int q = 0; q < n; q += W) {
      const vec value = load(m + q) * load(ratio + q);
      sum_over += value;
      store(m + q, value * a);
      store(total + i * n + q, load(total + i * n + q) + value * a);
    }
    back[i] = sum(sum_over);
  }
}

// Computes back[T] and the expected last labels.
//
//   back[T][q] = weight last[q] / (alpha[T] . last)
//
// Divided by the last mass, products with `back` are probabilities times the weight.
inline void Segmental::start_back(real weight, Gradient<real>& gradient, real* back) const {
  const real share = weight / last_mass;
  for (int q = 0; q < n; q += W) {
    const vec b = load(w.last + q) * share;
    store(back + q, b);
    store(gradient.ends + q, load(gradient.ends + q) + load(row(alpha, T) + q) * b);
  }
}

// Runs ScaledChain for segments of length 1 without sites.  A forbidden boundary would require a
// longer segment, so nothing is possible; the general sweeps report it.
inline bool Segmental::run_chain(double* log_z, real weight, Gradient<real>* gradient,
                                 const Asked* asked) {
  for (int e = 1; e < T; ++e) {
    if (barred(e)) return false;
  }
  chain.emplace(w, T, work, gradient != nullptr);
  apply_known();
  Total total;
  if (!RowExps<true>{w.Y, n}.all(T, [&](int t) { return row(x, t); }, chain->exps(), &total))
    return false;
  auto put = [&](int t, int q, vec count) { store(row(x, t) + q, count); };
  if (gradient == nullptr ? !chain->forward(edge, &total) : !chain->both(edge, weight, &total, put))
    return false;
  *log_z = total.value();
  if (gradient == nullptr) return true;
  add(gradient->starts, row(x, 0), n);
  add(gradient->ends, row(x, T - 1), n);
  if (edge != nullptr)
    chain->count_edges(edge, gradient->pairs);
  else if (gradient->outer != nullptr)
    chain->add_pairs(gradient->outer);
  // A segment is a single token, and its probability is the count of its label.
  for (int k = 0; asked != nullptr && k < asked->count; ++k) {
    const LabelledSegment& segment = asked->segments[k];
    asked->probabilities[k] = row(x, segment.start)[segment.label];
  }
  return true;
}

// The probability of a segment [s, e), from the rows of the forward pass and back[e].  If s joined
// the open term at j, the factor of the segment is joined[s] g[j + 1] ... g[e].
inline real Segmental::probability(int s, int e, int y, const real* back) const {
  const bool brief = is_short(e);
  const Alone on = brief ? alone(e) : Alone{};
  auto times = [y](real value, const real* row) { return row == nullptr ? value : value * row[y]; };
  // [e - 1, e) at a short end: hat[s] g[e] first single last back[e].
  if (brief && s == e - 1) {
    const real begun = times(row(hat, s)[y] * row(step, e)[y], on.first);
    return times(times(begun, on.single), on.last) * back[y];
  }
  // s has not joined before e, so its term is stored.
  if (w.open[y] == 0 || s > spans->reach[e - 1]) {
    return row(terms, at[e] + s - spans->low[e])[y] * back[y];
  }
  // j is the end at which s joined: the first with A(j) >= s.
  int j = s + 1;
  while (spans->reach[j] < s) ++j;
  real value = is_short(j) ? times(row(hat, s)[y] * row(step, j)[y], alone(j).first) * w.open[y]
                           : row(joined, s)[y];
  for (int t = j + 1; t <= e; ++t) value *= row(step, t)[y];
  if (brief) return times(value, on.last) * back[y];
  return (spans->closes ? value * row(closing, e)[y] : value) * back[y];
}

// P(tag p of token e - 1 and tag q of token e).
inline double Segmental::pair_probability(int e, int p, int q) const {
  return edge != nullptr ? pairs(e)[p * n + q] : chain->pair(e, p, q);
}

// sum over q of P(tag p of token e - 1 and tag q of token e) factors[q]
inline double Segmental::pairs_after(int e, int p, const real* factors) const {
  if (edge == nullptr) return chain->pairs_after(e, p, factors);
  const real* counts = pairs(e) + static_cast<std::ptrdiff_t>(p) * n;
  vec total = vec{};
  for (int q = 0; q < n; q += W) total += load(counts + q) * load(factors + q);
  return sum(total);
}

// sum over p of P(tag p of token e - 1 and tag q of token e) factors[p]
inline double Segmental::pairs_before(int e, int q, const real* factors) const {
  if (edge == nullptr) return chain->pairs_before(e, q, factors);
  double total = 0.0;
  for (int p = 0; p < w.Y; ++p) total += pairs(e)[p * n + q] * factors[p];
  return total;
}

// The probability of a run over [s, e) in the tags of a group, by a recursion over t from e to s:
//
//   now[e - 1][a] = P(a at e - 1, and the tag at e does not continue it)
//   now[t - 1][b] = sum over a that continue b of now[t][a] P(b at t - 1, a at t) / P(a at t)
//   answer        = sum over a of now[s][a] P(a does not continue the tag at s - 1 | a at s)
//
// It costs O((e - s) G^2 + G Y) for a group of G tags.  Tags are visited from last to first,
// because P(tag at t - 1 | tag at t) is known from the two passes, so that only probabilities are
// multiplied.  Lookup::run is the same recursion over the states of an automaton; with this one,
// which needs no Problem, segments of tags and their probabilities are found 8 (5 tags) and 22
// times (21 tags) as fast (lines "probabilities of segments" of bench/twins.py).  Tags of other
// groups never continue tags of this one: they are summed in whole vectors, with `apart` 0 for the
// group, and the tags of the group one by one.
inline double Segmental::run_probability(int s, int e, const std::vector<std::int32_t>& group,
                                         const std::uint8_t* joined, real* apart) const {
  const int count = static_cast<int>(group.size());
  for (const std::int32_t tag : group) apart[tag] = 0;
  double *now = work.doubles(count), *before = work.doubles(count);
  // The tag of token e - 1, after which the segment ends.
  for (int a = 0; a < count; ++a) {
    now[a] = e == T ? row(x, T - 1)[group[a]] : pairs_after(e, group[a], apart);
    for (int r = 0; e < T && r < count; ++r) {
      if (!joined[group[a] * w.Y + group[r]]) now[a] += pair_probability(e, group[a], group[r]);
    }
  }
  // The segment continues from token t - 1 to token t.
  for (int t = e - 1; t > s; --t) {
    for (int b = 0; b < count; ++b) before[b] = 0.0;
    for (int a = 0; a < count; ++a) {
      const double mass = row(x, t)[group[a]];
      // A tag of probability 0 contributes nothing, and is no divisor.
      if (now[a] == 0.0 || mass <= 0.0) continue;
      for (int b = 0; b < count; ++b) {
        if (!joined[group[b] * w.Y + group[a]]) continue;
        before[b] += now[a] * (pair_probability(t, group[b], group[a]) / mass);
      }
    }
    std::copy(before, before + count, now);
  }
  // The first token has no previous tag, so every tag starts a segment there.
  double total = 0.0;
  for (int a = 0; a < count; ++a) {
    const double mass = row(x, s)[group[a]];
    if (s == 0 || mass <= 0.0 || now[a] == 0.0) {
      total += s == 0 ? now[a] : 0.0;
      continue;
    }
    double begins = pairs_before(s, group[a], apart);
    for (int p = 0; p < count; ++p) {
      if (!joined[group[p] * w.Y + group[a]]) begins += pair_probability(s, group[p], group[a]);
    }
    total += now[a] * (begins / mass);
  }
  for (const std::int32_t tag : group) apart[tag] = 1;
  return total;
}

// The boundaries from T to 1.  At the top of the loop, `back` is back[e] and `open_back` is
// open_back[e].  ratio: [T][n].  gathered: [ring][n]; row s is in use for the ends from s + widest
// down to s + 1.
inline void Segmental::backward(real weight, Gradient<real>& gradient, const Asked* asked) {
  int next = asked == nullptr ? 0 : asked->count;
  real* back = reals(work, n);
  real* open_back = reals(work, n);
  real* sums = reals(work, 2 * n);
  real* gathered = reals(work, static_cast<std::size_t>(ring) * n);
  real* ratio = reals(work, static_cast<std::size_t>(T) * n);
  for (int s = 0; s < ring; ++s) fill(row(gathered, s), n, 0);
  // Sites that no segment can reach stay zero.
  for (int i = 0; i < n_sites; ++i) {
    if (sites[i].start < spans->low[sites[i].end]) fill(row(x, T + i), n, 0);
  }
  fill(open_back, n, 0);
  start_back(weight, gradient, back);
  for (int e = T; e >= 1; --e) {
    if (e % kPatience == 0) check_interrupt();
    // No segment ends at a forbidden boundary, and none continues beyond a required one.  The
    // forward pass has cleared alpha and open there.
    if (e < T && barred(e)) fill(back, n, 0);
    if (e < T && forced(e)) fill(open_back, n, 0);
    if (next > 0 && asked->segments[next - 1].end == e) {
      const LabelledSegment& segment = asked->segments[--next];
      asked->probabilities[next] = probability(segment.start, e, segment.label, back);
    }
    if (asked != nullptr && asked->boundaries != nullptr) {
      // P(a segment ends at e) = sum over q of alpha[e][q] back[e][q].
      vec total = vec{};
      for (int q = 0; q < n; q += W) total += load(row(alpha, e) + q) * within(load(back + q));
      asked->boundaries[e] = sum(total);
    }
    real *r = row(ratio, e - 1), *begun = row(gathered, (e - 1) & (ring - 1));
    if (!is_short(e))
      long_back(e, back, open_back, gathered, sums, r);
    else if (w.has_open)
      short_back<true>(e, back, open_back, r, begun);
    else
      short_back<false>(e, back, open_back, r, begun);
    if (e == 1) {
      add(gradient.starts, begun, n);
      break;
    }
    // The start e - 1 - ring, which uses this row of the ring next, must find it cleared.
    fill(begun, n, 0);
    pass_back(e - 1, r, back, gradient.pairs);
  }
  // outer += sum over 1 <= e < T of alpha[e] ratio[e]', as one matrix product for all boundaries.
  if (T > 1 && edge == nullptr && gradient.outer != nullptr)
    outer(w.panels, w.n_panels, row(alpha, 1), row(ratio, 1), T - 1, n, gradient.outer);
}

}  // namespace caesura::CAESURA_ISA
