// The learning kernels of one instruction set and precision.  Single precision has `evaluate`
// alone: its other functions are null.
#pragma once

#include "base/workspace.hpp"
#include "lattice/problem.hpp"
#include "learn/design.hpp"

namespace caesura {

template <class Real>
struct Trainer {
  int width;  // numbers in a vector; rows are whole vectors

  // Adds weight * ln Z of sequence i to *objective and, unless it is null, to the gradient.  False,
  // and nothing added: a number left the safe range.
  bool (*evaluate)(const Design&, const Weights<Real>&, int i, const Known&, double weight,
                   double* objective, Gradient<Real>*, Workspace&);

  // The same for up to `width` sequences of a model with patterns of labels, where log_z is NaN if
  // one left the range.
  void (*evaluate_many)(const Design&, const Weights<Real>&, const std::int32_t* sequences,
                        const Known*, const double* weights, int count, double* log_z,
                        Gradient<Real>*, Workspace&);

  // The scores of all rows of sequence i.
  void (*scores)(const Design&, const Weights<Real>&, int i, Real* rows, Workspace&);

  // The best labels of a chain without weights of edges; false: none is possible.  labels: [T]
  bool (*best_chain)(const Design&, const Weights<Real>&, int i, std::int32_t* labels, Workspace&);

  // The best segments, in order; returns how many, 0: none are possible.  out: [T]
  int (*best)(const Design&, const Weights<Real>&, int i, LabelledSegment* out, Workspace&);

  // Adds expected counts of all rows of sequence i to the gradient.
  void (*add)(const Design&, const Weights<Real>&, int i, const Real* rows, Gradient<Real>&,
              Workspace&);
};

extern const Trainer<double> kPlainTrainer;
extern const Trainer<float> kPlainTrainer32;
#ifdef CAESURA_HAVE_WIDE
extern const Trainer<double> kWideTrainer;
extern const Trainer<float> kWideTrainer32;
#endif

// Those for this machine, as kernels() are.
template <class Real>
const Trainer<Real>& trainer();

}  // namespace caesura
