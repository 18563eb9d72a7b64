// The backward sweep: expected counts from the rows that the forward sweep saved.
//
// Each entry of a forward row is a sum of terms.  Given that a segmentation passes through the
// entry, it passes through one of the terms with the probability exp(term - row), so
//
//   P(term) = P(row) exp(term - row)
//
// carries probabilities from the end of the sequence to its start.  Only numbers between 0 and 1
// are multiplied and added, so nothing cancels.  The weights exp(term - row) of a row are divided
// by their sum, which is 1 up to rounding, so that the total probability stays 1 on long inputs.
// The expected count of a potential is the sum of the probabilities of the terms that contain it.
// A potential with open ends is part of many terms; their sums are shared as in the forward sweep:
//
//   gathered[a] = sum over the ends e so far and the starts s <= a of P([s, e))
//
// When e has come down to b, gathered[a] + P(O[b - 1]) is the expected count of the potential with
// the core [a, b) and both ends open.
//
// This is the transpose of sweep.cpp, written by hand so that it carries probabilities.  The table
// shows which method transposes which line of the forward sweep (e decreases here and increases
// there):
//
//   forward (sweep.cpp)                               backward (here)
//   total():     ln Z, the plus of alpha[T] + end     begin():      closed = P(alpha[T])
//   sum():       closing.add(theta[s:e] + hat[s])     spread():     terms[s] = P([s, e))
//   sum():       opening.add(theta[s:>e] + hat[s])    spread():     entries[s] = P([s, >e))
//   add_open():  closing of O[e-1] + a[e]             weigh_open(): ended
//   add_open():  opening of O[e-1] + a'[e]            weigh_open(): going_on
//   sum():       O[e] = alpha[e] (at.same)            spread():     weight = closed + open
//   activate():  shared[a] or own[a] gains a          collect():    its count, from gathered or
//                potential                                          gathered_own, and from open
//   step_over(): hat[e], the plus over arcs           step_back():  ArcsBack::pass
//   begin():     hat[0] = start                       run():        counts.starts

#include <cmath>
#include <initializer_list>

#include "base/interrupt.hpp"
#include "infer/arcs_back.hpp"
#include "infer/kernels.hpp"
#include "infer/term_weights.hpp"
#include "lattice/rows.hpp"
#include "lattice/snapshots.hpp"

namespace caesura::CAESURA_ISA {
namespace {

struct Backward {
  const Lattice& g;
  const Tables& tables;
  Counts& counts;
  int ring, mask;
  Active active;
  Snapshots snapshots;
  Thetas thetas;
  Arcs arcs;
  ArcsBack arcs_back;
  double* offsets;              // [ring] base(s) - base(e - 1)
  double* begun;                // [ring][stride] P(hat[s]): a segment starts at s
  double* gathered;             // [ring][stride] see above
  double* gathered_own;         // [ring][stride] the same for the start s = a only
  double* terms;                // [ring][stride] P([s, e)), closing at e
  double* entries;              // [ring][stride] P([s, > e)), entering the open row at e
  double* closed;               // [stride] P(alpha[e])
  double* open;                 // [stride] P(O[e])
  double* weight;               // [stride] P of the row that closing terms belong to
  double* divisor;              // [stride] that row, relative to base(e - 1)
  double* open_row;             // [stride] O[e], relative to base(e - 1)
  double* ended;                // [stride] P of open segments that end at e
  double* going_on;             // [stride] P of open segments that continue beyond e
  double* factor;               // [stride] P(row) / sum of weights, for the row alpha[e]
  double* open_factor;          // [stride] the same for O[e]
  double* step;                 // [stride]
  double* running_open;         // [stride]
  double* sum;                  // [stride]
  double* row;                  // [stride]
  int lowest;                   // live starts are lowest .. e - 1
  bool own_potentials = false;  // some have a closed start and an open end

  Backward(const Lattice& lattice, Workspace& work, const Tables& kept, Counts& out)
      : g(lattice),
        tables(kept),
        counts(out),
        ring(ring_size(lattice)),
        mask(ring - 1),
        active(lattice, ring, work),
        snapshots(lattice, ring, work),
        thetas(lattice, active, work),
        arcs(lattice, work),
        arcs_back(lattice, arcs, work),
        lowest(lattice.T) {
    offsets = work.doubles(ring);
    for (double** p : {&begun, &gathered, &gathered_own, &terms, &entries}) {
      *p = work.doubles(static_cast<std::size_t>(ring) * g.stride);
    }
    for (double** p : {&closed, &open, &weight, &divisor, &open_row, &ended, &going_on, &factor,
                       &open_factor, &step, &running_open, &sum, &row}) {
      *p = work.doubles(g.stride);
    }
    for (int i = 0; i < g.n_potentials; ++i) own_potentials |= g.potentials[i].flags == kOpenEnd;
  }

  // The row of a live start in a ring buffer, [stride].
  double* of(double* rows, int s) const {
    return rows + static_cast<std::ptrdiff_t>(s & mask) * g.stride;
  }
  // The rows that the forward sweep saved, [stride], relative to base(t).
  const double* alpha(int t) const {
    return tables.alpha + static_cast<std::ptrdiff_t>(t) * g.stride;
  }
  const double* hat(int t) const { return tables.hat + static_cast<std::ptrdiff_t>(t) * g.stride; }
  const double* open_at(int t) const {
    return tables.open + static_cast<std::ptrdiff_t>(t) * g.stride;
  }

  // Computes P(alpha[T]) and counts the last labels.
  void begin() {
    // P(alpha[T, q]) = exp(alpha[T, q] + end[y(q)] - ln Z): a softmax over the accepting states.
    double most = kMinusInfinity, total = 0.0;
    auto value = [&](int q) {
      return g.accepting[q] ? alpha(g.T)[q] + g.end[g.order[g.rank[q]]] : kMinusInfinity;
    };
    for (int q = 0; q < g.Q; ++q) most = std::fmax(most, value(q));
    for (int q = 0; q < g.Q; ++q) total += std::exp(value(q) - most);
    fill(closed, g.stride, 0.0);
    fill(open, g.stride, 0.0);
    for (int q = 0; q < g.Q; ++q) {
      closed[q] = std::exp(value(q) - most) / total;
      counts.ends[g.order[g.rank[q]]] += closed[q];
      if (counts.want_entropy && closed[q] > 0.0) counts.entropy -= closed[q] * std::log(closed[q]);
    }
  }

  // Initialises the starts that are in the window of e but were not in that of e + 1.
  void enter(int low, int e) {
    for (int a = lowest - 1; a >= low; --a) {
      // offsets[a] = base(a) - base(e - 1) = offsets[a + 1] - increment[a + 1].  Potentials with an
      // open end are added in ascending order of their ends, with a snapshot before each new end,
      // so that leave() can undo them in reverse.
      offsets[a & mask] = a + 1 == e ? 0.0 : offsets[(a + 1) & mask] - tables.increment[a + 1];
      for (double* rows : {begun, gathered, gathered_own}) fill(of(rows, a), g.stride, 0.0);
      active.begin(a);
      int previous_end = a + 1;
      for (int i = g.by_start[a]; i < g.by_start[a + 1]; ++i) {
        const Potential& p = g.potentials[g.starting[i]];
        if ((p.flags & kOpenEnd) == 0) continue;
        if (p.end != previous_end) snapshots.save(active, a);
        previous_end = p.end;
        active.add(p);
      }
    }
    lowest = low < lowest ? low : lowest;
  }

  // Moves from e to e - 1: removes the potentials with an open end whose core ends at e from the
  // active rows.
  void leave(int e) {
    for (int a = lowest; a < e; ++a) offsets[a & mask] += e > 1 ? tables.increment[e - 1] : 0.0;
    // Potentials with the same start and end share a snapshot.  Those whose core is one token have
    // none, because their start is no longer live.
    int last = -1;
    for (int i = g.by_end[e]; i < g.by_end[e + 1]; ++i) {
      const Potential& p = g.potentials[i];
      if ((p.flags & kOpenEnd) == 0 || p.start == last || p.start == e - 1) continue;
      last = p.start;
      snapshots.restore(active, p.start);
    }
  }

  // Turns weights into probabilities: P(term) = weight * factor.  p: P(row), for the entropy.
  void scale(double* row, const double* ratio, const double* p) {
    for (int q = 0; q < g.stride; q += W) store(row + q, load(row + q) * load(ratio + q));
    if (counts.want_entropy) counts.entropy += choice_entropy(g.stride, row, p);
  }
  // The same, where p is the factor.  Also adds P(term) to `sum` and to `to`, and then `sum` to
  // `gather_to`.
  void gather(double* row, const double* p, double* to, double* gather_to) const {
    for (int q = 0; q < g.stride; q += W) {
      // sum = P of all starts up to s;  gathered[s] += sum
      const vec value = load(row + q) * load(p + q);
      const vec total = load(sum + q) + value;
      store(row + q, value);
      store(sum + q, total);
      store(to + q, load(to + q) + value);
      store(gather_to + q, load(gather_to + q) + total);
    }
  }
  // Distributes P(alpha[e]) and P(O[e]) over the terms of these rows.
  void spread(int e) {
    const Boundary at = boundary_of(g, e);
    enter(at.window.low, e);
    const double increment = tables.increment[e];

    // The rows that the terms are relative to.  If at.same, alpha[e] and O[e] are sums of the same
    // terms, which belong to one row with the probability P(alpha[e]) + P(O[e]).
    fill(divisor, g.stride, -kMinusInfinity);
    divide_by(alpha(e), increment, 0, g.Q, divisor);
    copy(weight, closed, g.stride);
    if (at.open) {
      fill(open_row, g.stride, -kMinusInfinity);
      divide_by(open_at(e), increment, 0, g.unbounded, open_row);
      if (at.same) {
        for (int q = 0; q < g.unbounded; ++q) {
          divisor[q] = open_row[q];
          weight[q] = closed[q] + open[q];
        }
      }
    }

    // These hold sums of weights until make_factor turns them into factors.
    fill(factor, g.stride, 0.0);
    fill(open_factor, g.stride, 0.0);
    thetas.begin(e);
    if (at.enters) fill(running_open, g.stride, 0.0);
    // terms[s]   = exp(hat[s] + theta[s:e]  - alpha[e])   for low <= s < e
    // entries[s] = exp(hat[s] + theta[s:>e] - O[e])       for A(e-1) < s <= A(e)
    // These are the terms of sum() in sweep.cpp, in the same order and for the same states.
    for (int s = e - 1; s >= at.window.low; --s) {
      const Range range = range_of(g, s, e, at.window.open, at.window.direct);
      const double* theta = thetas.row(s, range);
      const double offset = offsets[s & mask];
      weigh(g.stride, theta, hat(s), offset, range, divisor, factor, of(terms, s));
      if (!at.enters || s < at.window.open) continue;
      add_rows(g.stride, running_open, active.shared_row(s));
      if (s > at.reach) {
        fill(of(entries, s), g.stride, 0.0);
        continue;
      }
      theta = running_open;
      if (active.owns(s)) {
        copy(row, running_open, g.stride);
        add_rows(g.stride, row, active.own_row(s));
        theta = row;
      }
      weigh(g.stride, theta, hat(s), offset, Range{0, g.unbounded}, open_row, open_factor,
            of(entries, s));
    }
    if (at.open) weigh_open(e, at.same || at.forced);
    // P(term) = exp(term - row) P(row) / sum of exp(term - row).  From here on,
    // open = P(O[e - 1]) = ended + going_on.
    make_factor(g.stride, weight, factor);
    if (at.open) {
      make_factor(g.stride, open, open_factor);
      for (int s = at.window.open; at.enters && s < e; ++s)
        scale(of(entries, s), open_factor, open);
      scale(ended, factor, weight);
      scale(going_on, open_factor, open);
      for (int q = 0; q < g.stride; q += W) store(open + q, load(ended + q) + load(going_on + q));
      if (at.same) fill(ended, g.stride, 0.0);
    }
    collect(e, at.window, at.enters);
  }

  // Weighs the segments that were open at e - 1: they end at e (ended) or continue (going_on).
  // only_ended: both have the same terms, or no segment may continue.
  void weigh_open(int e, bool only_ended) {
    fill(ended, g.stride, 0.0);
    fill(going_on, g.stride, 0.0);
    if (e == 1) return;
    // ended[q]    = exp(O[e-1, q] + a[e, q]  - alpha[e, q])
    // going_on[q] = exp(O[e-1, q] + a'[e, q] - O[e, q])
    const Range all{0, g.unbounded};
    step_row(g, e, step);
    if (!only_ended)
      weigh(g.stride, step, open_at(e - 1), 0.0, all, open_row, open_factor, going_on);
    close_step_row(g, e, step);
    weigh(g.stride, step, open_at(e - 1), 0.0, all, divisor, factor, ended);
  }

  // Adds the expected counts of the segments and cores that end at e.  `open` is P(O[e - 1]) here.
  void collect(int e, Window window, bool enters) {
    int next = g.by_end[e + 1] - 1;  // potentials that end at e, earliest start first
    const int first = g.by_end[e];
    fill(sum, g.stride, 0.0);
    // sum[q] = sum over s' <= s of P([s', e), q).  A potential with the core [s, e) and a closed
    // end has this count plus that of the open segments that ended at e if its start is open, and
    // the count P([s, e)) if its start is closed.
    for (int s = window.low; s < e; ++s) {
      double* term = of(terms, s);
      const bool entering = enters && s >= window.open;
      gather(term, factor, of(begun, s), of(gathered, s));
      if (counts.want_entropy) counts.entropy += choice_entropy(g.stride, term, weight);
      if (own_potentials) add_rows(g.stride, of(gathered_own, s), term);
      if (counts.spans != nullptr) count_spans(g, s, e, term, counts.spans);
      while (next >= first && g.potentials[next].start < s) --next;
      for (; next >= first && g.potentials[next].start == s; --next) {
        const Potential& p = g.potentials[next];
        if (p.flags & kOpenEnd) continue;
        const Target& z = g.targets[p.target];
        double& count = counts.potentials[p.id];
        if (p.flags & kOpenStart) {
          count += sum_over(sum, z);
          if (g.unbounded > 0) count += sum_over(ended, z);
        } else {
          count += sum_over(term, z);
        }
      }
      if (entering) {
        add_rows(g.stride, of(begun, s), of(entries, s));
        if (own_potentials) add_rows(g.stride, of(gathered_own, s), of(entries, s));
      }
    }
    // gathered[a] += sum over s <= a of P([s, >e)): the segments that entered O at e.  P(O[e - 1])
    // no longer contains them.
    if (enters) {
      fill(sum, g.stride, 0.0);
      for (int s = window.open; s < e; ++s) {
        add_rows(g.stride, sum, of(entries, s));
        add_rows(g.stride, of(gathered, s), sum);
      }
    }
    // Potentials with an open end: gathered holds the segments that end at or beyond e, except
    // those in O[e - 1], which started before every core that ends at e.
    for (int i = first; i < g.by_end[e + 1]; ++i) {
      const Potential& p = g.potentials[i];
      if ((p.flags & kOpenEnd) == 0) continue;
      const Target& z = g.targets[p.target];
      double& count = counts.potentials[p.id];
      count += sum_over(of(p.flags & kOpenStart ? gathered : gathered_own, p.start), z);
      if (g.unbounded > 0 && (p.flags & kOpenStart)) count += sum_over(open, z);
    }
    // P(token e-1 in label y) = gathered[e-1] + P(O[e-1]), the count of a potential with the core
    // [e-1, e) and both ends open.
    double* tokens = counts.tokens + static_cast<std::ptrdiff_t>(e - 1) * g.Y;
    const double* inside = of(gathered, e - 1);
    for (int q = 0; q < g.Q; ++q) {
      tokens[g.order[g.rank[q]]] += inside[q] + (q < g.unbounded ? open[q] : 0.0);
    }
  }

  // Computes P(alpha[t]) from P(hat[t]) over the arcs, and adds the expected transitions at t.
  void step_back(int t) {
    const double old_top = arcs.top;
    const bool edges = arcs.has_edges(t);
    if (edges) arcs.patch(t);
    arcs_back.pass(alpha(t), hat(t), of(begun, t), edges, closed);
    if (counts.want_entropy) counts.entropy += arcs_back.entropy(alpha(t), hat(t), of(begun, t));
    if (edges) {
      count_edges(t);
      arcs.unpatch(t, old_top);
    }
  }

  // Adds the expected counts of the edge potentials at t, which must be patched into the weights.
  void count_edges(int t) {
    for (int k = g.by_position[t]; k < g.by_position[t + 1]; ++k) {
      const Edge& edge = g.edges[k];
      // count = sum over arcs (p, q) from `previous` to `label` of P(arc at t)
      double total = 0.0;
      for (int q = g.first[edge.label]; q < g.first[edge.label + 1]; ++q) {
        arcs.sources(q, [&](int p) {
          if (g.rank[p] == edge.previous)
            total += arcs_back.probability(alpha(t), hat(t), of(begun, t), p, q);
        });
      }
      counts.edges[edge.id] += total;
    }
  }

  // Saves a row for queries about single segments (Lookup) unless the table is null.
  void keep(double* table, int t, const double* values) const {
    if (table != nullptr) copy(table + static_cast<std::ptrdiff_t>(t) * g.stride, values, g.stride);
  }

  // Processes the boundaries from the last to the first.  At the beginning of step e, `closed` is
  // P(alpha[e]) and `open` is P(O[e]); spread() distributes both over their terms, and step_back()
  // computes P(alpha[e - 1]).
  void run() {
    begin();
    counts.boundaries[0] = 1.0;
    for (int e = g.T; e >= 1; --e) {
      if (e % 16 == 0) check_interrupt();
      // P(boundary at e) = sum over q of P(alpha[e, q])
      double total = 0.0;
      for (int q = 0; q < g.Q; ++q) total += closed[q];
      counts.boundaries[e] = total;
      keep(counts.closed, e, closed);
      spread(e);
      leave(e);
      const int t = e - 1;
      const double* started = of(begun, t);
      keep(counts.begun, t, started);
      // Expected number of segments in each state, from which static patterns are counted.
      if (counts.entered != nullptr) {
        for (int q = 0; q < g.Q; ++q) counts.entered[q] += started[q];
      }
      if (t > 0) step_back(t);
    }
    for (int q = 0; q < g.Q; ++q) counts.starts[g.order[g.rank[q]]] += of(begun, 0)[q];
    arcs_back.finish(counts.transitions);
  }
};

}  // namespace

void backward_posterior(const Lattice& g, Workspace& work, const Tables& tables, Counts& counts) {
  Backward sweep(g, work, tables, counts);
  sweep.run();
}

}  // namespace caesura::CAESURA_ISA
