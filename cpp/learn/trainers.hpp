// The kernels of learning and prediction of one instruction set and precision.  Single precision
// has `evaluate` alone: its other functions are null.
#pragma once

#include <cstddef>

#include "base/workspace.hpp"
#include "lattice/problem.hpp"
#include "lattice/reading.hpp"
#include "learn/design.hpp"

namespace caesura {

// Where expected counts of one sequence go; null: not wanted.
struct RowCounts {
  double* log_z = nullptr;
  double* scores = nullptr;       // [T + sites][stride] the scores themselves
  double* rows = nullptr;         // [T + sites][stride]
  double* boundaries = nullptr;   // [T + 1]
  double* transitions = nullptr;  // [stride][stride]
  double* starts = nullptr;       // [stride]
  double* ends = nullptr;         // [stride]
  double* edges = nullptr;        // [pairs of attributes at boundaries, as for_edges visits them]
};

// The rows of the best sweep over one sequence, [T + 1][stride] each.  alpha[T] has the scores of
// the ends too.
struct BestTables {
  const double* alpha = nullptr;     // the best that ends here with a segment of each label
  const double* hat = nullptr;       // the same before a segment of each label that starts here
  const double* start = nullptr;     // where the last segment of alpha starts
  const double* previous = nullptr;  // the label before the segment of hat
  const double* rows = nullptr;  // [T + sites][stride] scores, -inf where a label is not allowed
  const double* transition = nullptr;  // [stride][stride] scores, at each boundary or at all
  std::ptrdiff_t apart = 0;            // of the transitions at two boundaries; 0: they are the same
  double log_z = 0.0;
};

template <class Real>
struct Trainer {
  int width;  // numbers in a vector; rows are whole vectors

  // Adds weight * (ln Z of sequence i - score of the known path, if there is one) to *objective
  // and, unless it is null, to the gradient.  False, and nothing added: a number left the safe
  // range.
  bool (*evaluate)(const Design&, const Weights<Real>&, int i, const Known&, double weight,
                   double* objective, Gradient<Real>*, Workspace&);

  // The same for up to `width` sequences of a model with patterns of labels, without a path, where
  // log_z is NaN if one left the range.
  void (*evaluate_many)(const Design&, const Weights<Real>&, const std::int32_t* sequences,
                        const Known*, const double* weights, int count, double* log_z,
                        Gradient<Real>*, Workspace&);

  // Adds expected counts of all rows of sequence i to the gradient.
  void (*add)(const Design&, const Weights<Real>&, int i, const Real* rows, Gradient<Real>&,
              Workspace&);

  // out = exp of each of `count` scores
  void (*exps)(const double* scores, std::int64_t count, double* out);
};

// Kernels over trained weights, in double precision.
struct Predictor {
  // The scores of all rows of sequence i.  rows: [T + sites][row]
  void (*scores)(const Design&, const Weights<double>&, int i, double* rows, Workspace&);

  // The best segments, in order; returns how many, 0: none are possible.  out: [T]
  int (*best)(const Design&, const Weights<double>&, int i, const Known&, LabelledSegment* out,
              Workspace&);

  // The best segments under the reading, and the probability of each.  *n_kept is how many there
  // are, and the result how many states the best path has (0: none is possible).  probabilities:
  // [T], NaN where a number left the safe range.  First order only.
  int (*confident)(const Design&, const Weights<double>&, int i, const Known&, const Reading&,
                   LabelledSegment* out, double* probabilities, int* n_kept, Workspace&);

  // ln Z.  False: a number left the safe range.  First order only.
  bool (*log_partition)(const Design&, const Weights<double>&, int i, const Known&, double* log_z,
                        Workspace&);

  // ln Z and the rows of the best sweep, in the workspace.  False: a number left the safe range, or
  // nothing is possible.  First order only.
  bool (*best_tables)(const Design&, const Weights<double>&, int i, const Known&, BestTables*,
                      Workspace&);

  // ln Z and expected counts.  False: a number left the safe range.  First order only.
  bool (*posterior)(const Design&, const Weights<double>&, int i, const Known&, const RowCounts&,
                    Workspace&);
};

extern const Trainer<double> kPlainTrainer;
extern const Predictor kPlainPredictor;
#ifdef CAESURA_HAVE_WIDE
extern const Trainer<double> kWideTrainer;
extern const Predictor kWidePredictor;
#endif
// Of the widest instruction set that was compiled.
extern const Trainer<float> kTrainer32;

// Whether the instruction set in use has it: a build for wide vectors has no plain kernels in
// single precision, which would serve few machines and take time to compile.
bool has_single_precision();

// Those for this machine, as kernels() are.
template <class Real>
const Trainer<Real>& trainer();
const Predictor& predictor();

}  // namespace caesura
