#include "infer/prices.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace caesura {
namespace {

// n_y(x): how often a segmentation uses the symbol of each bit.
std::vector<int> uses(const Priced& priced, const std::vector<LabelledSegment>& segments) {
  std::vector<int> out(priced.price.size(), 0);
  int previous = -1;
  for (const LabelledSegment& segment : segments) {
    if (const int b = priced.bit(previous, segment.label); b >= 0) ++out[b];
    previous = segment.label;
  }
  return out;
}

// Tries to find a segmentation within the limits greedily: from the end back to the start, it takes
// the best term of each node that uses no symbol a second time.  Returns its score, which is a
// lower bound on the best, or -inf if it failed.
double dive(const Problem& problem, const Priced& priced) {
  const Walk walk(problem, priced.g, priced.tables);
  std::vector<Term> terms;
  std::vector<std::uint8_t> used(priced.price.size(), 0);
  std::vector<Node> path{{NodeKind::kFinal, priced.g.T, 0}};
  // path += argmax over the terms of its last node, without those whose symbol is used, of value
  while (!at_start(path.back())) {
    walk.terms(path.back(), terms);
    const Term* best = nullptr;
    for (const Term& term : terms) {
      const int b = priced.bit(path.back(), term.from);
      if ((b < 0 || !used[b]) && (best == nullptr || term.value > best->value)) best = &term;
    }
    if (best == nullptr) return kMinusInfinity;
    if (const int b = priced.bit(path.back(), best->from); b >= 0) used[b] = 1;
    path.push_back(best->from);
  }
  return problem.score(segments_of(priced.g, path));
}

}  // namespace

// Subgradient steps
//
//   lambda    += step direction
//   direction  = 0.7 (n(x) - 1) + 0.3 previous direction,   x the best segmentation at these prices
//
// with Polyak's step, (upper - lower) / |direction|^2 times a factor that is halved when the bound
// does not improve.  The average over directions damps oscillation.
bool lower_prices(const Problem& problem, Priced& priced, const std::vector<std::uint8_t>& limit,
                  int most_steps) {
  constexpr double kLeastFactor = 1e-3, kClose = 1e-9;
  constexpr int kPatience = 8, kPeriod = 8;  // steps without gain, steps between two dives
  double upper = std::numeric_limits<double>::infinity(), lower = kMinusInfinity, factor = 1.0;
  std::vector<double> best_price = priced.price, direction(limit.size(), 0.0);
  std::vector<LabelledSegment> segments;
  double score = 0.0;
  for (int step = 0, stale = 0; step < most_steps && factor > kLeastFactor; ++step) {
    if (!priced.sweep(segments, &score)) return false;
    // U(lambda) = max over x of (score(x) - prices) + sum of all prices
    double bound = score;
    for (const double price : priced.price) bound += price;
    if (bound < upper) {
      upper = bound;
      best_price = priced.price;
      stale = 0;
    } else if (++stale >= kPatience) {
      factor /= 2;
      stale = 0;
    }
    // The score is -inf if the limits are broken, and else a lower bound.
    lower = std::max(lower, problem.score(segments));
    if (step % kPeriod == 0) lower = std::max(lower, dive(problem, priced));
    const std::vector<int> used = uses(priced, segments);
    double norm = 0.0;
    // direction = 0.7 (n(x) - 1) + 0.3 direction
    for (std::size_t b = 0; b < limit.size(); ++b) {
      // The price of an unused label stays 0, because it cannot become negative.
      const bool at_zero = limit[b] == kAtMostOnce && priced.price[b] == 0.0 && used[b] == 0;
      direction[b] = 0.7 * (at_zero ? 0 : used[b] - 1) + 0.3 * direction[b];
      norm += direction[b] * direction[b];
    }
    // Polyak's step: the gap between the bounds over the squared length of the direction.  Without
    // a lower bound, the gap is assumed to be a twentieth of the upper bound.
    const double size = 1.0 + std::abs(upper);
    const double gap = lower > kMinusInfinity ? upper - lower : 0.05 * size;
    if (norm < kClose || gap <= kClose * size) break;
    // lambda = max(0, lambda + step direction), without the bound for labels that must occur
    for (std::size_t b = 0; b < limit.size(); ++b) {
      priced.price[b] += factor * gap / norm * direction[b];
      if (limit[b] == kAtMostOnce) priced.price[b] = std::max(0.0, priced.price[b]);
    }
    priced.set_prices();
  }
  priced.price = best_price;
  priced.set_prices();
  return priced.sweep(segments, &score);
}

}  // namespace caesura
