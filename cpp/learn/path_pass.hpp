// Learning from best paths: each step takes one sequence and changes only the weights whose counts
// differ between its best path and its gold path.
//
// Let delta = counts(gold) - counts(best) and h = cost(best) - w . delta.  The cost is that of the
// loss.  Without a loss, it is sqrt(wrong tokens) for the passive-aggressive learner (or 1, see
// by_errors), the number of wrong tokens for AROW, and 0 for the perceptron.
//
//   perceptron           w += delta
//   passive-aggressive   w += tau delta      tau = h / |delta|^2 (type 0), min(h / |delta|^2, C)
//                                            (type 1), or h / (|delta|^2 + 1 / (2 C)) (type 2)
//   AROW                 w += tau S delta    tau = h / (r + delta' S delta), and then
//                                            1 / S += delta^2 / r, with S a diagonal matrix
//
// Each step is multiplied by the weight of the sequence.  If the best path is the gold one, the
// weights do not change.  The average is taken over the weights after every step, whether or not it
// changed them: step t adds (t - 1) times its change to `sums`, so after T steps the average is
// w - sums / T.
//
// Block-coordinate Frank-Wolfe maximises the dual of c2 |w|^2 + sum of weight_i h_i,
//
//   D = sum of l_i - c2 |w|^2,   w = (sum of u_i) / (2 c2)
//
// where (u_i, l_i) is an average of weight_i (delta, cost) over paths of sequence i.  These paths
// are stored with their shares in the average.  A step adds the best path and then repeatedly moves
// a part of the share of the worst stored path to the best one, namely the part that maximises D:
// with these pairwise steps the gap closes at a linear rate rather than as 1 / steps.  Finding the
// best path is the expensive part, so after each pass `settle` repeats pairwise steps for all
// sequences without a search, until the gain that is still possible among the stored paths is small
// compared with the gain of the pass.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "learn/sparse_weights.hpp"

namespace caesura {

struct PathRule {
  enum Kind { kPerceptron, kPassive, kArow, kFrankWolfe } kind = kPerceptron;
  int pa_type = 1;
  double C = 1.0;          // passive-aggressive: bound on tau, see above
  bool by_errors = true;   // whether the cost without a loss is sqrt(wrong tokens), else 1
  double r = 1.0;          // AROW
  std::vector<double> c2;  // Frank-Wolfe: one value for all weights, or [size]
};

class PathPass : public SparseWeights {
 public:
  // The state of each weight, [size] in the order of the layout; arrays that the rule does not use
  // are null.
  struct State {
    double *w, *sums, *variance;
  };
  // The stored paths of Frank-Wolfe: sequence i has the paths from first[i] on, and path p has the
  // weights and values from ptr[p] on, a cost and a share.
  struct Blocks {
    std::vector<std::int64_t> first, ptr, weight;
    std::vector<double> value, cost, share;
  };
  // centre: values that are added to the weights in all scores, or null.  done: the number of steps
  // taken before.
  PathPass(std::shared_ptr<Objective> objective, PathRule rule, const State& state,
           const Blocks* blocks, const double* centre, std::int64_t done);

  // Takes a step for each of order[begin .. count), until all are done or `seconds` have passed.
  // Returns the position where the next call should begin, or `count` if the loss is no longer
  // finite.  Throws NoAgreement.
  int run(const std::int32_t* order, int count, int begin, double seconds);

  // Frank-Wolfe: pairwise steps between the stored paths, to be called after each pass.
  void settle();

  // Writes the state after all steps so far.
  void finish(const State& state);
  Blocks blocks() const;

  // Returns the sum of weight_i h_i at the current weights, with the costs of the loss.
  double hinge(int n_threads);
  // Returns the sum of l_i - c2 |w|^2.
  double dual() const;

  double loss = 0.0;          // sum of weight_i h_i over the steps, before their changes
  std::int64_t mistakes = 0;  // number of steps whose best path was not the gold one
  std::int64_t done() const { return done_; }

 private:
  // A path of a sequence: weight (counts(gold) - counts(path)), and weight times its cost minus the
  // score of these counts under the centre.
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

  static constexpr int kSteps = 10;     // most pairwise steps for a sequence at a time
  static constexpr int kPasses = 5;     // most passes of settle()
  static constexpr double kLeft = 0.3;  // share of the gain of a pass that settle() may leave

  PathRule rule_;
  double found_ = 0.0;                      // possible gains of D, summed over the steps of a pass
  Table<double> sums_, variance_;           // [places] or empty
  std::vector<std::vector<Plane>> blocks_;  // [sequences] the stored paths of Frank-Wolfe
  std::int64_t done_;
};

}  // namespace caesura
