// The forward-backward algorithm for a linear chain in the linear domain, with a scale for each
// token.  The engine uses it for the marginals of chains, and learning for expected counts.
//
// The general sweeps work in the log domain; here a token costs Y exps and no logs, and the
// expected transitions are one matrix product at the end.
//
//   x[t]    = exp(emission[t] - c[t])   c[t]: the first score of the row, or its maximum
//   a[t]    = s[t] x[t] (W' a[t-1])     s[t] = 1 / sum of a[t-1],  a[0] = x[0] exp(start)
//   b[t-1]  = W (r[t] x[t] b[t])        r[t] = 1 / sum of r[t+1] x[t+1] b[t+1],  b[T-1] = exp(end)
//   z[t]    = sum over y of a[t, y] b[t, y]
//   P(t, y) = a[t, y] b[t, y] / z[t]
//   E(i, j) = W[i, j] sum over t of a[t-1, i] v[t, j],   v[t] = x[t] b[t] s[t] / z[t]
//   ln Z    = ln (a[T-1] . exp(end)) + sum over t of (c[t] - ln s[t])
//
// The scale is the sum of the row before and not of the current row, so that the division does not
// wait for the product.  a is computed upwards while b is computed downwards: two independent
// products use the processor better than one.
// For ln Z alone, only a is computed: letting both meet in the middle made ln Z of 5 labels 13 %
// faster, that of 22 labels no faster, and marginals of 22 labels 10 % slower.
//
// The engine's marginals are 4.1 times as fast as the general sweeps on 22 labels and 4.9 times on
// 5, ln Z 3.2 and 3.0 times, and learning, with features gathered and gradients added up, 4.1 and
// 5.1 times (lines "chain counts", "chain ln Z" and "chain counts in learning" of bench/twins.py).
//
// The sweeps return false if a number leaves the safe range or a score is NaN; the general sweeps
// must be used then.  In double precision a positive entry below kLeast is out of range too; in
// single precision, which is used for gradients only, it counts as 0.
#pragma once

#include <cmath>
#include <limits>

#include "base/interrupt.hpp"
#include "base/vector.hpp"
#include "base/workspace.hpp"
#include "infer/matrix_panels.hpp"
#include "lattice/lattice.hpp"

namespace caesura::CAESURA_ISA {

constexpr real kLeast = kDouble ? 1e-100 : 1e-30f;
constexpr real kMost = kDouble ? 1e200 : 1e25f;  // see within()
constexpr real kInfinity = std::numeric_limits<real>::infinity();

inline real* reals(Workspace& work, std::size_t count) {
  return reinterpret_cast<real*>(work.doubles((count * sizeof(real) + 7) / 8));
}

// Clamps v.  For a label that no start can reach, v has no meaning, but it is multiplied by 0 and
// so must be finite.  It is negative if the weight of the sequence is.
inline vec within(vec value) { return max(min(value, splat(kMost)), splat(-kMost)); }

// The exps of rows of `used` scores, written to rows of n numbers; the padding receives arbitrary
// finite numbers.  kPadded: the rows of scores have n numbers too.
template <bool kPadded>
struct RowExps {
  // A row whose scores all lie within kNear of the first one is taken relative to it, which saves a
  // maximum that all exps would wait for.  In double precision exp(60) is 1e26: products of three
  // such numbers and kLeast are safe.
  static constexpr real kNear = kDouble ? 60 : 12;
  // The lowest score relative to the maximum, other than -inf: exp(-230) is 1e-100.
  static constexpr real kLowest = kDouble ? -230 : -60;
  // Rows with larger scores are left to the general sweeps, which check them.
  static constexpr real kLarge = 1e9;

  int used, n;

  vec tail(const real* row, real rest) const {
    const int at = n - W;
    if (used == n) return load(row + at);
    if (kPadded) return lanes_in(at, 0, used) ? load(row + at) : splat(rest);
    return load_part(row + at, used - at, rest);
  }

  // out = exp(row - near).  Returns false if a score is not within kNear of it.
  bool near_exp(const real* row, real near, real* out) const {
    vec farthest = vec{};
    auto put = [&](int q, vec scores) {
      const vec gap = scores - near;
      farthest = max(farthest, gap * gap);
      store(out + q, exp(gap));
    };
    for (int q = 0; q + W < n; q += W) put(q, load(row + q));
    put(n - W, tail(row, near));
    return !any(~(farthest < kNear * kNear));
  }

  // out = exp(row - *most), *most = its maximum.  Returns false if the maximum is -inf, or if a
  // score other than -inf lies too far below it.
  bool scaled_exp(const real* row, real* out, real* most) const {
    const vec last = tail(row, -kInfinity);
    vec top = last;
    for (int q = 0; q + W < n; q += W) top = max(top, load(row + q));
    *most = max_of(top);
    ivec low = ivec{};
    for (int q = 0; q < n; q += W) {
      const vec gap = (q + W < n ? load(row + q) : last) - *most;
      low |= (gap < kLowest) & (gap > -kInfinity);
      store(out + q, exp(gap));
    }
    return *most > -kInfinity && !any(low);
  }

  // Computes x[t] of all tokens and adds c[t] to *log_z.  It is separate from the recursion, so
  // that the processor can overlap several tokens.  scores(t) returns the row of token t.
  template <class Scores>
  bool all(int T, Scores scores, real* x, Total* log_z) const {
    bool near = true;  // until one row is not: if a label is forbidden somewhere, most rows are not
    for (int t = 0; t < T; ++t, x += n) {
      if ((t + 1) % kPatience == 0) check_interrupt();
      const real* row = scores(t);
      real most = row[0];
      near = near && near_exp(row, most, x);
      if (!near && !scaled_exp(row, x, &most)) return false;
      if (!(std::abs(most) <= kLarge)) return false;
      log_z->add(most);
    }
    return true;
  }
};

// The scale of a recursion: the sum of its last row, and the logarithm of all sums so far, which is
// log + ln product.
struct ScaledRow {
  real sum = 1;          // of the row before
  double product = 1.0;  // of the sums since `log` was last added to
  ivec low = ivec{};     // lanes with an entry that is too small
  Total log;

  // out = row * factors / sum of the row before, *scale = 1 / that sum.  Returns false if the sum
  // of `out` leaves the safe range.
  bool advance(const real* row, const real* factors, int n, real* out, real* scale) {
    const real s = 1 / sum;
    *scale = s;
    product *= sum;
    vec total = vec{};
    for (int q = 0; q < n; q += W) {
      const vec value = load(row + q) * (load(factors + q) * s);
      store(out + q, value);
      total += value;
      if (kDouble) low |= (value < kLeast) & (value > 0);
    }
    sum = caesura::CAESURA_ISA::sum(total);
    if (product < 1e-100 || product > 1e100) {
      log.add(std::log(product));
      product = 1.0;
    }
    return sum > kLeast && sum < 1 / kLeast;
  }
};

class ScaledChain {
  static constexpr int kBlock = 64;  // tokens whose rows stay in the cache

 public:
  ScaledChain(const LabelWeights<real>& weights, int length, Workspace& work, bool wants_counts)
      : w(weights), T(length), n(weights.stride) {
    const std::size_t table = static_cast<std::size_t>(T) * n;
    x = reals(work, table);
    a = reals(work, wants_counts ? table : 2 * n);
    scale = reals(work, T);
    if (!wants_counts) return;
    b = reals(work, table);
    below = reals(work, n);
  }

  // x, [T][n], which must be filled before the sweeps.
  real* exps() const { return x; }

  // Adds ln Z to *log_z, without the constants that were taken out of the exps.  edges: [T][n][n]
  // the weights of the transitions at the boundary before each token, zero wherever those of w are;
  // null if all boundaries have the weights of w.
  bool forward(const real* edges, Total* log_z) {
    edge = edges;
    if (edge != nullptr || w.n_panels != 1 || !w.panels->dense)
      return forward_by(log_z, [&](int t, const real* before, real* now) {
        product(w.panels, w.n_panels, before, matrix(t), n, now);
      });
    const Panel& panel = *w.panels;
    return with_width(panel.width, [&](auto width) {  // chosen once, and not for every token
      return forward_by(log_z, [&](int, const real* before, real* now) {
        dense_product<width()>(panel, before, w.transition, n, now);
      });
    });
  }

  // The same; also calls put(t, q, values) for ascending t, where values are weight * P(t, y) for
  // the W labels from q on.  Unless `pairs` is null, adds to it as add_pairs() does, but each block
  // while it is in the cache; its contents are unspecified if the result is false.
  template <class Put>
  bool both(const real* edges, real weight, Total* log_z, Put put, real* pairs = nullptr) {
    edge = edges;
    if (!sweep(log_z)) return false;
    for (int t = 0; t < T; t += kBlock) {
      const int end = t + kBlock < T ? t + kBlock : T;
      if (!probabilities(t, end, weight, put)) return false;
      if (pairs != nullptr) add_block(t > 0 ? t : 1, end, pairs);
    }
    return true;
  }

  // After both(): out[i][j] += weight * E(i, j) / W[i, j]
  void add_pairs(real* out) const {
    for (int t = 1; t < T; t += kBlock) add_block(t, t + kBlock < T ? t + kBlock : T, out);
  }
  // The same with edges: replaces the weight of each transition by weight * P(pair) at that
  // boundary, and adds these to `total`.
  void count_edges(real* edges, real* total) const {
    for (int t = 1; t < T; ++t) {
      real* m = edges + static_cast<std::ptrdiff_t>(t) * n * n;
      for (int i = 0; i < w.Y; ++i, m += n) {
        const vec left = splat(row(a, t - 1)[i]);
        for (int q = 0; q < n; q += W) {
          const vec count = load(m + q) * load(row(b, t) + q) * left;
          store(m + q, count);
          store(total + i * n + q, load(total + i * n + q) + count);
        }
      }
    }
  }
  // weight * P(label i of token t - 1 and label j of token t), without edges.
  real pair(int t, int i, int j) const {
    return row(a, t - 1)[i] * w.transition[i * n + j] * row(b, t)[j];
  }
  // sum over j of pair(t, i, j) factors[j]
  real pairs_after(int t, int i, const real* factors) const {
    const vec left = splat(row(a, t - 1)[i]);
    vec total = vec{};
    for (int q = 0; q < n; q += W)
      total += left * load(w.transition + i * n + q) * load(row(b, t) + q) * load(factors + q);
    return sum(total);
  }
  // sum over i of pair(t, i, j) factors[i]
  real pairs_before(int t, int j, const real* factors) const {
    const vec right = splat(row(b, t)[j]);
    vec total = vec{};
    for (int q = 0; q < n; q += W)
      total += load(row(a, t - 1) + q) * load(w.transposed + j * n + q) * right * load(factors + q);
    return sum(total);
  }

 private:
  const LabelWeights<real>& w;
  const int T, n;
  const real* edge = nullptr;
  real* x;                // [T][n]
  real* a;                // [T][n], or two rows if counts are not wanted
  real* scale;            // [T] s
  real* b = nullptr;      // [T][n] b, then v
  real* below = nullptr;  // [n] r[t] x[t] b[t]

  real* row(real* rows, int t) const { return rows + static_cast<std::ptrdiff_t>(t) * n; }
  const real* matrix(int t) const {
    return edge == nullptr ? w.transition : edge + static_cast<std::ptrdiff_t>(t) * n * n;
  }

  // Calls step(t, a[t - 1], out), which sets out = W' a[t - 1].
  template <class Step>
  bool forward_by(Total* log_z, Step step) {
    ScaledRow up;
    for (int t = 0; t < T; ++t) {  // only two rows of a are kept
      if ((t + 1) % kPatience == 0) check_interrupt();
      real* now = row(a, t & 1);
      if (t > 0) step(t, row(a, ~t & 1), now);
      if (!up.advance(t > 0 ? now : w.first, row(x, t), n, now, &scale[t])) return false;
    }
    return finish(up, row(a, (T - 1) % 2), log_z);
  }

  // Computes a[t] upwards and b[t] downwards in one loop, and adds ln Z to *log_z.
  bool sweep(Total* log_z) {
    ScaledRow up, down;
    real unused;
    for (int q = 0; q < n; q += W) store(row(b, T - 1) + q, load(w.last + q));
    if (!up.advance(w.first, x, n, a, &scale[0])) return false;
    for (int t = 1; t < T; ++t) {
      const int u = T - t;  // b[u - 1] from b[u]
      if (t % kPatience == 0) check_interrupt();
      if (!down.advance(row(b, u), row(x, u), n, below, &unused)) return false;
      if (edge == nullptr) {
        two_products({w.panels, row(a, t - 1), w.transition, row(a, t)},
                     {w.back_panels, below, w.transposed, row(b, u - 1)}, w.n_panels, n);
      } else {
        product(w.panels, w.n_panels, row(a, t - 1), matrix(t), n, row(a, t));
        pass_back(matrix(u), row(b, u - 1));
      }
      if (!up.advance(row(a, t), row(x, t), n, row(a, t), &scale[t])) return false;
    }
    return !any(down.low) && finish(up, row(a, T - 1), log_z);
  }

  // out[i] = sum over j of m[i][j] below[j], because edges have no transposes.
  void pass_back(const real* m, real* out) const {
    for (int i = 0; i < w.Y; ++i, m += n) {
      vec total = vec{};
      for (int q = 0; q < n; q += W) total += load(m + q) * load(below + q);
      out[i] = sum(total);
    }
    for (int i = w.Y; i < n; ++i) out[i] = 0;
  }

  // Adds ln Z, from the last row of a, to *log_z.
  bool finish(const ScaledRow& up, const real* end, Total* log_z) const {
    if (any(up.low)) return false;
    vec total = vec{};
    for (int q = 0; q < n; q += W) total += load(end + q) * load(w.last + q);
    const real z = sum(total);
    if (!(z > kLeast && z < kInfinity)) return false;
    log_z->add(up.log.value());
    log_z->add(std::log(up.product));
    log_z->add(std::log(static_cast<double>(z)));
    return true;
  }

  // In double precision x b is below 1e213 (exps of tokens are below 1e26, sums below 1e100, exps
  // of transitions below 1e87), so v is finite even for labels that no start can reach.
  static constexpr real kMostScale = kDouble ? 1e90 : kMost;

  // Adds the pairs at the boundaries before the tokens [begin, end).
  void add_block(int begin, int end, real* out) const {
    if (begin < end)
      outer(w.panels, w.n_panels, row(a, begin - 1), row(b, begin), end - begin, n, out);
  }

  // Passes weight * P(t, y) of the tokens [begin, end) to `put`, and replaces b[t] by weight v[t].
  template <class Put>
  bool probabilities(int begin, int end, real weight, Put put) const {
    for (int t = begin; t < end; ++t) {
      if ((t + 1) % kPatience == 0) check_interrupt();
      real *forward = row(a, t), *back = row(b, t), *token = row(x, t);
      vec total = vec{};
      for (int q = 0; q < n; q += W) total += load(forward + q) * load(back + q);
      const real z = sum(total);
      if (!(z > kLeast && z < kInfinity)) return false;
      const real share = weight / z, s = scale[t] * share;
      if (!(std::abs(s) < kMostScale)) return false;
      for (int q = 0; q < n; q += W) {
        const vec later = load(back + q);
        put(t, q, load(forward + q) * later * share);
        const vec begun = load(token + q) * later * s;
        store(back + q, kDouble ? begun : within(begun));
      }
    }
    return true;
  }
};

}  // namespace caesura::CAESURA_ISA
