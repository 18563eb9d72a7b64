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

// A score is NaN, +inf or beyond 1e10; what() is the name of the array.
struct InvalidScore : std::runtime_error {
  using std::runtime_error::runtime_error;
  int sequence = -1;  // of a corpus, where one is asked about
};

// Returns work(), which asks about sequence i of a corpus; an InvalidScore then names it.
template <class Work>
auto about_sequence(int i, Work work) {
  try {
    return work();
  } catch (InvalidScore& error) {
    error.sequence = i;
    throw;
  }
}

// Throws InvalidScore; every answer below does so where it must.
void check_scores(const Problem&);

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
// Room for counts; those of potentials, edges and patterns are zero.
Posterior make_posterior(int T, int Y, int span_length, int n_potentials, int n_edges,
                         int n_patterns);
Posterior answer_posterior(const Problem&, Method, Workspace&, bool want_entropy);

struct Answer {
  bool possible = false;
  double score = kMinusInfinity;
  std::vector<LabelledSegment> segments;
};
// The better score first; of equal ones, the order of ties.hpp.
bool comes_first(const Answer& a, const Answer& b);

// The best under all rules.  Limits on occurrences are tracked only as far as needed, so the
// lattice of a problem with limits need not be prepared for these (limited.hpp); but for at most
// kMostTracked limits, samples need it.
Answer answer_best(const Problem&, Method, Workspace&);
// The same for scores up to 1e300, whose sums are finite.  The limit of 1e10 is there for
// probabilities, which need the digits after the point of a sum; the best of a few large sums is
// still the best.
Answer answer_finite_best(const Problem&, Method, Workspace&);
std::vector<Answer> answer_n_best(const Problem&, Method, Workspace&, int n);
std::vector<Answer> answer_samples(const Problem&, Method, Workspace&, int n, std::uint64_t seed);

// The same on the prepared lattice, which must not be empty: rules that its automaton does not
// track are not looked at.
Answer plain_best(const Problem&, Method, Workspace&);
std::vector<Answer> plain_n_best(const Problem&, Method, Workspace&, int n);
std::vector<Answer> plain_samples(const Problem&, Method, Workspace&, int n, std::uint64_t seed);

// All rows of both sweeps, kept for questions about single segments and boundaries.
class Lookup {
 public:
  Lookup(const Problem&, Method);
  double log_z() const { return log_z_; }
  double segment(int start, int end, int label) const;
  double transition(int position, int previous, int label) const;
  // Of a chain whose labels are tags: the probability that tags of one group say a segment.
  // joined: [Y][Y] whether the second of two tags goes on with the segment of the first
  double run(int start, int end, const std::vector<std::int32_t>& group,
             const std::uint8_t* joined) const;
  struct Found {
    LabelledSegment segment;
    double probability;
  };
  std::vector<Found> segments(double min_probability) const;
  // Segments of all labels but `skipped` with nearly all of their probability: of those that end at
  // a boundary with a label, at most the share kLeftOut is not listed.  Throws TooLarge where there
  // are more than `most`.
  static constexpr double kLeftOut = 1e-11;
  std::vector<Found> likely_segments(std::int64_t most, int skipped) const;

 private:
  const Problem& problem_;
  const Lattice& g_;
  double log_z_;
  std::unique_ptr<double[]> memory_;
  Tables tables_;
  Posterior posterior_;
  std::unique_ptr<Walk> walk_;
};

}  // namespace caesura
