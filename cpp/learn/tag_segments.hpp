// The loss of segments for models whose states are tags: a chain over tags with a memory of whether
// the current segment is gold so far.
//
// The state (y, m) of token t has m = 1 if the segment that contains t is gold so far: it starts
// where the gold segment of t starts, has the same label, and does not extend beyond it.  With
// (y0, m0) the previous state,
//
//   m = m0, and t is in the same gold segment as t - 1       if y continues the segment of y0
//   m = a gold segment with the label of y starts at t       otherwise
//
// so m is determined by the path, and every other pair of states is forbidden at this boundary.  A
// segment costs 1 where it starts, and -2 where it ends together with its gold segment.  The sweeps
// are the general ones, with twice as many labels.
#pragma once

#include <vector>

#include "learn/gold.hpp"
#include "learn/terms.hpp"

namespace caesura {

// Returns the best tags of sequence i with this loss, or none if no segmentation is possible.
std::vector<LabelledSegment> best_tag_segments(const Layout& layout, const Design& d, int i,
                                               const Gold& gold, const Reading& reading,
                                               const Unpacked<double>& weights, Workspace& work);

// Computes the expected counts of sequence i, and its expected cost, under the scores plus `scale`
// times the loss.  ln Z is -inf, and there are no counts, if no segmentation is possible.  problem:
// the scores alone, with all potentials.
struct TagExpectation {
  double log_z = kMinusInfinity, cost = 0.0;
};
TagExpectation expected_tag_segments(const Layout& layout, const Design& d, int i,
                                     const Problem& problem, const Gold& gold,
                                     const Reading& reading, double scale, SequenceCounts& counts,
                                     Workspace& work);

}  // namespace caesura
