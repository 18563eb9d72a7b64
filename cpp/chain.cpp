// The linear chain, a rung of its own: segments of length 1, one state a label.
//
// The general sweeps keep logarithms; here rows are plain numbers with a running scale, so a token costs
// Y exps and no logs, and the expected transitions are one matrix product at the end.  On 22 labels this
// is three times as fast as the general sweeps (bench/chain.py prints both).
//
//   a[t] = s[t] x[t] (W' a[t-1])        x[t] = exp(emission[t] - its maximum), W = exp(transition - top)
//   v[t] = s[t] x[t] b[t],  b[t-1] = W v[t]
//   P(t, y) = a[t, y] b[t, y],          E(i, j) = W[i, j] sum over t of a[t-1, i] v[t, j]
//
// All numbers stay between 1e-300 and 1e300 as long as no entry that can occur is below 1e-100 of its
// row; where one is, or a score is NaN, the kernel returns false and the general sweeps answer.

#include <cmath>

#include "arcs.hpp"
#include "kernels.hpp"
#include "rows.hpp"

namespace caesura::CAESURA_ISA {
namespace {

constexpr double kLowest = -230.0;  // exp of it is 1e-100
constexpr double kLeast = 1e-100;

// out = exp(row - max), n entries and then zeros; false if an entry that is not -inf lies too far below.
bool scaled_exp(const double* row, int n, int stride, double* out, double* most) {
  const int whole = n / W * W;
  const vec tail = load_part(row + whole, n - whole, kMinusInfinity);
  vec top = tail;
  for (int q = 0; q < whole; q += W) top = max(top, load(row + q));
  *most = max_of(top);
  if (*most == kMinusInfinity) return false;
  ivec low = ivec{};
  int q = 0;
  for (; q < whole; q += W) {
    const vec gap = load(row + q) - *most;
    low |= (gap < kLowest) & (gap > kMinusInfinity);
    store(out + q, exp(gap));
  }
  if (q < n) {
    const vec gap = tail - *most;
    low |= (gap < kLowest) & (gap > kMinusInfinity);
    store(out + q, exp(gap));
    q += W;
  }
  for (; q < stride; q += W) store(out + q, vec{});
  return !any(low);
}

struct Chain {
  const Lattice& g;
  int n, stride;
  double* weight;      // [stride][stride]
  double* transposed;  // [stride][stride]
  double* first;       // [stride] exp(start)
  double* last;        // [stride] exp(end)
  double* row;         // [stride]
  double* x;           // [T][stride] x, then v
  double* a;           // [T][stride]
  double* scale;       // [T] s
  double top = 0.0;
  Total log_z;

  Chain(const Lattice& lattice, Workspace& work) : g(lattice), n(lattice.Y), stride(lattice.stride) {
    const std::size_t square = static_cast<std::size_t>(stride) * stride;
    const std::size_t table = static_cast<std::size_t>(g.T) * stride;
    weight = work.doubles(square);
    transposed = work.doubles(square);
    first = work.doubles(stride);
    last = work.doubles(stride);
    row = work.doubles(stride);
    x = work.doubles(table);
    a = work.doubles(table);
    scale = work.doubles(g.T);
  }

  bool weights() {
    double most_start, most_end;
    if (!scaled_exp(g.start, n, stride, first, &most_start)) return false;
    if (!scaled_exp(g.end, n, stride, last, &most_end)) return false;
    log_z.add(most_start);
    log_z.add(most_end);
    fill(weight, stride * stride, kMinusInfinity);
    for (int i = 0; i < n; ++i) {
      std::memcpy(weight + i * stride, g.transition + i * n, sizeof(double) * n);
      if (!g.same_label_adjacent) weight[i * stride + i] = kMinusInfinity;
    }
    const int size = stride * stride;
    if (g.T == 1) fill(weight, size, 0.0);
    if (g.T > 1 && !scaled_exp(weight, size, size, weight, &top)) return false;
    for (int i = 0; i < stride; ++i) {
      for (int j = 0; j < stride; ++j) transposed[j * stride + i] = weight[i * stride + j];
    }
    return true;
  }

  // x[t]; apart from the recursion, so that the processor can work on many tokens at once.
  bool tokens() {
    for (int t = 0; t < g.T; ++t) {
      if (g.boundary[t + 1] & kBarred) return false;
      const double* scores = g.emission + static_cast<std::ptrdiff_t>(t) * n;
      if (g.allowed != nullptr) {
        emission_row(g, t, row);
        scores = row;
      }
      double most;
      if (!scaled_exp(scores, n, stride, x + static_cast<std::ptrdiff_t>(t) * stride, &most)) return false;
      log_z.add(most);
    }
    return true;
  }

  // a[t]; the sum of a[t - 1] sets its scale, so that the division does not wait for the product.
  bool forward() {
    double product_of_sums = 1.0, before = 1.0;
    ivec low = ivec{};
    for (int t = 0; t < g.T; ++t) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(t) * stride;
      double* now = a + at;
      const double s = 1.0 / before;
      scale[t] = s;
      if (t == 0) {
        copy(now, first, stride);
      } else {
        product(now - stride, weight, n, stride, now);
      }
      vec sum = vec{};
      for (int q = 0; q < stride; q += W) {
        const vec value = load(now + q) * (load(x + at + q) * s);
        store(now + q, value);
        sum += value;
        low |= (value < kLeast) & (value > 0.0);
      }
      product_of_sums *= before;
      before = caesura::CAESURA_ISA::sum(sum);
      if (!(before > kLeast)) return false;
      if (product_of_sums < 1e-100 || product_of_sums > 1e100) {
        log_z.add(std::log(product_of_sums));
        product_of_sums = 1.0;
      }
    }
    if (any(low)) return false;
    log_z.add(std::log(product_of_sums));
    log_z.add(top * (g.T - 1));
    vec z = vec{};
    const double* final = a + static_cast<std::ptrdiff_t>(g.T - 1) * stride;
    for (int q = 0; q < stride; q += W) z += load(final + q) * load(last + q);
    const double total = caesura::CAESURA_ISA::sum(z);
    if (!(total > kLeast)) return false;
    log_z.add(std::log(total));
    for (int q = 0; q < stride; q += W) store(last + q, load(last + q) / total);
    return true;
  }

  void backward(Counts& counts) {
    double* b = last;
    for (int t = g.T - 1; t >= 0; --t) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(t) * stride;
      double* tokens = counts.tokens + static_cast<std::ptrdiff_t>(t) * n;
      for (int q = 0; q < stride; q += W) {
        const vec reached = load(a + at + q);
        const vec back = load(b + q);
        if (q + W <= n) {
          store(tokens + q, reached * back);
        } else {
          store_part(tokens + q, reached * back, n - q);
        }
        // What cannot be reached must not grow.
        const vec v = load(x + at + q) * back * scale[t];
        store(x + at + q, reached > 0.0 ? v : vec{});
      }
      counts.boundaries[t + 1] = 1.0;
      if (t > 0) product(x + at, transposed, n, stride, b);
    }
    counts.boundaries[0] = 1.0;
    std::memcpy(counts.starts, counts.tokens, sizeof(double) * n);
    std::memcpy(counts.ends, counts.tokens + static_cast<std::ptrdiff_t>(g.T - 1) * n, sizeof(double) * n);
    // Expected transitions; `transposed` is free by now.
    fill(transposed, stride * stride, 0.0);
    add_outer(a, x + stride, g.T - 1, n, stride, transposed);
    for (int i = 0; i < n; ++i) {
      for (int q = 0; q < n; q += W) {
        const int at = i * stride + q;
        store_part(counts.transitions + i * n + q, load(transposed + at) * load(weight + at), n - q);
      }
    }
  }
};

}  // namespace

bool chain(const Lattice& g, Workspace& work, Counts* counts, double* log_z) {
  Chain kernel(g, work);
  if (!kernel.weights() || !kernel.tokens() || !kernel.forward()) return false;
  if (counts != nullptr) kernel.backward(*counts);
  *log_z = kernel.log_z.value();
  return true;
}

}  // namespace caesura::CAESURA_ISA
