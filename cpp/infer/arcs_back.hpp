// The transpose of Arcs: computes the probabilities of the segments that end at a boundary from
// those of the segments that start there, and the expected transitions.
//
// The arc (p, q) has the probability
//
//   P(p, q) = P(hat[q]) linear[p] weight[p, q] / sums[q]
//
// in the terms of Arcs::forward.  Where sums[q] is too small, it is computed in the log domain.
#pragma once

#include <cmath>

#include "infer/arcs.hpp"

namespace caesura::CAESURA_ISA {

struct ArcsBack {
  const Lattice& g;
  Arcs& arcs;
  double* ratio;  // [stride] P(hat[q]) / sums[q]
  double* back;   // [stride]
  double* pairs;  // [Y][label stride] expected transitions by rank
  double* outer;  // [Y][label stride] the same, still to be multiplied by the weights
  static constexpr int kBlock = 32;
  double* lefts;   // [kBlock][stride] rows whose outer products are yet to be added to `outer`
  double* rights;  // [kBlock][stride]
  int waiting = 0;

  ArcsBack(const Lattice& lattice, Arcs& over, Workspace& work) : g(lattice), arcs(over) {
    ratio = work.doubles(g.stride);
    back = work.doubles(g.stride);
    for (double** p : {&lefts, &rights})
      *p = g.in_ptr == nullptr ? work.doubles(kBlock * g.stride) : nullptr;
    for (double** p : {&pairs, &outer}) {
      *p = work.doubles(static_cast<std::size_t>(g.label_stride) * g.label_stride);
      fill(*p, g.label_stride * g.label_stride, 0.0);
    }
  }

  // closed[p] = sum over q of P(p, q), from started[q] = P(hat[q]).  All rows are [stride].
  // patched: the weights hold at this boundary only, so the expected pairs are multiplied by them
  // at once and not in finish().
  void pass(const double* alpha, const double* hat, const double* started, bool patched,
            double* closed) {
    arcs.to_linear(alpha);
    const bool small =
        g.in_ptr == nullptr ? pass_dense(started, patched, closed) : pass_sparse(started, closed);
    if (small) pass_carefully(alpha, hat, started, closed);
  }

  // All pairs of labels:
  //
  //   ratio[q]  = P(hat[q]) / sums[q]
  //   closed[p] = linear[p] sum over q of weight[p, q] ratio[q]
  //   E(p, q)  += linear[p] weight[p, q] ratio[q]
  //
  // Returns whether sums[q] was too small for some q with P(hat[q]) > 0.  Its ratio is set to 0,
  // and pass_carefully adds its terms.
  bool pass_dense(const double* started, bool patched, double* closed) {
    arcs.sum_linear();
    bool small = false;
    for (int q = 0; q < g.stride; q += W) {
      const vec total = load(arcs.sums + q);
      const vec p = load(started + q);
      const ivec below = total < kSmall;
      store(ratio + q, below ? vec{} : p / (below ? splat(1.0) : total));
      small |= any(below & (p > 0.0));
    }
    // back[p] = sum over q of weight[p, q] ratio[q]
    product(ratio, arcs.transposed, g.Q, g.stride, back);
    for (int q = 0; q < g.stride; q += W) store(closed + q, load(arcs.linear + q) * load(back + q));
    if (patched) {
      for (int p = 0; p < g.Q; ++p) {
        const vec x = splat(arcs.linear[p]);
        double* out = pairs + p * g.label_stride;
        const double* w = arcs.weight + p * g.label_stride;
        for (int q = 0; q < g.stride; q += W) {
          store(out + q, load(out + q) + x * load(ratio + q) * load(w + q));
        }
      }
      return small;
    }
    // Rows are collected, and the outer products of a block are added together.
    copy(lefts + waiting * g.stride, arcs.linear, g.stride);
    copy(rights + waiting * g.stride, ratio, g.stride);
    if (++waiting == kBlock) add_waiting();
    return small;
  }

  // outer[p, q] += sum over the collected rows of linear[p] ratio[q]
  void add_waiting() {
    add_outer(lefts, rights, waiting, g.Q, g.stride, outer);
    waiting = 0;
  }

  // The same over the arcs into each state with P(hat[q]) > 0, in two passes: sums[q] first, then
  // P(p, q).
  bool pass_sparse(const double* started, double* closed) {
    bool small = false;
    fill(closed, g.stride, 0.0);
    for (int q = 0; q < g.Q; ++q) {
      arcs.sums[q] = 0.0;
      if (started[q] == 0.0) continue;
      const double* column = arcs.transposed + g.rank[q] * g.label_stride;
      const int begin = g.in_ptr[q], end = g.in_ptr[q + 1];
      double total = 0.0;
      for (int k = begin; k < end; ++k)
        total += arcs.linear[g.in_state[k]] * column[g.rank[g.in_state[k]]];
      arcs.sums[q] = total;
      if (total < kSmall) {
        small = true;
        continue;
      }
      // P(p, q) = linear[p] weight[p, q] P(hat[q]) / sums[q]
      const double factor = started[q] / total;
      for (int k = begin; k < end; ++k) {
        const int p = g.in_state[k];
        const double value = arcs.linear[p] * column[g.rank[p]] * factor;
        closed[p] += value;
        pairs[g.rank[p] * g.label_stride + g.rank[q]] += value;
      }
    }
    return small;
  }

  // ln P(previous state is p | a segment in q starts here)
  double gap(const double* alpha, const double* hat, int p, int q) const {
    return alpha[p] + arcs.pair(p, q) + arcs.entry(q) - hat[q];
  }
  double probability(const double* alpha, const double* hat, const double* started, int p,
                     int q) const {
    return started[q] == 0.0 ? 0.0 : started[q] * std::exp(gap(alpha, hat, p, q));
  }

  // P(p, q) = P(hat[q]) exp(gap) / sum over p' of exp(gap), for the states whose sum is too small
  // in the linear domain.  The norm is 1 up to rounding; dividing by it keeps the total probability
  // exact.
  void pass_carefully(const double* alpha, const double* hat, const double* started,
                      double* closed) {
    for (int q = 0; q < g.Q; ++q) {
      if (started[q] == 0.0 || arcs.sums[q] >= kSmall) continue;
      double norm = 0.0;
      arcs.sources(q, [&](int p) { norm += std::exp(gap(alpha, hat, p, q)); });
      arcs.sources(q, [&](int p) {
        const double value = probability(alpha, hat, started, p, q) / norm;
        closed[p] += value;
        pairs[g.rank[p] * g.label_stride + g.rank[q]] += value;
      });
    }
  }

  // Entropy of the choice of the previous state: - sum of P(p, q) ln(P(p, q) / P(hat[q])).
  double entropy(const double* alpha, const double* hat, const double* started) const {
    double total = 0.0;
    for (int q = 0; q < g.Q; ++q) {
      if (started[q] == 0.0) continue;
      double norm = 0.0;
      arcs.sources(q, [&](int p) { norm += std::exp(gap(alpha, hat, p, q)); });
      arcs.sources(q, [&](int p) {
        const double share = std::exp(gap(alpha, hat, p, q)) / norm;
        if (share > 0.0) total -= started[q] * share * std::log(share);
      });
    }
    return total;
  }

  // transitions[y0, y] = E(y0, y), [Y][Y] by label: the pairs, plus the outer products times the
  // weights, which all boundaries without edges share.
  void finish(double* transitions) {
    if (waiting > 0) add_waiting();
    for (int i = 0; i < g.Y; ++i) {
      for (int j = 0; j < g.Y; ++j) {
        const int at = i * g.label_stride + j;
        transitions[g.order[i] * g.Y + g.order[j]] = pairs[at] + outer[at] * arcs.weight[at];
      }
    }
  }
};

}  // namespace caesura::CAESURA_ISA
