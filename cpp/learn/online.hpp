// Online learning over the sequences of an objective: a step for every batch, which touches only
// the weights that its sequences have.
//
// The weights of a batch are copied to tables of their own, which are small and stay in the
// cache, and the kernels see a design that refers to the copies:
//
//   weights (OnlineWeights) --> copies --> kernels --> gradient of the copies --> weights
//
// SGD where all weights have the same penalty needs no copies.  Its weights have one scale, by
// which the kernels multiply the scores of whole rows, and a step is linear in the gradient, so
// that the expected counts of a row are added to the weights of its attributes one by one:
//
//   weights, scale --> kernels --> expected counts of rows --> weights
//
// An epoch over CoNLL-2000 takes 1.3 times as long with copies (bench/crfsuite.py --only epochs).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "learn/gradient_buffer.hpp"
#include "optimise/online_weights.hpp"

namespace caesura {

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
  int n_sequences() const { return design().n_sequences(); }
  const OnlineRule& rule() const { return weights_.rule(); }

 private:
  // Rows of the table, single weights, weights of edges or labels, and their copies.
  struct Block {
    Block(std::int64_t n_units, std::int64_t first_place, std::int64_t n_places)
        : first(first_place), wide(n_places), slot(n_units, {0, 0}) {}
    std::int64_t first, wide;              // `wide` places for each unit, from `first` on
    std::vector<std::int64_t> ready;       // AdaGrad: [units] steps that are in their weights
    std::vector<std::int32_t> units;       // [copies]
    std::vector<double> weight, gradient;  // [copies][wide], and more
    struct Slot {
      std::int32_t batch, at;
    };
    std::vector<Slot> slot;  // [units] the batch that was numbered last, and the number

    std::int32_t number(std::int32_t unit, std::int32_t count, std::int32_t batch);
    OnlineUnits all() const { return {units.data(), units.size(), first, wide}; }
  };
  void number(int i);
  void number_batch(const std::int32_t* sequences, int count);
  void read(Block& block);
  double evaluate_copies(const std::int32_t* sequences, int count, bool near);
  double evaluate_rows(const std::int32_t* sequences, int count, bool near);
  void update_rows(const std::int32_t* sequences, int count);
  void step(const std::int32_t* sequences, int count);
  void settle();
  std::int64_t place_of(std::int64_t weight) const;
  const Design& design() const { return copies_ ? *copies_ : objective_->design(); }

  std::shared_ptr<Objective> objective_;
  const Layout& layout_;
  std::int64_t wide_;
  std::unique_ptr<Design> copies_;  // the design with the numbers of the copies; null by rows
  std::vector<std::int64_t> places_;
  OnlineWeights weights_;
  std::shared_ptr<std::vector<std::int32_t>> pattern_state_, edge_code_;  // of the copies
  Block rows_, single_, edges_, labels_;
  std::int32_t batch_ = 0;  // as numbered
  // A sequence that is a batch by itself has the same numbers in every epoch: [sequences], rows and
  // single weights.  Empty where there are edges or patterns.
  struct Numbered {
    bool valid = false;
    std::vector<std::int32_t> rows, single;
  };
  std::vector<Numbered> alone_;
  bool by_rows_ = false;              // there are no copies
  std::vector<double> row_gradient_;  // [1 + rows of the batch][wide], the first to work in
  Unpacked<double> unpacked_;
  Buffer<double> buffer_;              // of labels
  std::vector<double> label_weights_;  // [size], only labels are used
  Workspace work_;
  int batch_size_ = 0;
};

}  // namespace caesura
