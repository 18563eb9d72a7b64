#include "lattice/problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "lattice/reach.hpp"

namespace caesura {
namespace {

int rounded(int n) { return std::max(8, (n + 7) / 8 * 8); }

// Offsets of the groups of `count` items when they are sorted by key, 0 .. groups - 1.
template <class Key>
std::vector<std::int32_t> offsets(int groups, int count, Key key) {
  std::vector<std::int32_t> ptr(groups + 1, 0);
  for (int i = 0; i < count; ++i) ++ptr[key(i) + 1];
  for (int i = 0; i < groups; ++i) ptr[i + 1] += ptr[i];
  return ptr;
}

[[gnu::always_inline]] inline bool is_bad(double x, double largest) {
  return !(x <= largest) || (x < -largest && x > kMinusInfinity);
}

// Large arrays are prefetched 4 KiB ahead: without it, this check took a sixth of the marginals of
// dense segments, and takes a tenth now.
bool any_bad(const double* values, std::ptrdiff_t count, double largest) {
  bool bad = false;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    if (i % 8 == 0) __builtin_prefetch(values + i + 512);
    bad |= is_bad(values[i], largest);
  }
  return bad;
}

}  // namespace

bool bad_score(double x) { return is_bad(x, kLargestScore); }

std::vector<std::int32_t> labels_by_length(const std::vector<std::int32_t>& bounds) {
  std::vector<std::int32_t> order(bounds.size());
  for (std::size_t y = 0; y < order.size(); ++y) order[y] = static_cast<std::int32_t>(y);
  auto longest = [&](int y) {
    return bounds[y] == 0 ? std::numeric_limits<std::int32_t>::max() : bounds[y];
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return longest(a) > longest(b); });
  return order;
}

Problem::Index::Index(ProblemInput given, std::vector<std::int32_t> by_length)
    : input(std::move(given)), order(std::move(by_length)) {
  rank_of.resize(input.Y);
  for (int r = 0; r < input.Y; ++r) rank_of[order[r]] = r;
  fence.assign(input.T + 1, 0);
  for (int e = 1; e <= input.T; ++e) {
    fence[e] = e >= 2 && (input.boundary[e - 1] & kForced) ? e - 1 : fence[e - 1];
  }
  sort_potentials();
  sort_edges();
}

Problem::Problem(ProblemInput input, std::shared_ptr<const Automaton> automaton,
                 std::vector<std::int32_t> order)
    : Problem(std::make_shared<const Index>(std::move(input), std::move(order)),
              std::move(automaton)) {}

Problem::Problem(std::shared_ptr<const Index> index, std::shared_ptr<const Automaton> automaton)
    : index_(std::move(index)), automaton_(std::move(automaton)) {
  if (automaton_ != nullptr) make_targets();
}

std::unique_ptr<Problem> Problem::tracking(const std::vector<std::uint8_t>& tracked) const {
  std::unique_ptr<Problem> made(new Problem(index_, nullptr));
  made->make_automaton(input().rules.tracking(tracked));
  return made;
}

std::unique_ptr<Problem> Problem::tracking_all() const {
  constexpr std::int64_t kMostRows = 100'000'000;  // largest table of a sweep, in numbers
  const RuleSet& rules = input().rules;
  try {
    auto made = tracking(std::vector<std::uint8_t>(rules.symbols(input().Y), 1));
    if ((input().T + std::int64_t{1}) * made->automaton().Q > kMostRows) return nullptr;
    return made;
  } catch (const TooLarge&) {
    return nullptr;
  }
}

std::unique_ptr<Problem> Problem::renewed() const {
  if (!possible_ || *possible_ == possible_labels()) return nullptr;
  return std::unique_ptr<Problem>(new Problem(index_, nullptr));
}

// Label y may follow label x if no score forbids the pair, and x and y are possible for the tokens
// on the two sides of some boundary.
PossibleLabels Problem::possible_labels() const {
  const ProblemInput& in = input();
  const std::size_t T = in.T, Y = in.Y;
  auto token_may = [&](std::size_t t, std::size_t y) {
    return in.emission[t * Y + y] != kMinusInfinity &&
           (in.allowed.empty() || in.allowed[t * Y + y] != 0);
  };
  PossibleLabels possible{in.T, std::vector<std::uint8_t>(Y, 0),
                          std::vector<std::uint8_t>(Y * Y, 0)};
  for (std::size_t y = 0; y < Y && T > 0; ++y)
    possible.first[y] = in.start[y] != kMinusInfinity && token_may(0, y);
  for (std::size_t t = 1; t < T; ++t) {
    if (in.boundary[t] & kBarred) continue;
    for (std::size_t x = 0; x < Y; ++x) {
      if (!token_may(t - 1, x)) continue;
      for (std::size_t y = 0; y < Y; ++y) {
        if (in.transition[x * Y + y] != kMinusInfinity && token_may(t, y))
          possible.follows[x * Y + y] = 1;
      }
    }
  }
  return possible;
}

// An automaton that does not depend on the scores is tried first, because many sequences share it.
void Problem::make_automaton(const RuleSet& rules) {
  const ProblemInput& in = input();
  auto made_for = [&](const PossibleLabels* possible) {
    return automaton_for(index_->order, in.histories, rules, in.same_label_adjacent, possible);
  };
  try {
    if (rules.limits() <= kMostTracked) automaton_ = made_for(nullptr);
  } catch (const TooLarge&) {
    if (rules.empty() && in.histories.empty()) throw;  // the labels alone are too many
  }
  if (automaton_ == nullptr) {
    possible_ = possible_labels();
    automaton_ = made_for(&*possible_);
  }
  make_targets();
}

// Finds the states of each label and history, and the sum of static pattern scores in each state.
void Problem::make_targets() {
  const ProblemInput& in = input();
  const Automaton& a = *automaton_;
  for (int y = 0; y < in.Y; ++y) {
    const int r = index_->rank_of[y];
    targets_.push_back({a.first[r], a.first[r + 1], nullptr});
  }
  for (std::size_t h = 0; h < in.histories.size(); ++h) {
    targets_.push_back({a.history_ptr[h], a.history_ptr[h + 1], a.history_state.data()});
  }
  if (in.static_targets.empty()) return;
  entry_.assign(rounded(a.Q), 0.0);
  for (std::size_t i = 0; i < in.static_targets.size(); ++i) {
    const Target& z = targets_[in.static_targets[i]];
    for (int k = z.begin; k < z.end; ++k)
      entry_[z.list == nullptr ? k : z.list[k]] += in.static_scores[i];
  }
}

// Sorts the potentials by end, then by start in decreasing order.  Omits those that can never
// apply: their core is longer than the longest segment of the label, or crosses a forced boundary.
void Problem::Index::sort_potentials() {
  const int T = input.T, Y = input.Y;
  std::vector<Potential> kept;
  kept.reserve(input.potentials.size());
  for (const Potential& p : input.potentials) {
    const int label = p.target < Y ? p.target : input.histories[p.target - Y].back();
    const int bound = input.bounds[label];
    if (bound != 0 && p.end - p.start > bound) continue;
    if (fence[p.end] > p.start) continue;
    kept.push_back(p);
  }
  const int count = static_cast<int>(kept.size());
  // Two counting sorts, each stable: by start, then by end.
  by_start = offsets(T, count, [&](int i) { return kept[i].start; });
  std::vector<std::int32_t> sorted(count);
  std::vector<std::int32_t> fill(by_start.begin(), by_start.end() - 1);
  for (int i = 0; i < count; ++i) sorted[fill[kept[i].start]++] = i;
  by_end = offsets(T + 1, count, [&](int i) { return kept[i].end; });
  fill.assign(by_end.begin(), by_end.end() - 1);
  potentials.resize(count);
  for (int i = count - 1; i >= 0; --i) potentials[fill[kept[sorted[i]].end]++] = kept[sorted[i]];
  closes.assign(T + 1, input.spans != nullptr);
  for (const Potential& p : potentials) closes[p.end] |= (p.flags & kOpenEnd) == 0;
  // `starting` is sorted by start, then by end: the potentials are visited in increasing order of
  // their ends.
  starting.resize(count);
  fill.assign(by_start.begin(), by_start.end() - 1);
  for (int i = 0; i < count; ++i) starting[fill[potentials[i].start]++] = i;
}

void Problem::Index::sort_edges() {
  edges = input.edges;
  for (Edge& edge : edges) {
    edge.previous = rank_of[edge.previous];
    edge.label = rank_of[edge.label];
  }
  auto place = [](const Edge& edge) {
    return std::tuple(edge.position, edge.previous, edge.label);
  };
  std::stable_sort(edges.begin(), edges.end(),
                   [&](const Edge& a, const Edge& b) { return place(a) < place(b); });
  by_position = offsets(input.T + 1, static_cast<int>(edges.size()),
                        [&](int i) { return edges[i].position; });
}

void Problem::prepare(Method method) {
  Plan& plan = plans_[static_cast<int>(method)];
  if (plan.ready) return;
  const Index& x = *index_;
  const ProblemInput& in = x.input;
  if (automaton_ == nullptr) make_automaton(in.rules);
  const Automaton& a = *automaton_;
  const int T = in.T, Y = in.Y;
  Lattice& g = plan.lattice;
  g.T = T;
  g.Y = Y;
  g.Q = a.Q;
  g.stride = rounded(a.Q);
  g.label_stride = rounded(Y);
  g.emission = in.emission;
  g.allowed = in.allowed.empty() ? nullptr : in.allowed.data();
  g.transition = in.transition;
  g.start = in.start;
  g.end = in.end;
  g.spans = in.spans;
  g.span_length = in.span_length;
  g.boundary = in.boundary.data();
  g.same_label_adjacent = in.same_label_adjacent;
  g.plain_order = a.Q == Y && std::is_sorted(x.order.begin(), x.order.end());
  g.order = x.order.data();
  g.rank = a.rank.data();
  g.first = a.first.data();
  g.start_state = a.start_state.data();
  g.accepting = a.accepting.data();
  g.entry = entry_.empty() ? nullptr : entry_.data();
  g.targets = targets_.data();
  if (!a.first_order) {
    g.in_ptr = a.in_ptr.data();
    g.in_state = a.in_state.data();
  }
  g.potentials = x.potentials.data();
  g.by_end = x.by_end.data();
  g.closes = x.closes.data();
  g.starting = x.starting.data();
  g.by_start = x.by_start.data();
  g.edges = x.edges.data();
  g.by_position = x.by_position.data();
  g.n_potentials = static_cast<int>(x.potentials.size());
  g.fence = x.fence.data();

  // Longest segments by rank; unbounded labels come first.
  auto bound = [&](int r) { return in.bounds[x.order[r]]; };
  int open_labels = 0;
  while (method == Method::kOverlapping && open_labels < Y && bound(open_labels) == 0)
    ++open_labels;
  g.unbounded = a.first[open_labels];
  auto length = [&](int r) { return bound(r) == 0 ? T : std::min(bound(r), T); };
  g.longest = open_labels < Y ? length(open_labels) : 0;
  plan.fitting.assign(g.longest + 1, g.unbounded);
  for (int r = Y - 1, k = 0; r >= open_labels; --r) {
    for (; k <= length(r) && k <= g.longest; ++k) plan.fitting[k] = a.first[r + 1];
  }
  g.fitting = plan.fitting.data();

  // Only the potentials of unbounded labels matter for A(e): the others never use the open term.
  std::vector<std::int32_t> farthest(T + 1, 0);
  for (const Potential& p : x.potentials) {
    const int label = p.target < Y ? p.target : in.histories[p.target - Y].back();
    if (in.bounds[label] == 0) farthest[p.start] = std::max(farthest[p.start], p.end);
  }
  plan.reach.resize(T + 1);
  find_reach(T, farthest.data(), plan.reach.data());
  g.reach = plan.reach.data();
  plan.ready = true;
}

std::string Problem::invalid_score(double largest) const {
  const ProblemInput& in = input();
  const std::ptrdiff_t T = in.T, Y = in.Y;
  auto bad = [&](const double* values, std::ptrdiff_t count) {
    return any_bad(values, count, largest);
  };
  auto any = [&](const auto& scored) {
    return std::any_of(scored.begin(), scored.end(),
                       [&](const auto& one) { return is_bad(one.score, largest); });
  };
  if (bad(in.emission, T * Y)) return "emission";
  if (bad(in.transition, Y * Y)) return "transition";
  if (bad(in.start, Y)) return "start";
  if (bad(in.end, Y)) return "end";
  if (any(in.potentials)) return "potentials";
  if (any(in.edges)) return "edges";
  // Entries for segments that would end after T are padding and are not checked.
  for (std::ptrdiff_t s = 0; in.spans != nullptr && s < T; ++s) {
    const std::ptrdiff_t lengths = std::min<std::ptrdiff_t>(in.span_length, T - s);
    if (bad(in.spans + s * in.span_length * Y, lengths * Y)) return "spans";
  }
  return "";
}

bool Problem::Index::history_holds(int target, const std::vector<LabelledSegment>& segments,
                                   int k) const {
  if (target < input.Y) return segments[k].label == target;
  const auto& history = input.histories[target - input.Y];
  const int length = static_cast<int>(history.size());
  if (k + 1 < length) return false;
  for (int i = 0; i < length; ++i) {
    if (segments[k + 1 - length + i].label != history[i]) return false;
  }
  return true;
}

double Problem::score(const std::vector<LabelledSegment>& segments) const {
  const Index& x = *index_;
  const ProblemInput& in = x.input;
  const int T = in.T, Y = in.Y, K = static_cast<int>(segments.size());
  std::vector<std::int32_t> labels;
  for (const LabelledSegment& segment : segments) labels.push_back(segment.label);
  if (!in.rules.empty() && !in.rules.kept_by(labels, Y)) return kMinusInfinity;
  Total total;
  bool possible = true;
  auto add = [&](double value) {
    if (value == kMinusInfinity)
      possible = false;
    else
      total.add(value);
  };
  std::vector<std::int32_t> segment_at(T);
  for (int k = 0; k < K && possible; ++k) {
    const auto [s, e, y] = segments[k];
    const int bound = in.bounds[y];
    if (bound != 0 && e - s > bound) return kMinusInfinity;
    if (k > 0 && y == segments[k - 1].label && !in.same_label_adjacent) return kMinusInfinity;
    if (e < T && (in.boundary[e] & kBarred)) return kMinusInfinity;
    if (x.fence[e] > s) return kMinusInfinity;
    add(k == 0 ? in.start[y] : in.transition[segments[k - 1].label * Y + y]);
    for (int t = s; t < e; ++t) {
      segment_at[t] = k;
      if (!in.allowed.empty() && !in.allowed[static_cast<std::size_t>(t) * Y + y]) {
        return kMinusInfinity;
      }
      add(in.emission[static_cast<std::size_t>(t) * Y + y]);
    }
    if (in.spans != nullptr) {
      add(in.spans[(static_cast<std::size_t>(s) * in.span_length + (e - s - 1)) * Y + y]);
    }
    for (std::size_t i = 0; i < in.static_targets.size(); ++i) {
      if (x.history_holds(in.static_targets[i], segments, k)) add(in.static_scores[i]);
    }
  }
  if (!possible) return kMinusInfinity;
  if (K > 0) add(in.end[segments[K - 1].label]);
  for (const Potential& p : x.potentials) {
    const int k = segment_at[p.start];
    const LabelledSegment& at = segments[k];
    if (applies(p.start, p.end, p.flags, at.start, at.end) &&
        x.history_holds(p.target, segments, k))
      add(p.score);
  }
  for (const Edge& edge : x.edges) {
    const int k = segment_at[edge.position];
    if (segments[k].start == edge.position && segments[k].label == x.order[edge.label] &&
        segments[k - 1].label == x.order[edge.previous]) {
      add(edge.score);
    }
  }
  return possible ? total.value() : kMinusInfinity;
}

void Problem::static_counts(const double* entered, double* out) const {
  const std::vector<std::int32_t>& targets = input().static_targets;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Target& z = targets_[targets[i]];
    double total = 0.0;
    for (int k = z.begin; k < z.end; ++k) total += entered[z.list == nullptr ? k : z.list[k]];
    out[i] = total;
  }
}

}  // namespace caesura
