// Exponentiated gradient (Collins et al. 2008): learning in the dual, from expectations.
//
// The dual has a distribution over the segmentations of each sequence,
//
//   P_i(s) proportional to exp(theta_i(s) + m_i cost(s)),
//   w = sum of weight_i (counts(gold) - E_i[counts]) / (2 c2),
//   D = sum of weight_i (H(P_i), or E_i[cost]) - c2 |w|^2
//
// with the entropy H for the log loss, whose m_i is 0, and the cost for that of a margin.  theta_i
// is kept as a score for each place where features fire, not for each segment, so that the
// overlapping recursions serve here too.  With s(w) what the weights score there, a step is
//
//   log loss   theta_i = (1 - eta) theta_i + eta s(w)
//   margin     theta_i = theta_i + eta s(w),  m_i = m_i + eta
//
// and eta, which each sequence has for itself, is halved until D does not fall, and grows a little
// after each success.  Expectations come from the general sweeps.
#pragma once

#include <vector>

#include "learn/sparse_weights.hpp"

namespace caesura {

class DualPass : public SparseWeights {
 public:
  struct Rule {
    bool log = false;        // the log loss
    std::vector<double> c2;  // of all weights, or [size]
  };
  // theta: all scores, one sequence after the other, [n_scores()]; m, eta: [sequences].
  struct State {
    double *theta, *m, *eta;
  };
  static std::int64_t n_scores(const Objective& objective);

  // fresh: the state is one to begin with, and its weights are made here.
  DualPass(std::shared_ptr<Objective> objective, Rule rule, const double* w, const State& state,
           const double* centre, bool fresh);

  // Steps for these sequences from `begin` on, until they are done or `seconds` have passed;
  // returns where the next one begins.
  int run(const std::int32_t* order, int count, int begin, double seconds);

  // Writes the weights and the state after all steps.
  void finish(double* w, const State& state);
  double dual() const;

 private:
  // The distribution of one sequence.
  struct Block {
    SequenceCounts theta, mean;  // mean: expected counts
    double m = 0.0, eta = 0.0;
    double value = 0.0;  // entropy or expected cost
  };
  void expect(int i, Block& block);
  double expected_cost(int i, const SequenceCounts& mean, const std::vector<double>& sites) const;
  void step(int i);

  Rule rule_;
  std::vector<Block> blocks_;  // [sequences]
};

}  // namespace caesura
