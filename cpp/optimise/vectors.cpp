#include "optimise/vectors.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "optimise/block_sums.hpp"

namespace caesura {
namespace {

using namespace block_sums;

constexpr double kLeastCurvature = 1e-8;  // smallest share of s.y that comes from the free weights;
                                          // with less, a pair contains no information about them

using TwoFloats = float __attribute__((vector_size(8)));

// Stores the values in single precision, and returns the rounded values.
inline double store_rounded(float* p, double v) { return *p = static_cast<float>(v); }
inline Two store_rounded(float* p, Two v) {
  const TwoFloats rounded = __builtin_convertvector(v, TwoFloats);
  std::memcpy(p, &rounded, sizeof rounded);
  return __builtin_convertvector(rounded, Two);
}
// The same in half precision (bfloat16), rounded to nearest, ties to even.
inline double store_rounded(Half* p, double v) {
  const float single = static_cast<float>(v);
  std::uint32_t bits;
  std::memcpy(&bits, &single, sizeof bits);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
  *p = static_cast<Half>(bits >> 16);
  float rounded;
  std::memcpy(&rounded, &bits, sizeof rounded);
  return rounded;
}
inline Two store_rounded(Half* p, Two v) {
  return Two{store_rounded(p, v[0]), store_rounded(p + 1, v[1])};
}
inline double absolute(double x) { return std::fabs(x); }
inline Two absolute(Two x) { return x < 0.0 ? -x : x; }

// The penalty of parameter i, where there is none, one for all parameters, or one for each.
struct Nothing {
  static constexpr bool kThere = false;
  template <class V>
  V at(std::int64_t) const {
    return V{};
  }
};
struct Same {
  static constexpr bool kThere = true;
  double value;
  template <class V>
  V at(std::int64_t) const {
    return value - V{};
  }
};
struct Each {
  static constexpr bool kThere = true;
  const double* values;
  template <class V>
  V at(std::int64_t i) const {
    return load<V>(values + i);
  }
};
template <class Work>
auto with(Penalty penalty, Work work) {
  if (penalty.size == 0) return work(Nothing{});
  if (penalty.size == 1) return work(Same{penalty.values[0]});
  return work(Each{penalty.values});
}

// The pseudo-gradient: the subgradient of smallest magnitude.
template <class V>
V pseudo(V w, V g, V c1) {
  const V up = g + c1, down = g - c1;
  const V at_zero = up < 0.0 ? up : (down > 0.0 ? down : V{});
  return w > 0.0 ? up : (w < 0.0 ? down : at_zero);
}

template <class Row>
const PairSums<Row>& pair_sums() {
  if constexpr (std::is_same_v<Row, float>)
    return pair_kernels().singles;
  else
    return pair_kernels().halves;
}

// The coefficients [2k] of s[i] and y[i] in d = -H g, given the products s[i].g and y[i].g in
// with_g, [2k].  With R = s[i].y[j] for i <= j, D its diagonal, Y = y[i].y[j], and gamma = R / Y of
// the newest pair:
//   R p = s.g,   R' u = D p + gamma (Y p - y.g)
//   d = -gamma g + gamma sum of p[i] y[i] - sum of u[i] s[i]
void coefficients(const double* products, int k, const double* with_g, double gamma, double* out) {
  const double *R = products, *Y = products + k * k, *sg = with_g, *yg = with_g + k;
  double *minus_u = out, *p = out + k;
  for (int i = k - 1; i >= 0; --i) {
    double sum = sg[i];
    for (int j = i + 1; j < k; ++j) sum -= R[i * k + j] * p[j];
    p[i] = sum / R[i * k + i];
  }
  for (int i = 0; i < k; ++i) {
    double sum = R[i * k + i] * p[i] - gamma * yg[i];
    for (int j = 0; j < k; ++j) sum += gamma * Y[i * k + j] * p[j];
    for (int j = 0; j < i; ++j) sum += R[j * k + i] * minus_u[j];
    minus_u[i] = -sum / R[i * k + i];
  }
  for (int i = 0; i < k; ++i) p[i] *= gamma;
}

// d = -H g if all weights are free; returns g.d.
template <class Row>
double free_direction(const double* gradient, const PairRows<Row>& pairs, const double* products,
                      std::int64_t n, int n_threads, double* d) {
  const PairSums<Row>& kernel = pair_sums<Row>();
  const int count = static_cast<int>(pairs.size()), k = count / 2;
  const double gamma = k == 0 ? 1.0 : products[k * k - 1] / products[2 * k * k - 1];
  double slope = 0.0;
  on_threads(n, n_threads, count + 1, [&](Part& part) {
    std::vector<double> with_g(count), c(count);
    part.sum_blocks(
        count,
        [&](std::int64_t begin, std::int64_t end, double* sums) {
          kernel.products(pairs.data(), count, gradient, begin, end, sums);
        },
        with_g.data(), true);
    coefficients(products, k, with_g.data(), gamma, c.data());
    double mine = 0.0;
    part.sum_blocks(
        1,
        [&](std::int64_t begin, std::int64_t end, double* sum) {
          *sum = kernel.combine(pairs.data(), c.data(), count, -gamma, gradient, begin, end, d);
        },
        &mine);
    if (part.first()) slope = mine;
  });
  return slope;
}

// The entries of a vector at the free weights.
template <class Real>
std::vector<Real> gathered(const Real* from, const std::vector<std::int64_t>& free) {
  std::vector<Real> to(free.size());
  for (std::size_t k = 0; k < free.size(); ++k) to[k] = from[free[k]];
  return to;
}

// The products of all pairs, in the layout that direction() needs.  They are computed in a single
// pass, which multiplies each y by its own and all older pairs while a block is in the cache.
template <class Row>
std::vector<double> all_products(const PairRows<Row>& pairs, std::int64_t n, int n_threads) {
  const PairSums<Row>& kernel = pair_sums<Row>();
  const int k = static_cast<int>(pairs.size()) / 2, count = k * (k + 1);
  std::vector<double> columns(
      count);  // s[0].y[j] ... s[j].y[j], y[0].y[j] ... y[j].y[j] for each j
  on_threads(n, n_threads, count, [&](Part& part) {
    std::vector<double> total(count);
    part.sum_blocks(
        count,
        [&](std::int64_t begin, std::int64_t end, double* sums) {
          for (int j = 0; j < k; ++j) {
            for (int side = 0; side < 2; ++side, sums += j + 1)
              kernel.row_products(pairs.data() + side * k, j + 1, pairs[k + j], begin, end, sums);
          }
        },
        total.data());
    if (part.first()) columns = total;
  });
  std::vector<double> products(2 * static_cast<std::size_t>(k * k));
  const double* column = columns.data();
  for (int j = 0; j < k; column += 2 * (j + 1), ++j) {
    for (int i = 0; i <= j; ++i) {
      products[i * k + j] = column[i];
      products[k * k + i * k + j] = products[k * k + j * k + i] = column[j + 1 + i];
    }
  }
  return products;
}

}  // namespace

double dot(const double* a, const double* b, std::int64_t n, int n_threads) {
  return one_pass<1>(n, n_threads,
                     [=](auto v, std::int64_t i) {
                       using V = decltype(v);
                       return Terms<V, 1>{{load<V>(a + i) * load<V>(b + i)}};
                     })
      .v[0];
}

template <class Row>
void pair_products(const PairRows<Row>& pairs, std::int64_t n, int n_threads, double* out) {
  const int count = static_cast<int>(pairs.size());
  on_threads(n, n_threads, count, [&](Part& part) {
    std::vector<double> total(count);
    part.sum_blocks(
        count,
        [&](std::int64_t begin, std::int64_t end, double* sums) {
          pair_sums<Row>().row_products(pairs.data(), count, pairs.back(), begin, end, sums);
        },
        total.data());
    if (part.first()) std::copy(total.begin(), total.end(), out);
  });
}

template <class Row>
double direction(const double* gradient, const PairRows<Row>& pairs, const double* products,
                 const double* w, Penalty c1, std::int64_t n, int n_threads, double* d) {
  if (c1.size == 0) return free_direction(gradient, pairs, products, n, n_threads, d);
  std::vector<std::int64_t> free;
  for (std::int64_t i = 0; i < n; ++i) {
    if (gradient[i] != 0.0) free.push_back(i);
  }
  const auto m = static_cast<std::int64_t>(free.size());
  const std::vector<double> g = gathered(gradient, free);
  std::vector<std::vector<Row>> entries;
  for (const Row* row : pairs) entries.push_back(gathered(row, free));
  const int k = static_cast<int>(pairs.size()) / 2;
  PairRows<Row> kept, kept_y;
  for (int i = 0; i < k; ++i) {
    const Row *s = entries[i].data(), *y = entries[k + i].data();
    double sy;
    pair_sums<Row>().row_products(&s, 1, y, 0, m, &sy);
    if (!(sy > kLeastCurvature * products[i * k + i])) continue;
    kept.push_back(s);
    kept_y.push_back(y);
  }
  kept.insert(kept.end(), kept_y.begin(), kept_y.end());
  const std::vector<double> kept_products = all_products(kept, m, n_threads);
  std::vector<double> out(m);
  free_direction(g.data(), kept, kept_products.data(), m, n_threads, out.data());
  std::fill_n(d, n, 0.0);
  double slope = 0.0;
  for (std::int64_t k = 0; k < m; ++k) {
    const std::int64_t i = free[k];
    const bool penalised = c1.values[c1.size == 1 ? 0 : i] > 0.0;
    const bool crosses = w[i] * (w[i] + out[k]) <= 0.0;
    if (penalised && crosses && out[k] * g[k] >= 0.0) continue;
    d[i] = out[k];
    slope += out[k] * g[k];
  }
  return slope;
}

Penalised penalise(const double* w, const double* gradient, Penalty c1, Penalty c2, std::int64_t n,
                   int n_threads, double* out) {
  return with(c1, [&](auto l1) {
    return with(c2, [&](auto l2) {
      const auto total = one_pass<4>(n, n_threads, [=](auto v, std::int64_t i) {
        using V = decltype(v);
        const V w_i = load<V>(w + i), c1_i = l1.template at<V>(i), c2_i = l2.template at<V>(i);
        const V g = load<V>(gradient + i) + 2.0 * c2_i * w_i;
        store(out + i, g);
        const V slope = decltype(l1)::kThere ? pseudo(w_i, g, c1_i) : g;
        return Terms<V, 4>{{c1_i * absolute(w_i) + c2_i * w_i * w_i, w_i * w_i, slope * slope,
                            w_i != 0.0 ? 1.0 - V{} : V{}}};
      });
      return Penalised{total.v[0], total.v[1], total.v[2], total.v[3]};
    });
  });
}

void pseudo_gradient(const double* w, const double* gradient, Penalty c1, std::int64_t n,
                     int n_threads, double* out) {
  with(c1, [&](auto penalty) {
    return one_pass<1>(n, n_threads, [=](auto v, std::int64_t i) {
      using V = decltype(v);
      store(out + i, pseudo(load<V>(w + i), load<V>(gradient + i), penalty.template at<V>(i)));
      return Terms<V, 1>{};
    });
  });
}

double move(const double* w, const double* d, double step, const double* gradient, Penalty c1,
            std::int64_t n, int n_threads, double* out) {
  return with(c1,
              [&](auto penalty) {
                return one_pass<1>(n, n_threads, [=](auto v, std::int64_t i) {
                  using V = decltype(v);
                  const V w_i = load<V>(w + i), g = load<V>(gradient + i);
                  V moved = w_i + step * load<V>(d + i);
                  if (decltype(penalty)::kThere) {
                    const V orthant = w_i != 0.0 ? w_i : -g;
                    const auto stays = ((moved > 0.0) & (orthant > 0.0)) |
                                       ((moved < 0.0) & (orthant < 0.0)) |
                                       (penalty.template at<V>(i) <= 0.0);
                    moved = stays ? moved : V{};
                  }
                  store(out + i, moved);
                  return Terms<V, 1>{{g * (moved - w_i)}};
                });
              })
      .v[0];
}

template <class Row>
PairProducts correction_pair(const double* w, const double* w0, const double* g, const double* g0,
                             std::int64_t n, int n_threads, Row* s, Row* y) {
  const auto sums = one_pass<3>(n, n_threads, [=](auto v, std::int64_t i) {
    using V = decltype(v);
    const V s_i = store_rounded(s + i, V(load<V>(w + i) - load<V>(w0 + i)));
    const V y_i = store_rounded(y + i, V(load<V>(g + i) - load<V>(g0 + i)));
    return Terms<V, 3>{{s_i * s_i, y_i * y_i, s_i * y_i}};
  });
  return {sums.v[0], sums.v[1], sums.v[2]};
}

#define INSTANTIATE(Row)                                                                       \
  template void pair_products(const PairRows<Row>&, std::int64_t, int, double*);               \
  template double direction(const double*, const PairRows<Row>&, const double*, const double*, \
                            Penalty, std::int64_t, int, double*);                              \
  template PairProducts correction_pair(const double*, const double*, const double*,           \
                                        const double*, std::int64_t, int, Row*, Row*);
INSTANTIATE(float)
INSTANTIATE(Half)
#undef INSTANTIATE

}  // namespace caesura
