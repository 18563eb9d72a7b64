// Marginals and ln Z of a semi-CRF with dense segment scores, in the linear domain.
//
//   alpha[e, y]  = sum over s of hat[s, y] exp(score[s, k, y])               k = e - s - 1
//   hat[e, q]    = sum over p of alpha[e, p] exp(transition[p, q])
//   P([s, e), y) = P(alpha[e, y]) hat[s, y] exp(score[s, k, y]) / alpha[e, y]
//
// A twin of sweep.cpp and posterior.cpp for the layers of neural networks: loss and gradient of a
// batch are 2.2 to 2.7 times as fast (lines "dense segments counts" of bench/twins.py).  Each score
// is read once and its exponential is computed once.  It is stored where the count will be, and the
// backward pass multiplies it in place.  Each start adds its terms to the sums of its ends, which
// are contiguous in memory.
//
// Rows are relative: hat[s] to base(s), the exponentials of start s to their largest score, and
// alpha[e] to ref(e), the largest base(s) + largest score of the starts so far.  If a number leaves
// the range in which no digits are lost, the kernel returns false and the general sweeps are used.
#include "infer/dense_segments.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/interrupt.hpp"
#include "base/vector.hpp"
#include "base/workspace.hpp"
#include "infer/kernels.hpp"
#include "lattice/rows.hpp"

namespace caesura::CAESURA_ISA {
namespace {

constexpr double kLeast = 1e-280;   // sums below it may have lost terms, which are below 1e-308
constexpr double kMostScore = 1e9;  // larger scores are left to the general sweeps

// Float scores are read and written as floats, and summed as doubles.
using fvec = float __attribute__((vector_size(CAESURA_WIDTH * 4)));

inline vec read(const double* p) { return load(p); }
inline vec read(const float* p) {
  fvec v;
  std::memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, vec);
}
inline void write(double* p, vec v) { store(p, v); }
inline void write(float* p, vec v) {
  const fvec narrow = __builtin_convertvector(v, fvec);
  std::memcpy(p, &narrow, sizeof narrow);
}

// Rows are not padded here: fill and copy of rows.hpp would write beyond them.
inline void fill_exactly(double* to, int n, double x) {
  for (int i = 0; i < n; ++i) to[i] = x;
}
inline void copy_exactly(double* to, const double* from, int n) {
  for (int i = 0; i < n; ++i) to[i] = from[i];
}

template <class Real>
struct Dense {
  // The largest difference of two scores of a start: exponentials must be normal numbers of Real.
  static constexpr double kSpread = sizeof(Real) == 4 ? 80.0 : 600.0;

  const DenseSegments<Real>& in;
  const int T, L, Y;
  double* weight;     // [Y][Y] exp(transition - top)
  double* hat;        // [T][Y] relative to base(s)
  double* alpha;      // [T + 1][Y] relative to ref(e)
  double* scaled;     // [T + 1][Y] alpha divided by the largest entry of its row
  double* largest;    // [T] largest score of a segment from s
  double* increment;  // [T + 1] base(e) - base(e - 1)
  double* ref;        // [T + 1 + W] ref(e), relative to base(s) of the current start s < e
  double* fade;       // [L + W] factor of the sums so far when ref(e) changes
  double* share;      // [L + W] factor of the terms of the current start
  double* row;        // [Y]
  double* barred;     // [L][Y] 0, or -inf beyond the bound of a label; null without bounds
  double top = 0.0;
  Total base;

  Dense(const DenseSegments<Real>& input, Workspace& work)
      : in(input), T(input.T), L(input.L), Y(input.Y) {
    weight = work.doubles(static_cast<std::size_t>(Y) * Y);
    hat = work.doubles(static_cast<std::size_t>(T) * Y);
    alpha = work.doubles(static_cast<std::size_t>(T + 1) * Y);
    scaled = work.doubles(static_cast<std::size_t>(T + 1) * Y);
    largest = work.doubles(T);
    increment = work.doubles(T + 1);
    ref = work.doubles(T + 1 + W);
    fade = work.doubles(L + W);
    share = work.doubles(L + W);
    row = work.doubles(Y);
    barred = nullptr;
    if (in.bounds != nullptr) {
      barred = work.doubles(static_cast<std::size_t>(L) * Y);
      for (int k = 0; k < L; ++k) {
        for (int y = 0; y < Y; ++y) {
          const int bound = in.bounds[y];
          barred[k * Y + y] = bound > 0 && k >= bound ? kMinusInfinity : 0.0;
        }
      }
    }
  }

  // Segments from s have the lengths 1, ..., ends_of(s); that of length k + 1 is entry k.
  int ends_of(int s) const { return std::min(L, T - s); }
  const Real* scores(int s) const { return in.scores + static_cast<std::ptrdiff_t>(s) * L * Y; }

  // out[i] = exp(x[i] - *most), *most = the largest entry.  Returns false if an entry is NaN, too
  // large or too far below the largest, or if all are -inf.
  static bool relative(const double* x, int n, double* out, double* most) {
    *most = kMinusInfinity;
    for (int i = 0; i < n; ++i) {
      if (!(x[i] <= kMostScore)) return false;
      *most = std::max(*most, x[i]);
    }
    if (!(*most >= -kMostScore)) return false;
    for (int i = 0; i < n; ++i) {
      if (x[i] - *most < -600.0 && x[i] != kMinusInfinity) return false;
      out[i] = std::exp(x[i] - *most);
    }
    return true;
  }

  // Sets hat[0] = exp(start), the weights of the transitions, and empty sums.  Returns false if a
  // score is out of range.
  bool begin() {
    double first;
    if (!relative(in.start, Y, hat, &first)) return false;
    base.add(first);
    copy_exactly(weight, in.transition, Y * Y);
    if (!in.same_label_adjacent) {
      for (int y = 0; y < Y; ++y) weight[y * Y + y] = kMinusInfinity;
    }
    if (T == 1) {
      fill_exactly(weight, Y * Y, 0.0);  // there are no transitions
    } else if (!relative(weight, Y * Y, weight, &top)) {
      return false;
    }
    fill_exactly(alpha, (T + 1) * Y, 0.0);
    fill_exactly(ref, T + 1 + W, kMinusInfinity);
    return true;
  }

  // kept[k][y] = exp(score[s, k, y] - largest[s]).  Returns false if a score is out of range.
  bool take_exponentials(int s, Real* kept) {
    const Real* x = scores(s);
    const int n = ends_of(s) * Y;
    // The scores from the flat index i = k Y + y on, -inf beyond the bound of a label: a vector of
    // them, and single ones for the rest of the row.
    auto at = [&](int i) {
      const vec v = read(x + i);
      return barred == nullptr ? v : v + load(barred + i);
    };
    auto last = [&](int i) { return static_cast<double>(x[i]) + (barred ? barred[i] : 0.0); };
    // Find the largest score of the start, and check that all are numbers.
    vec most = splat(kMinusInfinity);
    ivec good = most == most;
    int i = 0;
    for (; i + W <= n; i += W) {
      const vec v = at(i);
      good &= v <= kMostScore;  // false of NaN
      most = max(most, v);
    }
    double highest = max_of(most);
    bool fine = !any(~good);
    for (int j = i; j < n; ++j) {
      fine &= last(j) <= kMostScore;
      highest = std::max(highest, last(j));
    }
    if (!fine) return false;
    if (highest == kMinusInfinity) highest = 0.0;
    largest[s] = highest;
    if (highest < -kMostScore) return false;
    // Compute the exponentials relative to it, none of which may underflow.
    ivec lost = most != most;
    for (i = 0; i + W <= n; i += W) {
      const vec v = at(i) - highest;
      lost |= (v < -kSpread) & (v != kMinusInfinity);
      write(kept + i, exp(v));
    }
    fine = !any(lost);
    for (; i < n; ++i) {
      const double v = last(i) - highest;
      fine &= v >= -kSpread || v == kMinusInfinity;
      kept[i] = static_cast<Real>(std::exp(v));
    }
    return fine;
  }

  // Sets ref(e) = max(ref(e), base(s) + largest[s]) for all ends e = s + k + 1, so that no term
  // exceeds 1:
  //
  //   fade[k]  = exp(old ref(e) - new ref(e))          factor of the sums so far
  //   share[k] = exp(base(s) + largest[s] - ref(e))    factor of the exponentials of s
  //
  // References are stored relative to base(s), so that base(s) itself is 0 here.
  void move_references(int s) {
    const vec mine = splat(largest[s]);
    double* const at = ref + s + 1;
    for (int k = 0; k < ends_of(s); k += W) {
      const vec before = load(at + k);
      const vec now = max(before, mine);
      store(fade + k, exp(before - now));
      store(share + k, exp(mine - now));
      store(at + k, now);
    }
    // Clear what the last vector wrote beyond the ends of s.
    for (int k = ends_of(s); k % W != 0; ++k) at[k] = kMinusInfinity;
  }

  // alpha[e, y] = alpha[e, y] fade[k] + kept[k, y] hat[s, y] share[k]         e = s + k + 1
  void add(int s, const Real* kept) {
    const double* from = hat + static_cast<std::ptrdiff_t>(s) * Y;
    double* to = alpha + static_cast<std::ptrdiff_t>(s + 1) * Y;
    const int n = ends_of(s);
    for (int k = 0; k < n; ++k, to += Y, kept += Y) {
      const double f = fade[k], g = share[k];
      int y = 0;
      for (; y + W <= Y; y += W) {
        store(to + y, load(to + y) * f + read(kept + y) * (load(from + y) * g));
      }
      for (; y < Y; ++y) to[y] = to[y] * f + static_cast<double>(kept[y]) * (from[y] * g);
    }
  }

  // Computes hat[e] once alpha[e] is complete.  With most = max over y of alpha[e, y]:
  //
  //   scaled[e, y]  = alpha[e, y] / most
  //   base(e)       = base(e - 1) + increment[e],  increment[e] = ref(e) + ln most + top
  //   hat[e, q]     = sum over p of scaled[e, p] weight[p, q]
  //
  // (without top if e = T).  Returns false if a sum is so small that terms may have underflowed.
  bool step(int e) {
    const double* sums = alpha + static_cast<std::ptrdiff_t>(e) * Y;
    double* out = scaled + static_cast<std::ptrdiff_t>(e) * Y;
    double most = 0.0;
    for (int y = 0; y < Y; ++y) {
      if (!(sums[y] >= kLeast)) return false;
      most = std::max(most, sums[y]);
    }
    for (int y = 0; y < Y; ++y) out[y] = sums[y] / most;
    increment[e] = ref[e] + std::log(most) + (e < T ? top : 0.0);
    base.add(increment[e]);
    if (e == T) return true;
    double* next = hat + static_cast<std::ptrdiff_t>(e) * Y;
    fill_exactly(next, Y, 0.0);
    for (int p = 0; p < Y; ++p) {
      const double* w = weight + static_cast<std::ptrdiff_t>(p) * Y;
      for (int q = 0; q < Y; ++q) next[q] += out[p] * w[q];
    }
    for (int q = 0; q < Y; ++q) {
      if (!(next[q] >= kLeast)) return false;
    }
    // References of later ends become relative to base(e).
    for (int k = e + 1; k < std::min(e + L, T + 1); ++k) ref[k] -= increment[e];
    return true;
  }

  // Computes ln Z.  The exponentials are stored in `kept`: [T][L][Y] if `all`, else [L][Y] for the
  // current start.
  bool forward(Real* kept, bool all, double* log_z) {
    if (!begin()) return false;
    for (int s = 0; s < T; ++s) {
      if (s % 16 == 0) check_interrupt();
      Real* mine = all ? kept + static_cast<std::ptrdiff_t>(s) * L * Y : kept;
      if (!take_exponentials(s, mine)) return false;
      move_references(s);
      add(s, mine);
      if (!step(s + 1)) return false;
    }
    // Z = sum over y of alpha[T, y] exp(end[y]); the backward pass begins with the terms over Z.
    double last;
    if (!relative(in.end, Y, row, &last)) return false;
    double total = 0.0;
    for (int y = 0; y < Y; ++y) total += row[y] *= scaled[static_cast<std::ptrdiff_t>(T) * Y + y];
    if (!(total >= kLeast)) return false;
    for (int y = 0; y < Y; ++y) row[y] /= total;  // P(alpha[T, y])
    base.add(last);
    base.add(std::log(total));
    *log_z = base.value();
    return true;
  }

  // For all ends e = s + k + 1 of segments from s:
  //
  //   P([s, e), y) = kept[k, y] hat[s, y] share[k] ratio[e, y]
  //   begun[y]     = sum over k of P([s, e), y) = P(hat[s, y])
  //
  // The probability times `factor` replaces the exponential.  It is limited to 1, because rounding
  // may raise it slightly above.
  void count(int s, const double* ratio, double factor, Real* kept, double* begun) {
    const double* from = hat + static_cast<std::ptrdiff_t>(s) * Y;
    const double* to = ratio + static_cast<std::ptrdiff_t>(s + 1) * Y;
    const int n = ends_of(s);
    fill_exactly(begun, Y, 0.0);
    for (int k = 0; k < n; ++k, to += Y, kept += Y) {
      const double g = share[k];
      int y = 0;
      for (; y + W <= Y; y += W) {
        const vec p = min(read(kept + y) * (load(from + y) * g) * load(to + y), splat(1.0));
        store(begun + y, load(begun + y) + p);
        write(kept + y, p * factor);
      }
      for (; y < Y; ++y) {
        const double p = std::min(static_cast<double>(kept[y]) * (from[y] * g) * to[y], 1.0);
        begun[y] += p;
        kept[y] = static_cast<Real>(p * factor);
      }
    }
  }

  // Computes closed[p] = P(alpha[s, p]) from begun[q] = P(hat[s, q]), which it overwrites:
  //
  //   closed[p]    = scaled[s, p] sum over q of weight[p, q] begun[q] / hat[s, q]
  //   outer[p, q] += scaled[s, p] begun[q] / hat[s, q]
  //
  // outer[p, q] weight[p, q] is the expected number of transitions.
  void pass(int s, double* begun, double* closed, double* outer) {
    const double* sums = hat + static_cast<std::ptrdiff_t>(s) * Y;
    const double* from = scaled + static_cast<std::ptrdiff_t>(s) * Y;
    for (int q = 0; q < Y; ++q) begun[q] /= sums[q];
    for (int p = 0; p < Y; ++p) {
      const double* w = weight + static_cast<std::ptrdiff_t>(p) * Y;
      double* out = outer + static_cast<std::ptrdiff_t>(p) * Y;
      double total = 0.0;
      for (int q = 0; q < Y; ++q) {
        total += w[q] * begun[q];
        out[q] += from[p] * begun[q];
      }
      closed[p] = from[p] * total;
    }
  }

  // Processes the starts from the last to the first; `row` holds P(alpha[T]) at first.  All numbers
  // of the forward pass are reused except `share`, which is recomputed for the final references.
  void backward(const DenseCounts<Real>& counts, Workspace& work) {
    double* begun = work.doubles(Y);
    double* rest = work.doubles(T + 1 + W);  // base(s) - ref(e) for the current start s < e
    copy_exactly(counts.ends, row, Y);
    fill_exactly(counts.transitions, Y * Y, 0.0);
    fill_exactly(rest, T + 1 + W, kMinusInfinity);
    for (int s = T - 1; s >= 0; --s) {
      if (s % 16 == 0) check_interrupt();
      // ratio[e] = P(alpha[e]) / alpha[e] replaces alpha[e].
      double* sums = alpha + static_cast<std::ptrdiff_t>(s + 1) * Y;
      for (int y = 0; y < Y; ++y) sums[y] = row[y] / sums[y];
      if (s + 1 < T) {
        // Each step back lowers base(s) by increment[s + 1].
        for (int k = s + 2; k < std::min(s + 2 + L, T + 1); ++k) rest[k] -= increment[s + 1];
      }
      rest[s + 1] = -ref[s + 1];
      const int n = ends_of(s);
      for (int k = 0; k < n; k += W) store(share + k, exp(load(rest + s + 1 + k) + largest[s]));
      count(s, alpha, counts.factor, counts.segments + static_cast<std::ptrdiff_t>(s) * L * Y,
            begun);
      if (s > 0) pass(s, begun, row, counts.transitions);
    }
    copy_exactly(counts.starts, begun, Y);
    for (int i = 0; i < Y * Y; ++i) counts.transitions[i] *= weight[i];
  }
};

}  // namespace

template <class Real>
bool dense(const DenseSegments<Real>& in, Workspace& work, const DenseCounts<Real>* counts,
           double* log_z) {
  Dense<Real> sweep(in, work);
  // With counts, the exponentials of all starts are kept in the place of the counts; ln Z alone
  // keeps those of one start.
  if (counts != nullptr) {
    if (!sweep.forward(counts->segments, true, log_z)) return false;
    sweep.backward(*counts, work);
    return true;
  }
  double* kept = work.doubles(static_cast<std::size_t>(in.L) * in.Y);
  return sweep.forward(reinterpret_cast<Real*>(kept), false, log_z);
}

bool dense32(const DenseSegments<float>& in, Workspace& work, const DenseCounts<float>* counts,
             double* log_z) {
  return dense(in, work, counts, log_z);
}
bool dense64(const DenseSegments<double>& in, Workspace& work, const DenseCounts<double>* counts,
             double* log_z) {
  return dense(in, work, counts, log_z);
}

}  // namespace caesura::CAESURA_ISA
