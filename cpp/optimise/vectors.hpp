// Vectors of parameters, for the optimisers.  Sums are taken in fixed blocks and the blocks are
// added in order, so that every result is the same, bit by bit, on any number of threads.
#pragma once

#include <cstdint>

namespace caesura {

// A penalty of each parameter: none, one for all, or one each.
struct Penalty {
  const double* values = nullptr;  // (size,)
  std::int64_t size = 0;           // 0, 1 or n
};

double dot(const double* a, const double* b, std::int64_t n, int n_threads);

// d = -H g, H from the pairs s[i], y[i], oldest first, rho[i] = 1 / s[i].y[i]: the two-loop
// recursion.  Returns g.d.  Pairs are stored in single precision, which halves the memory that the
// recursion reads; H stays positive definite, since rho is that of the rounded pairs, and the
// recursion itself runs in double precision.
//
// With c1 the gradient is the pseudo-gradient, and the weights where it is 0 stay at zero.  H is
// then made of the entries of the pairs at the other, free weights: it approximates the inverse of
// their part of the Hessian.  An entry of d that goes uphill and takes its weight from zero, or to
// zero and beyond, becomes 0: the penalty has a kink there, and moves that are cut short at zero
// must lower F by themselves.  Other entries stay.  Without every entry that goes uphill, as Andrew
// and Gao (2007) have it, the direction is spoilt (references of cora_ie, c1 = 0.05, c2 = 0.01:
// 1120 evaluations instead of 355).  g.d < 0 all the same, since only terms above zero are left
// out.
double direction(const double* gradient, const float* const* s, const float* const* y,
                 const double* rho, int pairs, const double* w, Penalty c1, std::int64_t n,
                 int n_threads, double* d);

struct Penalised {
  double penalty;  // c1 |w|_1 + c2 |w|_2^2
  double ww;       // w.w
  double gg;       // of the gradient; of the pseudo-gradient where there is c1
  double active;   // weights other than zero
};
// out = gradient + 2 c2 w
Penalised penalise(const double* w, const double* gradient, Penalty c1, Penalty c2, std::int64_t n,
                   int n_threads, double* out);

// The derivative of c1 |w|_1 plus `gradient`, in the direction of steepest descent.
void pseudo_gradient(const double* w, const double* gradient, Penalty c1, std::int64_t n,
                     int n_threads, double* out);

// out = w + step d; where c1 > 0, what leaves its orthant (of w, else of -gradient) becomes 0.
// Returns gradient.(out - w).
double move(const double* w, const double* d, double step, const double* gradient, Penalty c1,
            std::int64_t n, int n_threads, double* out);

struct PairProducts {
  double ss, yy, sy;
};
// s = w - w0, y = g - g0, both rounded to single precision, and the products of what they became.
PairProducts correction_pair(const double* w, const double* w0, const double* g, const double* g0,
                             std::int64_t n, int n_threads, float* s, float* y);

}  // namespace caesura
