#include "infer/limited.hpp"

#include <algorithm>

#include "infer/price_search.hpp"

namespace caesura {
namespace {

// Step 3: prices first, then the search.  Returns false if the search exceeded its limit.  free:
// the problem with none tracked.
//
// Within the limits, n_y(x) is 0 or 1.  What the search maximises is then
//
//   score(x) - sum over y of lambda_y n_y(x) - sum over y of lambda_y (1 - n_y(x))
//     = score(x) - sum over y of lambda_y
//
// so it finds segmentations in the order of their scores, up to rounding.  Their scores are
// computed anew from their segments, without prices, and sorted.
bool search_with_prices(const Problem& free, Method method, int n, const SearchLimits& most,
                        std::vector<Answer>& answers) {
  const RuleSet& rules = free.input().rules;
  std::vector<int> bit(rules.symbols(free.input().Y), -1);
  std::vector<std::uint8_t> limit;
  // bit[k] = number of limited symbols before k, for the symbols with a limit: only these have a
  // price, and a bit in the sets of used symbols.
  for (std::size_t k = 0; k < rules.once.size(); ++k) {
    if (rules.once[k] == kNoLimit) continue;
    bit[k] = static_cast<int>(limit.size());
    limit.push_back(rules.once[k]);
  }
  Priced priced(free, method, bit, static_cast<int>(limit.size()));
  // As many steps as fit into most_work, but at least five.
  const double sweep = static_cast<double>(priced.g.T) * priced.g.Q * priced.g.Y;
  const int steps = static_cast<int>(std::min(300.0, std::max(5.0, most.most_work / sweep)));
  if (!lower_prices(free, priced, limit, steps)) return true;
  std::vector<std::vector<LabelledSegment>> found;
  if (!search_priced(free, priced, limit, n, most.most_entries, found)) return false;
  for (auto& segments : found) {
    const double score = free.score(segments);
    answers.push_back({true, score, std::move(segments)});
  }
  std::stable_sort(answers.begin(), answers.end(),
                   [](const Answer& a, const Answer& b) { return a.score > b.score; });
  return true;
}

// Whether every label has a bound and a limit, and the sequence is longer than the longest segments
// of all labels together:
//
//   T > sum over y of bound(y)
//
// No segmentation is possible then, but the search would try many to find that out.
bool is_too_long(const ProblemInput& in) {
  if (!in.rules.joined.empty()) return false;
  std::int64_t most = 0;
  for (int y = 0; y < in.Y; ++y) {
    if (in.bounds[y] == 0 || in.rules.once[in.rules.symbol_of(y)] == kNoLimit) return false;
    most += in.bounds[y];
  }
  return most < in.T;
}

}  // namespace

std::vector<std::int32_t> labels_of(const std::vector<LabelledSegment>& segments) {
  std::vector<std::int32_t> labels;
  for (const LabelledSegment& segment : segments) labels.push_back(segment.label);
  return labels;
}

std::vector<Answer> n_best_within_limits(const Problem& problem, Method method, Workspace& work,
                                         int n, const SearchLimits& most) {
  const RuleSet& rules = problem.input().rules;
  const int Y = problem.input().Y;
  if (is_too_long(problem.input())) return {};
  auto solve = [&](const Problem& relaxed) {
    work.clear();
    return plain_n_best(relaxed, method, work, n);
  };
  // Steps 1 and 2 of limited.hpp: each round tracks the limit that most of the n answers of the
  // last round broke.  A problem that tracks fewer limits allows more segmentations, so if its n
  // best satisfy all limits, no other segmentation within the limits scores better.
  const int most_tracked = rules.limits() <= most.few ? rules.limits() : most.most_tracked;
  std::vector<Answer> answers;
  std::unique_ptr<Problem> free;
  const bool settled =
      relax_limits(problem, method, most_tracked, false,
                   [&](std::unique_ptr<Problem> relaxed, std::vector<int>& breaks) {
                     answers = solve(*relaxed);
                     for (const Answer& answer : answers) {
                       for (const std::int32_t k : rules.broken_by(labels_of(answer.segments), Y))
                         ++breaks[k];
                     }
                     // The first problem tracks none; step 3 needs it again.
                     if (free == nullptr) free = std::move(relaxed);
                   });
  if (settled) return answers;
  // Step 3, and if the search passes its limit, step 4.  That its automaton would be too large is
  // usually known before it is built (states.cpp), so that a refusal costs no more than the search.
  answers.clear();
  if (search_with_prices(*free, method, n, most, answers)) return answers;
  if (const auto all = problem.tracking_all()) {
    all->prepare(method);
    return solve(*all);
  }
  throw TooLarge(
      "constrain",
      std::to_string(rules.limits()) +
          " labels are limited to one occurrence, the search for the best segmentations passed its "
          "limit of " +
          std::to_string(most.most_entries) +
          " partial answers, and the sets of labels that can have occurred are too many to track",
      "limit at most " + std::to_string(kMostTracked) +
          " labels, or bound the segments with max_length");
}

// Rejection sampling, in rounds.  With A the segmentations that the tracked limits allow, and B
// those within all limits, a subset of A:
//
//   P(x | x drawn from A, x in B) = exp(score(x)) / sum over x' in B of exp(score(x'))
//
// The share of the samples that is kept, P(B | A), rises with each limit that is tracked.
std::vector<Answer> samples_within_limits(const Problem& problem, Method method, Workspace& work,
                                          int n, std::uint64_t seed) {
  constexpr int kRounds = 200, kMostTrackedToSample = 10;  // with more, each round would be slow
  constexpr double kMostWork = 3e8;  // terms of the sweeps of all rounds: about a second
  const RuleSet& rules = problem.input().rules;
  const int Y = problem.input().Y;
  std::vector<std::uint8_t> tracked(rules.symbols(Y), 0);
  std::vector<Answer> kept;
  Random seeds(seed);
  int n_tracked = 0, round = 0;
  double spent = 0.0;
  for (; round < kRounds && spent < kMostWork; ++round) {
    const std::unique_ptr<Problem> tracking = problem.tracking(tracked);
    tracking->prepare(method);
    const Lattice& g = tracking->lattice(method);
    spent += static_cast<double>(g.T) * g.Q * g.Y;
    work.clear();
    // Few answers need many draws if most are rejected, so a round draws at least 64.
    auto drawn = plain_samples(*tracking, method, work, std::max(n, 64), seeds.next());
    // breaks[k] = number of the samples that break the limit of symbol k
    std::vector<int> breaks(tracked.size(), 0);
    for (Answer& answer : drawn) {
      const auto broken = rules.broken_by(labels_of(answer.segments), Y);
      for (const std::int32_t k : broken) ++breaks[k];
      if (broken.empty() && static_cast<int>(kept.size()) < n) kept.push_back(std::move(answer));
    }
    if (drawn.empty() || static_cast<int>(kept.size()) == n) return kept;
    // The limits that are broken most often are tracked in the next round.
    for (int more = 0; more < 3 && n_tracked < kMostTrackedToSample; ++more) {
      const auto most = std::max_element(breaks.begin(), breaks.end());
      if (*most == 0) break;
      *most = 0;
      tracked[most - breaks.begin()] = 1;
      ++n_tracked;
    }
  }
  // Too few were kept.  With all limits tracked, no sample is rejected, and all are drawn anew.
  if (const auto all = problem.tracking_all()) {
    all->prepare(method);
    work.clear();
    return plain_samples(*all, method, work, n, seed);
  }
  throw TooLarge("sample",
                 "kept only " + std::to_string(kept.size()) + " of " + std::to_string(n) +
                     " segmentations in " + std::to_string(round) +
                     " rounds, and the sets of labels that can have occurred are too many to track",
                 "limit at most " + std::to_string(kMostTracked) + " labels to one occurrence");
}

}  // namespace caesura
