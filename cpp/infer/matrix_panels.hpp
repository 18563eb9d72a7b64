// Products with matrices over pairs of labels, panel by panel, which skip rows that are zero.
//
//   y[j]      = sum over i of x[i] m[i][j]              product, two_products
//   out[i][j] += sum over t of left[t][i] right[t][j]   outer
//
// A panel is a few adjacent columns of the matrix, as many as fit in registers, with the rows that
// are not zero in them (label_weights.hpp): rows of forbidden transitions cost nothing.
#pragma once

#include <type_traits>

#include "base/vector.hpp"
#include "lattice/label_weights.hpp"

namespace caesura::CAESURA_ISA {

// dense_product and listed_product compute y[j] = sum over i of x[i] m[i][j] for the columns j of
// one panel of B vectors.  The sums are held in registers, two for each vector, so that successive
// additions are independent.

// A dense panel has all rows, in order.  The product is computed for every token of a chain: out of
// line, or in one function with listed_product, ln Z of 22 labels took 5 to 9 % longer
// (bench/chain.py).
template <int B>
__attribute__((always_inline)) inline void dense_product(const Panel& panel, const real* x,
                                                         const real* m, int stride, real* y) {
  vec even[B], odd[B];
  for (int b = 0; b < B; ++b) even[b] = odd[b] = vec{};
  const real* columns = m + panel.begin * W;
  const int count = panel.count;
  int i = 0;
  // even[j] += x[i] m[i][j],  odd[j] += x[i + 1] m[i + 1][j]
  for (; i + 2 <= count; i += 2, columns += 2 * stride) {
    const vec xi = splat(x[i]), xj = splat(x[i + 1]);
    for (int b = 0; b < B; ++b) {
      even[b] += xi * load(columns + b * W);
      odd[b] += xj * load(columns + stride + b * W);
    }
  }
  if (i < count) {  // the number of rows is odd
    const vec xi = splat(x[i]);
    for (int b = 0; b < B; ++b) even[b] += xi * load(columns + b * W);
  }
  for (int b = 0; b < B; ++b) store(y + (panel.begin + b) * W, even[b] + odd[b]);
}

// In any other panel, all rows but those that it lists are zero.
template <int B>
__attribute__((noinline)) void listed_product(const Panel& panel, const real* x, const real* m,
                                              int stride, real* y) {
  vec even[B], odd[B];
  for (int b = 0; b < B; ++b) even[b] = odd[b] = vec{};
  const real* columns = m + panel.begin * W;
  int k = 0;
  // even[j] += x[i] m[i][j],  odd[j] += x[i'] m[i'][j],  i' the next row of the list
  for (; k + 2 <= panel.count; k += 2) {
    const int i = panel.sources[k], j = panel.sources[k + 1];
    const vec xi = splat(x[i]), xj = splat(x[j]);
    for (int b = 0; b < B; ++b) {
      even[b] += xi * load(columns + i * stride + b * W);
      odd[b] += xj * load(columns + j * stride + b * W);
    }
  }
  if (k < panel.count) {
    const int i = panel.sources[k];
    const vec xi = splat(x[i]);
    for (int b = 0; b < B; ++b) even[b] += xi * load(columns + i * stride + b * W);
  }
  for (int b = 0; b < B; ++b) store(y + (panel.begin + b) * W, even[b] + odd[b]);
}

template <int B>
__attribute__((always_inline)) inline void panel_product(const Panel& panel, const real* x,
                                                         const real* m, int stride, real* y) {
  if (panel.dense)
    dense_product<B>(panel, x, m, stride, y);
  else
    listed_product<B>(panel, x, m, stride, y);
}

// Calls use(width) with the width as a compile-time constant, so that the vectors of a panel are
// held in registers.  The sixteen registers of AVX2 have room for six vectors with two sums each;
// wider matrices are split into several panels.
template <class Use>
inline auto with_width(int width, Use use) {
  switch (width) {
    case 1:
      return use(std::integral_constant<int, 1>{});
    case 2:
      return use(std::integral_constant<int, 2>{});
    case 3:
      return use(std::integral_constant<int, 3>{});
    case 4:
      return use(std::integral_constant<int, 4>{});
    case 5:
      return use(std::integral_constant<int, 5>{});
    default:
      return use(std::integral_constant<int, 6>{});
  }
}

// y[j] = sum over i of x[i] m[i][j] over all panels.  x: [rows], m: [rows][stride], y: [stride]
inline void product(const Panel* panels, int n_panels, const real* x, const real* m, int stride,
                    real* y) {
  for (int p = 0; p < n_panels; ++p) {
    with_width(panels[p].width,
               [&](auto width) { panel_product<width()>(panels[p], x, m, stride, y); });
  }
}

// The product y = x' m of a row x and a matrix m with its panels.
struct Factor {
  const Panel* panels;
  const real *x, *m;
  real* y;
};

// Computes two products at once, y1 = x1' m1 and y2 = x2' m2, over panels of the same width B.
// They are independent of each other, so that one sum for each vector is enough if both panels are
// dense; otherwise they are computed one after the other.
template <int B>
inline void two_panel_products(const Panel& p1, const Factor& f1, const Panel& p2, const Factor& f2,
                               int stride) {
  if (!p1.dense || !p2.dense) {
    panel_product<B>(p1, f1.x, f1.m, stride, f1.y);
    panel_product<B>(p2, f2.x, f2.m, stride, f2.y);
    return;
  }
  // Both panels have the same rows, i = 0, ..., count - 1.
  vec first[B], second[B];
  for (int b = 0; b < B; ++b) first[b] = second[b] = vec{};
  const real *m1 = f1.m + p1.begin * W, *m2 = f2.m + p2.begin * W;
  // y1[j] += x1[i] m1[i][j],  y2[j] += x2[i] m2[i][j]
  for (int i = 0; i < p1.count; ++i, m1 += stride, m2 += stride) {
    const vec u = splat(f1.x[i]), v = splat(f2.x[i]);
    for (int b = 0; b < B; ++b) {
      first[b] += u * load(m1 + b * W);
      second[b] += v * load(m2 + b * W);
    }
  }
  for (int b = 0; b < B; ++b) {
    store(f1.y + (p1.begin + b) * W, first[b]);
    store(f2.y + (p2.begin + b) * W, second[b]);
  }
}

// Both matrices must have the same size and panels of the same widths.
inline void two_products(const Factor& f1, const Factor& f2, int n_panels, int stride) {
  for (int p = 0; p < n_panels; ++p) {
    with_width(f1.panels[p].width, [&](auto width) {
      two_panel_products<width()>(f1.panels[p], f1, f2.panels[p], f2, stride);
    });
  }
}

// out[i][j] += sum over t of left[t][i] right[t][j] for the rows i of one panel and its columns j:
// two rows at a time, so that each vector of `right` is loaded once for both.
template <int B>
inline void panel_outer(const Panel& panel, const real* left, const real* right, int count,
                        int stride, real* out) {
  for (int k = 0; k < panel.count; k += 2) {
    const int i = panel.sources[k], j = k + 1 < panel.count ? panel.sources[k + 1] : i;
    vec first[B], second[B];
    for (int b = 0; b < B; ++b) first[b] = second[b] = vec{};
    // first[j] += left[t][i] right[t][j],  second[j] += left[t][i'] right[t][j],  i' the next row
    for (int t = 0; t < count; ++t) {
      const real* l = left + static_cast<std::ptrdiff_t>(t) * stride;
      const real* r = right + static_cast<std::ptrdiff_t>(t) * stride + panel.begin * W;
      const vec x = splat(l[i]), y = splat(l[j]);
      for (int b = 0; b < B; ++b) {
        first[b] += x * load(r + b * W);
        second[b] += y * load(r + b * W);
      }
    }
    real* to = out + i * stride + panel.begin * W;
    for (int b = 0; b < B; ++b) store(to + b * W, load(to + b * W) + first[b]);
    // If the number of rows is odd, the last one was computed twice and is added once.
    if (j == i) continue;
    to = out + j * stride + panel.begin * W;
    for (int b = 0; b < B; ++b) store(to + b * W, load(to + b * W) + second[b]);
  }
}

// The same over all panels of a matrix: the expected transitions of a sequence, where left[t] is
// the forward row before a boundary and right[t] the backward row after it.  left, right:
// [count][stride], out: [stride][stride].  It costs O(count Y^2), as the sweeps do, but the sums
// stay in registers over all tokens.
inline void outer(const Panel* panels, int n_panels, const real* left, const real* right, int count,
                  int stride, real* out) {
  for (int p = 0; p < n_panels; ++p) {
    with_width(panels[p].width, [&](auto width) {
      panel_outer<width()>(panels[p], left, right, count, stride, out);
    });
  }
}

}  // namespace caesura::CAESURA_ISA
