#include "optimise/vectors.hpp"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

namespace caesura {
namespace {

constexpr std::int64_t kBlock = 4096;  // parameters whose terms are summed together
constexpr std::int64_t kLeastWork =
    64;  // blocks times sums for each thread: with less, starting it costs more

constexpr double kLeastCurvature = 1e-8;  // of s.y, the part among the free weights; below it a
                                          // pair says nothing about them

// ---- two doubles at a time, or one ----

using Two = double __attribute__((vector_size(16)));
using TwoFloats = float __attribute__((vector_size(8)));

template <class V>
V load(const double* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V>
V load(const float* p) {
  if constexpr (std::is_same_v<V, Two>) {
    TwoFloats v;
    std::memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, Two);
  } else {
    return *p;
  }
}
template <class V>
void store(double* p, V v) {
  std::memcpy(p, &v, sizeof v);
}
// Stores the values in single precision, and returns what they became.
inline double store_rounded(float* p, double v) { return *p = static_cast<float>(v); }
inline Two store_rounded(float* p, Two v) {
  const TwoFloats rounded = __builtin_convertvector(v, TwoFloats);
  std::memcpy(p, &rounded, sizeof rounded);
  return __builtin_convertvector(rounded, Two);
}
inline double absolute(double x) { return std::fabs(x); }
inline Two absolute(Two x) { return x < 0.0 ? -x : x; }

// Penalties at the place i: the same expression for all three sizes.
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

// ---- sums ----

template <class V, int K>
struct Terms {
  V v[K];
};

// K sums over [begin, end) of what step(V, i) returns, in eight lanes and a tail.
template <int K, class Step>
void sum_block(std::int64_t begin, std::int64_t end, double* out, const Step& step) {
  Two lanes[4][K] = {};
  std::int64_t i = begin;
  for (; i + 8 <= end; i += 8) {
    for (int lane = 0; lane < 4; ++lane) {
      const Terms<Two, K> terms = step(Two{}, i + 2 * lane);
      for (int k = 0; k < K; ++k) lanes[lane][k] += terms.v[k];
    }
  }
  double tail[K] = {};
  for (; i < end; ++i) {
    const Terms<double, K> terms = step(double{}, i);
    for (int k = 0; k < K; ++k) tail[k] += terms.v[k];
  }
  for (int k = 0; k < K; ++k) {
    const Two sum = (lanes[0][k] + lanes[1][k]) + (lanes[2][k] + lanes[3][k]);
    out[k] = (sum[0] + sum[1]) + tail[k];
  }
}

// ---- threads ----

// The threads of one call.  Each has its own blocks, and keeps them; between passes all meet.
class Crew {
 public:
  int size() const { return size_; }
  void meet() {
    if (size_ == 1) return;
    std::unique_lock<std::mutex> lock(guard_);
    const int round = round_;
    if (++waiting_ == size_) {
      waiting_ = 0;
      ++round_;
      changed_.notify_all();
    } else {
      changed_.wait(lock, [&] { return round != round_; });
    }
  }
  // The number of threads is known once all that the system provides have started.
  void complete(int size) {
    const std::lock_guard<std::mutex> lock(guard_);
    size_ = size;
    changed_.notify_all();
  }
  void wait_until_complete() {
    std::unique_lock<std::mutex> lock(guard_);
    changed_.wait(lock, [&] { return size_ > 0; });
  }

 private:
  std::mutex guard_;
  std::condition_variable changed_;
  int size_ = 0, waiting_ = 0, round_ = 0;
};

// A thread's part of the parameters, and the passes over it.
class Part {
 public:
  Part(Crew& crew, int member, std::int64_t n, std::vector<double>& sums)
      : crew_(crew), member_(member), n_(n), blocks_((n + kBlock - 1) / kBlock), sums_(sums) {
    first_ = blocks_ * member / crew.size();
    last_ = blocks_ * (member + 1) / crew.size();
  }
  bool first() const { return member_ == 0; }
  // One pass over all parameters; every thread gets the K sums.
  template <int K, class Step>
  Terms<double, K> pass(const Step& step) {
    double* mine =
        sums_.data() + used_;  // a pass has its own place: a quick thread may be one ahead
    used_ += static_cast<std::size_t>(blocks_) * K;
    for (std::int64_t b = first_; b < last_; ++b) {
      sum_block<K>(b * kBlock, std::min(n_, (b + 1) * kBlock), mine + b * K, step);
    }
    crew_.meet();
    Terms<double, K> total{};
    for (std::int64_t b = 0; b < blocks_; ++b) {
      for (int k = 0; k < K; ++k) total.v[k] += mine[b * K + k];
    }
    return total;
  }

 private:
  Crew& crew_;
  int member_;
  std::int64_t n_, blocks_, first_, last_;
  std::vector<double>& sums_;
  std::size_t used_ = 0;
};

// Calls work(part) on each thread; `sums` is how many sums all its passes take.  The call goes
// through a function object, so that the passes are compiled once and not once for each kind of
// thread.
void on_threads(std::int64_t n, int n_threads, int sums, const std::function<void(Part&)>& work) {
  const std::int64_t blocks = (n + kBlock - 1) / kBlock;
  std::vector<double> place(static_cast<std::size_t>(blocks) * sums);
  const int most =
      static_cast<int>(std::min({std::int64_t{n_threads}, blocks, blocks * sums / kLeastWork}));
  Crew crew;
  std::vector<std::thread> threads;
  try {
    for (int member = 1; member < most; ++member) {
      threads.emplace_back([&crew, &place, &work, member, n] {
        crew.wait_until_complete();
        Part part(crew, member, n, place);
        work(part);
      });
    }
  } catch (const std::system_error&) {
    // If the system provides no more threads, the existing ones do the work.
  }
  crew.complete(static_cast<int>(threads.size()) + 1);
  Part part(crew, 0, n, place);
  work(part);
  for (std::thread& thread : threads) thread.join();
}

template <int K, class Step>
Terms<double, K> one_pass(std::int64_t n, int n_threads, const Step& step) {
  Terms<double, K> total;
  on_threads(n, n_threads, K, [&](Part& part) {
    const Terms<double, K> sums = part.pass<K>(step);  // the same on each thread
    if (part.first()) total = sums;
  });
  return total;
}

template <class V>
V pseudo(V w, V g, V c1) {
  const V up = g + c1, down = g - c1;
  const V at_zero = up < 0.0 ? up : (down > 0.0 ? down : V{});
  return w > 0.0 ? up : (w < 0.0 ? down : at_zero);
}

template <class Real>
double product(const Real* a, const Real* b, std::int64_t n, int n_threads) {
  return one_pass<1>(n, n_threads,
                     [=](auto v, std::int64_t i) {
                       using V = decltype(v);
                       return Terms<V, 1>{{load<V>(a + i) * load<V>(b + i)}};
                     })
      .v[0];
}

// The newest pair is k - 1.  Each pass makes the next q, and the product that the pass after it
// needs:
//   q = g;               for i = k-1 .. 0:  alpha_i = rho_i s_i.q,  q = q - alpha_i y_i
//   q = gamma q,  gamma = s.y / y.y of the newest pair
//                        for i = 0 .. k-1:  beta = rho_i y_i.q,     q = q + (alpha_i - beta) s_i
//   d = -q
// 2k + 1 passes; gamma is multiplied in by the pass after the turn.
double two_loops(const double* gradient, const float* const* s, const float* const* y,
                 const double* rho, int pairs, std::int64_t n, int n_threads, double* d) {
  const int k = pairs;
  const auto last_pass = [=](Part& part, const double* q, const float* s_last, double scale,
                             double c) {
    return part.pass<1>([=](auto v, std::int64_t i) {  // -(q + c s)
      using V = decltype(v);
      const V out = -(scale * load<V>(q + i) + (s_last ? c * load<V>(s_last + i) : V{}));
      store(d + i, out);
      return Terms<V, 1>{{out * load<V>(gradient + i)}};
    });
  };
  const auto slope_of = [&](Part& part) {
    if (k == 0) return last_pass(part, gradient, nullptr, 1.0, 0.0).v[0];
    std::vector<double> alpha(k);
    const float* newest = s[k - 1];
    double product = part.pass<1>([=](auto v, std::int64_t i) {
                           using V = decltype(v);
                           return Terms<V, 1>{{load<V>(newest + i) * load<V>(gradient + i)}};
                         })
                         .v[0];
    double yy = 0.0;
    const double* q = gradient;
    for (int i = k - 1; i >= 0; --i) {
      alpha[i] = rho[i] * product;
      const double a = alpha[i];
      const float *y_i = y[i], *next = i > 0 ? s[i - 1] : y[0];
      const auto sums = part.pass<2>([=](auto v, std::int64_t j) {
        using V = decltype(v);
        const V y_j = load<V>(y_i + j), q_j = load<V>(q + j) - a * y_j;
        store(d + j, q_j);
        return Terms<V, 2>{{q_j * load<V>(next + j), y_j * y_j}};
      });
      product = sums.v[0];
      if (i == k - 1) yy = sums.v[1];
      q = d;
    }
    double scale = 1.0 / (rho[k - 1] * yy);
    product *= scale;
    for (int i = 0; i < k - 1; ++i) {
      const double c = alpha[i] - rho[i] * product, gamma = scale;
      const float *s_i = s[i], *next = y[i + 1];
      product = part.pass<1>([=](auto v, std::int64_t j) {
                      using V = decltype(v);
                      const V q_j = gamma * load<V>(d + j) + c * load<V>(s_i + j);
                      store(d + j, q_j);
                      return Terms<V, 1>{{q_j * load<V>(next + j)}};
                    })
                    .v[0];
      scale = 1.0;
    }
    return last_pass(part, d, newest, scale, alpha[k - 1] - rho[k - 1] * product).v[0];
  };
  double slope = 0.0;
  on_threads(n, n_threads, 3 * k + 1, [&](Part& part) {  // one sum, or two on the way down
    const double mine = slope_of(part);
    if (part.first()) slope = mine;
  });
  return slope;
}

}  // namespace

double dot(const double* a, const double* b, std::int64_t n, int n_threads) {
  return product(a, b, n, n_threads);
}

double direction(const double* gradient, const float* const* s, const float* const* y,
                 const double* rho, int pairs, const double* w, Penalty c1, std::int64_t n,
                 int n_threads, double* d) {
  if (c1.size == 0) return two_loops(gradient, s, y, rho, pairs, n, n_threads, d);
  std::vector<std::int64_t> free;
  for (std::int64_t i = 0; i < n; ++i) {
    if (gradient[i] != 0.0) free.push_back(i);
  }
  const auto m = static_cast<std::int64_t>(free.size());
  const auto gather = [&](const auto* from, auto* to) {
    for (std::int64_t k = 0; k < m; ++k) to[k] = from[free[k]];
  };
  std::vector<double> g(m), out(m), kept_rho;
  gather(gradient, g.data());
  std::vector<float> rows(2 * static_cast<std::size_t>(pairs * m));
  std::vector<const float*> kept_s, kept_y;
  for (int i = 0; i < pairs; ++i) {
    float *s_i = rows.data() + 2 * i * m, *y_i = s_i + m;
    gather(s[i], s_i);
    gather(y[i], y_i);
    const double sy = product(s_i, y_i, m, n_threads);
    if (!(sy > kLeastCurvature / rho[i])) continue;
    kept_s.push_back(s_i);
    kept_y.push_back(y_i);
    kept_rho.push_back(1.0 / sy);
  }
  two_loops(g.data(), kept_s.data(), kept_y.data(), kept_rho.data(),
            static_cast<int>(kept_s.size()), m, n_threads, out.data());
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

PairProducts correction_pair(const double* w, const double* w0, const double* g, const double* g0,
                             std::int64_t n, int n_threads, float* s, float* y) {
  const auto sums = one_pass<3>(n, n_threads, [=](auto v, std::int64_t i) {
    using V = decltype(v);
    const V s_i = store_rounded(s + i, V(load<V>(w + i) - load<V>(w0 + i)));
    const V y_i = store_rounded(y + i, V(load<V>(g + i) - load<V>(g0 + i)));
    return Terms<V, 3>{{s_i * s_i, y_i * y_i, s_i * y_i}};
  });
  return {sums.v[0], sums.v[1], sums.v[2]};
}

}  // namespace caesura
