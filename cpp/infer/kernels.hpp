// The kernels of one instruction set, and the choice between them.
#pragma once

#include "base/workspace.hpp"
#include "infer/dense_segments.hpp"
#include "infer/graph_sweep.hpp"
#include "lattice/lattice.hpp"

namespace caesura {

struct Kernels {
  const char* name;

  // Return ln Z, and the score of the best segmentation (*last is its final state), or -inf if no
  // segmentation is possible.  Both store the rows of the sweep in `tables` unless it is null;
  // `tally` may be null.
  double (*log_partition)(const Lattice&, Workspace&, Tables* tables, Tally* tally);
  double (*best)(const Lattice&, Workspace&, Tables* tables, Back& back, int* last, Tally* tally);

  // Computes expected counts from the tables of log_partition, whose result must be finite.
  void (*posterior)(const Lattice&, Workspace&, const Tables&, Counts&);

  // Computes ln Z and, unless the counts are null, the expected counts (tokens, boundaries,
  // transitions, starts, ends) of a first-order model whose segments all have length 1.  Returns
  // false if a number left the safe range; use log_partition and posterior then.
  bool (*chain)(const Lattice&, Workspace&, Counts*, double* log_z);

  // Compute ln Z and, unless the counts are null, the expected counts of a semi-CRF with dense
  // segment scores.  Return false as above; the contents of the counts are unspecified then.
  bool (*dense32)(const DenseSegments<float>&, Workspace&, const DenseCounts<float>*,
                  double* log_z);
  bool (*dense64)(const DenseSegments<double>&, Workspace&, const DenseCounts<double>*,
                  double* log_z);

  // The same queries on a span graph.  The first two fill the tables, which graph_posterior reads.
  double (*graph_log_partition)(const SpanGraph&, Workspace&, GraphTables&, GraphTally*);
  double (*graph_best)(const SpanGraph&, Workspace&, GraphTables&, GraphTally*);
  void (*graph_posterior)(const SpanGraph&, Workspace&, const GraphTables&, GraphCounts&);
};

extern const Kernels kPlainKernels;
#ifdef CAESURA_HAVE_WIDE
extern const Kernels kWideKernels;
#endif

// The kernels for this machine.  The environment variable CAESURA_KERNELS=plain selects the
// portable ones; `wide`, like no value, selects the AVX2 ones if the machine has them.
const Kernels& kernels();

}  // namespace caesura
