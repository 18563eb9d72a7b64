// Learning from best paths: one step for each sequence, which touches only the weights by which its
// best path differs from the gold one.
//
// With delta = counts(gold) - counts(best) and h = cost(best) - w . delta, where the cost is that
// of the loss, or, where none was asked for, sqrt(wrong tokens) for the passive-aggressive learner
// and the number of wrong tokens for AROW:
//
//   perceptron           w += delta
//   passive-aggressive   w += tau delta      tau = h / |delta|^2, the same but at most C, or
//                                            h / (|delta|^2 + 1 / (2 C)), by its type
//   AROW                 w += tau S delta    tau = h / (r + delta' S delta), and then
//                                            1 / S += delta^2 / r, with S a diagonal
//
// Nothing moves where the best path is the gold one.  The average is that of the weights after
// every step, whether it moved them or not: step t adds (t - 1) times its change to `sums`, and
// after T steps the average is w - sums / T.
//
// Block-coordinate Frank-Wolfe maximises the dual of c2 |w|^2 + sum of weight_i h_i,
//
//   D = sum of l_i - c2 |w|^2,   w = (sum of u_i) / (2 c2)
//
// where (u_i, l_i) is a mean of weight_i (delta, cost) over paths of sequence i.  These paths are
// kept with their shares.  A step adds the best path and then, several times, moves a part of the
// share of the worst path to the best of those that are kept, as much as maximises D: with these
// pairwise steps the gap closes at a linear rate, not as 1 / steps.  The search is the expensive
// part, so after each pass `settle` repeats such steps for all sequences without searching, until
// the gain still possible among the kept paths is small beside that found by the pass.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "learn/sparse_weights.hpp"

namespace caesura {

struct PathRule {
  enum Kind { kPerceptron, kPassive, kArow, kFrankWolfe } kind = kPerceptron;
  int pa_type = 1;
  double C = 1.0;          // passive-aggressive: bound on the size of a step
  bool by_errors = true;   // without a loss its margin is sqrt(wrong tokens), and else 1
  double r = 1.0;          // AROW
  std::vector<double> c2;  // Frank-Wolfe: of all weights, or [size]
};

class PathPass : public SparseWeights {
 public:
  // What is kept of each weight, [size] in the order of the layout; null where the rule does not
  // use it.
  struct State {
    double *w, *sums, *variance;
  };
  // The paths that Frank-Wolfe keeps: sequence i has those from first[i] on, and path p the weights
  // and values from ptr[p] on, its cost and its share.
  struct Blocks {
    std::vector<std::int64_t> first, ptr, weight;
    std::vector<double> value, cost, share;
  };
  // centre: what is added to the weights wherever they score, or null.  done: the steps before.
  PathPass(std::shared_ptr<Objective> objective, PathRule rule, const State& state,
           const Blocks* blocks, const double* centre, std::int64_t done);

  // Steps for these sequences from `begin` on, until they are done or `seconds` have passed;
  // returns where the next one begins.  Throws NoAgreement.
  int run(const std::int32_t* order, int count, int begin, double seconds);

  // Frank-Wolfe, after a pass: steps between the paths that are kept.
  void settle();

  // Writes the state after all steps.
  void finish(const State& state);
  Blocks blocks() const;

  // sum of weight_i h_i at the weights of now, with the costs of the loss.
  double hinge(int n_threads);
  // sum of l_i - c2 |w|^2
  double dual() const;

  double loss = 0.0;          // sum of weight_i h_i over the steps, each before its change
  std::int64_t mistakes = 0;  // steps that changed the weights
  std::int64_t done() const { return done_; }
  const PathRule& rule() const { return rule_; }

 private:
  // One path of a sequence: weight (counts(gold) - counts(path)), and its cost likewise, less what
  // the centre scores.
  struct Plane {
    std::vector<std::int64_t> place;
    std::vector<double> value;
    double cost = 0.0, share = 0.0;
    bool operator==(const Plane& other) const {
      return cost == other.cost && place == other.place && value == other.value;
    }
  };
  void step(int i);
  double margin(const std::vector<LabelledSegment>& path, int i) const;
  double move(int i, double cost);
  double frank_wolfe(int i, double cost);
  double gain(const Plane& plane) const;
  bool pairwise(std::vector<Plane>& planes);
  double settle(std::vector<Plane>& planes, double little);
  void change(std::int64_t place, double x);

  static constexpr int kSteps = 10;     // between the paths of a sequence at one time
  static constexpr int kPasses = 5;     // of settling, at most
  static constexpr double kLeft = 0.3;  // of what a pass has found, the share that may be left

  PathRule rule_;
  double found_ = 0.0;                      // what D could gain, summed over the steps of a pass
  Table<double> sums_, variance_;           // [places] or empty
  std::vector<std::vector<Plane>> blocks_;  // [sequences] of Frank-Wolfe
  std::int64_t done_;
};

}  // namespace caesura
