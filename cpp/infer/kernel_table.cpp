// The table of kernels of one instruction set; compiled once for each.
#include "infer/kernels.hpp"

namespace caesura {
namespace CAESURA_ISA {
double forward_log_partition(const Lattice&, Workspace&, Tables*, Tally*);
double forward_best(const Lattice&, Workspace&, Tables*, Back&, int*, Tally*);
void backward_posterior(const Lattice&, Workspace&, const Tables&, Counts&);
bool chain(const Lattice&, Workspace&, Counts*, double*);
}  // namespace CAESURA_ISA

#define CAESURA_STRING(name) #name
#define CAESURA_NAME(name) CAESURA_STRING(name)

extern const Kernels CAESURA_TABLE = {
    CAESURA_NAME(CAESURA_ISA), CAESURA_ISA::forward_log_partition,
    CAESURA_ISA::forward_best, CAESURA_ISA::backward_posterior,
    CAESURA_ISA::chain,
};

}  // namespace caesura
