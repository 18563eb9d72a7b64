#include "infer/lookup.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/interrupt.hpp"

namespace caesura {

Lookup::Lookup(const Problem& problem, Method method)
    : problem_(problem), g_(problem.lattice(method)), log_z_(empty_log_z(problem)) {
  if (g_.T == 0) return;
  check_scores(problem);
  Workspace work;
  const std::size_t rows = tables_size(g_);
  memory_.reset(new double[rows + 2 * table_size(g_)]);
  tables_ = tables_in(g_, memory_.get());
  log_z_ = kernels().log_partition(g_, work, &tables_, nullptr);
  if (log_z_ == kMinusInfinity) return;
  posterior_ = empty_posterior(problem, g_);
  clear(posterior_);
  posterior_.counts.closed = memory_.get() + rows;
  posterior_.counts.begun = posterior_.counts.closed + table_size(g_);
  kernels().posterior(g_, work, tables_, posterior_.counts);
  walk_ = std::make_unique<Walk>(problem_, g_, tables_);
}

// Calls visit(q) for the states of a label.
template <class Visit>
void Lookup::for_states(int label, Visit visit) const {
  int r = 0;
  while (g_.order[r] != label) ++r;
  for (int q = g_.first[r]; q < g_.first[r + 1]; ++q) visit(q);
}

// Calls visit(p, share(p | t, q)) for the arcs into state q.
template <class Visit>
void Lookup::for_arcs(int t, int q, Visit visit) const {
  if (g_.in_ptr == nullptr) {
    for (int p = 0; p < g_.Q; ++p) visit(p, std::exp(walk_->log_arc(t, p, q)));
  } else {
    for (int k = g_.in_ptr[q]; k < g_.in_ptr[q + 1]; ++k)
      visit(g_.in_state[k], std::exp(walk_->log_arc(t, g_.in_state[k], q)));
  }
}

// Sets totals[end - 1 - s] = P(the segment [s, end) with this label), for the starts from end - 1
// down to `low`, and returns their sum:
//
//   P(s, end, y) = sum over the states q of y of closed[end][q] share(s | end, q)
double Lookup::add_starts(int low, int end, int label, std::vector<double>& totals) const {
  totals.assign(end - low, 0.0);
  if (walk_ == nullptr) return 0.0;  // nothing is possible
  double sum = 0.0;
  std::vector<double> shares;
  for_states(label, [&](int q) {
    const double closed = row(posterior_.counts.closed, end)[q];
    if (closed == 0.0) return;
    walk_->log_shares(low, end, q, shares);
    for (std::size_t k = 0; k < shares.size(); ++k) {
      const double probability = closed * std::exp(shares[k]);
      totals[k] += probability;
      sum += probability;
    }
  });
  return sum;
}

double Lookup::segment(int start, int end, int label) const {
  std::vector<double> totals;
  add_starts(start, end, label, totals);
  return std::min(totals.back(), 1.0);  // rounding may raise it slightly above 1
}

// P(label x, then y, at boundary t) = sum over the states q of y and the arcs p -> q with p of x
//                                     of begun[t][q] share(p | t, q)
double Lookup::transition(int position, int previous, int label) const {
  double total = 0.0;
  if (walk_ == nullptr) return total;
  for_states(label, [&](int q) {
    const double begun = row(posterior_.counts.begun, position)[q];
    if (begun == 0.0) return;
    for_arcs(position, q, [&](int p, double share) {
      if (this->label(p) == previous) total += begun * share;
    });
  });
  return std::min(total, 1.0);
}

// Goes from the last tag of the segment to the one before its first:
//
//   now[end - 1, p] = sum over the states q that do not continue p of begun[end][q] share(p | end,
//   q) now[t - 1, p]   = sum over the states q that continue p of now[t, q] share(p | t, q)
//   P(segment)      = sum over q, and over the states p that q does not continue,
//                     of now[start, q] share(p | start, q)
//
// over states p with a tag of the group, except in the last sum.  At the end of the sequence,
// now[T - 1] is closed[T]; at its start, every tag begins a segment.
double Lookup::run(int start, int end, const std::vector<std::int32_t>& group,
                   const std::uint8_t* joined) const {
  if (walk_ == nullptr) return 0.0;
  std::vector<std::uint8_t> member(g_.Y, 0);
  for (const std::int32_t y : group) member[y] = 1;
  auto continues = [&](int p, int q) { return joined[label(p) * g_.Y + label(q)] != 0; };
  std::vector<double> now(g_.Q, 0.0), before(g_.Q);
  for (int q = 0; q < g_.Q; ++q) {
    if (end == g_.T) {
      now[q] = member[label(q)] ? row(posterior_.counts.closed, g_.T)[q] : 0.0;
      continue;
    }
    const double begun = row(posterior_.counts.begun, end)[q];
    if (begun == 0.0) continue;
    for_arcs(end, q, [&](int p, double share) {
      if (member[label(p)] && !continues(p, q)) now[p] += begun * share;
    });
  }
  for (int t = end - 1; t >= start; --t) {
    std::fill(before.begin(), before.end(), 0.0);
    double total = 0.0;
    for (int q = 0; q < g_.Q; ++q) {
      if (now[q] == 0.0) continue;
      if (t == 0) {
        total += now[q];
        continue;
      }
      for_arcs(t, q, [&](int p, double share) {
        const bool goes_on = continues(p, q);
        if (t > start && goes_on) before[p] += now[q] * share;
        if (t == start && !goes_on) total += now[q] * share;
      });
    }
    if (t == start) return std::min(total, 1.0);
    now.swap(before);
  }
  return 0.0;
}

// A segment [s, e) with label y is bounded by two marginals:
//
//   P(s, e, y) <= sum over the states q of y of closed[e][q]
//   P(s, e, y) <= tokens[t][y]                                for every t with s <= t < e
//
// With a margin for rounding, they limit the ends and starts that are tried.
std::vector<Lookup::Found> Lookup::segments(double min_probability) const {
  constexpr double kMargin = 1.0 + 1e-9;
  std::vector<Found> found;
  std::vector<double> totals;  // by start, the latest first
  for (int y = 0; y < g_.Y && walk_ != nullptr; ++y) {
    for (int e = 1; e <= g_.T; ++e) {
      check_interrupt();
      double ends = 0.0;
      for_states(y, [&](int q) { ends += row(posterior_.counts.closed, e)[q]; });
      if (ends == 0.0 || ends * kMargin < min_probability) continue;
      auto token = [&](int t) {
        return posterior_.counts.tokens[static_cast<std::ptrdiff_t>(t) * g_.Y + y];
      };
      int low = e;
      while (low > 0 && token(low - 1) * kMargin >= min_probability) --low;
      add_starts(low, e, y, totals);
      for (int i = 0; i < e - low; ++i) {
        if (totals[i] > 0.0 && totals[i] >= min_probability)
          found.push_back({{e - 1 - i, e, y}, std::min(totals[i], 1.0)});
      }
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return a.probability > b.probability; });
  return found;
}

// Tries starts from late to early until
//
//   sum over the tried starts s of P(s, e, y)  >=  (1 - kLeftOut) sum over q of closed[e][q]
//
// Longer segments are mostly less probable, so the number of starts is small compared with the
// length of the sequence.
std::vector<Lookup::Found> Lookup::likely_segments(std::int64_t most, int skipped) const {
  std::vector<Found> found;
  std::vector<double> totals;  // by start, the latest first
  for (int r = 0; r < g_.Y && walk_ != nullptr; ++r) {
    const int y = g_.order[r];
    if (y == skipped) continue;
    for (int e = 1; e <= g_.T; ++e) {
      if (e % 16 == 0) check_interrupt();
      double mass = 0.0;
      for_states(y, [&](int q) { mass += row(posterior_.counts.closed, e)[q]; });
      if (mass == 0.0) continue;
      for (int length = 8;; length *= 2) {  // until the listed segments are enough
        const int low = std::max(e - length, 0);
        const double listed = add_starts(low, e, y, totals);
        if (low == 0 || mass - listed <= kLeftOut * mass) break;
      }
      for (std::size_t i = 0; i < totals.size(); ++i) {
        const int start = e - 1 - static_cast<int>(i);
        if (totals[i] > 0.0) found.push_back({{start, e, y}, std::min(totals[i], 1.0)});
      }
      if (static_cast<std::int64_t>(found.size()) > most) {
        throw TooLarge("p",
                       "more than " + std::to_string(most) + " segments of " +
                           std::to_string(g_.T) + " tokens have probabilities that count",
                       "set max_length");
      }
    }
  }
  return found;
}

}  // namespace caesura
