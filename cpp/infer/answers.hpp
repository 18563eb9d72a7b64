// Queries on one problem.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/pool.hpp"
#include "base/threads.hpp"
#include "infer/kernels.hpp"
#include "infer/walk.hpp"
#include "lattice/problem.hpp"

namespace caesura {

// Thrown if a score is NaN, +inf or too large; what() is the name of the array.
struct InvalidScore : std::runtime_error {
  using std::runtime_error::runtime_error;
  int sequence = -1;  // the sequence of a corpus, or -1
};

// Returns work(), a query on sequence i of a corpus, and adds i to an InvalidScore that it throws.
template <class Work>
auto about_sequence(int i, Work work) {
  try {
    return work();
  } catch (InvalidScore& error) {
    error.sequence = i;
    throw;
  }
}

// Throws InvalidScore if a score is NaN, +inf or larger than kLargestScore.  The answer_* functions
// and Lookup below check the scores themselves.
void check_scores(const Problem&);

// ln Z of a sequence without tokens: 0, or -inf if a rule forbids that there are no segments.
double empty_log_z(const Problem&);
double answer_log_partition(const Problem&, Method, Workspace&, Tally* tally = nullptr);

// ln Z and all expected counts, in one block of memory.
struct Posterior {
  double log_z = kMinusInfinity;
  double entropy = 0.0;
  PooledDoubles memory;
  Counts counts;               // points into memory
  double* patterns = nullptr;  // [static patterns]
  int T = 0, Y = 0, span_length = 0, n_potentials = 0, n_edges = 0, n_patterns = 0;
};
// Allocates the counts.  Those of potentials, edges and patterns are set to zero.
Posterior make_posterior(int T, int Y, int span_length, int n_potentials, int n_edges,
                         int n_patterns);
// Allocates the counts of a problem.
Posterior empty_posterior(const Problem&, const Lattice&);
void clear(Posterior&);  // sets all counts to zero
Posterior answer_posterior(const Problem&, Method, Workspace&, bool want_entropy);

struct Answer {
  bool possible = false;
  double score = kMinusInfinity;
  std::vector<LabelledSegment> segments;
};
// Whether a comes before b: by score, best first, and equal scores in the order of ties.hpp.
bool comes_first(const Answer& a, const Answer& b);

// The best segmentation, the n best and samples under all rules.  Limits on occurrences are tracked
// only as far as necessary (limited.hpp), so the lattice of a problem with limits need not be
// prepared, except for samples with at most kMostTracked limits.
Answer answer_best(const Problem&, Method, Workspace&);
// The same as answer_best, but for scores up to 1e300.  Their sums are finite and can be compared;
// kLargestScore exists because probabilities need the fractional digits of the sums.
Answer answer_finite_best(const Problem&, Method, Workspace&);
std::vector<Answer> answer_n_best(const Problem&, Method, Workspace&, int n);
std::vector<Answer> answer_samples(const Problem&, Method, Workspace&, int n, std::uint64_t seed);

// The same on the prepared lattice of a sequence with at least one token.  Scores are not checked,
// and limits that the automaton does not track are ignored.
Answer plain_best(const Problem&, Method, Workspace&);
std::vector<Answer> plain_n_best(const Problem&, Method, Workspace&, int n);
std::vector<Answer> plain_samples(const Problem&, Method, Workspace&, int n, std::uint64_t seed);

}  // namespace caesura
