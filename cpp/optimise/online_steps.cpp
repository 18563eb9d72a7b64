#include "optimise/online_steps.hpp"

#include <cmath>

#include "base/vector.hpp"

namespace caesura::CAESURA_ISA {
namespace {

// ---- Vectors of weights, or single weights ----

template <class V>
V get(const double* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V>
void put(double* p, V v) {
  std::memcpy(p, &v, sizeof v);
}
inline double root(double x) { return std::sqrt(x); }
inline vec root(vec x) {
  vec out;
  for (int i = 0; i < W; ++i) out[i] = std::sqrt(x[i]);
  return out;
}

// Calls visit(V{}, place, index in the rows of the units) for each vector of the units, or for each
// weight if the units are single weights.
template <class Visit>
void over(const OnlineUnits& u, Visit visit) {
  if (u.wide == 1) {
    for (std::size_t j = 0; j < u.count; ++j) visit(double{}, u.first + u.units[j], j);
    return;
  }
  for (std::size_t j = 0; j < u.count; ++j) {
    const std::int64_t begin = u.first + u.units[j] * u.wide;
    for (std::int64_t k = 0; k < u.wide; k += W) visit(vec{}, begin + k, j * u.wide + k);
  }
}

// Returns values[kind] for the weights at k.  kOne: all weights are of the same kind.
template <bool kOne>
inline double of_kind(double, const OnlineVectors& v, std::int64_t k, const double* values) {
  return values[kOne ? 1 : v.kind[k]];
}
template <bool kOne>
inline vec of_kind(vec, const OnlineVectors& v, std::int64_t k, const double* values) {
  if (kOne) return splat(values[1]);
  vec out;
  for (int i = 0; i < W; ++i) out[i] = values[v.kind[k + i]];
  return out;
}

// Masks of lanes.  masked() returns the gradient where there are weights, and 0 elsewhere.
struct Masks {
  alignas(64) std::int64_t lane[1 << W][W];
  constexpr Masks() : lane() {
    for (int bits = 0; bits < 1 << W; ++bits) {
      for (int i = 0; i < W; ++i) lane[bits][i] = bits >> i & 1 ? -1 : 0;
    }
  }
};
constexpr Masks kMasks;
inline double masked(double, const OnlineVectors&, std::int64_t, const double* gradient) {
  return *gradient;
}
inline vec masked(vec, const OnlineVectors& v, std::int64_t k, const double* gradient) {
  ivec mask;
  std::memcpy(&mask, kMasks.lane[v.lanes[k / W]], sizeof mask);
  return as_real(as_bits(load(gradient)) & mask);
}

template <class V>
void show(const OnlineVectors& v, std::int64_t k, V w, double* seen) {
  put(seen, v.centre == nullptr ? w : w + get<V>(v.centre + k));
}

// ---- SGD ----

template <bool kOne>
void sgd_read_kinds(const OnlineVectors v, const SgdStep s, const OnlineUnits u, double* seen) {
  over(u, [&](auto lane, std::int64_t k, std::size_t j) {
    using V = decltype(lane);
    show<V>(v, k, of_kind<kOne>(lane, v, k, s.scale) * get<V>(v.w + k), seen + j);
  });
}

template <bool kOne, bool kSums>
void sgd_update_kinds(const OnlineVectors v, const SgdStep s, const OnlineUnits u,
                      double* gradient) {
  over(u, [&](auto lane, std::int64_t k, std::size_t j) {
    using V = decltype(lane);
    const V change = of_kind<kOne>(lane, v, k, s.gain) * masked(lane, v, k, gradient + j);
    put(gradient + j, V{});
    put(v.w + k, get<V>(v.w + k) + change);
    if (kSums)
      put(v.sums + k, get<V>(v.sums + k) - of_kind<kOne>(lane, v, k, s.scale_sum) * change);
  });
}

void sgd_read(const OnlineVectors& v, const SgdStep& s, const OnlineUnits& u, double* seen) {
  v.n_kinds == 2 ? sgd_read_kinds<true>(v, s, u, seen) : sgd_read_kinds<false>(v, s, u, seen);
}

void sgd_update(const OnlineVectors& v, const SgdStep& s, const OnlineUnits& u, double* gradient) {
  const bool sums = v.sums != nullptr;
  const auto update = v.n_kinds == 2
                          ? (sums ? sgd_update_kinds<true, true> : sgd_update_kinds<true, false>)
                          : (sums ? sgd_update_kinds<false, true> : sgd_update_kinds<false, false>);
  update(v, s, u, gradient);
}

// The change that a row makes to each of its units, and to the sums of the average.
struct Change {
  const OnlineVectors& v;
  const OnlineRows& rows;
  double factor, sum_factor;
  double* held;  // [wide] factor times the gradient
};

// w += held and sums += sum_factor held for the units of one row, in the lanes that hold weights, B
// vectors at a time.
template <int B, bool kSums, bool kValues>
inline void change_panel(const Change& c, const std::int32_t* units, const double* values,
                         std::int64_t count, std::int64_t begin) {
  const std::int64_t wide = c.rows.wide;
  vec kept[B];
  for (int b = 0; b < B; ++b) kept[b] = load(c.held + begin + b * W);
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t soon = units[k + OnlineRows::kAhead] * wide + begin;
    for (int q = 0; q < B * W; q += 64 / static_cast<int>(sizeof(double))) {
      __builtin_prefetch(c.v.w + soon + q, 1);
      if (kSums) __builtin_prefetch(c.v.sums + soon + q, 1);
    }
    const std::int64_t at = units[k] * wide + begin;
    for (int b = 0; b < B; ++b) {
      ivec mask;
      std::memcpy(&mask, kMasks.lane[c.v.lanes[at / W + b]], sizeof mask);
      vec change = as_real(as_bits(kept[b]) & mask);
      if (kValues) change *= values[k];
      double *w = c.v.w + at + b * W, *sums = c.v.sums + at + b * W;
      store(w, load(w) + change);
      if (kSums) store(sums, load(sums) + c.sum_factor * change);
    }
  }
}

template <bool kSums, bool kValues>
inline void change_units(const Change& c, const std::int32_t* units, const double* values,
                         std::int64_t count) {
  std::int64_t begin = 0;
  for (; begin + 6 * W <= c.rows.wide; begin += 6 * W)
    change_panel<6, kSums, kValues>(c, units, values, count, begin);
  for (; begin + 2 * W <= c.rows.wide; begin += 2 * W)
    change_panel<2, kSums, kValues>(c, units, values, count, begin);
  for (; begin < c.rows.wide; begin += W)
    change_panel<1, kSums, kValues>(c, units, values, count, begin);
}

template <bool kSums>
void change_rows(const Change& c, std::int64_t begin, std::int64_t end, double* gradient) {
  const OnlineRows& rows = c.rows;
  double *single = c.v.w + rows.first, *sums = kSums ? c.v.sums + rows.first : nullptr;
  for (std::int64_t r = begin; r < end; ++r, gradient += rows.wide) {
    for (std::int64_t q = 0; q < rows.wide; q += W) {
      store(c.held + q, load(gradient + q) * c.factor);
      store(gradient + q, vec{});
    }
    const std::int64_t k = rows.dense_ptr[r], count = rows.dense_ptr[r + 1] - k;
    if (rows.dense_value == nullptr)
      change_units<kSums, false>(c, rows.dense + k, nullptr, count);
    else
      change_units<kSums, true>(c, rows.dense + k, rows.dense_value + k, count);
    for (std::int64_t j = rows.sparse_ptr[r]; j < rows.sparse_ptr[r + 1]; ++j) {
      const std::int32_t soon = rows.sparse[j + OnlineRows::kFarAhead];
      __builtin_prefetch(single + soon, 1);
      if (kSums) __builtin_prefetch(sums + soon, 1);
      double change = c.held[rows.lane[j]];
      if (rows.sparse_value != nullptr) change *= rows.sparse_value[j];
      single[rows.sparse[j]] += change;
      if (kSums) sums[rows.sparse[j]] += c.sum_factor * change;
    }
  }
}

void sgd_update_rows(const OnlineVectors& v, const SgdStep& s, const OnlineRows& rows,
                     std::int64_t begin, std::int64_t end, double* gradient, double* held) {
  const Change change{v, rows, s.gain[1], -s.scale_sum[1], held};
  v.sums == nullptr ? change_rows<false>(change, begin, end, gradient)
                    : change_rows<true>(change, begin, end, gradient);
}

// ---- AdaGrad ----

// speed = rate / sqrt(squares), and 0 if there was no gradient yet: then the penalties have no
// effect either.
template <class V>
V speed_of(double rate, V squares) {
  const V some = squares > 0.0 ? squares : 1.0 - V{};
  return squares > 0.0 ? rate / root(some) : V{};
}

// Soft thresholding: moves w towards 0 by `cut`, but not past it.
template <class V>
V soft(V w, V cut) {
  return w > cut ? w - cut : (w < -cut ? w + cut : V{});
}

// moment[k] = sum of l^k q^l over l = 1 .. count, for k < K, and power = q^count, by doubling:
//   sum over l = 1 .. 2n of l^k q^l = (the sum to n) + q^n sum over i of binomial(k, i) n^(k - i)
//                                     (the sum of l^i q^l to n)
// No term is negative, so nothing cancels.
template <class V, int K>
struct Moments {
  V power = 1.0 - V{}, moment[K] = {};

  Moments(V q, std::int64_t count) {
    static constexpr double kBinomial[4][4] = {
        {1, 0, 0, 0}, {1, 1, 0, 0}, {1, 2, 1, 0}, {1, 3, 3, 1}};
    int bit = 63;
    while (bit >= 0 && (count >> bit & 1) == 0) --bit;
    double n = 0.0;
    for (; bit >= 0; --bit) {
      for (int k = K - 1; k >= 0; --k) {  // downwards: the old lower moments are still needed
        V shifted = moment[k];
        double factor = 1.0;
        for (int i = k - 1; i >= 0; --i) {
          factor *= n;
          shifted += kBinomial[k][i] * factor * moment[i];
        }
        moment[k] += power * shifted;
      }
      power *= power;
      n *= 2.0;
      if ((count >> bit & 1) == 0) continue;
      power *= q;
      n += 1.0;
      double factor = 1.0;
      for (int k = 0; k < K; ++k, factor *= n) moment[k] += factor * power;
    }
  }
};

template <class V>
struct Penalties {
  V cut;     // by which w moves towards 0
  V shrunk;  // by which it is then multiplied
};

template <class V>
Penalties<V> penalties_of(const OnlineVectors& v, const AdaGradStep& s, std::int64_t k, V speed) {
  const bool one = v.n_kinds == 2;
  const V c1 = one ? of_kind<true>(V{}, v, k, s.c1) : of_kind<false>(V{}, v, k, s.c1);
  const V c2 = one ? of_kind<true>(V{}, v, k, s.c2) : of_kind<false>(V{}, v, k, s.c2);
  return {speed * c1, 1.0 / (1.0 + 2.0 * speed * c2)};
}

inline bool any_above(double x) { return x > 0.0; }
inline bool any_above(vec x) { return any(x > 0.0); }

// Takes the missed steps one by one, until all weights are 0.  Using c1 with an average is rare.
template <class V>
V step_by_step(const OnlineVectors& v, const AdaGradStep& s, std::int64_t k, V w,
               const Penalties<V>& p, std::int64_t missed) {
  V sum = get<V>(v.sums + k);
  for (std::int64_t l = missed; l > 0 && any_above(w * w); --l) {
    w = soft(w, p.cut) * p.shrunk;
    sum += omega(s.step - static_cast<double>(l)) * w;
  }
  put(v.sums + k, sum);
  return w;
}

// With q = 1 / (1 + 2 speed c2) the weight after l steps is
//   |w_l| = q^l |w| - speed c1 (q + ... + q^l), or 0 where that is below 0,
// and without c1 the average gains  w times the sum over l of omega(a + l) q^l,
//   omega(a + l) = 4 (a (a + 1) (a + 2) + (3 a^2 + 6 a + 2) l + (3 a + 3) l^2 + l^3).
template <class V>
V after_missed(const OnlineVectors& v, const AdaGradStep& s, std::int64_t k, V w,
               std::int64_t missed) {
  const double a = s.step - 1.0 - static_cast<double>(missed);
  const Penalties<V> p = penalties_of<V>(v, s, k, speed_of<V>(s.rate, get<V>(v.squares + k)));
  if (v.sums == nullptr) {
    const Moments<V, 1> sum(p.shrunk, missed);
    const V size = w < 0.0 ? -w : w, left = size * sum.power - p.cut * sum.moment[0];
    return left > 0.0 ? (w < 0.0 ? -left : left) : V{};
  }
  if (any_above(p.cut)) return step_by_step(v, s, k, w, p, missed);
  const Moments<V, 4> sum(p.shrunk, missed);
  const V gained = a * (a + 1.0) * (a + 2.0) * sum.moment[0] +
                   (3.0 * a * a + 6.0 * a + 2.0) * sum.moment[1] + (3.0 * a + 3.0) * sum.moment[2] +
                   sum.moment[3];
  put(v.sums + k, get<V>(v.sums + k) + 4.0 * gained * w);
  return w * sum.power;
}

void adagrad_read(const OnlineVectors& v, const AdaGradStep& s, const OnlineUnits& u,
                  std::int64_t done, std::int64_t* ready, double* seen) {
  over(u, [&](auto lane, std::int64_t k, std::size_t j) {
    using V = decltype(lane);
    const std::size_t unit = j / u.wide;
    std::int64_t& of_unit = ready[u.units[unit]];
    V w = get<V>(v.w + k);
    if (of_unit < done) {
      w = after_missed(v, s, k, w, done - of_unit);
      put(v.w + k, w);
    }
    if ((j + sizeof(V) / sizeof(double)) % u.wide == 0) of_unit = done;
    show<V>(v, k, w, seen + j);
  });
}

void adagrad_update(const OnlineVectors& v, const AdaGradStep& s, const OnlineUnits& u,
                    double* gradient) {
  over(u, [&](auto lane, std::int64_t k, std::size_t j) {
    using V = decltype(lane);
    const V g = masked(lane, v, k, gradient + j);
    const V h = get<V>(v.squares + k) + g * g;
    const Penalties<V> p = penalties_of<V>(v, s, k, speed_of<V>(s.rate, h));
    const V w = soft(get<V>(v.w + k) - speed_of<V>(s.rate, h) * g, p.cut) * p.shrunk;
    put(gradient + j, V{});
    put(v.squares + k, h);
    put(v.w + k, w);
    if (v.sums != nullptr) put(v.sums + k, get<V>(v.sums + k) + omega(s.step) * w);
  });
}

}  // namespace
}  // namespace caesura::CAESURA_ISA

namespace caesura {
extern const OnlineSteps CAESURA_ONLINE_STEPS = {CAESURA_ISA::W,
                                                 CAESURA_ISA::sgd_read,
                                                 CAESURA_ISA::sgd_update,
                                                 CAESURA_ISA::sgd_update_rows,
                                                 CAESURA_ISA::adagrad_read,
                                                 CAESURA_ISA::adagrad_update};
}  // namespace caesura
