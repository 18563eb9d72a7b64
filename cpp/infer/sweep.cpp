// The forward sweep: one recursion over boundaries and states, for every model.
//
//   alpha[e, q] = O[e-1, q] a[e]  (+)  sum over A(e-1) < s < e of hat[s, q] theta[s:e, q]
//   O[e, q]     = O[e-1, q] a'[e] (+)  sum over A(e-1) < s <= A(e) of hat[s, q] theta[s:>e, q]
//   hat[e, q]   = sum over arcs (p, q) of alpha[e, p] transition[p, q]
//
// in the notation of Sarawagi's overlapping algorithm, over boundaries.  O is her alpha^P, the open
// term: segments that started at or before A(e) and continue beyond e.  a[e] is what such a segment
// gains at token e - 1 if it ends at e, and a'[e] what it gains if it continues.  theta[s:e] is the
// score of the segment [s, e), and theta[s:>e] the score up to e of a segment from s that
// continues.  States with a maximum segment length have no O; they sum over all their starts.  The
// query is a semiring of lattice/semirings.hpp: (+) and the sums are its plus, products its times.

#include <initializer_list>

#include "base/interrupt.hpp"
#include "infer/arcs.hpp"
#include "infer/kernels.hpp"
#include "infer/ties.hpp"
#include "lattice/rows.hpp"
#include "lattice/semirings.hpp"

namespace caesura::CAESURA_ISA {
namespace {

// A start s is live while a later boundary can still use hat[s].  The rows of the live starts are
// kept in a ring buffer, hat[s] at s & mask.  alpha and O are needed for one boundary at a time, so
// without `tables` the memory of the sweep does not grow with T.
template <class Semiring>
struct Forward {
  static constexpr bool kBest = Semiring::kSelects;  // keep back-pointers
  using Rows = typename Semiring::Rows;
  const Lattice& g;
  Tables* tables;
  Back* back;
  Tally* tally;
  int ring, mask;
  Active active;
  Thetas thetas;
  Arcs arcs;
  Rows closing, opening;
  double* offsets;       // [ring] base(s) - base(e - 1) of a live start
  double* hats;          // [ring][stride]
  double* alpha;         // [stride]
  double* open;          // [stride]
  double* open_start;    // [stride] Maximum: start of the best open segment
  double* closed_start;  // [stride] Maximum: start of the best segment that ends at e
  double* step;          // [stride] a'[e], then a[e]
  double* running_open;  // [stride] sum of shared[a], a >= s
  double* row;           // [stride]
  Total base;

  Forward(const Lattice& lattice, Workspace& work, Tables* keep, Back* pointers, Tally* count)
      : g(lattice),
        tables(keep),
        back(pointers),
        tally(count),
        ring(ring_size(lattice)),
        mask(ring - 1),
        active(lattice, ring, work),
        thetas(lattice, active, work),
        arcs(lattice, work),
        closing(lattice.stride, work),
        opening(lattice.stride, work) {
    offsets = work.doubles(ring);
    hats = work.doubles(static_cast<std::size_t>(ring) * g.stride);
    for (double** p : {&alpha, &open, &open_start, &closed_start, &step, &running_open, &row}) {
      *p = work.doubles(g.stride);
    }
  }

  // The row of a live start, [stride], relative to base(s).
  double* hat(int s) const { return hats + static_cast<std::ptrdiff_t>(s & mask) * g.stride; }

  // hat[0, q] = start[y] + entry[q] for the state q that label y leads to from the empty history;
  // O[0] is an empty sum.
  void begin() {
    fill(hat(0), g.stride, kMinusInfinity);
    for (int r = 0; r < g.Y; ++r) {
      const int q = g.start_state[r];
      if (q >= 0) hat(0)[q] = g.start[g.order[r]] + arcs.entry(q);
    }
    offsets[0] = 0.0;
    fill(open, g.stride, kMinusInfinity);
    fill(open_start, g.stride, 0.0);
    keep(0, 0.0);
  }

  // Saves row t for the backward sweep.  Rows are relative to base(t), the sum of the increments up
  // to t, so the entries stay near 0 for sequences of any length.  alpha[0] and hat[T] do not
  // exist.
  void keep(int t, double increment) {
    if (tables == nullptr) return;
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(t) * g.stride;
    tables->increment[t] = increment;
    if (t > 0) {
      copy(tables->alpha + at, alpha, g.stride);
      if (g.unbounded > 0) copy(tables->open + at, open, g.stride);
    }
    if (t < g.T) copy(tables->hat + at, hat(t), g.stride);
  }

  // Begins the row of the start e - 1 and adds the potentials with an open end whose core ends at e
  // to the active rows.
  void activate(int e) {
    active.begin(e - 1);
    for (int i = g.by_end[e]; i < g.by_end[e + 1]; ++i) {
      const Potential& p = g.potentials[i];
      if (tally != nullptr) ++tally->touched;
      if (p.flags & kOpenEnd) active.add(p);
    }
  }

  // into[q] (+)= O[e-1, q] step[q], for the unbounded states.
  void add_open(Rows& into) { into.add_open(open, step, Range{0, g.unbounded}, open_start); }

  // Computes alpha and O at the boundary e, relative to base(e - 1).
  void sum(int e) {
    activate(e);
    const Boundary at = boundary_of(g, e);

    closing.reset();
    opening.reset();
    thetas.begin(e);
    if (at.enters) fill(running_open, g.stride, 0.0);
    int terms = 0;
    // closing: alpha[e, q] (+)= hat[s, q] theta[s:e, q]   for low <= s < e
    // theta[s:e] accumulates as s decreases (thetas.row keeps the running sum).  range holds the
    // states whose segment [s, e) is a term of its own: bounded states that allow its length, and
    // unbounded states if s is not yet part of O.  offsets[s] converts hat[s], which is relative to
    // base(s), to base(e - 1).
    for (int s = e - 1; s >= at.window.low; --s) {
      const Range range = range_of(g, s, e, at.window.open, at.window.direct);
      closing.add(thetas.row(s, range), hat(s), offsets[s & mask], range, s);
      ++terms;
      if (!at.enters || s < at.window.open) continue;
      // running_open[q] = sum over a >= s of shared[a, q]: the potentials with both ends open whose
      // core lies in [s, e).  They apply to every segment from s that continues beyond e.
      const double* shared = active.shared_row(s);
      for (int q = 0; q < g.unbounded; q += W) {
        store(running_open + q, load(running_open + q) + load(shared + q));
      }
      if (s > at.reach) continue;
      // opening: O[e, q] (+)= hat[s, q] theta[s:>e, q]   for A(e-1) < s <= A(e) = at.reach
      // own[s] adds the potentials that apply only to segments starting exactly at s.
      const double* theta = running_open;
      if (active.owns(s)) {
        const double* own = active.own_row(s);
        for (int q = 0; q < g.unbounded; q += W)
          store(row + q, load(running_open + q) + load(own + q));
        theta = row;
      }
      opening.add(theta, hat(s), offsets[s & mask], Range{0, g.unbounded}, s);
    }
    // opening: O[e, q]     (+)= O[e-1, q] a'[e, q]
    // closing: alpha[e, q] (+)= O[e-1, q] a[e, q]
    // No segment continues across a forced boundary.  If at.same, both sums have the same terms,
    // and O is copied from alpha below.
    if (at.open) {
      step_row(g, e, step);
      if (!at.same && !at.forced) add_open(opening);
      close_step_row(g, e, step);
      add_open(closing);
    }
    if (tally != nullptr) {
      tally->terms += terms;
      tally->most_terms = terms > tally->most_terms ? terms : tally->most_terms;
      tally->touched += thetas.touched;
      thetas.touched = 0;
    }

    closing.finish(alpha, closed_start);
    if (!at.open) return;
    if (at.forced) {
      fill(open, g.stride, kMinusInfinity);
    } else if (at.same) {
      copy(open, alpha, g.stride);
      if constexpr (kBest) copy(open_start, closed_start, g.stride);
      for (int q = g.unbounded; q < g.stride; ++q) open[q] = kMinusInfinity;
    } else {
      opening.finish(open, open_start);
    }
  }

  // Subtracts the largest entry from the rows, adds it to the base, and computes hat[e].  low: the
  // first start that the next boundary may still use.
  void normalise(int e, int low) {
    if (g.boundary[e] & kBarred) fill(alpha, g.stride, kMinusInfinity);
    // increment = max over q of alpha[e, q] and O[e, q];  base(e) = base(e-1) + increment.  If all
    // entries are -inf, the rows and the base do not change.
    vec most = splat(kMinusInfinity);
    for (int q = 0; q < g.stride; q += W) most = max(most, load(alpha + q));
    for (int q = 0; q < g.unbounded; q += W) most = max(most, load(open + q));
    double increment = max_of(most);
    if (increment == kMinusInfinity) increment = 0.0;
    base.add(increment);
    for (int q = 0; q < g.stride; q += W) store(alpha + q, load(alpha + q) - increment);
    for (int q = 0; q < g.unbounded; q += W) store(open + q, load(open + q) - increment);
    // offsets[s] = base(s) - base(e)
    for (int s = low; s < e; ++s) offsets[s & mask] -= increment;
    offsets[e & mask] = 0.0;
    if constexpr (kBest) {
      std::int32_t* start = back->start + static_cast<std::ptrdiff_t>(e) * g.stride;
      for (int q = 0; q < g.Q; ++q) start[q] = static_cast<std::int32_t>(closed_start[q]);
    }
    if (e < g.T) step_over(e);
    keep(e, increment);
  }

  // hat[e, q] = sum over arcs (p, q) of alpha[e, p] transition[p, q].  Edge potentials at e change
  // some transitions at this boundary only, so they are patched in and removed again.
  void step_over(int e) {
    const double top = arcs.top;
    const bool edges = arcs.has_edges(e);
    if (edges) arcs.patch(e);
    if constexpr (kBest) {
      Semiring::step(arcs, alpha, hat(e),
                     back->previous + static_cast<std::ptrdiff_t>(e) * g.stride,
                     [&](int a, int b) { return precedes(g, *back, e, a, b); });
    } else {
      Semiring::step(arcs, alpha, hat(e));
    }
    if (edges) arcs.unpatch(e, top);
  }

  // alpha[T, q] + end[y(q)] if the rules accept state q, else -inf.
  double final_value(int q) const {
    return g.accepting[q] ? alpha[q] + g.end[g.order[g.rank[q]]] : kMinusInfinity;
  }

  // alpha[e] depends only on hat[s] for s < e, so boundaries are processed in ascending order.
  void run() {
    begin();
    for (int e = 1; e <= g.T; ++e) {
      if (e % 16 == 0) check_interrupt();
      sum(e);
      normalise(e, e < g.T ? window_of(g, e + 1).low : e);
    }
  }
};

// Returns the plus of the final values of all states, added to the base.  If the semiring selects,
// *last is set to the selected state, the first of equals in the order of ties.hpp.
template <class Semiring>
double total(Forward<Semiring>& sweep, int* last) {
  typename Semiring::Sum sum;
  // total = base(T) times the sum over accepting q of alpha[T, q] end[y(q)]
  for (int q = 0; q < sweep.g.Q; ++q) {
    const double value = sweep.final_value(q);
    if constexpr (Semiring::kSelects) {
      const bool tied = value == sum.most && value > kMinusInfinity;
      if (tied && precedes(sweep.g, *sweep.back, sweep.g.T, q, sum.chosen)) sum.chosen = q;
    }
    sum.add(value, q);
  }
  if (last != nullptr) *last = sum.from();
  if (sum.most == Semiring::kZero) return Semiring::kZero;
  sweep.base.add(sum.most);
  sweep.base.add(sum.rest());
  return sweep.base.value();
}

}  // namespace

double forward_log_partition(const Lattice& g, Workspace& work, Tables* tables, Tally* tally) {
  Forward<LogSum> sweep(g, work, tables, nullptr, tally);
  sweep.run();
  return total(sweep, nullptr);
}
double forward_best(const Lattice& g, Workspace& work, Tables* tables, Back& back, int* last,
                    Tally* tally) {
  Forward<Maximum> sweep(g, work, tables, &back, tally);
  sweep.run();
  return total(sweep, last);
}

}  // namespace caesura::CAESURA_ISA
