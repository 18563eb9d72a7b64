// The kernels of learning and prediction for one instruction set and precision.  In single
// precision, only `evaluate` exists; the other functions are null.
#pragma once

#include <cstddef>

#include "base/workspace.hpp"
#include "lattice/problem.hpp"
#include "lattice/reading.hpp"
#include "learn/design.hpp"

namespace caesura {

// The results of a posterior query on one sequence.  boundaries may be null, as may edges if there
// are no edge weights; the other arrays are required.  For a chain, boundaries is not written,
// because all of its boundaries are certain.
struct RowCounts {
  double* log_z = nullptr;
  double* scores = nullptr;       // [T + sites][stride] the scores themselves
  double* rows = nullptr;         // [T + sites][stride]
  double* boundaries = nullptr;   // [T + 1]
  double* transitions = nullptr;  // [stride][stride]
  double* starts = nullptr;       // [stride]
  double* ends = nullptr;         // [stride]
  double* edges = nullptr;        // [edge weights of label pairs], in the order of for_edges
};

// The rows of the best sweep over one sequence, [T + 1][stride] each.  alpha[T] includes the end
// scores.
struct BestTables {
  const double* alpha = nullptr;     // best score up to t, by the label that ends at t
  const double* hat = nullptr;       // best score up to t, by the label that starts at t
  const double* start = nullptr;     // start of the segment that ends at t
  const double* previous = nullptr;  // label before the segment that starts at t
  const double* rows = nullptr;  // [T + sites][stride] scores, -inf where a label is not allowed
  const double* transition = nullptr;  // [stride][stride] scores, at boundary 0 or at all
  // distance between the transition scores of successive boundaries; 0 if all share them
  std::ptrdiff_t apart = 0;
  double log_z = 0.0;
};

template <class Real>
struct Trainer {
  int width;  // values in a vector; rows consist of whole vectors

  // Adds weight * (ln Z of sequence i - score of known.path, if it is not null) to *objective and
  // its gradient to the gradient, unless it is null.  Returns false, with nothing added, if a value
  // left the safe range.
  bool (*evaluate)(const Design&, const Weights<Real>&, int i, const Known&, double weight,
                   double* objective, Gradient<Real>*, Workspace&);

  // The same for up to `width` sequences of a model with label patterns, without paths.  log_z
  // receives ln Z, or NaN if a value left the safe range.
  void (*evaluate_many)(const Design&, const Weights<Real>&, const std::int32_t* sequences,
                        const Known*, const double* weights, int count, double* log_z,
                        Gradient<Real>*, Workspace&);

  // Adds the expected counts of all rows of sequence i to the gradient.
  void (*add)(const Design&, const Weights<Real>&, int i, const Real* rows, Gradient<Real>&,
              Workspace&);

  // out = exp of each of `count` scores
  void (*exps)(const double* scores, std::int64_t count, double* out);
};

// Kernels for prediction with trained weights, in double precision.
struct Predictor {
  // Computes the scores of all rows of sequence i.  rows: [T + sites][row]
  void (*scores)(const Design&, const Weights<double>&, int i, double* rows, Workspace&);

  // Finds the best segments, in order.  Returns their number, which is 0 if nothing is possible.
  // out: [T]
  int (*best)(const Design&, const Weights<double>&, int i, const Known&, LabelledSegment* out,
              Workspace&);

  // Finds the best segments under the reading, and the probability of each.  Sets *n_kept to the
  // number of segments and returns the number of states of the best path, which is 0 if nothing is
  // possible.  probabilities: [T], NaN if a value left the safe range.  First order only.
  int (*confident)(const Design&, const Weights<double>&, int i, const Known&, const Reading&,
                   LabelledSegment* out, double* probabilities, int* n_kept, Workspace&);

  // Computes ln Z.  Returns false if a value left the safe range.  First order only.
  bool (*log_partition)(const Design&, const Weights<double>&, int i, const Known&, double* log_z,
                        Workspace&);

  // Computes ln Z and the rows of the best sweep, which are in the workspace.  Returns false if a
  // value left the safe range or nothing is possible.  First order only.
  bool (*best_tables)(const Design&, const Weights<double>&, int i, const Known&, BestTables*,
                      Workspace&);

  // Computes ln Z and the expected counts.  Returns false if a value left the safe range.  First
  // order only.
  bool (*posterior)(const Design&, const Weights<double>&, int i, const Known&, const RowCounts&,
                    Workspace&);
};

extern const Trainer<double> kPlainTrainer;
extern const Predictor kPlainPredictor;
#ifdef CAESURA_HAVE_WIDE
extern const Trainer<double> kWideTrainer;
extern const Predictor kWidePredictor;
#endif
// For the widest instruction set that was compiled.
extern const Trainer<float> kTrainer32;

// Whether there are single-precision kernels for the instruction set in use.  A build for wide
// vectors has no plain ones, which would serve few machines and take time to compile.
bool has_single_precision();

// The kernels for this machine, chosen as by kernels().
template <class Real>
const Trainer<Real>& trainer();
const Predictor& predictor();

}  // namespace caesura
