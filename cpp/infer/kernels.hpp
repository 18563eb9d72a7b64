// The kernels of one instruction set, and the choice between them.
#pragma once

#include "base/workspace.hpp"
#include "infer/dense_segments.hpp"
#include "infer/graph_sweep.hpp"
#include "lattice/lattice.hpp"

namespace caesura {

struct Kernels {
  const char* name;

  // ln Z, and the score of the best segmentation (*last is its final state).  Both keep the rows of
  // the sweep in `tables` when that is given.  -inf: no segmentation is possible.
  double (*log_partition)(const Lattice&, Workspace&, Tables* tables, Tally* tally);
  double (*best)(const Lattice&, Workspace&, Tables* tables, Back& back, int* last, Tally* tally);

  // Expected counts from the tables of log_partition.
  void (*posterior)(const Lattice&, Workspace&, const Tables&, Counts&);

  // ln Z and counts (tokens, boundaries, transitions, starts, ends) of a first-order model whose
  // segments all have length 1.  False: a number left the safe range, ask log_partition and
  // posterior.
  bool (*chain)(const Lattice&, Workspace&, Counts*, double* log_z);

  // ln Z and counts of a semi-CRF with dense scores of segments; without counts, ln Z alone. False:
  // as above; what is in the counts then means nothing.
  bool (*dense32)(const DenseSegments<float>&, Workspace&, const DenseCounts<float>*,
                  double* log_z);
  bool (*dense64)(const DenseSegments<double>&, Workspace&, const DenseCounts<double>*,
                  double* log_z);

  // The same for a span graph; the sweeps fill the tables, the counts read them.
  double (*graph_log_partition)(const SpanGraph&, Workspace&, GraphTables&, GraphTally*);
  double (*graph_best)(const SpanGraph&, Workspace&, GraphTables&, GraphTally*);
  void (*graph_posterior)(const SpanGraph&, Workspace&, const GraphTables&, GraphCounts&);
};

extern const Kernels kPlainKernels;
#ifdef CAESURA_HAVE_WIDE
extern const Kernels kWideKernels;
#endif

// The kernels for this machine; the environment variable CAESURA_KERNELS=plain|wide forces one.
const Kernels& kernels();

}  // namespace caesura
