// Operations on vectors of parameters, for the optimisers.  Sums are computed in fixed blocks,
// which are added in order, so that results are bitwise identical for any number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "optimise/pair_sums.hpp"

namespace caesura {

// The penalties of the parameters: none, one for all, or one for each.
struct Penalty {
  const double* values = nullptr;  // (size,)
  std::int64_t size = 0;           // 0, 1 or n
};

double dot(const double* a, const double* b, std::int64_t n, int n_threads);

// The correction pairs of L-BFGS: all s, oldest first, then all y.  Row is float or, for half the
// memory, Half (see pair_sums.hpp).
template <class Row>
using PairRows = std::vector<const Row*>;

// The products of the newest of k pairs with all of them:
//   out[i] = s[i].y[k - 1],   out[k + i] = y[i].y[k - 1].
template <class Row>
void pair_products(const PairRows<Row>& pairs, std::int64_t n, int n_threads, double* out);

// The L-BFGS direction d = -H g, where H is the approximation of the inverse Hessian from k pairs,
// in the compact form of Byrd, Nocedal and Schnabel (1994), which reads every pair twice.
// products: [2][k][k], s[i].y[j] for i <= j, then y[i].y[j], as computed by pair_products().
// Returns g.d.  The products are those of the rounded pairs as stored, so that H is positive
// definite up to the rounding errors of the products.  The caller must reject an ascent direction.
//
// With c1, `gradient` is the pseudo-gradient, and weights where it is 0 do not move.  H is then
// built from the entries of the pairs at the other, free weights, whose products are recomputed,
// and approximates the inverse of their part of the Hessian.  An entry of d that points uphill and
// moves its weight away from zero, or to zero or beyond, is set to 0: the penalty has a kink there,
// and moves that are cut off at zero must decrease F by themselves.  Other entries are kept.
// Setting all uphill entries to 0, as Andrew and Gao (2007) do, spoils the direction (references of
// cora_ie, c1 = 0.05, c2 = 0.01: 1120 evaluations instead of 355).  Since only non-negative terms
// are dropped, g.d stays negative.
template <class Row>
double direction(const double* gradient, const PairRows<Row>& pairs, const double* products,
                 const double* w, Penalty c1, std::int64_t n, int n_threads, double* d);

struct Penalised {
  double penalty;  // c1 |w|_1 + c2 |w|_2^2
  double ww;       // w.w
  double gg;       // g.g of the gradient; with c1, of the pseudo-gradient
  double active;   // number of weights other than zero
};
// out = gradient + 2 c2 w; returns the penalty and the norms.
Penalised penalise(const double* w, const double* gradient, Penalty c1, Penalty c2, std::int64_t n,
                   int n_threads, double* out);

// out = the pseudo-gradient of OWL-QN: the subgradient of smallest norm of c1 |w|_1 plus a function
// whose gradient is `gradient`.
void pseudo_gradient(const double* w, const double* gradient, Penalty c1, std::int64_t n,
                     int n_threads, double* out);

// out = w + step d; where c1 > 0, an entry that leaves its orthant becomes 0.  The orthant is that
// of w or, where w is 0, of -gradient.  Returns gradient.(out - w).
double move(const double* w, const double* d, double step, const double* gradient, Penalty c1,
            std::int64_t n, int n_threads, double* out);

struct PairProducts {
  double ss, yy, sy;
};
// s = w - w0, y = g - g0, both rounded to Row.  Returns the products of the rounded vectors.
template <class Row>
PairProducts correction_pair(const double* w, const double* w0, const double* g, const double* g0,
                             std::int64_t n, int n_threads, Row* s, Row* y);

}  // namespace caesura
