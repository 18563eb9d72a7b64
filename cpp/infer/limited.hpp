// The best segmentations where some labels may occur only once, for any number of such labels.
//
// Three steps, each exact, each taken only where the one before does not settle the answer:
//
//   1. The model without limits.  If its n best keep all limits, they are the n best.
//   2. The automaton tracks the labels that broke their limit, up to a few, and the model is solved
//      again.
//   3. Each occurrence of a limited label gets a price (Lagrangian relaxation).  With prices
//      lambda >= 0 every segmentation x that keeps the limits has
//
//        score(x)  <=  U(lambda) = max over all segmentations (score - sum_y lambda_y n_y)
//                                  + sum_y lambda_y
//
//      and subgradient steps make U small.  The prices are part of the transitions, so U is an
//      ordinary sweep.  A best-first search from the end then looks for the n best, with the rows
//      of that sweep as the bound on what the rest of a segmentation can still give.
//   4. Where the search grows too large, the automaton tracks all limits, unless the sets of
//      labels that the sequence can reach are too many.
#pragma once

#include <cstdint>
#include <vector>

#include "infer/answers.hpp"

namespace caesura {

struct SearchLimits {
  // With so many limits or fewer, the automaton tracks as many as it must, and step 3 is not taken:
  // then equal scores keep the order of ties.hpp, which the search does not promise.
  int few = 8;
  int most_tracked = 2;                  // else the limits that the automaton tracks in step 2
  std::int64_t most_entries = 600'000;   // partial segmentations of the search: about 0.7 s
  std::int64_t most_work = 100'000'000;  // terms of the sweeps of step 3: about 0.2 s
};

// Tracks none of the limits of a problem, then also the one that most answers break, until no
// answer breaks any: answers of a relaxed problem that keep all limits are those of the problem.
//
//   solve(std::unique_ptr<Problem>, std::vector<int>& breaks)
//
// answers a problem whose lattice is prepared, and counts in breaks ([symbols]) the answers that
// break each limit.  False: answers break a limit though `most_tracked` limits are tracked; with
// `then_all`, all of them are tracked before that is said, where the automaton is not too large.
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

// Throws TooLarge where the search passes its limit and tracking all limits takes too many states.
std::vector<Answer> n_best_within_limits(const Problem&, Method, Workspace&, int n,
                                         const SearchLimits& most = {});

// n samples: drawn from the model that tracks some of the limits, keeping those that break none.
// What is kept has the right distribution whatever is tracked.  Throws TooLarge where too few are
// kept.
std::vector<Answer> samples_within_limits(const Problem&, Method, Workspace&, int n,
                                          std::uint64_t seed);

}  // namespace caesura
