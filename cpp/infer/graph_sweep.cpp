// The sweeps over a span graph: forward for any semiring, and backward for expected counts.
//
//   value[u]     = inside[u] + score[u]                      paths that end with the span u
//   inside[u]    = begun[gate of u, label of u]              or, where arcs into u have scores,
//                  plus over predecessors p of value[p] + arc(p, u)
//   ended[j, y]  = plus of value[u] over the spans u with stop j and label y
//   window[k, y] = plus of ended[j, y] over the stops low(k) <= j < high(k)
//   begun[k, y]  = plus over y0 of window[k, y0] + transition[y0, y], or start[y] at the beginning
//   ln Z         = plus over y of window[S, y] + end[y]
//
// Arcs are not listed unless they have scores of their own: with n spans, K stops and S gates the
// cost is O(n + K Y + S Y^2), plus the number of predecessors of each span that such an arc leads
// to.  The window sums need no subtraction, see WindowSums.

#include "infer/graph_sweep.hpp"

#include <cmath>

#include "base/interrupt.hpp"
#include "infer/arcs_back.hpp"
#include "lattice/semirings.hpp"

namespace caesura::CAESURA_ISA {
namespace {

// Sums over a window of stops whose limits only move forwards, as a queue made of two stacks:
//
//   front[j] = plus of ended[j .. middle)      rebuilt for a whole window when low reaches middle
//   rear[j]  = plus of ended[middle .. j]      extended as high increases
//   window   = front[low] (+) rear[high - 1]
//
// Each stop enters front and rear at most once, so all windows together cost O((K + S) Y).  Each
// sum has at most two terms, and the backward sweep transposes the sums one by one.
template <class Semiring>
struct WindowSums {
  const SpanGraph& g;
  GraphTables& t;
  GraphTally* tally;
  int middle = 0, summed = 0;  // stops [middle, summed) are in rear

  // Row j of a table by stop, [stride], relative to base(j).
  double* row(double* table, int j) const {
    return table + static_cast<std::ptrdiff_t>(j) * t.stride;
  }
  // out = a (+) (b + shift)
  void add(const double* a, const double* b, double shift, double* out) {
    for (int y = 0; y < g.Y; ++y) out[y] = Semiring::plus(a[y], b[y] + shift);
    if (tally != nullptr) ++tally->rows;
  }

  void sum(int k, double* out) {
    // If low has reached middle, front[j] = ended[j] (+) front[j+1] for low <= j < high, and rear
    // is empty.  Otherwise rear[j] = ended[j] (+) rear[j-1] for the stops that are new.  Each row
    // is relative to the base of its own stop; adding offset(i, j) = base(i) - base(j) converts a
    // row of stop i to the base of stop j.
    const int low = g.low[k], high = g.high[k];
    if (low >= middle) {
      middle = summed = high;
      copy(row(t.front, high - 1), row(t.ended, high - 1), t.stride);
      for (int j = high - 2; j >= low; --j) {
        copy(row(t.front, j), row(t.ended, j), t.stride);
        add(row(t.ended, j), row(t.front, j + 1), t.offset(j + 1, j), row(t.front, j));
      }
    }
    for (; summed < high; ++summed) {
      const int j = summed;
      copy(row(t.rear, j), row(t.ended, j), t.stride);
      if (j > middle) add(row(t.ended, j), row(t.rear, j - 1), t.offset(j - 1, j), row(t.rear, j));
    }
    // window[k] = front[low] (+) rear[high-1], relative to base(high - 1)
    const double shift = t.offset(low, high - 1);
    const double* front = row(t.front, low);
    fill(out, t.stride, kMinusInfinity);
    for (int y = 0; y < g.Y; ++y) out[y] = front[y] + shift;
    if (middle < high) add(row(t.rear, high - 1), front, shift, out);
  }
};

// The forward sweep.  Stops are numbered 1 .. K and gates 0 .. S, both by position; the last gate
// is the end of the sequence.
template <class Semiring>
struct GraphForward {
  const SpanGraph& g;
  GraphTables& t;
  GraphTally* tally;
  Arcs arcs;
  WindowSums<Semiring> window;
  double* row;             // [stride]
  std::int32_t* previous;  // [stride] unused, because paths are found by listing terms
  Total base;

  GraphForward(const SpanGraph& graph, Workspace& work, GraphTables& tables, GraphTally* count)
      : g(graph),
        t(tables),
        tally(count),
        arcs(graph.labels, work),
        window{graph, tables, count},
        row(work.doubles(tables.stride)),
        previous(work.ints(tables.stride)) {}

  // Row i of a table by stop or by gate, [stride].
  double* at(double* table, int i) const {
    return table + static_cast<std::ptrdiff_t>(i) * t.stride;
  }

  // inside[u], relative to the window of its gate.
  double inside(int u) {
    const int k = g.gate[u];
    if (!g.has_arcs(u)) return at(t.begun, k)[g.spans[u].label];
    // plus over p of value[p] + transition[label of p, label of u] + score of the arc (p, u)
    typename Semiring::Sum sum;
    g.for_predecessors(u, [&](int p, double arc) {
      sum.add(t.value[p] + t.offset(g.stop[p], g.high[k] - 1) + arc, p);
      if (tally != nullptr) ++tally->arcs;
    });
    return sum.value();
  }

  // Computes value[u] and ended[j], first relative to base(j - 1), then to base(j).
  void close(int j) {
    double* ended = at(t.ended, j);
    fill(ended, t.stride, kMinusInfinity);
    double most = kMinusInfinity;
    // Spans are sorted by stop and label, so the terms of ended[j, y] are contiguous.
    for (int u = g.stop_ptr[j]; u < g.stop_ptr[j + 1];) {
      const int y = g.spans[u].label;
      typename Semiring::Sum sum;
      for (; u < g.stop_ptr[j + 1] && g.spans[u].label == y; ++u) {
        t.inside[u] = inside(u);
        t.value[u] = t.inside[u] + g.spans[u].score + t.offset(g.high[g.gate[u]] - 1, j - 1);
        sum.add(t.value[u], u);
        if (tally != nullptr) ++tally->spans;
      }
      ended[y] = sum.value();
      most = ended[y] > most ? ended[y] : most;
    }
    // base(j) = base(j-1) + most, kept as two doubles so that differences of bases lose no digits.
    if (most == kMinusInfinity) most = 0.0;
    base.add(most);
    t.base_high[j] = base.high;
    t.base_low[j] = base.low;
    for (int q = 0; q < t.stride; q += W) store(ended + q, load(ended + q) - most);
    for (int u = g.stop_ptr[j]; u < g.stop_ptr[j + 1]; ++u) t.value[u] -= most;
  }

  // Computes window[k] and begun[k], relative to the base of the last stop at or before the gate.
  void open(int k) {
    double* sums = at(t.window, k);
    double* begun = at(t.begun, k);
    fill(sums, t.stride, kMinusInfinity);
    fill(begun, t.stride, kMinusInfinity);
    // The first gate has no spans before it: begun = start.
    if (g.is_first(k)) {
      for (int y = 0; y < g.Y; ++y) begun[y] = g.start[y];
    } else if (!g.is_empty(k)) {
      window.sum(k, sums);
      if (k < g.S) step(sums, begun);
    }
    t.middle[k] = window.middle;
    t.summed[k] = window.summed;
  }

  // The step over the transitions, which needs a row relative to its largest entry.
  void step(const double* sums, double* begun) {
    // begun[y] = plus over y0 of window[y0] + transition[y0, y]
    vec most = splat(kMinusInfinity);
    for (int q = 0; q < t.stride; q += W) most = max(most, load(sums + q));
    const double shift = max_of(most);
    if (shift == kMinusInfinity) return;
    for (int q = 0; q < t.stride; q += W) store(row + q, load(sums + q) - shift);
    if constexpr (Semiring::kSelects) {
      Semiring::step(arcs, row, begun, previous, [](int, int) { return false; });
    } else {
      Semiring::step(arcs, row, begun);
    }
    for (int y = 0; y < g.Y; ++y) begun[y] += shift;
    for (int q = g.Y; q < t.stride; ++q) begun[q] = kMinusInfinity;
    if (tally != nullptr) ++tally->steps;
  }

  // Computes all rows of the tables, and returns ln Z or the best score.
  double run() {
    t.base_high[0] = t.base_low[0] = 0.0;
    fill(at(t.ended, 0), t.stride, kMinusInfinity);
    // A stop is closed when the first gate needs it: the window of a gate holds only stops at or
    // before it, and all spans that end there start at earlier gates.
    int next = 1;
    for (int k = 0; k <= g.S; ++k) {
      if ((k + 1) % 64 == 0) check_interrupt();
      for (; next < g.high[k]; ++next) close(next);
      open(k);
    }
    if (g.is_first(g.S)) return 0.0;  // the empty path
    // ln Z = base(last stop) + plus over y of window[S, y] + end[y]
    typename Semiring::Sum sum;
    for (int y = 0; y < g.Y; ++y) sum.add(at(t.window, g.S)[y] + g.end[y], y);
    if (sum.most == Semiring::kZero) return Semiring::kZero;
    base.add(sum.most);
    base.add(sum.rest());
    return base.value();
  }
};

// Expected counts: each of the sums above is transposed by P(term) = P(sum) exp(term - sum), where
// the weights of a sum are divided by their total (see posterior.cpp).
struct GraphBackward {
  const SpanGraph& g;
  const GraphTables& t;
  GraphCounts& counts;
  Arcs arcs;
  ArcsBack arcs_back;
  double* spans;      // [n] P(u), by place
  double* ended;      // [K + 1][stride]
  double* front;      // [K + 1][stride]
  double* rear;       // [K + 1][stride]
  double* begun;      // [S + 1][stride]
  double* window;     // [stride] P(window[k]) of the current gate
  double* row;        // [stride]
  double* begun_row;  // [stride]

  GraphBackward(const SpanGraph& graph, Workspace& work, const GraphTables& tables,
                GraphCounts& out)
      : g(graph),
        t(tables),
        counts(out),
        arcs(graph.labels, work),
        arcs_back(graph.labels, arcs, work) {
    const std::size_t stops = static_cast<std::size_t>(g.K + 1) * t.stride,
                      gates = static_cast<std::size_t>(g.S + 1) * t.stride;
    spans = zeros(work, g.n);
    ended = zeros(work, stops);
    front = zeros(work, stops);
    rear = zeros(work, stops);
    begun = zeros(work, gates);
    window = zeros(work, t.stride);
    row = zeros(work, t.stride);
    begun_row = zeros(work, t.stride);
  }
  // Probabilities are accumulated, so all are 0 at first.
  static double* zeros(Workspace& work, std::size_t count) {
    double* made = work.doubles(count);
    for (std::size_t i = 0; i < count; ++i) made[i] = 0.0;
    return made;
  }

  template <class Row>
  Row* at(Row* table, int i) const {
    return table + static_cast<std::ptrdiff_t>(i) * t.stride;
  }

  // Returns the probability of a term with weight w in a sum with probability p and total weight
  // `total`, and adds its part of the entropy.
  double share(double p, double w, double total) {
    if (w == 0.0) return 0.0;
    const double part = w / total;
    if (counts.want_entropy) counts.entropy -= p * part * std::log(part);
    return p * part;
  }

  // Transposes sum[y] = a[y] (+) (b[y] + shift): distributes p = P(sum) to P(a) and P(b).
  void split(const double* p, const double* sum, const double* a, double* to_a, const double* b,
             double shift, double* to_b) {
    for (int y = 0; y < g.Y; ++y) {
      if (p[y] == 0.0) continue;
      const double first = std::exp(a[y] - sum[y]), second = std::exp(b[y] + shift - sum[y]);
      to_a[y] += share(p[y], first, first + second);
      to_b[y] += share(p[y], second, first + second);
    }
  }
  // The same for a sum with one term, which receives all of its probability.
  void add(const double* p, double* to) const {
    for (int y = 0; y < g.Y; ++y) to[y] += p[y];
  }

  // Transposes WindowSums::sum.  The sums that were computed at gate k have received all of their
  // probability by now.
  void spread_window(int k) {
    const int low = g.low[k], high = g.high[k];
    // The three steps of WindowSums::sum in reverse.  If front was rebuilt at gate k (middle !=
    // before), rear holds no stops before middle.
    const int middle = t.middle[k], before = k == 0 ? 0 : t.middle[k - 1];
    if (middle < high) {
      split(window, at(t.window, k), at(t.rear, high - 1), at(rear, high - 1), at(t.front, low),
            t.offset(low, high - 1), at(front, low));
    } else {
      add(window, at(front, low));
    }
    // rear[j] = ended[j] (+) rear[j-1], for the stops that were added at this gate, last stop first
    const int first = middle != before ? middle : t.summed[k - 1];
    for (int j = t.summed[k] - 1; j >= first; --j) {
      if (j == middle) {
        add(at(rear, j), at(ended, j));
      } else {
        split(at(rear, j), at(t.rear, j), at(t.ended, j), at(ended, j), at(t.rear, j - 1),
              t.offset(j - 1, j), at(rear, j - 1));
      }
    }
    if (middle == before) return;
    // front[j] = ended[j] (+) front[j+1], since front was rebuilt, first stop first
    for (int j = low; j < high - 1; ++j) {
      split(at(front, j), at(t.front, j), at(t.ended, j), at(ended, j), at(t.front, j + 1),
            t.offset(j + 1, j), at(front, j + 1));
    }
    add(at(front, high - 1), at(ended, high - 1));
  }

  // Transposes open(k), and at the last gate the final sum.
  void open(int k) {
    if (g.is_empty(k)) return;
    if (g.is_first(k)) {
      for (int y = 0; k < g.S && y < g.Y; ++y) counts.starts[y] += at(begun, k)[y];
      return;
    }
    if (k == g.S) {
      last();
    } else {
      step_back(k);
    }
    spread_window(k);  // even if P(window) is 0, because later gates use the sums computed here
  }

  void last() {
    // P(window[S, y]) = softmax over y of window[S, y] + end[y]
    const double* sums = at(t.window, g.S);
    double most = kMinusInfinity, total = 0.0;
    for (int y = 0; y < g.Y; ++y) most = std::fmax(most, sums[y] + g.end[y]);
    for (int y = 0; y < g.Y; ++y) total += std::exp(sums[y] + g.end[y] - most);
    for (int y = 0; y < g.Y; ++y) {
      window[y] = share(1.0, std::exp(sums[y] + g.end[y] - most), total);
      counts.ends[y] += window[y];
    }
  }

  // P(window[k, y0]) = sum over y of P(begun[k, y]) exp(window[y0] + transition[y0, y] - begun[y]),
  // by ArcsBack, whose rows are relative to the largest entry of window[k], as in
  // GraphForward::step.
  void step_back(int k) {
    vec most = splat(kMinusInfinity), any_begun = vec{};
    const double* sums = at(t.window, k);
    for (int q = 0; q < t.stride; q += W) {
      most = max(most, load(sums + q));
      any_begun = max(any_begun, load(at(begun, k) + q));
    }
    fill(window, t.stride, 0.0);
    const double shift = max_of(most);
    if (shift > kMinusInfinity && max_of(any_begun) > 0.0) {
      for (int q = 0; q < t.stride; q += W) {
        store(row + q, load(sums + q) - shift);
        store(begun_row + q, load(at(t.begun, k) + q) - shift);
      }
      arcs_back.pass(row, begun_row, at(begun, k), false, window);
      if (counts.want_entropy) counts.entropy += arcs_back.entropy(row, begun_row, at(begun, k));
    }
  }

  // Transposes close(j).
  void close(int j) {
    for (int u = g.stop_ptr[j]; u < g.stop_ptr[j + 1];) {
      const int y = g.spans[u].label, first = u;
      const double p = at(ended, j)[y], sum = at(t.ended, j)[y];
      // P(u) += P(ended[j, y]) exp(value[u] - ended[j, y]).  P(u) is passed on to the row `begun`
      // of its gate, or to its predecessors one by one.
      double total = 0.0;
      for (; u < g.stop_ptr[j + 1] && g.spans[u].label == y; ++u) {
        if (p > 0.0) total += std::exp(t.value[u] - sum);
      }
      for (int v = first; v < u; ++v) {
        if (p > 0.0) spans[v] += share(p, std::exp(t.value[v] - sum), total);
        if (spans[v] == 0.0) continue;
        if (g.has_arcs(v)) {
          along_arcs(v);
        } else {
          at(begun, g.gate[v])[y] += spans[v];
        }
      }
    }
  }

  // Transposes inside(u) for a span whose arcs have scores.
  void along_arcs(int u) {
    const int ref = g.high[g.gate[u]] - 1, y = g.spans[u].label;
    // P(p, u) = P(u) exp(value[p] + arc(p, u) - inside[u])
    auto weight = [&](int p, double arc) {
      return std::exp(t.value[p] + t.offset(g.stop[p], ref) + arc - t.inside[u]);
    };
    double total = 0.0;
    g.for_predecessors(u, [&](int p, double arc) { total += weight(p, arc); });
    int a = g.arc_ptr[u];
    g.for_predecessors(u, [&](int p, double arc) {
      const double passed = share(spans[u], weight(p, arc), total);
      spans[p] += passed;
      arcs_back.pairs[g.spans[p].label * g.labels.label_stride + y] += passed;
      for (; a < g.arc_ptr[u + 1] && g.arc_from[a] == p; ++a) counts.arcs[g.arc_id[a]] += passed;
    });
  }

  void run() {
    // The reverse order of GraphForward::run: each gate, and then the stops that were closed for
    // it.
    int next = g.K;
    for (int k = g.S; k >= 0; --k) {
      if ((k + 1) % 64 == 0) check_interrupt();
      open(k);
      const int before = k == 0 ? 1 : g.high[k - 1];
      for (; next >= before; --next) close(next);
    }
    // Spans are reported in the order of the input.
    for (int u = 0; u < g.n; ++u) counts.spans[g.id[u]] = spans[u];
    arcs_back.finish(counts.transitions);
  }
};

}  // namespace

double graph_log_partition(const SpanGraph& g, Workspace& work, GraphTables& tables,
                           GraphTally* tally) {
  return GraphForward<LogSum>(g, work, tables, tally).run();
}
double graph_best(const SpanGraph& g, Workspace& work, GraphTables& tables, GraphTally* tally) {
  return GraphForward<Maximum>(g, work, tables, tally).run();
}
void graph_posterior(const SpanGraph& g, Workspace& work, const GraphTables& tables,
                     GraphCounts& counts) {
  GraphBackward(g, work, tables, counts).run();
}

}  // namespace caesura::CAESURA_ISA
