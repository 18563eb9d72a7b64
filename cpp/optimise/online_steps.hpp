// The steps of online learning over a range of weights, for one instruction set.
//
// Weights are stored in the order of the kernels' table, in which some places hold no weight.  The
// kind of a place determines its penalties, and is 0 if there is no weight.  Steps are numbered
// from 1, and the average of the weights gives step t the weight
//
//   omega(t) = 4 t (t + 1) (t + 2),    omega(1) + ... + omega(t) = t (t + 1) (t + 2) (t + 3),
//
// which is equivalent to average += 4 / (t + 3) * (w - average) after every step.
#pragma once

#include <cstddef>
#include <cstdint>

namespace caesura {

// The weight of step t in the average, and that of all steps up to t.
inline double omega(double t) { return 4.0 * t * (t + 1.0) * (t + 2.0); }
inline double omega_total(double t) { return t * (t + 1.0) * (t + 2.0) * (t + 3.0); }

struct OnlineVectors {
  double* w = nullptr;                  // SGD: divided by the scale of its kind
  double* sums = nullptr;               // for the average, see below; null without an average
  double* squares = nullptr;            // sums of squared gradients; null for SGD
  const double* centre = nullptr;       // added to the weights when they are read, or null
  const std::uint8_t* kind = nullptr;   // 0 if there is no weight, else 1 + index of the penalties
  const std::uint8_t* lanes = nullptr;  // [vectors] bit k: there is a weight in lane k
  int n_kinds = 2;                      // including kind 0
};

// The factors of each kind, [n_kinds].  With them,
//   the weights are                  scale * w
//   their sums over the steps are    scale_sum * w + sums    (scale_sum: sum of omega * scale)
struct SgdStep {
  const double* scale;      // after this step
  const double* gain;       // factor of the gradient, 0 for kind 0
  const double* scale_sum;  // before this step
};

struct AdaGradStep {
  double rate;
  const double* c1;  // [n_kinds] times the share of all sequences that are in the batch
  const double* c2;  // [n_kinds] likewise
  double step;       // number of this step
};

// Units of `wide` places each: unit u has the places from first + u * wide on.
struct OnlineUnits {
  const std::int32_t* units;  // [count]
  std::size_t count;
  std::int64_t first, wide;  // wide: 1, or a multiple of the vector width
};

// Rows of features, in the layout of a Design.  So that prefetching needs no bounds check, kAhead
// more elements follow those of dense, and kFarAhead more those of sparse.
struct OnlineRows {
  const std::int64_t* dense_ptr;   // [rows + 1]
  const std::int32_t* dense;       // units of `wide` places
  const double* dense_value;       // null if all are 1
  const std::int64_t* sparse_ptr;  // [rows + 1]
  const std::int32_t* sparse;      // single places, relative to `first`
  const std::uint16_t* lane;       // index in the gradient of the row
  const double* sparse_value;      // null if all are 1
  std::int64_t first, wide;
  static constexpr int kAhead = 12, kFarAhead = 32;
};

// In all functions, `seen` and `gradient` have a row of `wide` numbers for each unit.
struct OnlineSteps {
  int width;  // numbers in a vector

  // seen = scale w + centre
  void (*sgd_read)(const OnlineVectors&, const SgdStep&, const OnlineUnits&, double* seen);

  // w = w + gain gradient, sums = sums - scale_sum gain gradient, gradient = 0
  void (*sgd_update)(const OnlineVectors&, const SgdStep&, const OnlineUnits&, double* gradient);

  // The same from the gradient of the rows [begin, end), all of whose weights are of one kind:
  //   w = w + gain gradient[r], sums = sums - scale_sum gain gradient[r]  for each unit of row r
  // held: [wide] scratch
  void (*sgd_update_rows)(const OnlineVectors&, const SgdStep&, const OnlineRows&,
                          std::int64_t begin, std::int64_t end, double* gradient, double* held);

  // Applies the steps that a unit has missed for want of a gradient, from ready[unit] to done,
  //   speed = rate / sqrt(squares),  w = soft(w, speed c1) / (1 + 2 speed c2)  in each of them,
  // then seen = w + centre.  done: number of steps so far.  ready: [all units] number of steps
  // that are applied to the weights of a unit; becomes `done`.
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

// The steps for this machine, selected as in kernels().
const OnlineSteps& online_steps();

}  // namespace caesura
