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

#include <cstddef>
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

// Ranges of `wide` places each: unit u has the places from first + u * wide on.
struct OnlineUnits {
  const std::int32_t* units;  // [count]
  std::size_t count;
  std::int64_t first, wide;  // wide: 1, or whole vectors
};

// Rows of features, as a Design has them.
struct OnlineRows {
  const std::int64_t* dense_ptr;   // [rows + 1]
  const std::int32_t* dense;       // units of `wide` places, and some more at the end
  const double* dense_value;       // null: all are 1
  const std::int64_t* sparse_ptr;  // [rows + 1]
  const std::int32_t* sparse;      // single places after `first`, and some more at the end
  const std::uint16_t* lane;       // of the row
  const double* sparse_value;      // null: all are 1
  std::int64_t first, wide;
  static constexpr int kAhead = 12, kFarAhead = 32;  // how many more there are at the ends
};

// Every function has one row of `wide` numbers in `seen` or `gradient` for each unit.
struct OnlineSteps {
  int width;  // numbers in a vector

  // seen = scale w + centre
  void (*sgd_read)(const OnlineVectors&, const SgdStep&, const OnlineUnits&, double* seen);

  // w = w + gain gradient, sums = sums - turned gain gradient, gradient = 0
  void (*sgd_update)(const OnlineVectors&, const SgdStep&, const OnlineUnits&, double* gradient);

  // The same straight from the gradient of rows [begin, end), whose weights are of one kind:
  //   w = w + gain gradient[r], sums = sums - turned gain gradient[r]  for each unit of row r
  // held: [wide] to work in
  void (*sgd_update_rows)(const OnlineVectors&, const SgdStep&, const OnlineRows&,
                          std::int64_t begin, std::int64_t end, double* gradient, double* held);

  // seen = w + centre, after `missed` steps without a gradient, which end before this one:
  //   speed = rate / sqrt(squares),  w = soft(w, speed c1) / (1 + 2 speed c2)  for each of them.
  // done: the steps so far; ready: [all units] those that are in a unit's weights, set to `done`.
  void (*adagrad_read)(const OnlineVectors&, const AdaGradStep&, const OnlineUnits&,
                       std::int64_t done, std::int64_t* ready, double* seen);

  // squares = squares + gradient^2, w = soft(w - speed gradient, speed c1) / (1 + 2 speed c2),
  // gradient = 0
  void (*adagrad_update)(const OnlineVectors&, const AdaGradStep&, const OnlineUnits&,
                         double* gradient);
};

extern const OnlineSteps kPlainOnlineSteps;
#ifdef CAESURA_HAVE_WIDE
extern const OnlineSteps kWideOnlineSteps;
#endif

// Those for this machine, as kernels() are.
const OnlineSteps& online_steps();

}  // namespace caesura
