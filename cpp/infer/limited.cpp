#include "infer/limited.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <unordered_map>

namespace caesura {
namespace {

// The lattice of a problem with a price on each occurrence of some symbols.
class Priced {
 public:
  // bit: [symbols] the index of the price of a symbol, or -1 if it has none.
  Priced(const Problem& problem, Method method, const std::vector<int>& bit, int n_bits)
      : rules(problem.input().rules),
        g(problem.lattice(method)),
        price(n_bits, 0.0),
        problem_(problem),
        bit_(bit),
        memory_(tables_size(g)),
        back_start_(table_size(g)),
        back_previous_(table_size(g)) {
    tables = tables_in(g, memory_.data());
    set_prices();
  }

  const RuleSet& rules;
  Lattice g;
  std::vector<double> price;  // [bits]
  Tables tables;

  // The bit of the symbol that label y begins after label `previous`, which is -1 at the start; or
  // -1 if there is none.
  int bit(int previous, int y) const {
    return rules.begins(previous, y, g.Y) ? bit_[rules.symbol_of(y)] : -1;
  }

  // The bit of the symbol that is used by going from a node back to one of its terms, or -1.  If
  // every label begins a segment, the symbol is counted at the end of the segment.
  int bit(const Node& node, const Node& from) const {
    auto label = [&](const Node& one) { return g.order[g.rank[one.state]]; };
    if (rules.joined.empty()) return from.kind == NodeKind::kClosed ? bit(-1, label(from)) : -1;
    if (node.kind == NodeKind::kBegun) return bit(label(from), label(node));
    return at_start(from) ? bit(-1, label(from)) : -1;
  }

  // Subtracts from transitions and starts the prices of the symbols that they begin.
  void set_prices() {
    const ProblemInput& in = problem_.input();
    transition_.assign(in.transition, in.transition + static_cast<std::ptrdiff_t>(g.Y) * g.Y);
    start_.assign(in.start, in.start + g.Y);
    for (int y = 0; y < g.Y; ++y) {
      if (const int b = bit(-1, y); b >= 0) start_[y] -= price[b];
      for (int x = 0; x < g.Y; ++x) {
        const int b = bit(x, y);
        if (b < 0) continue;
        // A symbol that may occur once cannot follow itself.
        double& score = transition_[x * g.Y + y];
        score = rules.symbol_of(x) == rules.symbol_of(y) ? kMinusInfinity : score - price[b];
      }
    }
    g.transition = transition_.data();
    g.start = start_.data();
  }

  // Finds the best segmentation at the current prices, and its score less the prices,
  //
  //   max over x of score(x) - sum over y of lambda_y n_y(x)
  //
  // by the general sweep over the priced transitions.  Returns false if no segmentation is
  // possible.
  bool sweep(std::vector<LabelledSegment>& segments, double* score) {
    Back back{back_start_.data(), back_previous_.data()};
    int state = 0;
    work_.clear();
    *score = kernels().best(g, work_, &tables, back, &state, nullptr);
    if (*score == kMinusInfinity) return false;
    segments = trace(g, back, state);
    return true;
  }

 private:
  const Problem& problem_;
  const std::vector<int>& bit_;
  std::vector<double> memory_, transition_, start_;
  std::vector<std::int32_t> back_start_, back_previous_;
  Workspace work_;
};

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

// Lowers the upper bound by subgradient steps
//
//   lambda    += step direction
//   direction  = 0.7 (n(x) - 1) + 0.3 previous direction,   x the best segmentation at these prices
//
// with Polyak's step, (upper - lower) / |direction|^2 times a factor that is halved when the bound
// does not improve.  The average over directions damps oscillation.  Afterwards, the tables of
// `priced` are those of the best prices.  limit: [bits] Limit.  Returns false if no segmentation is
// possible, even without limits.
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

// Best-first search from the final node back to the start.  The loss of a partial segmentation
// relative to the best one at these prices is the sum of the losses of its terms.  A complete
// segmentation also loses the prices of the symbols that it does not use, since U contains every
// price once.  A pair of a node and a set of used symbols is skipped once it has been taken n
// times.
class Search {
 public:
  // limit: [bits] Limit
  Search(const Problem& problem, const Priced& priced, const std::vector<std::uint8_t>& limit,
         int n)
      : priced_(priced),
        walk_(problem, priced.g, priced.tables),
        limit_(limit),
        n_(n),
        words_(limit.size() / 64 + 1),
        taken_(1024, Hash{this}, Equal{this}) {}

  // Takes the candidate with the least loss until there are n answers; its next sibling and its
  // best child become candidates.  Returns false if more than `most_entries` entries would be
  // needed.
  bool run(std::int64_t most_entries, std::vector<std::vector<LabelledSegment>>& out) {
    add({NodeKind::kFinal, priced_.g.T, 0}, -1, -1);
    push(0, 0, 0.0);
    while (!heap_.empty() && static_cast<int>(out.size()) < n_) {
      const Candidate best = heap_.top();
      heap_.pop();
      if (best.choice < 0) {
        out.push_back(segments(best.parent));
        continue;
      }
      const double loss_of_parent = best.loss - lost(best.parent, best.choice);
      push(best.parent, best.choice + 1, loss_of_parent);
      const Node node = terms(entries_[best.parent].node)[best.choice].from;
      if (static_cast<std::int64_t>(entries_.size()) >= most_entries) return false;
      const std::int32_t entry =
          add(node, best.parent, priced_.bit(entries_[best.parent].node, node));
      if (++taken_[entry] > n_) {
        entries_.pop_back();
        used_.resize(used_.size() - words_);
        continue;
      }
      if (!at_start(node))
        push(entry, 0, best.loss);
      else if (const double left_out = unused(entry); left_out > kMinusInfinity)
        heap_.push({best.loss + left_out, entry, -1, 0});
    }
    return true;
  }

 private:
  struct Entry {
    Node node;
    std::int32_t parent;
  };
  // The children of an entry are the terms of its node; only the next one is on the heap.
  struct Candidate {
    double loss;
    std::int32_t parent;  // entry
    std::int32_t choice;  // index into the terms of the parent's node; -1: the parent is complete
    std::int32_t at;
    // The least loss first; of equal ones, the nearest to the start.
    bool operator<(const Candidate& other) const {
      return loss != other.loss ? loss > other.loss : at > other.at;
    }
  };

  // Adds an entry, whose used symbols are those of its parent, and that of `bit` if bit >= 0.
  std::int32_t add(const Node& node, std::int32_t parent, int bit) {
    const std::size_t from = parent < 0 ? 0 : parent * words_;
    for (std::size_t k = 0; k < words_; ++k)
      used_.push_back(parent < 0 ? 0 : std::uint64_t{used_[from + k]});
    if (bit >= 0) used_[used_.size() - words_ + bit / 64] |= std::uint64_t{1} << (bit % 64);
    entries_.push_back({node, parent});
    return static_cast<std::int32_t>(entries_.size()) - 1;
  }
  bool uses(std::int32_t entry, int bit) const {
    return (used_[entry * words_ + bit / 64] >> (bit % 64)) & 1;
  }
  // The sum of the prices of the symbols that a complete segmentation does not use, which are part
  // of U; -inf if a symbol that must occur is missing.
  double unused(std::int32_t entry) const {
    double total = 0.0;
    for (int b = 0; b < static_cast<int>(limit_.size()); ++b) {
      if (uses(entry, b)) continue;
      if (limit_[b] == kExactlyOnce) return kMinusInfinity;
      total += priced_.price[b];
    }
    return total;
  }

  // The terms of a node, best first; computed once for each node.
  const std::vector<Term>& terms(const Node& node) {
    const std::uint64_t key = (static_cast<std::uint64_t>(node.at) * priced_.g.Q + node.state) * 4 +
                              static_cast<std::uint64_t>(node.kind);
    auto [found, added] = known_.try_emplace(key);
    if (added) {
      walk_.terms(node, found->second);
      std::stable_sort(found->second.begin(), found->second.end(),
                       [](const Term& a, const Term& b) { return a.value > b.value; });
    }
    return found->second;
  }
  // loss(term) = most(node) - value(term)
  double lost(std::int32_t entry, int choice) {
    const std::vector<Term>& all = terms(entries_[entry].node);
    return all[0].value - all[choice].value;
  }
  // Pushes the first child from `choice` on that breaks no limit onto the heap, with its loss
  //
  //   loss(child) = loss(parent) + most(node) - value(term)
  void push(std::int32_t parent, int choice, double loss) {
    const Node node = entries_[parent].node;
    const std::vector<Term>& all = terms(node);
    for (; choice < static_cast<int>(all.size()); ++choice) {
      const int b = priced_.bit(node, all[choice].from);
      if (b >= 0 && uses(parent, b)) continue;
      heap_.push({loss + (all[0].value - all[choice].value), parent, choice, all[choice].from.at});
      return;
    }
  }
  // The segments of a complete entry, which its parents lead to.
  std::vector<LabelledSegment> segments(std::int32_t entry) const {
    std::vector<Node> path;
    for (; entry >= 0; entry = entries_[entry].parent) path.push_back(entries_[entry].node);
    std::reverse(path.begin(), path.end());
    return segments_of(priced_.g, path);
  }

  // Entries are equal if they are at the same node and have used the same symbols, so that they
  // have the same continuations.
  struct Hash {
    const Search* search;
    std::size_t operator()(std::int32_t entry) const {
      const Node& node = search->entries_[entry].node;
      std::uint64_t h = static_cast<std::uint64_t>(node.at) << 34 ^
                        static_cast<std::uint64_t>(node.state) << 2 ^
                        static_cast<std::uint64_t>(node.kind);
      for (std::size_t k = 0; k < search->words_; ++k) {
        h = (h ^ search->used_[entry * search->words_ + k]) * 0x9e3779b97f4a7c15;
        h ^= h >> 29;
      }
      return static_cast<std::size_t>(h);
    }
  };
  struct Equal {
    const Search* search;
    bool operator()(std::int32_t a, std::int32_t b) const {
      const Node &x = search->entries_[a].node, &y = search->entries_[b].node;
      const std::uint64_t* used = search->used_.data();
      return x.kind == y.kind && x.at == y.at && x.state == y.state &&
             std::equal(used + a * search->words_, used + (a + 1) * search->words_,
                        used + b * search->words_);
    }
  };

  const Priced& priced_;
  const Walk walk_;
  const std::vector<std::uint8_t>& limit_;
  const int n_;
  const std::size_t words_;
  std::vector<Entry> entries_;
  std::vector<std::uint64_t> used_;  // [entries][words]
  std::priority_queue<Candidate> heap_;
  std::unordered_map<std::uint64_t, std::vector<Term>> known_;
  std::unordered_map<std::int32_t, std::int32_t, Hash, Equal> taken_;
};

// Step 3.  Returns false if the search exceeded its limit.  free: the problem with none tracked.
bool search_with_prices(const Problem& free, Method method, int n, const SearchLimits& most,
                        std::vector<Answer>& answers) {
  const RuleSet& rules = free.input().rules;
  std::vector<int> bit(rules.symbols(free.input().Y), -1);
  std::vector<std::uint8_t> limit;
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
  if (!Search(free, priced, limit, n).run(most.most_entries, found)) return false;
  for (auto& segments : found) {
    const double score = free.score(segments);
    answers.push_back({true, score, std::move(segments)});
  }
  std::stable_sort(answers.begin(), answers.end(),
                   [](const Answer& a, const Answer& b) { return a.score > b.score; });
  return true;
}

// Whether every label has a bound and a limit, and the sequence is longer than the longest segments
// of all labels together.
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
  // Steps 1 and 2 of limited.hpp.
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
                     if (free == nullptr) free = std::move(relaxed);
                   });
  if (settled) return answers;
  // Steps 3 and 4.
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
    // Samples that break no limit have the right distribution, whichever limits are tracked.
    auto drawn = plain_samples(*tracking, method, work, std::max(n, 64), seeds.next());
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
