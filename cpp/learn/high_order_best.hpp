// The best segmentation over label histories: the recursion of high_order.hpp over scores, with the
// maximum in place of the sum.  It is 1.7 times as fast as the general sweep (line "label patterns
// best" of bench/twins.py).
#pragma once

#include "automaton/program.hpp"
#include "learn/best.hpp"

namespace caesura::CAESURA_ISA {

// The best path through one sequence of at least one token.  Among segmentations of equal score,
// the best is the one whose last segment has the smallest label, then the latest start; if these
// are equal too, the preceding segments decide in the same way.  Starts are tried in descending
// order; the histories of two states with the same last label are compared only if their scores are
// equal.
//
// Starts and previous states are stored as floating-point numbers, as in Best.
template <bool kByState>
class BestHistory {
 public:
  // rows: [T + n_sites][c] scores
  BestHistory(const Weights<real>& weights, int length, const Site* sites, int n_sites,
              const real* rows, const Known& known, Workspace& work)
      : w(weights),
        known(known),
        h(*weights.program),
        T(length),
        n(h.lanes),
        c(kByState ? h.lanes : weights.stride),
        sites(sites),
        x(rows),
        spans(length, sites, n_sites, weights.longest, weights.has_open, work),
        ring(spans.ring()) {
    if (!h.fits(T + 1)) {
      throw TooLarge(
          "constraints, patterns",
          "the rows of a sweep over " + std::to_string(T) + " tokens and " + std::to_string(h.Q) +
              " states of labels and rules would take more than 8 GB",
          "limit fewer labels to one occurrence, or use fewer patterns or shorter sequences");
    }
    const std::size_t size = static_cast<std::size_t>(T + 1) * n;
    for (real** one : {&hat, &start, &previous}) *one = reals(work, size);
    live = reals(work, static_cast<std::size_t>(ring) * c);
    alpha = reals(work, 2 * n);
    endings = alpha + n;
    for (real** one : {&open, &open_start, &entering, &entering_start}) *one = reals(work, n);
    for (real** one : {&gain, &close, &ended}) *one = reals(work, c);
    who = work.ints(2 * n);
  }

  // entries(e) returns the scores of entering each state at boundary e, [lanes].  Writes the
  // segments to `out` in order and returns their number, which is 0 if no segmentation is possible.
  //
  //   alpha[e][q] = max over s of hat[s][q] + theta(s, e, q)
  //   hat[e][q]   = entry[e][q] + max over the states p that lead to q of alpha[e][p]
  //
  // The entry includes the transition between labels; enter() spells this out.
  template <class Entries>
  int run(Entries entries, LabelledSegment* out) {
    fill(hat, n, -kInfinity);
    for (int y = 0; y < h.Y; ++y) {
      if (h.start[y] < 0) continue;
      hat[h.start[y]] = w.log_first[y];
      if (known.entry != nullptr) hat[h.start[y]] += static_cast<real>(known.entry[y]);
    }
    for (real* one : {open, entering}) fill(one, n, -kInfinity);
    for (real* one : {open_start, entering_start}) fill(one, n, 0);
    // Invariant at the top of the loop: hat[s], start[s] and previous[s] are known for s < e.
    for (int e = 1; e <= T; ++e) {
      if (e % h.patience() == 0) check_interrupt();
      step(e);
      if (e < T && known.boundary != nullptr) restrict_boundary(e);
      if (e < T) enter(e, entries(e));
    }
    // The last state maximises alpha[T][q] + ending[q].
    int state = 0;
    for (int q = 0; q < n; ++q) {
      alpha[q] += w.log_ending[q];
      if (is_better(alpha[q], q, alpha[state], state, T)) state = q;
    }
    if (alpha[state] == -kInfinity) return 0;
    int count = 0;
    // Follow the back-pointers from T to 0: start[e][q] is where the segment that ends at e in
    // state q starts, and previous[s][q] is the state of the one before it.
    for (int e = T; e > 0;) {
      const int s = static_cast<int>(states(start, e)[state]);
      out[count++] = {s, e, h.label[state]};
      if (s > 0) state = static_cast<int>(states(previous, s)[state]);
      e = s;
    }
    std::reverse(out, out + count);
    return count;
  }

 private:
  const Weights<real>& w;
  const Known& known;
  const ArcProgram& h;
  const int T, n, c;
  const Site* sites;
  const real* x;
  const Spans spans;
  const int ring;
  real *hat, *start, *previous;     // [T + 1][n]; start, previous: back-pointers
  real* live;                       // [ring][c] scores of the live starts, without hat
  real *alpha, *endings;            // [n] at the current end; endings, S, is right behind alpha
  real *open, *open_start;          // [n] the open term before the current end, and its starts
  real *entering, *entering_start;  // [n] the same after the current end
  real *gain, *close, *ended;       // [c]
  std::int32_t* who;  // [2 n] the state that each entry of alpha and endings comes from

  real* states(real* table, std::int64_t t) const { return table + t * n; }
  const real* row(const real* table, std::int64_t t) const { return table + t * c; }
  static vec of(const real* gains, int y, int q) {
    return kByState ? load(gains + q) : splat(gains[y]);
  }

  // Whether the best segmentation that ends at e in state a comes before that in state b.  Both
  // histories are followed back until their labels or starts differ, or until the states meet, from
  // where on the histories are the same.  Each iteration moves to an earlier boundary, so there are
  // at most T.
  bool comes_first(int a, int b, int e) const {
    while (a != b && h.label[a] == h.label[b]) {
      const real begin = states(start, e)[a], other = states(start, e)[b];
      if (begin != other) return begin > other;
      e = static_cast<int>(begin);
      if (e == 0) return false;
      a = static_cast<int>(states(previous, e)[a]);
      b = static_cast<int>(states(previous, e)[b]);
    }
    return h.label[a] < h.label[b];
  }

  // Replaces the entries of best and where if the score is greater; on ties the first is kept.
  static void take(vec score, vec from, real* best, real* where) {
    const ivec better = score > load(best);
    store(best, better ? score : load(best));
    store(where, better ? from : load(where));
  }

  void step(int e) {
    std::memcpy(gain, row(x, e - 1), sizeof(real) * c);
    if (known.any()) apply_known(e - 1);
    fill(close, c, 0);
    fill(alpha, n, -kInfinity);
    real* from = states(start, e);
    fill(from, n, 0);
    // Starts descend from e - 1 to low[e].  A site with an open start counts from its own start on,
    // that is, for this start, all earlier ones and the open term.
    spans.for_starts(
        e, [&](int k) { return row(x, T + k); }, [&](const real* values) { add(gain, values, c); },
        [&](const real* values) { add(close, values, c); },
        [&](int s, const real* own, const real* exact) { extend(s, e, own, exact, from); });
    if (w.has_open) extend_open(from);
  }

  // Applies the costs and constraints of a token to each label or state.
  void apply_known(int t) {
    const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(t) * h.Y;
    for (int q = 0; q < c; ++q) {
      const int y = kByState ? h.label[q] : q;
      if (y < 0 || y >= h.Y) continue;
      if (known.cost != nullptr) gain[q] += static_cast<real>(known.cost[first + y]);
      if (known.allowed != nullptr && !known.allowed[first + y]) gain[q] = -kInfinity;
    }
  }

  // No segment ends at a forbidden boundary, and none continues beyond a required one.
  void restrict_boundary(int e) {
    if (known.boundary[e] & kBarred) fill(alpha, n, -kInfinity);
    if (!(known.boundary[e] & kForced)) return;
    fill(open, n, -kInfinity);
    fill(live, static_cast<std::ptrdiff_t>(ring) * c, -kInfinity);
  }

  // Extends the segments that start at s to e: they end there or continue.
  void extend(int s, int e, const real* own, const real* exact, real* from) {
    real* l = live + static_cast<std::ptrdiff_t>(s & (ring - 1)) * c;
    // The scores of segments from s without hat[s], [c], by label or by state; hat[s] is added
    // below, because it differs between the states that share a row:
    //
    //   live[s, e]  = live[s, e - 1] + gain[e] + own[s, e],     live[s, s] = 0
    //   ended[s, e] = live[s, e] + close[e] + exact[s, e]
    for (int q = 0; q < c; q += W) {
      vec value = s == e - 1 ? load(gain + q) : load(l + q) + load(gain + q);
      if (own != nullptr) value += load(own + q);
      store(l + q, value);
      value += load(close + q);
      if (exact != nullptr) value += load(exact + q);
      store(ended + q, value);
    }
    const vec here = splat(static_cast<real>(s));
    const bool joining = w.has_open && spans.joins_at(s, e);
    //
    //   alpha[e][q]    = max(alpha[e][q], hat[s][q] + ended[s, e])
    //   entering[e][q] = max(entering[e][q], hat[s][q] + live[s, e])      where s joins at e
    //
    // For a label without a bound, s is live until it has joined (s > A(e - 1)); for a label with a
    // bound L, as long as e - s <= L.  So no segment is counted here and in the open term.
    for (int y = 0; y < h.Y; ++y) {
      const bool is_open = w.bounds[y] == 0;
      if (is_open ? s <= spans.reach[e - 1] : e - s > w.bounds[y]) continue;
      for (int q = h.first[y]; q < h.first[y + 1]; q += W) {
        const vec before = load(states(hat, s) + q);
        take(before + of(ended, y, q), here, alpha + q, from + q);
        if (joining && is_open) take(before + of(l, y, q), here, entering + q, entering_start + q);
      }
    }
  }

  // Extends the segments in the open term, which share all further scores.
  void extend_open(real* from) {
    //
    //   alpha[e][q] = max(alpha[e][q], open[e - 1][q] + gain[e] + close[e])
    //   open[e][q]  = max(entering[e][q], open[e - 1][q] + gain[e])
    //
    for (int y = 0; y < h.Y; ++y) {
      for (int q = h.first[y]; q < h.first[y + 1]; q += W) {
        const vec value = load(open + q) + of(gain, y, q), here = load(open_start + q);
        take(value + of(close, y, q), here, alpha + q, from + q);
        take(value, here, entering + q, entering_start + q);
      }
    }
    std::swap(open, entering);
    std::swap(open_start, entering_start);
    fill(entering, n, -kInfinity);
  }

  bool is_better(real score, int state, real best, int other, int e) const {
    return score > best || (score == best && score > -kInfinity && comes_first(state, other, e));
  }

  // Computes hat[e] from alpha[e].
  void enter(int e, const real* entry) {
    // S[q] is the best alpha[e] of all states whose history ends in that of q, and who[n + q] is
    // its state.  Moves go from longer histories to shorter ones, the longest first, so one pass is
    // enough.
    std::memcpy(endings, alpha, sizeof(real) * n);
    for (int q = 0; q < n; ++q) who[q] = who[n + q] = q;
    for (const Move& move : h.longer) {
      if (!is_better(endings[move.from], who[n + move.from], endings[move.to], who[n + move.to], e))
        continue;
      endings[move.to] = endings[move.from];
      who[n + move.to] = who[n + move.from];
    }
    //
    //   hat[e][q] = max of  S[p] + transition[x, y]   over the arcs (p, q) of pairs of labels x, y,
    //                       source[q] in (alpha, S)   where q has a history of several labels,
    //                       source p of the moves in h.leading that lead to q
    //
    // Exact ties go to the history that comes first, so the order of the arcs does not matter.
    real *to = states(hat, e), *before = states(previous, e);
    fill(to, n, -kInfinity);
    fill(before, n, 0);
    auto enter_from = [&](std::int32_t q, real score, std::int32_t state) {
      if (!is_better(score, state, to[q], static_cast<int>(before[q]), e)) return;
      to[q] = score;
      before[q] = static_cast<real>(state);
    };
    for (const PairArc* arc = w.base; arc->to >= 0; ++arc)
      enter_from(arc->to, endings[arc->from] + w.log_transition[arc->pair], who[n + arc->from]);
    // Sources are indices into alpha followed by S; 2 n stands for none.
    for (const std::int32_t q : h.rising) {
      const std::int32_t from = h.source[q];
      if (from < 2 * n) enter_from(q, alpha[from], who[from]);
    }
    for (const Move& move : h.leading) enter_from(move.to, alpha[move.from], who[move.from]);
    // States whose history is one label have gained their transition above; the others gain
    // entry[e][q].  Entry costs depend on the last label only.
    for (const std::int32_t q : h.rising) to[q] += entry[q];
    for (int q = 0; known.entry != nullptr && q < n; ++q) {
      if (h.label[q] >= 0 && h.label[q] < h.Y) to[q] += static_cast<real>(known.entry[h.label[q]]);
    }
  }
};

}  // namespace caesura::CAESURA_ISA
