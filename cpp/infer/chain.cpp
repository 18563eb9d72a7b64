// The linear chain, a rung of its own: segments of length 1, one state a label.
//
// The general sweeps keep logarithms; here rows are plain numbers with a running scale, so a token
// costs Y exps and no logs, and the expected transitions are one matrix product at the end.  On 22
// labels this is 5.2 times as fast as the general sweeps for counts and 3.5 times for ln Z (lines
// "chain counts" and "chain ln Z" of bench/twins.py).  The chain kernel of learning, asked through
// this entry instead, takes 1.20 and 1.32 times as long: it takes the maximum of each row before
// its exps, and does not run both directions at once.
//
//   a[t]    = s[t] x[t] (W' a[t-1])     x[t] = exp(emission[t] - its maximum)
//   b[t-1]  = r[t] W (x[t] b[t])        W = exp(transition - top)
//   P(t, y) = a[t, y] b[t, y] / z[t]    z[t] = sum over y of a[t, y] b[t, y]
//   E(i, j) = W[i, j] sum over t of a[t-1, i] v[t, j],  v[t] = x[t] b[t] s[t] / z[t]
//
// The scales s and r are the sums of the row before, so that a division never waits for a product.
// a runs up while b runs down: two independent products keep the processor busy.
//
// All numbers stay between 1e-300 and 1e300 as long as no entry that can occur is below 1e-100 of
// its row; where one is, or a score is NaN, the kernel returns false and the general sweeps answer.

#include <cmath>
#include <limits>

#include "infer/arcs.hpp"
#include "infer/kernels.hpp"
#include "lattice/rows.hpp"

namespace caesura::CAESURA_ISA {
namespace {

constexpr double kLowest = -230.0;  // exp of it is 1e-100
constexpr double kLeast = 1e-100;
constexpr double kLarge = 1e9;  // scores of this size are left to the general sweeps, and checked
constexpr double kNear =
    60.0;  // exp of it is 1e26: products of three such numbers and kLeast are safe

double max_of_row(const double* row, int n) {
  const int whole = n / W * W;
  vec top = load_part(row + whole, n - whole, kMinusInfinity);
  for (int q = 0; q < whole; q += W) top = max(top, load(row + q));
  return max_of(top);
}

// out = exp(row - near), n entries and then ones; false if an entry is not within kNear of it.
inline bool near_exp(const double* row, int n, int stride, double near, double* out) {
  const int whole = n / W * W;
  vec farthest = vec{};
  int q = 0;
  for (; q < whole; q += W) {
    const vec gap = load(row + q) - near;
    farthest = max(farthest, gap * gap);
    store(out + q, exp(gap));
  }
  if (q < n) {
    const vec gap = load_part(row + whole, n - whole, near) - near;
    farthest = max(farthest, gap * gap);
    store(out + q, exp(gap));
    q += W;
  }
  for (; q < stride; q += W) store(out + q, splat(1.0));
  return !any(~(farthest < kNear * kNear));
}

// out = exp(row - most), n entries and then zeros.  Lanes of the result are set where an entry that
// is not -inf lies too far below.
inline ivec scaled_exp(const double* row, int n, int stride, double most, double* out) {
  const int whole = n / W * W;
  ivec low = ivec{};
  int q = 0;
  for (; q < whole; q += W) {
    const vec gap = load(row + q) - most;
    low |= (gap < kLowest) & (gap > kMinusInfinity);
    store(out + q, exp(gap));
  }
  if (q < n) {
    const vec gap = load_part(row + whole, n - whole, kMinusInfinity) - most;
    low |= (gap < kLowest) & (gap > kMinusInfinity);
    store(out + q, exp(gap));
    q += W;
  }
  for (; q < stride; q += W) store(out + q, vec{});
  return low;
}

// The same with the row's own maximum; false where it will not do.
bool scaled_exp(const double* row, int n, int stride, double* out, double* most) {
  *most = max_of_row(row, n);
  return *most > kMinusInfinity && !any(scaled_exp(row, n, stride, *most, out));
}

// y1 = x1' m1 and y2 = x2' m2, B vectors at a time.
template <int B>
inline void two_products_block(const double* x1, const double* m1, double* y1, const double* x2,
                               const double* m2, double* y2, int n, int stride) {
  vec first[B], second[B];
  clear<B>(first, second);
  for (int i = 0; i < n; ++i) {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(i) * stride;
    const vec u = splat(x1[i]), v = splat(x2[i]);
    for (int b = 0; b < B; ++b) {
      first[b] += u * load(m1 + at + b * W);
      second[b] += v * load(m2 + at + b * W);
    }
  }
  for (int b = 0; b < B; ++b) {
    store(y1 + b * W, first[b]);
    store(y2 + b * W, second[b]);
  }
}

inline void two_products(const double* x1, const double* m1, double* y1, const double* x2,
                         const double* m2, double* y2, int n, int stride) {
  int j = 0;
  for (; j + 6 * W <= stride; j += 6 * W) {
    two_products_block<6>(x1, m1 + j, y1 + j, x2, m2 + j, y2 + j, n, stride);
  }
  for (; j + 2 * W <= stride; j += 2 * W) {
    two_products_block<2>(x1, m1 + j, y1 + j, x2, m2 + j, y2 + j, n, stride);
  }
}

// A row that a recursion goes through, and what it remembers.
struct Scaled {
  double sum = 1.0;  // of the row before
  double product = 1.0;
  ivec low = ivec{};
  Total log;

  // out = row * factors / sum of the row before; false if nothing is left.  *scale is 1 / that sum.
  bool advance(const double* row, const double* factors, int stride, double* out, double* scale) {
    const double s = 1.0 / sum;
    *scale = s;
    product *= sum;
    vec total = vec{};
    for (int q = 0; q < stride; q += W) {
      const vec value = load(row + q) * (load(factors + q) * s);
      store(out + q, value);
      total += value;
      low |= (value < kLeast) & (value > 0.0);
    }
    sum = caesura::CAESURA_ISA::sum(total);
    if (product < 1e-100 || product > 1e100) {
      log.add(std::log(product));
      product = 1.0;
    }
    return sum > kLeast;
  }
};

struct Chain {
  const Lattice& g;
  int n, stride;
  double* weight = nullptr;      // [stride][stride]
  double* transposed = nullptr;  // [stride][stride]
  double* expected;  // [stride][stride] transitions, still to be multiplied by the weights
  double* first;     // [stride] exp(start)
  double* last;      // [stride] exp(end)
  double* row;       // [stride]
  double* x;         // [T][stride] x, then v
  double* a;         // [T][stride]
  double* scale;     // [T] s
  static constexpr int kBlock = 64;
  double* b;  // [T][stride]
  double top = 0.0;
  Total log_z;

  Chain(const Lattice& lattice, Workspace& work, bool wants_counts)
      : g(lattice), n(lattice.Y), stride(lattice.stride) {
    const std::size_t table = static_cast<std::size_t>(g.T) * stride;
    expected = work.doubles(static_cast<std::size_t>(stride) * stride);
    first = work.doubles(stride);
    last = work.doubles(stride);
    row = work.doubles(stride);
    x = work.doubles(table);
    a = work.doubles(table);
    scale = work.doubles(g.T);
    b = wants_counts ? work.doubles(table) : nullptr;
  }

  double* at(double* rows, int t) const { return rows + static_cast<std::ptrdiff_t>(t) * stride; }

  bool weights(Workspace& work) {
    double most_start, most_end;
    if (!scaled_exp(g.start, n, stride, first, &most_start)) return false;
    if (!scaled_exp(g.end, n, stride, last, &most_end)) return false;
    log_z.add(most_start);
    log_z.add(most_end);
    if (std::abs(most_start) > kLarge || std::abs(most_end) > kLarge) return false;
    return g.T == 1 || transitions(work);
  }

  // W and its transpose.  Sequences of one batch mostly share their transitions, so the last are
  // kept.
  bool transitions(Workspace& work) {
    const int size = stride * stride;
    bool fresh;
    double* kept = work.kept(3 + static_cast<std::size_t>(n) * n + 2 * size, &fresh);
    weight = kept;
    transposed = weight + size;
    double* raw = transposed + size;  // [Y][Y] as given
    double* facts = raw + n * n;      // is all this good, may labels repeat, the maximum
    const std::size_t bytes = sizeof(double) * n * n;
    const bool known = !fresh && facts[0] == 1.0 &&
                       facts[1] == (g.same_label_adjacent ? 1.0 : 0.0) &&
                       std::memcmp(raw, g.transition, bytes) == 0;
    if (!known) {
      facts[0] = 0.0;
      facts[1] = g.same_label_adjacent ? 1.0 : 0.0;
      std::memcpy(raw, g.transition, bytes);
      fill(weight, size, kMinusInfinity);
      for (int i = 0; i < n; ++i) {
        std::memcpy(weight + i * stride, g.transition + i * n, sizeof(double) * n);
        if (!g.same_label_adjacent) weight[i * stride + i] = kMinusInfinity;
      }
      if (!scaled_exp(weight, size, size, weight, &facts[2])) return false;
      for (int i = 0; i < stride; ++i) {
        for (int j = 0; j < stride; ++j) transposed[j * stride + i] = weight[i * stride + j];
      }
      facts[0] = 1.0;
    }
    top = facts[2];
    return std::abs(top) <= kLarge;
  }

  // x[t]; apart from the recursion, so that the processor can work on many tokens at once.  Most
  // rows lie near their first entry and can be taken relative to it; the others, relative to their
  // maximum.
  bool tokens() {
    for (int t = 0; t < g.T; ++t) {
      if (g.boundary[t + 1] & kBarred) return false;
      const double* row = scores(t);
      double most = row[0];
      if (!near_exp(row, n, stride, most, at(x, t)) &&
          !scaled_exp(row, n, stride, at(x, t), &most)) {
        return false;
      }
      if (!(std::abs(most) <= kLarge)) return false;
      log_z.add(most);
    }
    return true;
  }

  const double* scores(int t) const {
    if (g.allowed == nullptr) return g.emission + static_cast<std::ptrdiff_t>(t) * n;
    emission_row(g, t, row);
    return row;
  }

  // ln Z alone: a[t], upwards.
  bool forward() {
    Scaled up;
    for (int t = 0; t < g.T; ++t) {
      if (t > 0) product(at(a, t - 1), weight, n, stride, at(a, t));
      if (!up.advance(t > 0 ? at(a, t) : first, at(x, t), stride, at(a, t), &scale[t]))
        return false;
    }
    return finish(up);
  }

  // a[t] upwards and b[t] downwards at once.
  bool both() {
    Scaled up, down;
    double unused;
    copy(at(b, g.T - 1), last, stride);
    if (!up.advance(first, x, stride, a, &scale[0])) return false;
    for (int t = 1; t < g.T; ++t) {
      const int u = g.T - t;  // b[u - 1] from b[u]
      if (!down.advance(at(b, u), at(x, u), stride, row, &unused)) return false;
      two_products(at(a, t - 1), weight, at(a, t), row, transposed, at(b, u - 1), n, stride);
      if (!up.advance(at(a, t), at(x, t), stride, at(a, t), &scale[t])) return false;
    }
    return !any(down.low) && finish(up);
  }

  // ln Z from the last row.
  bool finish(Scaled& up) {
    if (any(up.low)) return false;
    vec z = vec{};
    for (int q = 0; q < stride; q += W) z += load(at(a, g.T - 1) + q) * load(last + q);
    const double total = caesura::CAESURA_ISA::sum(z);
    if (!(total > kLeast)) return false;
    log_z.add(up.log.value());
    log_z.add(std::log(up.product));
    log_z.add(std::log(total));
    log_z.add(top * (g.T - 1));
    return true;
  }

  // Probabilities and expected transitions, a block of tokens at a time while it is near.
  bool collect(Counts& counts) {
    fill(expected, stride * stride, 0.0);
    counts.boundaries[0] = 1.0;
    for (int begin = 0; begin < g.T; begin += kBlock) {
      const int end = begin + kBlock < g.T ? begin + kBlock : g.T;
      for (int t = begin; t < end; ++t) {
        vec z = vec{};
        for (int q = 0; q < stride; q += W) z += load(at(a, t) + q) * load(at(b, t) + q);
        const double total = caesura::CAESURA_ISA::sum(z);
        if (!(total > kLeast)) return false;
        const double share = 1.0 / total, s = scale[t] * share;
        for (int q = 0; q < stride; q += W) {
          const vec back = load(at(b, t) + q);
          store(at(b, t) + q, back * share);
          store(at(x, t) + q, load(at(x, t) + q) * back * s);
        }
        put_product(at(a, t), at(b, t), 1.0, counts.tokens + static_cast<std::ptrdiff_t>(t) * n);
        counts.boundaries[t + 1] = 1.0;
      }
      const int from = begin > 0 ? begin : 1;
      if (from < end) add_outer(at(a, from - 1), at(x, from), end - from, n, stride, expected);
    }
    std::memcpy(counts.starts, counts.tokens, sizeof(double) * n);
    std::memcpy(counts.ends, counts.tokens + static_cast<std::ptrdiff_t>(g.T - 1) * n,
                sizeof(double) * n);
    if (g.T == 1) {
      std::memset(counts.transitions, 0, sizeof(double) * n * n);
      return true;
    }
    for (int i = 0; i < n; ++i) {
      put_product(expected + i * stride, weight + i * stride, std::numeric_limits<double>::max(),
                  counts.transitions + i * n);
    }
    return true;
  }

  // out = a * b, but at most `most`: rounding may leave a probability just above 1.  n entries and
  // no more; the last vector overlaps the one before it.
  void put_product(const double* left, const double* right, double most, double* out) const {
    auto limited = [&](int q) { return min(load(left + q) * load(right + q), splat(most)); };
    int q = 0;
    for (; q + W <= n; q += W) store(out + q, limited(q));
    if (q == n) return;
    if (n >= W) {
      q = n - W;
      store(out + q, limited(q));
    } else {
      store_part(out, limited(0), n);
    }
  }
};

}  // namespace

bool chain(const Lattice& g, Workspace& work, Counts* counts, double* log_z) {
  Chain kernel(g, work, counts != nullptr);
  if (!kernel.weights(work) || !kernel.tokens()) return false;
  if (counts == nullptr ? !kernel.forward() : !(kernel.both() && kernel.collect(*counts)))
    return false;
  *log_z = kernel.log_z.value();
  return true;
}

}  // namespace caesura::CAESURA_ISA
