// The kernels of learning and prediction of one instruction set and precision.  Single precision
// has `evaluate` alone: its other functions are null.
#pragma once

#include "base/workspace.hpp"
#include "lattice/problem.hpp"
#include "learn/design.hpp"
#include "learn/reading.hpp"

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
};

// Kernels over trained weights, in double precision.
struct Predictor {
  // The scores of all rows of sequence i.  rows: [T + sites][row]
  void (*scores)(const Design&, const Weights<double>&, int i, double* rows, Workspace&);

  // The best segments, in order; returns how many, 0: none are possible.  out: [T]
  int (*best)(const Design&, const Weights<double>&, int i, const Known&, LabelledSegment* out,
              Workspace&);

  // The best segments as they are read, and the probability of each.  *n_kept is how many there
  // are, and the result how many states the best path has (0: none is possible).  probabilities:
  // [T], NaN where a number left the safe range.  First order only.
  int (*confident)(const Design&, const Weights<double>&, int i, const Known&, const Reading&,
                   LabelledSegment* out, double* probabilities, int* n_kept, Workspace&);

  // ln Z.  False: a number left the safe range.  First order only.
  bool (*log_partition)(const Design&, const Weights<double>&, int i, const Known&, double* log_z,
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
