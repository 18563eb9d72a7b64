// The weights of an online learner, each updated only when a step needs it.
//
// Penalties move every weight in every step.  A weight that a step does not touch needs none of
// that until it is read: what the steps in between did to it has a closed form.
//
//   SGD       w = w (1 - 2 rate_t c2 / N) - rate_t / B gradient.  A weight is kept as scale * v,
//             where the scale changes with every step and v only where there is a gradient.
//   AdaGrad   see online_steps.hpp.  The speed of a weight changes only with its gradient, so the
//             steps in between are all the same, and m of them cost log(m).
#pragma once

#include <cstdint>
#include <vector>

#include "base/large_pages.hpp"
#include "optimise/online_steps.hpp"

namespace caesura {

struct OnlineRule {
  bool adagrad = false, average = false;
  double rate = 0.0;
  double slowing = 0.0, power = 1.0;  // SGD: rate / (1 + rate slowing t)^power before step t + 1
  double n_sequences = 1.0;
  std::vector<double> c1, c2;  // [kinds] the first is that of places without a weight
};

class OnlineWeights {
 public:
  // kind: [places].  done: the steps before these.
  OnlineWeights(OnlineRule rule, std::vector<std::uint8_t> kind, std::int64_t done);

  const OnlineRule& rule() const { return rule_; }
  double rate() const { return rate_; }          // of the last step
  std::int64_t done() const { return done_; }    // steps
  std::int64_t taken() const { return taken_; }  // steps of these weights

  // Before the weights: there will be one to add to each of them.
  void set_centre();
  // One weight at the start, and at the end after settle().
  void put(std::int64_t place, double w, double average, double squares, double centre);
  double weight(std::int64_t place) const { return w_[place]; }
  // Rounds the sum too, so that going on from the average and going on at once give the same bits.
  double take_average(std::int64_t place);
  double squares(std::int64_t place) const { return squares_[place]; }

  // The weights of some units as the kernels read them, [units][wide].  ready: AdaGrad, [all units]
  // the steps that are in their weights.
  void read(const OnlineUnits& units, std::int64_t* ready, double* seen) {
    if (rule_.adagrad)
      steps_.adagrad_read(vectors_, adagrad_, units, taken_, ready, seen);
    else
      steps_.sgd_read(vectors_, sgd_, units, seen);
  }

  // One step: first begin(), then update() of all units that have a gradient, once each and after
  // read(), then end().  For AdaGrad all weights must be up to date when a batch has another size
  // than the one before.
  void begin(int batch_size);
  void update(const OnlineUnits& units, std::int64_t* ready, double* gradient) {
    if (!rule_.adagrad) {
      steps_.sgd_update(vectors_, sgd_, units, gradient);
      return;
    }
    steps_.adagrad_update(vectors_, adagrad_, units, gradient);
    for (std::size_t k = 0; k < units.count; ++k) ready[units.units[k]] = taken_ + 1;
  }
  // The same for SGD, from the gradient of rows.  held: [wide] to work in
  void update_rows(const OnlineRows& rows, std::int64_t begin, std::int64_t end, double* gradient,
                   double* held) {
    steps_.sgd_update_rows(vectors_, sgd_, rows, begin, end, gradient, held);
  }
  void end();

  // SGD with one kind of weights: what the weights are, divided by scale().
  const double* scaled() const { return w_.data(); }
  double scale() const { return scale_[1]; }
  bool is_scaled() const { return !rule_.adagrad && scale_.size() == 2 && centre_.empty(); }

  // SGD: w becomes the weights themselves, and sums those of the steps so far.
  void settle();

 private:
  void settle(const std::vector<double>& factor);

  OnlineRule rule_;
  std::int64_t done_, taken_ = 0;
  double rate_;
  std::vector<std::uint8_t> kind_, lanes_;
  Table<double> w_, sums_, squares_, centre_;
  std::vector<double> scale_, gain_, turned_, c1_, c2_;  // [kinds]
  const OnlineSteps& steps_;
  OnlineVectors vectors_;
  SgdStep sgd_;
  AdaGradStep adagrad_;
};

}  // namespace caesura
