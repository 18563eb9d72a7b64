// The steps of online learning over a range of weights, for one instruction set.
//
// Weights lie in the order of the kernels' table, where some places hold no weight: their kind is
// 0.  The kind of a weight says which penalties it has.  Steps are counted from 1, and the average
// of the weights counts step t by
//
//   omega(t) = 4 t (t + 1) (t + 2),    omega(1) + ... + omega(t) = t (t + 1) (t + 2) (t + 3),
//
// which is the same as average += 4 / (t + 3) * (w - average) after every step.
#pragma once

#include <cstdint>

namespace caesura {

// How much step t counts in the average, and all steps up to it.
inline double omega(double t) { return 4.0 * t * (t + 1.0) * (t + 2.0); }
inline double omega_total(double t) { return t * (t + 1.0) * (t + 2.0) * (t + 3.0); }

struct OnlineVectors {
  double* w = nullptr;                  // SGD: divided by the scale of its kind
  double* sums = nullptr;               // for the average, see the steps; null: there is none
  double* squares = nullptr;            // sums of squared gradients; null: SGD
  const double* centre = nullptr;       // added to the weights by whoever reads them, or null
  const std::uint8_t* kind = nullptr;   // 0: no weight, else 1 + which penalties
  const std::uint8_t* lanes = nullptr;  // [vectors] bit k: there is a weight in lane k
  int n_kinds = 2;                      // with the first, which is no weight
};

// Of each kind, [n_kinds].
//   weights:       scale * w
//   their sums:    turned * w + sums       (turned: omega times scale, summed over the steps)
struct SgdStep {
  const double* scale;   // after this step
  const double* gain;    // what the gradient is multiplied by, 0 for the first kind
  const double* turned;  // before this step
};

struct AdaGradStep {
  double rate;
  const double* c1;  // of each kind, times the share of the sequences that a batch has
  const double* c2;
  double step;  // number of this one
};

struct OnlineSteps {
  int width;  // numbers in a vector: ranges longer than 1 are whole vectors

  // The places [begin, begin + size) are read into `seen` [size], and updated by the gradient
  // [size], which becomes 0.

  // seen = scale w + centre
  void (*sgd_read)(const OnlineVectors&, const SgdStep&, std::int64_t begin, std::int64_t size,
                   double* seen);

  // w = w + gain gradient, sums = sums - turned gain gradient
  void (*sgd_update)(const OnlineVectors&, const SgdStep&, std::int64_t begin, std::int64_t size,
                     double* gradient);

  // seen = w + centre, after `missed` steps without a gradient, which end before this one:
  //   speed = rate / sqrt(squares),  w = soft(w, speed c1) / (1 + 2 speed c2)  for each of them.
  void (*adagrad_read)(const OnlineVectors&, const AdaGradStep&, std::int64_t begin,
                       std::int64_t size, std::int64_t missed, double* seen);

  // squares = squares + gradient^2, w = soft(w - speed gradient, speed c1) / (1 + 2 speed c2)
  void (*adagrad_update)(const OnlineVectors&, const AdaGradStep&, std::int64_t begin,
                         std::int64_t size, double* gradient);
};

extern const OnlineSteps kPlainOnlineSteps;
#ifdef CAESURA_HAVE_WIDE
extern const OnlineSteps kWideOnlineSteps;
#endif

// Those for this machine, as kernels() are.
const OnlineSteps& online_steps();

}  // namespace caesura
