#include "optimise/online_weights.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace caesura {

OnlineWeights::OnlineWeights(OnlineRule rule, std::vector<std::uint8_t> kind, std::int64_t done)
    : rule_(std::move(rule)),
      done_(done),
      rate_(rule_.rate),
      kind_(std::move(kind)),
      w_(kind_.size(), 0.0),
      scale_(rule_.c2.size(), 1.0),
      gain_(rule_.c2.size(), 0.0),
      scale_sums_(rule_.c2.size(), 0.0),
      c1_(rule_.c2.size(), 0.0),
      c2_(rule_.c2.size(), 0.0),
      steps_(online_steps()) {
  const int width = steps_.width;
  lanes_.assign(kind_.size() / width + 1, 0);
  for (std::size_t k = 0; k < kind_.size(); ++k)
    lanes_[k / width] |= static_cast<std::uint8_t>(kind_[k] > 0) << k % width;
  if (rule_.average) sums_.assign(kind_.size(), 0.0);
  if (rule_.adagrad) squares_.assign(kind_.size(), 0.0);
  vectors_.w = w_.data();
  vectors_.sums = rule_.average ? sums_.data() : nullptr;
  vectors_.squares = rule_.adagrad ? squares_.data() : nullptr;
  vectors_.kind = kind_.data();
  vectors_.lanes = lanes_.data();
  vectors_.n_kinds = static_cast<int>(rule_.c2.size());
  sgd_ = {scale_.data(), gain_.data(), scale_sums_.data()};
  adagrad_ = {rule_.rate, c1_.data(), c2_.data(), static_cast<double>(done_ + 1)};
}

void OnlineWeights::set_centre() {
  centre_.assign(kind_.size(), 0.0);
  vectors_.centre = centre_.data();
}

void OnlineWeights::put(std::int64_t place, double w, double average, double squares,
                        double centre) {
  w_[place] = w;
  if (rule_.average) sums_[place] = average * omega_total(static_cast<double>(done_));
  if (rule_.adagrad) squares_[place] = squares;
  if (!centre_.empty()) centre_[place] = centre;
}

double OnlineWeights::take_average(std::int64_t place) {
  const double total = omega_total(static_cast<double>(done_)), average = sums_[place] / total;
  sums_[place] = average * total;
  return average;
}

void OnlineWeights::begin(int batch_size) {
  const double share = batch_size / rule_.n_sequences;
  if (rule_.adagrad) {
    for (std::size_t k = 1; k < c1_.size(); ++k) {
      c1_[k] = rule_.c1[k] * share;
      c2_[k] = rule_.c2[k] * share;
    }
    return;
  }
  // scale_t = scale_(t - 1) (1 - 2 rate_t c2 / N), unless that leaves the range in which the
  // weights keep their precision: then they are settled, and the scale is 1 again.
  constexpr double kLeast = 1e-6, kMost = 1e6;
  rate_ = rule_.rate /
          std::pow(1.0 + rule_.rate * rule_.slowing * static_cast<double>(done_), rule_.power);
  std::vector<double> factor(scale_.size(), 1.0);
  bool good = true;
  for (std::size_t k = 1; k < scale_.size(); ++k) {
    factor[k] = 1.0 - 2.0 * rate_ * rule_.c2[k] / rule_.n_sequences;
    const double next = std::abs(scale_[k] * factor[k]);
    good &= next >= kLeast && next <= kMost;
  }
  if (good) {
    for (std::size_t k = 1; k < scale_.size(); ++k) scale_[k] *= factor[k];
  } else {
    settle(factor);
  }
  for (std::size_t k = 1; k < scale_.size(); ++k) gain_[k] = -rate_ / (batch_size * scale_[k]);
}

void OnlineWeights::end() {
  ++done_;
  ++taken_;
  adagrad_.step = static_cast<double>(done_ + 1);
  if (rule_.adagrad) return;
  const double counts = omega(static_cast<double>(done_));
  for (std::size_t k = 1; k < scale_.size(); ++k) scale_sums_[k] += counts * scale_[k];
}

void OnlineWeights::settle() {
  if (!rule_.adagrad) settle(std::vector<double>(scale_.size(), 1.0));
}

// sums = scale_sum w + sums, w = factor scale w
void OnlineWeights::settle(const std::vector<double>& factor) {
  for (std::size_t k = 0; k < kind_.size(); ++k) {
    const int kind = kind_[k];
    if (rule_.average) sums_[k] += scale_sums_[kind] * w_[k];
    w_[k] *= factor[kind] * scale_[kind];
  }
  std::fill(scale_.begin(), scale_.end(), 1.0);
  std::fill(scale_sums_.begin(), scale_sums_.end(), 0.0);
}

}  // namespace caesura
