// The table of kernels of one instruction set; compiled once for each.
#include "infer/kernels.hpp"

namespace caesura {
namespace CAESURA_ISA {
double forward_log_partition(const Lattice&, Workspace&, Tables*, Tally*);
double forward_best(const Lattice&, Workspace&, Tables*, Back&, int*, Tally*);
void backward_posterior(const Lattice&, Workspace&, const Tables&, Counts&);
bool chain(const Lattice&, Workspace&, Counts*, double*);
bool dense32(const DenseSegments<float>&, Workspace&, const DenseCounts<float>*, double*);
bool dense64(const DenseSegments<double>&, Workspace&, const DenseCounts<double>*, double*);
double graph_log_partition(const SpanGraph&, Workspace&, GraphTables&, GraphTally*);
double graph_best(const SpanGraph&, Workspace&, GraphTables&, GraphTally*);
void graph_posterior(const SpanGraph&, Workspace&, const GraphTables&, GraphCounts&);
}  // namespace CAESURA_ISA

#define CAESURA_STRING(name) #name
#define CAESURA_NAME(name) CAESURA_STRING(name)

extern const Kernels CAESURA_TABLE = {
    CAESURA_NAME(CAESURA_ISA), CAESURA_ISA::forward_log_partition,
    CAESURA_ISA::forward_best, CAESURA_ISA::backward_posterior,
    CAESURA_ISA::chain,        CAESURA_ISA::dense32,
    CAESURA_ISA::dense64,      CAESURA_ISA::graph_log_partition,
    CAESURA_ISA::graph_best,   CAESURA_ISA::graph_posterior,
};

}  // namespace caesura
