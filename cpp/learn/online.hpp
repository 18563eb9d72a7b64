// Online learning over the sequences of an objective: a step for every batch, which touches only
// the weights that its sequences have.
//
// The weights of a batch are copied to tables of their own, which are small and stay near the
// processor, and the kernels see a design with the numbers of the copies:
//
//   weights (OnlineWeights) --> copies --> kernels --> gradient of the copies --> weights
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "learn/gradient_buffer.hpp"
#include "optimise/online.hpp"

namespace caesura {

// The weights of a batch: ranges of places, one after the other.
class LocalWeights {
 public:
  explicit LocalWeights(std::int64_t n_units) : slot_(n_units, {0, 0}) {}
  void clear() {
    ++batch_;
    units_.clear();
  }
  // The number of `count` units here, which are added if the first is new.
  std::int32_t add(std::int32_t unit, std::int32_t count = 1) {
    Slot& slot = slot_[unit];
    if (slot.batch != batch_) {
      slot = {batch_, static_cast<std::int32_t>(units_.size())};
      for (std::int32_t k = 0; k < count; ++k) units_.push_back(unit + k);
    }
    return slot.at;
  }
  void expect(std::int32_t unit) const { __builtin_prefetch(slot_.data() + unit, 1); }
  const std::vector<std::int32_t>& units() const { return units_; }

 private:
  struct Slot {
    std::int32_t batch, at;
  };
  std::vector<Slot> slot_;  // [units]
  std::vector<std::int32_t> units_;
  std::int32_t batch_ = 1;
};

class OnlinePass {
 public:
  // What is kept of each weight, [size] in the order of the layout.  centre: where penalties count
  // from, or null; kind: 1 + which of the rule's penalties a weight has.
  struct State {
    double *w, *average, *squares;
  };
  OnlinePass(std::shared_ptr<Objective> objective, OnlineRule rule, const State& state,
             const double* centre, const std::uint8_t* kind, std::int64_t done);

  // Batches of these sequences from `begin` on, until they are done or `seconds` have passed;
  // returns where the next batch begins.  Throws as Objective::evaluate does.
  int run(const std::int32_t* order, int count, int begin, int batch_size, double seconds);

  // Writes the state after all steps.
  void finish(const State& state);

  double loss = 0.0;  // sum over the batches, each before its step
  double rate() const { return weights_.rate(); }
  std::int64_t done() const { return weights_.done(); }
  std::int64_t size() const { return layout_.size(); }
  int n_sequences() const { return local_.n_sequences(); }
  const OnlineRule& rule() const { return weights_.rule(); }

 private:
  // Rows of the table, single weights, weights of edges: `wide` places for each unit.
  struct Block {
    LocalWeights local;
    std::int64_t first, wide;
    std::vector<std::int64_t> ready;       // AdaGrad: [units] steps that are in its weights
    std::vector<double> weight, gradient;  // [local units][wide]
  };
  void number(int i);
  void read(Block& block);
  void update(Block& block);
  void update_labels();
  void settle(Block& block);
  void step(const std::int32_t* sequences, int count);
  std::int64_t place_of(std::int64_t weight) const;

  std::shared_ptr<Objective> objective_;
  const Layout& layout_;
  std::int64_t wide_;
  Design local_;  // the design with the numbers of the copies, where the batch is
  std::vector<std::int64_t> places_;
  OnlineWeights weights_;
  std::shared_ptr<std::vector<std::int32_t>> pattern_state_, edge_code_;  // of the copies
  Block rows_, single_, edges_;
  std::int64_t labels_;  // the place of the first transition: those after it change in every step
  Unpacked<double> unpacked_;
  bool near_ = false;
  Buffer<double> buffer_;                               // of labels
  std::vector<double> label_gradient_, label_weights_;  // [size], only labels are used
  Workspace work_;
  int batch_size_ = 0;
};

}  // namespace caesura
