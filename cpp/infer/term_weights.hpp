// Rows of weights and probabilities of terms, for the backward sweep (posterior.cpp).
#pragma once

#include "base/vector.hpp"
#include "lattice/rows.hpp"

namespace caesura::CAESURA_ISA {

// Writes the weights exp(term - row) on a range of states and zeros elsewhere, and adds them to
// `norm`.
inline void weigh(int stride, const double* a, const double* b, double shift, Range range,
                  const double* of_row, double* norm, double* out) {
  // out[q] = exp(a[q] + b[q] + shift - row[q]),  norm[q] += out[q]
  const int begin = range.begin / W * W;
  fill(out, begin, 0.0);
  int q = begin;
  for (; q < range.end; q += W) {
    vec value = exp((load(a + q) + load(b + q) + shift) - load(of_row + q));
    if (q < range.begin || q + W > range.end) {
      value = lanes_in(q, range.begin, range.end) ? value : vec{};
    }
    store(out + q, value);
    store(norm + q, load(norm + q) + value);
  }
  for (; q < stride; q += W) store(out + q, vec{});
}

// Replaces norm, the sum of the weights of a row, by P(row) / norm.
inline void make_factor(int stride, const double* p, double* norm) {
  for (int q = 0; q < stride; q += W) {
    const vec sum = load(norm + q);
    store(norm + q, sum > 0.0 ? load(p + q) / sum : vec{});
  }
}

// The entropy of choosing a term: - P(term) ln(P(term) / P(row)), summed over states.
inline double choice_entropy(int stride, const double* term, const double* p) {
  vec entropy = vec{};
  for (int q = 0; q < stride; q += W) {
    const vec value = load(term + q);
    const vec share = value / load(p + q);
    entropy += (value > 0.0) & (share > 1e-300) ? -value * log(share) : vec{};
  }
  return sum(entropy);
}

// Converts a row from relative to base(e) to relative to base(e - 1).  -inf becomes +inf, so that
// exp(term - row) = 0 for impossible entries.
inline void divide_by(const double* relative, double increment, int begin, int end, double* out) {
  for (int q = begin; q < end; ++q) {
    out[q] = relative[q] == kMinusInfinity ? -kMinusInfinity : relative[q] + increment;
  }
}

// to[q] += from[q]
inline void add_rows(int stride, double* to, const double* from) {
  for (int q = 0; q < stride; q += W) store(to + q, load(to + q) + load(from + q));
}

// spans[s, e-s-1, y] += P([s, e), q) over the states q of label y
inline void count_spans(const Lattice& g, int s, int e, const double* term, double* spans) {
  if (e - s > g.span_length) return;
  double* out = spans + (static_cast<std::ptrdiff_t>(s) * g.span_length + (e - s - 1)) * g.Y;
  for (int y = 0; y < g.Y; y += 8) __builtin_prefetch(out - g.Y + y, 1);  // for [s, e - 1)
  // With plain_order, a row of states is a row of labels.
  if (g.plain_order) {
    int q = 0;
    for (; q + W <= g.Y; q += W) store(out + q, load(term + q));
    if (q < g.Y) store_part(out + q, load(term + q), g.Y - q);
    return;
  }
  for (int q = 0; q < g.Q; ++q) out[g.order[g.rank[q]]] += term[q];
}

}  // namespace caesura::CAESURA_ISA
