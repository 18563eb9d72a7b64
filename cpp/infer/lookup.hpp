// Probabilities of single segments and transitions, from the rows of both sweeps.
//
//   closed[e][q] = P(a segment in state q ends at e)
//   begun[t][q]  = P(a segment in state q begins at t)
//
// are marginals that the backward sweep computes.  The rest are conditional probabilities, shares
// of an entry of the forward sweep (Walk):
//
//   share(s | e, q) = P(the segment is [s, e), given that one in state q ends at e)
//   share(p | t, q) = P(the previous state is p, given that a segment in state q begins at t)
//
// A probability is a sum of products of these, so nothing is subtracted or divided.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "infer/answers.hpp"

namespace caesura {

class Lookup {
 public:
  Lookup(const Problem&, Method);
  double log_z() const { return log_z_; }
  double segment(int start, int end, int label) const;
  double transition(int position, int previous, int label) const;
  // For a chain whose labels are tags: the probability that tags of `group` spell exactly the
  // segment [start, end).  joined: [Y][Y] whether the second tag continues the segment of the
  // first.
  double run(int start, int end, const std::vector<std::int32_t>& group,
             const std::uint8_t* joined) const;
  struct Found {
    LabelledSegment segment;
    double probability;
  };
  std::vector<Found> segments(double min_probability) const;
  // The most probable segments of all labels except `skipped`: for each end and label, the listed
  // segments have at least the share 1 - kLeftOut of the total probability.  Throws TooLarge if
  // there are more than `most`.
  static constexpr double kLeftOut = 1e-11;
  std::vector<Found> likely_segments(std::int64_t most, int skipped) const;

 private:
  int label(int q) const { return g_.order[g_.rank[q]]; }
  const double* row(const double* table, int t) const {
    return table + static_cast<std::ptrdiff_t>(t) * g_.stride;
  }
  template <class Visit>
  void for_states(int label, Visit visit) const;
  template <class Visit>
  void for_arcs(int t, int q, Visit visit) const;
  double add_starts(int low, int end, int label, std::vector<double>& totals) const;

  const Problem& problem_;
  const Lattice& g_;
  double log_z_;
  std::unique_ptr<double[]> memory_;
  Tables tables_;
  Posterior posterior_;
  std::unique_ptr<Walk> walk_;
};

}  // namespace caesura
