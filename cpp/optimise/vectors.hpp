// Vectors of parameters, for the optimisers.  Sums are taken in fixed blocks and the blocks are
// added in order, so that every result is the same, bit by bit, on any number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "optimise/pair_sums.hpp"

namespace caesura {

// A penalty of each parameter: none, one for all, or one each.
struct Penalty {
  const double* values = nullptr;  // (size,)
  std::int64_t size = 0;           // 0, 1 or n
};

double dot(const double* a, const double* b, std::int64_t n, int n_threads);

// The correction pairs of L-BFGS: first all s, oldest first, then all y.  Row is float, or Half,
// which takes half the memory; see pair_sums.hpp for the arithmetic of both.
template <class Row>
using PairRows = std::vector<const Row*>;

// The products of the newest of k pairs with all of them:
//   out[i] = s[i].y[k - 1],   out[k + i] = y[i].y[k - 1].
template <class Row>
void pair_products(const PairRows<Row>& pairs, std::int64_t n, int n_threads, double* out);

// d = -H g, H from k pairs: the direction of L-BFGS in the compact form of Byrd, Nocedal and
// Schnabel (1994), which reads every pair twice.  products: [2][k][k], s[i].y[j] for i <= j, then
// y[i].y[j], as pair_products has them.  Returns g.d.  The products are those of the pairs as they
// are stored, so that H is positive definite up to their rounding errors; a direction that goes
// uphill all the same is for the caller to refuse.
//
// With c1 the gradient is the pseudo-gradient, and the weights where it is 0 stay at zero.  H is
// then made of the entries of the pairs at the other, free weights, whose products are taken anew:
// it approximates the inverse of their part of the Hessian.  An entry of d that goes uphill and
// takes its weight from zero, or to zero and beyond, becomes 0: the penalty has a kink there, and
// moves that are cut short at zero must lower F by themselves.  Other entries stay.  Without every
// entry that goes uphill, as Andrew and Gao (2007) have it, the direction is spoilt (references of
// cora_ie, c1 = 0.05, c2 = 0.01: 1120 evaluations instead of 355).  g.d < 0 all the same, since
// only terms above zero are left out.
template <class Row>
double direction(const double* gradient, const PairRows<Row>& pairs, const double* products,
                 const double* w, Penalty c1, std::int64_t n, int n_threads, double* d);

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
// s = w - w0, y = g - g0, both rounded, and the products of what they became.
template <class Row>
PairProducts correction_pair(const double* w, const double* w0, const double* g, const double* g0,
                             std::int64_t n, int n_threads, Row* s, Row* y);

}  // namespace caesura
