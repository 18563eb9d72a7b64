// The forward sweep: one recursion over boundaries and states, for every model.
//
//   alpha[e, q] = O[e-1, q] a[e]  (+)  sum over A(e-1) < s < e of hat[s, q] theta[s:e, q]
//   O[e, q]     = O[e-1, q] a'[e] (+)  sum over A(e-1) < s <= A(e) of hat[s, q] theta[s:>e, q]
//   hat[e, q]   = sum over arcs (p, q) of alpha[e, p] transition[p, q]
//
// in the notation of Sarawagi's overlapping algorithm over boundaries: O is her alpha^P, the
// segments that started at or before A(e) and go on; a[e] holds what is added when such a segment
// comes to end at e, and a'[e] the part that stays when it goes on.  States with a longest segment
// have no O and sum over all their starts.  The question is a semiring: LogSum, or Best with
// back-pointers.

#include <cmath>
#include <initializer_list>
#include <type_traits>

#include "base/interrupt.hpp"
#include "infer/arcs.hpp"
#include "infer/kernels.hpp"
#include "lattice/rows.hpp"

namespace caesura::CAESURA_ISA {
namespace {

// Sums rows of log values, a block of rows at a time: one exp a term, one log a sum.
struct LogSum {
  static constexpr int kBlock = 8;
  int stride;
  double* most;   // [stride] largest term so far
  double* total;  // [stride] sum of exp(term - most)
  double* block;  // [kBlock][stride]
  Range ranges[kBlock];
  int rows = 0;
  bool flushed = false;

  LogSum(int row_stride, Workspace& work)
      : stride(row_stride),
        most(work.doubles(row_stride)),
        total(work.doubles(row_stride)),
        block(work.doubles(static_cast<std::size_t>(kBlock) * row_stride)) {}

  void reset() {
    rows = 0;
    flushed = false;
  }

  // Add the row a + b + shift on a range of states.
  void add(const double* a, const double* b, double shift, Range range, double) {
    if (rows == kBlock) flush();
    double* row = block + static_cast<std::ptrdiff_t>(rows) * stride;
    for (int q = range.begin / W * W; q < range.end; q += W) {
      vec v = load(a + q) + load(b + q) + shift;
      if (q < range.begin || q + W > range.end) {
        v = lanes_in(q, range.begin, range.end) ? v : splat(kMinusInfinity);
      }
      store(row + q, v);
    }
    ranges[rows++] = range;
  }

  void flush() {
    if (!flushed) {
      fill(most, stride, kMinusInfinity);
      fill(total, stride, 0.0);
      flushed = true;
    }
    // From lowest to highest state any row has: the new maximum, then the sum relative to it.
    int begin = stride, end = 0;
    for (int i = 0; i < rows; ++i) {
      begin = ranges[i].begin < begin ? ranges[i].begin : begin;
      end = ranges[i].end > end ? ranges[i].end : end;
    }
    for (int q = begin / W * W; q < end; q += W) {
      const vec before = load(most + q);
      vec top = before;
      for (int i = 0; i < rows; ++i) {
        if (q + W > ranges[i].begin && q < ranges[i].end)
          top = max(top, load(block + i * stride + q));
      }
      const vec safe = top == kMinusInfinity ? vec{} : top;
      vec sum = load(total + q);
      if (max_of(sum) > 0.0) sum *= exp(before - safe);
      for (int i = 0; i < rows; ++i) {
        if (q + W > ranges[i].begin && q < ranges[i].end)
          sum += exp(load(block + i * stride + q) - safe);
      }
      store(total + q, sum);
      store(most + q, top);
    }
    rows = 0;
  }

  void finish(double* out, double*) {
    if (!flushed && rows == 1) {  // one term: nothing to sum
      fill(out, stride, kMinusInfinity);
      for (int q = ranges[0].begin / W * W; q < ranges[0].end; q += W)
        store(out + q, load(block + q));
      return;
    }
    flush();
    for (int q = 0; q < stride; q += W) {
      const vec top = load(most + q);
      const vec value = top + log(load(total + q));
      store(out + q, top == kMinusInfinity ? top : value);
    }
  }
};

// Takes the largest of the rows, and where it came from.  Rows come with the latest start first, so
// of equal ones the first stays (see ties.hpp).
struct Best {
  int stride;
  double* most;  // [stride]
  double* from;  // [stride] a start, as a double

  Best(int row_stride, Workspace& work)
      : stride(row_stride), most(work.doubles(row_stride)), from(work.doubles(row_stride)) {}

  void reset() {
    fill(most, stride, kMinusInfinity);
    fill(from, stride, 0.0);
  }

  void add(const double* a, const double* b, double shift, Range range, double start) {
    add_from(a, b, shift, range, [start](int) { return splat(start); });
  }
  // The row of open segments: each state has its own start.
  void add_open(const double* a, const double* b, Range range, const double* starts) {
    add_from(a, b, 0.0, range, [starts](int q) { return load(starts + q); });
  }
  template <class From>
  void add_from(const double* a, const double* b, double shift, Range range, From start) {
    for (int q = range.begin / W * W; q < range.end; q += W) {
      const vec v = load(a + q) + load(b + q) + shift;
      ivec better = v > load(most + q);
      if (q < range.begin || q + W > range.end) better &= lanes_in(q, range.begin, range.end);
      store(most + q, better ? v : load(most + q));
      store(from + q, better ? start(q) : load(from + q));
    }
  }

  void finish(double* out, double* starts) {
    copy(out, most, stride);
    copy(starts, from, stride);
  }
};

template <class Semiring>
struct Forward {
  static constexpr bool kBest = std::is_same_v<Semiring, Best>;
  const Lattice& g;
  Tables* tables;
  Back* back;
  Tally* tally;
  int ring, mask;
  Active active;
  Thetas thetas;
  Arcs arcs;
  Semiring closing, opening;
  double* offsets;       // [ring] base(s) - base(e - 1) of a live start
  double* hats;          // [ring][stride]
  double* alpha;         // [stride]
  double* open;          // [stride]
  double* open_start;    // [stride] Best: where the best open segment started
  double* closed_start;  // [stride] Best
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

  double* hat(int s) const { return hats + static_cast<std::ptrdiff_t>(s & mask) * g.stride; }

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

  void add_open(Semiring& into) {
    const Range all{0, g.unbounded};
    if constexpr (kBest) {
      into.add_open(open, step, all, open_start);
    } else {
      into.add(open, step, 0.0, all, 0.0);
    }
  }

  // alpha and O at the boundary e, relative to base(e - 1).
  void sum(int e) {
    activate(e);
    const Boundary at = boundary_of(g, e);

    closing.reset();
    opening.reset();
    thetas.begin(e);
    if (at.enters) fill(running_open, g.stride, 0.0);
    int terms = 0;
    for (int s = e - 1; s >= at.window.low; --s) {
      const Range range = range_of(g, s, e, at.window.open, at.window.direct);
      closing.add(thetas.row(s, range), hat(s), offsets[s & mask], range, s);
      ++terms;
      if (!at.enters || s < at.window.open) continue;
      const double* shared = active.shared_row(s);
      for (int q = 0; q < g.unbounded; q += W) {
        store(running_open + q, load(running_open + q) + load(shared + q));
      }
      if (s > at.reach) continue;
      const double* theta = running_open;
      if (active.owns(s)) {
        const double* own = active.own_row(s);
        for (int q = 0; q < g.unbounded; q += W)
          store(row + q, load(running_open + q) + load(own + q));
        theta = row;
      }
      opening.add(theta, hat(s), offsets[s & mask], Range{0, g.unbounded}, s);
    }
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
    vec most = splat(kMinusInfinity);
    for (int q = 0; q < g.stride; q += W) most = max(most, load(alpha + q));
    for (int q = 0; q < g.unbounded; q += W) most = max(most, load(open + q));
    double increment = max_of(most);
    if (increment == kMinusInfinity) increment = 0.0;
    base.add(increment);
    for (int q = 0; q < g.stride; q += W) store(alpha + q, load(alpha + q) - increment);
    for (int q = 0; q < g.unbounded; q += W) store(open + q, load(open + q) - increment);
    for (int s = low; s < e; ++s) offsets[s & mask] -= increment;
    offsets[e & mask] = 0.0;
    if constexpr (kBest) {
      std::int32_t* start = back->start + static_cast<std::ptrdiff_t>(e) * g.stride;
      for (int q = 0; q < g.Q; ++q) start[q] = static_cast<std::int32_t>(closed_start[q]);
    }
    if (e < g.T) step_over(e);
    keep(e, increment);
  }

  void step_over(int e) {
    const double top = arcs.top;
    const bool edges = arcs.has_edges(e);
    if (edges) arcs.patch(e);
    if constexpr (kBest) {
      arcs.forward_best(alpha, hat(e), e, *back);
    } else {
      arcs.forward(alpha, hat(e));
    }
    if (edges) arcs.unpatch(e, top);
  }

  // Value of ending in state q.
  double final_value(int q) const {
    return g.accepting[q] ? alpha[q] + g.end[g.order[g.rank[q]]] : kMinusInfinity;
  }

  void run() {
    begin();
    for (int e = 1; e <= g.T; ++e) {
      if (e % 16 == 0) check_interrupt();
      sum(e);
      normalise(e, e < g.T ? window_of(g, e + 1).low : e);
    }
  }
};

double log_partition(const Lattice& g, Workspace& work, Tables* tables, Tally* tally) {
  Forward<LogSum> sweep(g, work, tables, nullptr, tally);
  sweep.run();
  double most = kMinusInfinity, total = 0.0;
  for (int q = 0; q < g.Q; ++q) most = std::fmax(most, sweep.final_value(q));
  if (most == kMinusInfinity) return kMinusInfinity;
  for (int q = 0; q < g.Q; ++q) total += std::exp(sweep.final_value(q) - most);
  sweep.base.add(most);
  sweep.base.add(std::log(total));
  return sweep.base.value();
}

double best(const Lattice& g, Workspace& work, Tables* tables, Back& back, int* last,
            Tally* tally) {
  Forward<Best> sweep(g, work, tables, &back, tally);
  sweep.run();
  *last = 0;
  for (int q = 1; q < g.Q; ++q) {
    const double value = sweep.final_value(q), most = sweep.final_value(*last);
    const bool tied = value == most && value > kMinusInfinity;
    if (value > most || (tied && precedes(g, back, g.T, q, *last))) *last = q;
  }
  const double value = sweep.final_value(*last);
  if (value == kMinusInfinity) return kMinusInfinity;
  sweep.base.add(value);
  return sweep.base.value();
}

}  // namespace

double forward_log_partition(const Lattice& g, Workspace& work, Tables* tables, Tally* tally) {
  return log_partition(g, work, tables, tally);
}
double forward_best(const Lattice& g, Workspace& work, Tables* tables, Back& back, int* last,
                    Tally* tally) {
  return best(g, work, tables, back, last, tally);
}

}  // namespace caesura::CAESURA_ISA
