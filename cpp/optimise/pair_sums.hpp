// Sums over the correction pairs of L-BFGS, for one instruction set.  They are memory-bound: each
// call reads every row once, in parts that stay in the cache.
#pragma once

#include <cstdint>

namespace caesura {

// A bfloat16 number: the upper half of a float, with 8 bits of exponent and 7 bits of mantissa.
enum class Half : std::uint16_t {};

// For rows of floats or of halves.
template <class Row>
struct PairSums {
  // out[r] = sum of rows[r][i] x[i] for i in [begin, end)
  void (*products)(const Row* const* rows, int count, const double* x, std::int64_t begin,
                   std::int64_t end, double* out);
  void (*row_products)(const Row* const* rows, int count, const Row* x, std::int64_t begin,
                       std::int64_t end, double* out);

  // out[i] = scale x[i] + sum of c[r] rows[r][i] for i in [begin, end); returns out.x
  double (*combine)(const Row* const* rows, const double* c, int count, double scale,
                    const double* x, std::int64_t begin, std::int64_t end, double* out);
};

struct PairKernels {
  PairSums<float> singles;
  PairSums<Half> halves;
};
extern const PairKernels kPlainPairs;
#ifdef CAESURA_HAVE_WIDE
extern const PairKernels kWidePairs;
#endif

// The kernels for this machine, selected as in kernels().
const PairKernels& pair_kernels();

}  // namespace caesura
