// Products with matrices of labels, over the panels that are not zero.
#pragma once

#include "base/vector.hpp"
#include "learn/design.hpp"

namespace caesura::CAESURA_ISA {

// y = x' m over one panel of B vectors, held in registers; two sums each, so that none waits.
template <int B>
inline void panel_product(const Panel& panel, const real* x, const real* m, int stride, real* y) {
  vec even[B], odd[B];
  for (int b = 0; b < B; ++b) even[b] = odd[b] = vec{};
  const real* columns = m + panel.begin * W;
  int k = 0;
  for (; panel.dense && k + 2 <= panel.count; k += 2, columns += 2 * stride) {
    const vec xi = splat(x[k]), xj = splat(x[k + 1]);
    for (int b = 0; b < B; ++b) {
      even[b] += xi * load(columns + b * W);
      odd[b] += xj * load(columns + stride + b * W);
    }
  }
  columns = m + panel.begin * W;
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

inline void product(const Panel* panels, int n_panels, const real* x, const real* m, int stride,
                    real* y) {
  for (int p = 0; p < n_panels; ++p) {
    switch (panels[p].width) {
      case 1:
        panel_product<1>(panels[p], x, m, stride, y);
        break;
      case 2:
        panel_product<2>(panels[p], x, m, stride, y);
        break;
      case 3:
        panel_product<3>(panels[p], x, m, stride, y);
        break;
      case 4:
        panel_product<4>(panels[p], x, m, stride, y);
        break;
      case 5:
        panel_product<5>(panels[p], x, m, stride, y);
        break;
      default:
        panel_product<6>(panels[p], x, m, stride, y);
        break;
    }
  }
}

// out[i][j] += sum over t of left[t][i] right[t][j], over the panels of a matrix.
template <int B>
inline void panel_outer(const Panel& panel, const real* left, const real* right, int count,
                        int stride, real* out) {
  for (int k = 0; k < panel.count; k += 2) {
    const int i = panel.sources[k], j = k + 1 < panel.count ? panel.sources[k + 1] : i;
    vec first[B], second[B];
    for (int b = 0; b < B; ++b) first[b] = second[b] = vec{};
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
    if (j == i) continue;
    to = out + j * stride + panel.begin * W;
    for (int b = 0; b < B; ++b) store(to + b * W, load(to + b * W) + second[b]);
  }
}

inline void outer(const Weights<real>& w, const real* left, const real* right, int count,
                  real* out) {
  for (int p = 0; p < w.n_panels; ++p) {
    switch (w.panels[p].width) {
      case 1:
        panel_outer<1>(w.panels[p], left, right, count, w.stride, out);
        break;
      case 2:
        panel_outer<2>(w.panels[p], left, right, count, w.stride, out);
        break;
      case 3:
        panel_outer<3>(w.panels[p], left, right, count, w.stride, out);
        break;
      case 4:
        panel_outer<4>(w.panels[p], left, right, count, w.stride, out);
        break;
      case 5:
        panel_outer<5>(w.panels[p], left, right, count, w.stride, out);
        break;
      default:
        panel_outer<6>(w.panels[p], left, right, count, w.stride, out);
        break;
    }
  }
}

}  // namespace caesura::CAESURA_ISA
