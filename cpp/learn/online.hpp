// Online learning over the sequences of an objective: each step takes a batch of sequences and
// changes only the weights that occur in it.
//
// The weights of a batch are copied to small tables that stay in the cache, and the kernels see a
// design that refers to the copies:
//
//   weights (OnlineWeights) --> copies --> kernels --> gradient of the copies --> weights
//
// SGD with one penalty for all weights needs no copies.  Its weights share a scale, by which the
// kernels multiply the scores of whole rows, and a step is linear in the gradient, so the expected
// counts of each row are added to the weights of its attributes directly:
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
  // The state of each weight, [size] in the order of the layout; squares may be null.  centre: the
  // values from which penalties are measured, or null.  kind: 1 + the index of the penalty of each
  // weight.
  struct State {
    double *w, *average, *squares;
  };
  OnlinePass(std::shared_ptr<Objective> objective, OnlineRule rule, const State& state,
             const double* centre, const std::uint8_t* kind, std::int64_t done);

  // Takes a step for each batch of `batch_size` sequences of order[begin .. count), until all are
  // done or `seconds` have passed.  Returns the position where the next batch begins, or `count` if
  // the loss is no longer finite.  Throws as Objective::evaluate does.
  int run(const std::int32_t* order, int count, int begin, int batch_size, double seconds);

  // Writes the state after all steps so far.
  void finish(const State& state);

  double loss = 0.0;  // sum over all batches, each evaluated before its step
  double rate() const { return weights_.rate(); }
  std::int64_t done() const { return weights_.done(); }
  std::int64_t size() const { return layout_.size(); }
  int n_sequences() const { return design().n_sequences(); }
  const OnlineRule& rule() const { return weights_.rule(); }

 private:
  // One kind of weights (rows of the table, single weights, edge weights or labels), in units, and
  // the copies of the units of a batch.
  struct Block {
    Block(std::int64_t n_units, std::int64_t first_place, std::int64_t n_places)
        : first(first_place), wide(n_places), slot(n_units, {0, 0}) {}
    std::int64_t first, wide;              // unit k has `wide` places from first + k * wide on
    std::vector<std::int64_t> ready;       // AdaGrad: [units] the steps that the weights include
    std::vector<std::int32_t> units;       // [copies] the unit of each copy
    std::vector<double> weight, gradient;  // [copies][wide] or more
    struct Slot {
      std::int32_t batch, at;
    };
    std::vector<Slot> slot;  // [units] the last batch with this unit, and its copy there

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
  std::unique_ptr<Design> copies_;  // the design with the numbers of the copies; null if by_rows_
  std::vector<std::int64_t> places_;
  OnlineWeights weights_;
  std::shared_ptr<std::vector<std::int32_t>> pattern_state_, edge_code_;  // of the copies
  Block rows_, single_, edges_, labels_;
  std::int32_t batch_ = 0;  // number of the current batch
  // The copies of a sequence that was a batch by itself, which are the same in every epoch:
  // [sequences] rows and single weights.  Empty if there are edges or patterns.
  struct Numbered {
    bool valid = false;
    std::vector<std::int32_t> rows, single;
  };
  std::vector<Numbered> alone_;
  bool by_rows_ = false;              // whether there are no copies
  std::vector<double> row_gradient_;  // [1 + rows of the batch][wide]; the first row is scratch
  Unpacked<double> unpacked_;
  Buffer<double> buffer_;              // gradient of labels
  std::vector<double> label_weights_;  // [size] in the order of the layout; only labels are used
  Workspace work_;
  int batch_size_ = 0;
};

}  // namespace caesura
