// The step over label history at one boundary: from segments that end there to segments that start.
//
//   hat[q] = entry[q] + log sum over arcs (p, q) of exp(alpha[p] + transition[label p, label q])
//
// alpha is at most 0, since it is relative to the largest entry of its boundary.  The sum is
// therefore taken over exp(alpha), with one multiplication per arc.  Where the result is so small
// that digits may be lost to underflow, it is recomputed in the log domain.
#pragma once

#include <cmath>

#include "base/vector.hpp"
#include "base/workspace.hpp"
#include "lattice/lattice.hpp"
#include "lattice/rows.hpp"

namespace caesura::CAESURA_ISA {

constexpr double kSmall = 1e-280;  // smaller sums are recomputed; lost terms are below 1e-308
// An edge potential may raise a log weight this far above `top` before all weights are rescaled.
// Lost terms grow by at most the same factor, e^20.
constexpr double kSpread = 20.0;

// Sets the sums to zero one by one, because `vec sums[B] = {}` is written to memory and read back.
template <int B>
inline void clear(vec* first, vec* second) {
  for (int b = 0; b < B; ++b) first[b] = second[b] = vec{};
}

// y[j] = sum over i of x[i] m[i][j], B vectors of j at a time, held in registers.
template <int B>
inline void product_block(const double* x, const double* m, int n, int stride, double* y) {
  vec even[B], odd[B];  // two sums each, so that successive additions are independent
  clear<B>(even, odd);
  int i = 0;
  // even[j] += x[i] m[i][j],  odd[j] += x[i + 1] m[i + 1][j]
  for (; i + 2 <= n; i += 2) {
    const vec xi = splat(x[i]), xj = splat(x[i + 1]);
    const double* row = m + static_cast<std::ptrdiff_t>(i) * stride;
    for (int b = 0; b < B; ++b) {
      even[b] += xi * load(row + b * W);
      odd[b] += xj * load(row + stride + b * W);
    }
  }
  if (i < n) {  // the number of rows is odd
    const vec xi = splat(x[i]);
    const double* row = m + static_cast<std::ptrdiff_t>(i) * stride;
    for (int b = 0; b < B; ++b) even[b] += xi * load(row + b * W);
  }
  for (int b = 0; b < B; ++b) store(y + b * W, even[b] + odd[b]);
}

// y = x' m, in the widest blocks that fit.  x: [n], m: [n][stride], y: [stride], where stride is a
// multiple of 2 W.
inline void product(const double* x, const double* m, int n, int stride, double* y) {
  int j = 0;
  for (; j + 6 * W <= stride; j += 6 * W) product_block<6>(x, m + j, n, stride, y + j);
  for (; j + 4 * W <= stride; j += 4 * W) product_block<4>(x, m + j, n, stride, y + j);
  for (; j + 2 * W <= stride; j += 2 * W) product_block<2>(x, m + j, n, stride, y + j);
}

// Adds two rows of the sum in add_outer, for B vectors of columns:
//
//   out[0][j] += sum over t of left[t][0] right[t][j]
//   out[1][j] += sum over t of left[t][1] right[t][j]
template <int B>
inline void add_outer_block(const double* left, const double* right, int count, int stride,
                            double* out) {
  vec first[B], second[B];
  clear<B>(first, second);
  for (int t = 0; t < count; ++t) {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(t) * stride;
    const vec x = splat(left[at]), y = splat(left[at + 1]);
    for (int b = 0; b < B; ++b) {
      const vec z = load(right + at + b * W);
      first[b] += x * z;
      second[b] += y * z;
    }
  }
  for (int b = 0; b < B; ++b) {
    store(out + b * W, load(out + b * W) + first[b]);
    store(out + stride + b * W, load(out + stride + b * W) + second[b]);
  }
}

// out[i][j] += sum over t of left[t][i] right[t][j], for i < n with n rounded up to an even number.
// Tokens are processed in blocks, so that their rows stay in the L1 cache.
inline void add_outer(const double* left, const double* right, int count, int n, int stride,
                      double* out) {
  constexpr int kTokens = 64;
  for (int t = 0; t < count; t += kTokens) {
    const int some = count - t < kTokens ? count - t : kTokens;
    const double* x = left + static_cast<std::ptrdiff_t>(t) * stride;
    const double* y = right + static_cast<std::ptrdiff_t>(t) * stride;
    for (int i = 0; i < n; i += 2) {
      double* rows = out + static_cast<std::ptrdiff_t>(i) * stride;
      int j = 0;
      for (; j + 6 * W <= stride; j += 6 * W)
        add_outer_block<6>(x + i, y + j, some, stride, rows + j);
      for (; j + 4 * W <= stride; j += 4 * W)
        add_outer_block<4>(x + i, y + j, some, stride, rows + j);
      for (; j + 2 * W <= stride; j += 2 * W)
        add_outer_block<2>(x + i, y + j, some, stride, rows + j);
    }
  }
}

// The weights of all label pairs at the current boundary.  Rows and columns are ranks of labels
// (Lattice::order); rows of states have `g.stride` numbers.  In a first-order model states are
// labels, and the step is a vector-matrix product; otherwise it follows the arcs into each state.
struct Arcs {
  const Lattice& g;
  int n;                   // labels
  int stride;              // of the label matrices
  double* log_weight;      // [Y][stride] transition[order[i], order[j]]
  double* weight;          // [Y][stride] exp(log_weight - top)
  double* transposed;      // [stride][stride] its transpose
  double top = 0.0;        // the largest transition
  double* linear;          // [row stride] exp(alpha)
  double* sums;            // [row stride]
  std::int32_t* by_label;  // [Y] label -> rank

  Arcs(const Lattice& lattice, Workspace& work)
      : g(lattice), n(lattice.Y), stride(lattice.label_stride) {
    const std::size_t size = static_cast<std::size_t>(stride) * stride;
    log_weight = work.doubles(size);
    weight = work.doubles(size);
    transposed = work.doubles(size);
    linear = work.doubles(g.stride);
    sums = work.doubles(g.stride);
    by_label = work.ints(n);
    for (int r = 0; r < n; ++r) by_label[g.order[r]] = r;
    // The padding stays -inf, so that its weights are 0.
    fill(log_weight, static_cast<int>(size), kMinusInfinity);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        const bool barred = i == j && !g.same_label_adjacent;
        log_weight[i * stride + j] =
            barred ? kMinusInfinity : g.transition[g.order[i] * g.Y + g.order[j]];
      }
    }
    rescale();
  }

  // Computes top = max of log_weight, weight = exp(log_weight - top), and its transpose.  No weight
  // exceeds 1, so sums cannot overflow.
  void rescale() {
    const int size = stride * stride;
    vec most = splat(kMinusInfinity);
    for (int i = 0; i < size; i += W) most = max(most, load(log_weight + i));
    top = max_of(most);
    if (top == kMinusInfinity) top = 0.0;
    for (int i = 0; i < size; i += W) store(weight + i, exp(load(log_weight + i) - top));
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) transposed[j * stride + i] = weight[i * stride + j];
    }
    // The transpose is read in whole vectors, so its padding must be 0.
    for (int j = 0; j < stride; ++j) {
      for (int i = j < n ? n : 0; i < stride; ++i) transposed[j * stride + i] = 0.0;
    }
  }

  // Sets one pair in all three matrices; `top` does not change.
  void set(int i, int j, double log_value) {
    log_weight[i * stride + j] = log_value;
    const double value = std::exp(log_value - top);
    weight[i * stride + j] = transposed[j * stride + i] = value;
  }

  bool has_edges(int t) const { return g.by_position[t] < g.by_position[t + 1]; }

  // Adds the edge potentials of boundary t to the weights; unpatch() removes them.
  //
  //   log_weight[p, q] = transition[p, q] + sum of the scores of the edges (p, q) at t
  //
  // Only the entries of these pairs change, and `top` stays unless one of them is far above it.
  void patch(int t) {
    double highest = kMinusInfinity;
    for (int k = g.by_position[t]; k < g.by_position[t + 1]; ++k) {
      const Edge& edge = g.edges[k];
      double& w = log_weight[edge.previous * stride + edge.label];
      w += edge.score;
      highest = w > highest ? w : highest;
    }
    // Multiplied by a weight far above 1, terms lost to underflow would not be negligible.
    if (highest - top > kSpread) {
      rescale();
      return;
    }
    for (int k = g.by_position[t]; k < g.by_position[t + 1]; ++k) {
      const Edge& edge = g.edges[k];
      set(edge.previous, edge.label, log_weight[edge.previous * stride + edge.label]);
    }
  }
  // old_top: `top` before patch().  If it has changed, all weights are recomputed.
  void unpatch(int t, double old_top) {
    for (int k = g.by_position[t]; k < g.by_position[t + 1]; ++k) {
      const Edge& edge = g.edges[k];
      const bool barred = edge.previous == edge.label && !g.same_label_adjacent;
      log_weight[edge.previous * stride + edge.label] =
          barred ? kMinusInfinity
                 : g.transition[g.order[edge.previous] * g.Y + g.order[edge.label]];
    }
    if (top != old_top) {
      rescale();
      return;
    }
    for (int k = g.by_position[t]; k < g.by_position[t + 1]; ++k) {
      const Edge& edge = g.edges[k];
      set(edge.previous, edge.label, log_weight[edge.previous * stride + edge.label]);
    }
  }

  // The score that static patterns add where a segment in state q begins, and the log weight of
  // the arc (p, q).
  double entry(int q) const { return g.entry == nullptr ? 0.0 : g.entry[q]; }
  double pair(int p, int q) const { return log_weight[g.rank[p] * stride + g.rank[q]]; }

  // Calls visit(p) for the source p of each arc into q.
  template <class Visit>
  void sources(int q, Visit visit) const {
    if (g.in_ptr == nullptr) {
      for (int p = 0; p < g.Q; ++p) visit(p);
    } else {
      for (int k = g.in_ptr[q]; k < g.in_ptr[q + 1]; ++k) visit(g.in_state[k]);
    }
  }

  // hat[q] = most + ln sum over arcs of exp(alpha[p] + w[p, q] - most) + entry[q], in two passes
  // over the arcs, of which the first finds the largest term.
  double careful(const double* alpha, int q) const {
    double most = kMinusInfinity;
    sources(q, [&](int p) { most = std::fmax(most, alpha[p] + pair(p, q)); });
    if (most == kMinusInfinity) return kMinusInfinity;
    double total = 0.0;
    sources(q, [&](int p) { total += std::exp(alpha[p] + pair(p, q) - most); });
    return most + std::log(total) + entry(q);
  }

  // linear[q] = exp(alpha[q]), which is at most 1
  void to_linear(const double* alpha) const {
    for (int q = 0; q < g.stride; q += W) store(linear + q, exp(load(alpha + q)));
  }

  // sums[q] = sum over arcs (p, q) of linear[p] weight[p, q]
  void sum_linear() const {
    if (g.in_ptr == nullptr) {
      product(linear, weight, n, stride, sums);
    } else {
      // The column of q is read as a row of the transpose, which is contiguous.
      for (int q = 0; q < g.Q; ++q) {
        const double* column = transposed + g.rank[q] * stride;
        double total = 0.0;
        for (int k = g.in_ptr[q]; k < g.in_ptr[q + 1]; ++k) {
          total += linear[g.in_state[k]] * column[g.rank[g.in_state[k]]];
        }
        sums[q] = total;
      }
      for (int q = g.Q; q < g.stride; ++q) sums[q] = 0.0;
    }
  }

  // Computes a hat row from an alpha row; both are relative to the same base.
  void forward(const double* alpha, double* hat) const {
    to_linear(alpha);
    sum_linear();
    // hat[q] = ln(sums[q]) + top + entry[q], recomputed by careful() where sums[q] is too small
    bool small = false;
    for (int q = 0; q < g.stride; q += W) {
      const vec s = load(sums + q);
      vec value = log(s) + top;
      if (g.entry != nullptr) value += load(g.entry + q);
      store(hat + q, value);
      const ivec below = (s < kSmall) & lanes_in(q, 0, g.Q);
      small |= any(below);
    }
    if (!small) return;
    for (int q = 0; q < g.Q; ++q) {
      if (sums[q] < kSmall) hat[q] = careful(alpha, q);
    }
  }

  // Returns the source of q that comes first among those with the value `best`.  It is not part of
  // the loop that finds the maximum, because ties are rare and that loop has no branches this way.
  template <class First>
  [[gnu::noinline]] int first_of_tied(const double* alpha, int q, double best,
                                      First comes_first) const {
    int from = -1;
    for (int k = g.in_ptr[q]; k < g.in_ptr[q + 1]; ++k) {
      const int p = g.in_state[k];
      if (alpha[p] + pair(p, q) != best) continue;
      if (from < 0 || comes_first(p, from)) from = p;
    }
    return from;
  }

  // As forward(), with the maximum in place of the sum; previous[q] is the best source.  Ties go to
  // the smallest label; comes_first(a, b) decides between states with the same label.
  template <class First>
  void forward_best(const double* alpha, double* hat, std::int32_t* previous,
                    First comes_first) const {
    if (g.in_ptr == nullptr) {
      //   hat[q] = entry[q] + max over p of alpha[p] + transition[p, q]
      //
      // One vector of q at a time; the source is kept as a double, which is exact.  Sources are
      // visited in the order of their labels, and the first of equals is kept.
      for (int q = 0; q < stride; q += W) {
        vec best = splat(kMinusInfinity), from = vec{};
        for (int y = 0; y < n; ++y) {
          const int p = by_label[y];
          const vec value = alpha[p] + load(log_weight + p * stride + q);
          const ivec better = value > best;
          best = better ? value : best;
          from = better ? splat(p) : from;
        }
        if (g.entry != nullptr) best += load(g.entry + q);
        store(hat + q, best);
        for (int i = 0; i < W; ++i) previous[q + i] = static_cast<std::int32_t>(from[i]);
      }
      return;
    }
    for (int q = 0; q < g.Q; ++q) {
      double best = kMinusInfinity;
      int from = 0;
      bool tied = false;  // two terms were equal, though perhaps not the best ones
      // hat[q] = max over arcs of alpha[p] + w[p, q].
      for (int k = g.in_ptr[q]; k < g.in_ptr[q + 1]; ++k) {
        const int p = g.in_state[k];
        const double value = alpha[p] + pair(p, q);
        tied |= value == best;
        if (value > best) best = value, from = p;
      }
      if (tied && best > kMinusInfinity) from = first_of_tied(alpha, q, best, comes_first);
      hat[q] = best + entry(q);
      previous[q] = from;
    }
    fill_tail(hat);
  }
  // The entries from Q on are padding.
  void fill_tail(double* row) const {
    for (int q = g.Q; q < g.stride; ++q) row[q] = kMinusInfinity;
  }
};

}  // namespace caesura::CAESURA_ISA
