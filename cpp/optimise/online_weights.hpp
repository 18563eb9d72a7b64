// The weights of an online learner, with lazy updates.
//
// Penalties change every weight in every step.  A weight without a gradient is not updated until it
// is read, because the effect of the steps in between has a closed form.
//
//   SGD       w = w (1 - 2 rate_t c2 / N) - rate_t / B gradient.  A weight is stored as scale * v,
//             where the scale changes in every step and v only if there is a gradient.
//   AdaGrad   see online_steps.hpp.  The speed of a weight changes only with its gradient, so the
//             steps in between are all the same, and m of them cost O(log m); but O(m) with both c1
//             and an average.
#pragma once

#include <cstdint>
#include <vector>

#include "base/large_pages.hpp"
#include "optimise/online_steps.hpp"

namespace caesura {

struct OnlineRule {
  bool adagrad = false, average = false;
  double rate = 0.0;
  double slowing = 0.0, power = 1.0;  // SGD: step t + 1 has rate / (1 + rate slowing t)^power
  double n_sequences = 1.0;
  std::vector<double> c1, c2;  // [kinds] kind 0 is that of places without a weight
};

class OnlineWeights {
 public:
  // kind: [places].  done: number of steps already taken, in earlier calls of the learner.
  OnlineWeights(OnlineRule rule, std::vector<std::uint8_t> kind, std::int64_t done);

  const OnlineRule& rule() const { return rule_; }
  double rate() const { return rate_; }        // of the last step
  std::int64_t done() const { return done_; }  // number of steps in total

  // Call before put() if each weight has a centre, which is added to it when it is read.
  void set_centre();
  // put() sets a weight at the start; the functions below return it at the end, after settle().
  void put(std::int64_t place, double w, double average, double squares, double centre);
  double weight(std::int64_t place) const { return w_[place]; }
  // Returns the average, and sets the sum to what put() would make of it, so that learning
  // continues with the same bits whether or not it is resumed from the average.
  double take_average(std::int64_t place);
  double squares(std::int64_t place) const { return squares_[place]; }

  // Writes the weights of some units, with their centres, to `seen`, [units][wide].  ready: for
  // AdaGrad, [all units] number of steps that are applied to their weights.
  void read(const OnlineUnits& units, std::int64_t* ready, double* seen) {
    if (rule_.adagrad)
      steps_.adagrad_read(vectors_, adagrad_, units, taken_, ready, seen);
    else
      steps_.sgd_read(vectors_, sgd_, units, seen);
  }

  // A step consists of begin(), one update() of each unit that has a gradient (after its read()),
  // and end().  With AdaGrad all weights must be read before a step whose batch has another size
  // than the last one.
  void begin(int batch_size);
  void update(const OnlineUnits& units, std::int64_t* ready, double* gradient) {
    if (!rule_.adagrad) {
      steps_.sgd_update(vectors_, sgd_, units, gradient);
      return;
    }
    steps_.adagrad_update(vectors_, adagrad_, units, gradient);
    for (std::size_t k = 0; k < units.count; ++k) ready[units.units[k]] = taken_ + 1;
  }
  // The same for SGD, from the gradient of rows.  held: [wide] scratch
  void update_rows(const OnlineRows& rows, std::int64_t begin, std::int64_t end, double* gradient,
                   double* held) {
    steps_.sgd_update_rows(vectors_, sgd_, rows, begin, end, gradient, held);
  }
  void end();

  // If is_scaled(), that is for SGD with one kind of weights and no centre: the weights divided by
  // scale().
  const double* scaled() const { return w_.data(); }
  double scale() const { return scale_[1]; }
  bool is_scaled() const { return !rule_.adagrad && scale_.size() == 2 && centre_.empty(); }

  // For SGD: replaces the scaled representation by the weights and their sums over the steps.
  void settle();

 private:
  void settle(const std::vector<double>& factor);

  OnlineRule rule_;
  std::int64_t done_, taken_ = 0;
  double rate_;
  std::vector<std::uint8_t> kind_, lanes_;
  Table<double> w_, sums_, squares_, centre_;
  std::vector<double> scale_, gain_, scale_sums_, c1_, c2_;  // [kinds]
  const OnlineSteps& steps_;
  OnlineVectors vectors_;
  SgdStep sgd_;
  AdaGradStep adagrad_;
};

}  // namespace caesura
