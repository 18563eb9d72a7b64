// Weights of which only a few change at a time, stored where the kernels read them.
//
// They are in the order of the kernels: [rows of the table | single weights | edge weights |
// labels]; some places of the table hold no weight.  A change is collected from counts as a list of
// places and increments before any weight is changed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/large_pages.hpp"
#include "learn/terms.hpp"

namespace caesura {

class SparseWeights {
 public:
  // w: [size] in the order of the layout.  centre: values that are added to the weights in all
  // scores, or null.  c2: one penalty for all weights, [size], or empty for none.
  SparseWeights(std::shared_ptr<Objective> objective, const double* w, const double* centre,
                const std::vector<double>& c2);

  // Returns c2 |w|^2.
  double penalty() const;
  std::int64_t size() const { return layout_.size(); }
  const Objective& objective() const { return *objective_; }
  int n_sequences() const { return objective_->design().n_sequences(); }

 protected:
  std::int64_t place_of(std::int64_t weight) const;
  // delta += sign * counts of sequence i
  void collect(int i, const SequenceCounts& counts, double sign);
  void touch(std::int64_t place, double x) {
    if (there_[place] == kNoWeight || x == 0.0) return;
    if (there_[place] == kWeight) touched_.push_back(place);
    there_[place] = kTouched;
    delta_[place] += x;
  }
  void clear_touched();
  // Adds x to one weight.
  void add(std::int64_t place, double x) {
    w_[place] += x;
    if (!seen_.empty()) seen_[place] += x;
    if (place >= first_label_) labels_.push_back(place);
  }
  const double* seen() const { return seen_.empty() ? w_.data() : seen_.data(); }
  // Updates the labels that the kernels see, to be called after add().
  void apply_labels();
  // Writes the weights, and recomputes seen_ so that it has the same rounding errors as in a new
  // object.
  void write(double* w);

  std::shared_ptr<Objective> objective_;
  const Layout& layout_;
  // [places] seen_ = w_ + centre_; both are empty if there is no centre.  inverse_: 1 / (2 c2), or
  // empty
  Table<double> w_, seen_, centre_, inverse_;
  std::vector<std::int64_t> touched_;  // places where delta_ was changed
  std::vector<double> delta_;          // [places] zero except at touched_
  Unpacked<double> unpacked_;
  Workspace work_;

 private:
  enum There : std::uint8_t { kNoWeight, kWeight, kTouched };
  void collect_row(const Design& d, std::int64_t row, int lane, double count);
  std::vector<std::int64_t> places_;
  std::int64_t wide_ = 0, first_single_ = 0, first_edge_ = 0, first_label_ = 0;
  std::vector<There> there_;                      // [places]
  std::vector<std::int64_t> labels_;              // places of labels that have changed
  std::vector<std::int32_t> pair_, start_, end_;  // from labels to weights, or -1
};

}  // namespace caesura
