// Exponentiated gradient (Collins et al. 2008): learning in the dual, from expectations.
//
// The dual variables are a distribution over the segmentations of each sequence:
//
//   P_i(s) proportional to exp(theta_i(s) + m_i cost(s)),
//   w = sum of weight_i (counts(gold) - E_i[counts]) / (2 c2),
//   D = sum of weight_i (E_i[cost] + mu H(P_i)) - c2 |w|^2
//
// H is the entropy.  For the log loss there is no cost, m_i is 0 and mu is 1.  The dual of a margin
// loss has mu = 0, for which plain steps converge only as 1 / passes; therefore a small mu is used,
// which the caller reduces as the duality gap closes.  theta_i is stored as a score for each place
// where features fire, not for each segment, so that the overlapping recursions apply here too.
// With s(w) the scores of these places under w, a step is
//
//   theta_i = (1 - eta mu) theta_i + eta s(w),  m_i = (1 - eta mu) m_i + eta
//
// There is one eta for each sequence.  It follows the curvature of D along the last step and is
// reduced until D does not decrease.  Expectations come from the general sweeps.
#pragma once

#include <vector>

#include "learn/sparse_weights.hpp"

namespace caesura {

class DualPass : public SparseWeights {
 public:
  struct Rule {
    bool log = false;  // whether the loss is the log loss
    double mu = 1.0;
    std::vector<double> c2;  // one value for all weights, or [size]
  };
  // theta: the scores of all sequences, one after the other, [n_scores()].  m, eta: [sequences].
  struct State {
    double *theta, *m, *eta;
  };
  static std::int64_t n_scores(const Objective& objective);

  // If `fresh`, `state` is an initial state: its distributions are moved near the gold labels, and
  // the weights are computed from them.
  DualPass(std::shared_ptr<Objective> objective, Rule rule, const double* w, const State& state,
           const double* centre, bool fresh);

  // Takes a step for each of order[begin .. count), until all are done or `seconds` have passed.
  // Returns the position where the next call should begin.
  int run(const std::int32_t* order, int count, int begin, double seconds);

  // Writes the weights and the state after all steps.
  void finish(double* w, const State& state);
  // The value of the dual; for a margin loss, that with mu = 0.
  double dual() const;
  double entropy() const;  // sum of weight_i H(P_i)
  void set_mu(double mu) { rule_.mu = mu; }

 private:
  // The distribution of one sequence.
  struct Block {
    SequenceCounts theta, mean;  // mean: expected counts
    double m = 0.0, eta = 0.0;
    double cost = 0.0;                   // E[cost]
    double log_z = 0.0, theta_mean = 0;  // theta_mean: E[theta + m cost]
  };
  static double entropy_of(const Block& block) { return block.log_z - block.theta_mean; }
  double value(const Block& block) const { return block.cost + rule_.mu * entropy_of(block); }
  void bar(SequenceCounts& theta) const;
  void start();
  void start_near_gold(double sharpness);
  void find_weights();
  void expect(int i, Block& block);
  double constant_cost(int i) const;
  double expected_cost(int i, const SequenceCounts& mean, const std::vector<double>& sites) const;
  void step(int i);

  Rule rule_;
  std::vector<Block> blocks_;  // [sequences]
};

}  // namespace caesura
