// The forward sweep: one recursion over boundaries and states, for every model.
//
//   alpha[e, q] = O[e-1, q] a[e]  (+)  sum over A(e-1) < s < e of hat[s, q] theta[s:e, q]
//   O[e, q]     = O[e-1, q] a'[e] (+)  sum over A(e-1) < s <= A(e) of hat[s, q] theta[s:>e, q]
//   hat[e, q]   = sum over arcs (p, q) of alpha[e, p] transition[p, q]
//
// in the notation of Sarawagi's overlapping algorithm over boundaries: O is her alpha^P, the
// segments that started at or before A(e) and go on; a[e] holds what is added when such a segment
// comes to end at e, and a'[e] the part that stays when it goes on.  States with a longest segment
// have no O and sum over all their starts.  The question is a semiring of lattice/semirings.hpp:
// (+) and the sums are its plus, a product is its times.

#include <initializer_list>

#include "base/interrupt.hpp"
#include "infer/arcs.hpp"
#include "infer/kernels.hpp"
#include "infer/ties.hpp"
#include "lattice/rows.hpp"
#include "lattice/semirings.hpp"

namespace caesura::CAESURA_ISA {
namespace {

// The rows of all live starts are in a ring: hat[s] is at s & mask, and is forgotten when no later
// boundary can use it.  alpha and O are needed for one boundary at a time, so that without `tables`
// the memory does not grow with T.
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
  double* open_start;    // [stride] Maximum: where the best open segment started
  double* closed_start;  // [stride] Maximum
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

  // hat[0, q] = start[y(q)] for the state that label y leads to from the empty history; O[0] is
  // empty, because no segment covers a token before the first.
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

  // Row t for the backward sweep.  Rows are relative to base(t), the sum of the increments up to t,
  // so that the table holds numbers near 0 however long the sequence is.  alpha[0] and hat[T] do
  // not exist.
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

  // The potentials whose core ends at e become active.
  void activate(int e) {
    active.begin(e - 1);
    for (int i = g.by_end[e]; i < g.by_end[e + 1]; ++i) {
      const Potential& p = g.potentials[i];
      if (tally != nullptr) ++tally->touched;
      if (p.flags & kOpenEnd) active.add(p);
    }
  }

  // into[q] (+)= O[e-1, q] + step[q], for the states without a longest segment.
  void add_open(Rows& into) { into.add_open(open, step, Range{0, g.unbounded}, open_start); }

  // alpha and O at the boundary e, relative to base(e - 1).
  void sum(int e) {
    activate(e);
    const Boundary at = boundary_of(g, e);

    closing.reset();
    opening.reset();
    thetas.begin(e);
    if (at.enters) fill(running_open, g.stride, 0.0);
    int terms = 0;
    // closing: alpha[e, q] (+)= hat[s, q] theta[s:e, q]   for low <= s < e
    // theta[s:e] grows as s goes down (thetas.row keeps the running sum), and range holds the
    // states that may start at s directly: all of those with a bound that reaches from s to e, and
    // those without one only for starts that are not yet in O.  offsets brings hat[s], which is
    // relative to base(s), to base(e - 1).
    for (int s = e - 1; s >= at.window.low; --s) {
      const Range range = range_of(g, s, e, at.window.open, at.window.direct);
      closing.add(thetas.row(s, range), hat(s), offsets[s & mask], range, s);
      ++terms;
      if (!at.enters || s < at.window.open) continue;
      // running_open[q] = sum over a >= s of shared[a, q]: the potentials with open ends whose core
      // starts at or after s and has ended, which every segment from s that goes on contains.
      const double* shared = active.shared_row(s);
      for (int q = 0; q < g.unbounded; q += W) {
        store(running_open + q, load(running_open + q) + load(shared + q));
      }
      if (s > at.reach) continue;
      // opening: O[e, q] (+)= hat[s, q] theta[s:>e, q]   for A(e-1) < s <= A(e) = at.reach
      // own[s] adds the potentials that only segments starting exactly at s contain.
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
    // Where a boundary is forced nothing goes on; where a = a' the two sums are one (at.same).
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

  // Make the rows relative to their largest entry, move the base, and step over the arcs.
  void normalise(int e, int low) {
    if (g.boundary[e] & kBarred) fill(alpha, g.stride, kMinusInfinity);
    // increment = max over q of alpha[e, q] and O[e, q];  base(e) = base(e-1) + increment.  Where
    // nothing is possible the rows stay at -inf and the base where it was.
    vec most = splat(kMinusInfinity);
    for (int q = 0; q < g.stride; q += W) most = max(most, load(alpha + q));
    for (int q = 0; q < g.unbounded; q += W) most = max(most, load(open + q));
    double increment = max_of(most);
    if (increment == kMinusInfinity) increment = 0.0;
    base.add(increment);
    for (int q = 0; q < g.stride; q += W) store(alpha + q, load(alpha + q) - increment);
    for (int q = 0; q < g.unbounded; q += W) store(open + q, load(open + q) - increment);
    // offsets[s] = base(s) - base(e), for the starts that the next boundary may still use.
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
  // some transitions for this boundary alone: they are patched in and taken out again.
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

  // Value of ending in state q: alpha[T, q] + end[y(q)], for the states that the rules accept.
  double final_value(int q) const {
    return g.accepting[q] ? alpha[q] + g.end[g.order[g.rank[q]]] : kMinusInfinity;
  }

  // The order of the boundaries is the order of the sums: alpha[e] needs hat[s] of s < e alone.
  void run() {
    begin();
    for (int e = 1; e <= g.T; ++e) {
      if (e % 16 == 0) check_interrupt();
      sum(e);
      normalise(e, e < g.T ? window_of(g, e + 1).low : e);
    }
  }
};

// The plus of the values of ending in each state, added to the base; *last is the state that was
// selected, where the semiring selects: of equal ones the first in the order of ties.hpp.
template <class Semiring>
double total(Forward<Semiring>& sweep, int* last) {
  typename Semiring::Sum sum;
  // ln Z = base(T) + sum over accepting q of alpha[T, q] end[y(q)]
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
