// The loss of segments where states are tags: a chain over tags that record whether they are right
// so far.
//
// State (y, m) of token t has m = 1 if the segment that t lies in is gold so far: it begins where
// the gold segment of t begins, with its label, and has not ended.  With y0 the tag before,
//
//   m = m0 and the gold segment goes on     where y goes on with the segment of y0
//   m = a gold segment with y's label begins at t                          elsewhere
//
// so that m follows from the path, and every other pair of states is forbidden at this boundary.  A
// segment costs 1 where it begins, and -2 where it ends together with its gold one.  The sweeps are
// the general ones, over twice as many labels.
#pragma once

#include <vector>

#include "learn/gold.hpp"
#include "learn/terms.hpp"

namespace caesura {

// The best tags of sequence i with this loss, or none if no segmentation is possible.
std::vector<LabelledSegment> best_tag_segments(const Layout& layout, const Design& d, int i,
                                               const Gold& gold, const Reading& reading,
                                               const Unpacked<double>& weights, Workspace& work);

// The expectations of sequence i under scores plus the loss times a number; ln Z is -inf, and there
// are no counts, if no segmentation is possible.  problem: the scores alone, with all places of the
// counts
struct TagExpectation {
  double log_z = kMinusInfinity, cost = 0.0;
};
TagExpectation expected_tag_segments(const Layout& layout, const Design& d, int i,
                                     const Problem& problem, const Gold& gold,
                                     const Reading& reading, double scale, SequenceCounts& counts,
                                     Workspace& work);

}  // namespace caesura
