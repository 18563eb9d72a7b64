// From the scores of rows to the numbers that the kernels of learning multiply.
#pragma once

#include "base/vector.hpp"
#include "infer/scaled_chain.hpp"
#include "learn/design.hpp"

namespace caesura::CAESURA_ISA {

// Scores of tokens and sites beyond these limits, and entries of rows below kLeast, are left to the
// general sweeps.
constexpr real kFarthest = kDouble ? 100 : 60;
constexpr real kFarthestSite = kDouble ? 30 : 15;
constexpr real kNothing = kDouble ? 1e-300 : 1e-37f;  // replaces 0 in a denominator

inline void fill(real* row, std::ptrdiff_t n, real x) {
  for (std::ptrdiff_t q = 0; q < n; q += W) store(row + q, splat(x));
}
inline void multiply(real* row, const real* by, int n) {
  for (int q = 0; q < n; q += W) store(row + q, load(row + q) * load(by + q));
}
inline void add(real* row, const real* more, std::ptrdiff_t n) {
  for (std::ptrdiff_t q = 0; q < n; q += W) store(row + q, load(row + q) + load(more + q));
}

// Applies the costs and constraints of token t to its scores.
inline void apply(const Known& known, int t, int Y, real* scores) {
  if (known.cost != nullptr) {
    for (int y = 0; y < Y; ++y)
      scores[y] += static_cast<real>(known.cost[static_cast<std::ptrdiff_t>(t) * Y + y]);
  }
  if (known.allowed != nullptr) {
    for (int y = 0; y < Y; ++y) {
      if (!known.allowed[static_cast<std::ptrdiff_t>(t) * Y + y]) scores[y] = -kInfinity;
    }
  }
}

// Replaces all scores by their exps.  Rows have n lanes, of which the first `used` hold labels.
// Each token lies in exactly one segment, so its row can be scaled by its maximum.  Returns false
// if a score is out of range.
inline bool exponentials(real* x, int T, int n_sites, int n, int used, double* log_scale) {
  ivec far = ivec{};
  // exp(score[t, q] - max over q of score[t, q]); the maxima are added to ln Z.
  const int tail = n - W;  // the last vector, which has the unused lanes
  for (int t = 0; t < T; ++t) {
    real* scores = x + static_cast<std::ptrdiff_t>(t) * n;
    // Unused lanes may hold any value; they become -inf, so that their exps are 0.
    const vec last = lanes_in(tail, 0, used) ? load(scores + tail) : splat(-kInfinity);
    vec top = last;
    for (int q = 0; q < tail; q += W) top = max(top, load(scores + q));
    const real most = max_of(top);
    if (!(most > -std::numeric_limits<real>::max())) return false;
    *log_scale += most;
    for (int q = 0; q < n; q += W) {
      const vec gap = (q < tail ? load(scores + q) : last) - most;
      far |= (gap < -kFarthest) & (gap > -kInfinity);
      store(scores + q, exp(gap));
    }
  }
  real* sites = x + static_cast<std::ptrdiff_t>(T) * n;
  // Rows of sites are not scaled, because a segmentation may or may not use a site.  A score of
  // -inf is out of range too and left to the general sweeps.
  for (std::ptrdiff_t q = 0; q < static_cast<std::ptrdiff_t>(n_sites) * n; q += W) {
    const vec score = load(sites + q);
    far |= (score < -kFarthestSite) | (score > kFarthestSite);
    store(sites + q, exp(score));
  }
  return !any(far);
}

}  // namespace caesura::CAESURA_ISA
