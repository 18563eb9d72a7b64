// The best segmentations when some labels may occur only once, for any number of such labels.
//
// There are four steps.  Each is exact, and is taken only if the one before does not settle the
// answer:
//
//   1. Solve the model without limits.  If its n best segmentations satisfy all limits, they are
//      the answer.
//   2. Let the automaton track the labels that broke their limit, up to a few, and solve the model
//      again.
//   3. Give each occurrence of a limited label a price (Lagrangian relaxation).  Every segmentation
//      x that satisfies the limits has
//
//        score(x)  <=  U(lambda) = max over all segmentations (score - sum_y lambda_y n_y)
//                                  + sum_y lambda_y
//
//      where lambda_y >= 0 for labels that may occur at most once, and any number for labels that
//      must occur exactly once.  Subgradient steps make U small.  The prices are part of the
//      transitions, so U is computed by an ordinary sweep.  A best-first search from the end then
//      looks for the n best, with the rows of that sweep as upper bounds on the score of the rest.
//   4. If the search grows too large, let the automaton track all limits, unless too many sets of
//      labels are reachable.
#pragma once

#include <cstdint>
#include <vector>

#include "infer/answers.hpp"

namespace caesura {

struct SearchLimits {
  // With at most this many limits, step 2 tracks as many as necessary, and step 3 is not needed.
  // Equal scores are then in the order of ties.hpp, which the search does not guarantee.
  int few = 8;
  int most_tracked = 2;                  // with more limits, the most that step 2 tracks
  std::int64_t most_entries = 600'000;   // partial segmentations in the search: about 0.7 s
  std::int64_t most_work = 100'000'000;  // terms of the sweeps of step 3: about 0.2 s
};

// Solves a problem with none of its limits tracked, and then each time also tracks the limit that
// most answers break, until no answer breaks any.  If the answers of a relaxed problem satisfy all
// limits, they are the answers of the problem itself.
//
//   solve(std::unique_ptr<Problem>, std::vector<int>& breaks)
//
// solves a prepared problem and counts in breaks ([symbols]) how many answers break each limit.
// Returns false if answers still break a limit when `most_tracked` limits are tracked.  If
// `then_all`, all limits are tracked in that case, and the result is false only if the automaton
// would be too large.
template <class Solve>
bool relax_limits(const Problem& problem, Method method, int most_tracked, bool then_all,
                  Solve solve) {
  std::vector<std::uint8_t> tracked(problem.input().rules.symbols(problem.input().Y), 0);
  std::vector<int> breaks;
  auto solve_relaxed = [&](std::unique_ptr<Problem> relaxed) {
    relaxed->prepare(method);
    breaks.assign(tracked.size(), 0);
    solve(std::move(relaxed), breaks);
  };
  for (int n_tracked = 0; n_tracked <= most_tracked; ++n_tracked) {
    solve_relaxed(problem.tracking(tracked));
    const auto worst = std::max_element(breaks.begin(), breaks.end());
    if (worst == breaks.end() || *worst == 0) return true;
    tracked[worst - breaks.begin()] = 1;
  }
  std::unique_ptr<Problem> whole = then_all ? problem.tracking_all() : nullptr;
  if (whole == nullptr) return false;
  solve_relaxed(std::move(whole));
  return true;
}

// The label of each segment.
std::vector<std::int32_t> labels_of(const std::vector<LabelledSegment>& segments);

// Throws TooLarge if the search exceeds its limit and tracking all limits takes too many states.
std::vector<Answer> n_best_within_limits(const Problem&, Method, Workspace&, int n,
                                         const SearchLimits& most = {});

// Draws n samples, by rejection: they are drawn from the model that tracks some of the limits, and
// those that break none are kept.  These have the right distribution whichever limits are tracked.
// Returns none if no segmentation is possible.  Throws TooLarge if too few are kept and tracking
// all limits takes too many states.
std::vector<Answer> samples_within_limits(const Problem&, Method, Workspace&, int n,
                                          std::uint64_t seed);

}  // namespace caesura
