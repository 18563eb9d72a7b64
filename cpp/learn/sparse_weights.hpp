// Weights of which few change at a time, and which the kernels read in place.
//
// They lie in the order of the kernels' table: [rows of the table | single weights | weights of
// edges | labels], where some places hold no weight.  A change is collected from counts, as a list
// of places and what is added there, before anything moves.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/large_pages.hpp"
#include "learn/terms.hpp"

namespace caesura {

class SparseWeights {
 public:
  // w: [size] in the order of the layout.  centre: what is added to the weights wherever they
  // score, or null.  c2: the penalty of all weights, [size] of each, or empty: there is none.
  SparseWeights(std::shared_ptr<Objective> objective, const double* w, const double* centre,
                const std::vector<double>& c2);

  // c2 |w|^2
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
  // One weight moves.
  void add(std::int64_t place, double x) {
    w_[place] += x;
    if (!seen_.empty()) seen_[place] += x;
    if (place >= first_label_) labels_.push_back(place);
  }
  const double* seen() const { return seen_.empty() ? w_.data() : seen_.data(); }
  // After some of them have moved: labels as the kernels see them.
  void apply_labels();
  // Writes the weights, and makes what is seen as a new object would have it.
  void write(double* w);

  std::shared_ptr<Objective> objective_;
  const Layout& layout_;
  // [places] seen: with the centre, which both are empty if there is none; inverse: 1 / (2 c2)
  Table<double> w_, seen_, centre_, inverse_;
  std::vector<std::int64_t> touched_;  // places of delta
  std::vector<double> delta_;          // [places] zero where it is not touched
  Unpacked<double> unpacked_;
  Workspace work_;

 private:
  enum There : std::uint8_t { kNoWeight, kWeight, kTouched };
  void collect_row(const Design& d, std::int64_t row, int lane, double count);
  std::vector<std::int64_t> places_;
  std::int64_t wide_ = 0, first_single_ = 0, first_edge_ = 0, first_label_ = 0;
  std::vector<There> there_;                      // what is at a place
  std::vector<std::int64_t> labels_;              // places of labels that have moved
  std::vector<std::int32_t> pair_, start_, end_;  // from labels to weights, -1: none
};

}  // namespace caesura
