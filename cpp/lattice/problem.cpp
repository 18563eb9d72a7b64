#include "lattice/problem.hpp"

#include <algorithm>
#include <cmath>

#include "lattice/reach.hpp"

namespace caesura {
namespace {

int rounded(int n) { return std::max(8, (n + 7) / 8 * 8); }

// Offsets of the groups of a sorted sequence of keys 0 .. groups - 1.
template <class Key>
std::vector<std::int32_t> offsets(int groups, int count, Key key) {
  std::vector<std::int32_t> ptr(groups + 1, 0);
  for (int i = 0; i < count; ++i) ++ptr[key(i) + 1];
  for (int i = 0; i < groups; ++i) ptr[i + 1] += ptr[i];
  return ptr;
}

// Larger scores are refused, as their sums have lost the digits that probabilities need.  Against
// exact rational sums over all segmentations, for 2 labels and 5 tokens whose large scores nearly
// cancel, the largest error of a segment's probability was 3e-10 for scores of 1e6, 8e-6 for 1e10,
// 5e-4 for 1e12 and 0.4 for 1e15.
constexpr double kLargestScore = 1e10;

[[gnu::always_inline]] inline bool is_bad(double x) {
  return !(x <= kLargestScore) || (x < -kLargestScore && x > kMinusInfinity);
}

bool any_bad(const double* values, std::ptrdiff_t count) {
  bool bad = false;
  for (std::ptrdiff_t i = 0; i < count; ++i) bad |= is_bad(values[i]);
  return bad;
}

}  // namespace

bool bad_score(double x) { return is_bad(x); }

Problem::Problem(ProblemInput input, std::shared_ptr<const Automaton> automaton,
                 std::vector<std::int32_t> order)
    : input_(std::move(input)), automaton_(std::move(automaton)), order_(std::move(order)) {
  rank_of_.resize(input_.Y);
  for (int r = 0; r < input_.Y; ++r) rank_of_[order_[r]] = r;
  fence_.assign(input_.T + 1, 0);
  for (int e = 1; e <= input_.T; ++e) {
    fence_[e] = e >= 2 && (input_.boundary[e - 1] & kForced) ? e - 1 : fence_[e - 1];
  }
  make_targets();
  sort_potentials();
  sort_edges();
  if (!input_.static_targets.empty()) {
    entry_.assign(rounded(automaton_->Q), 0.0);
    for (std::size_t i = 0; i < input_.static_targets.size(); ++i) {
      const Target& z = targets_[input_.static_targets[i]];
      for (int k = z.begin; k < z.end; ++k) {
        entry_[z.list == nullptr ? k : z.list[k]] += input_.static_scores[i];
      }
    }
  }
}

void Problem::make_targets() {
  const Automaton& a = *automaton_;
  for (int y = 0; y < input_.Y; ++y) {
    const int r = rank_of_[y];
    targets_.push_back({a.first[r], a.first[r + 1], nullptr});
  }
  for (std::size_t h = 0; h < input_.histories.size(); ++h) {
    targets_.push_back({a.history_ptr[h], a.history_ptr[h + 1], a.history_state.data()});
  }
}

// By end, then later starts first.  Left out: a core longer than its label's longest segment, or
// one that crosses a forced boundary.
void Problem::sort_potentials() {
  const int T = input_.T, Y = input_.Y;
  std::vector<Potential> kept;
  kept.reserve(input_.potentials.size());
  for (const Potential& p : input_.potentials) {
    const int label = p.target < Y ? p.target : input_.histories[p.target - Y].back();
    const int bound = input_.bounds[label];
    if (bound != 0 && p.end - p.start > bound) continue;
    if (fence_[p.end] > p.start) continue;
    kept.push_back(p);
  }
  const int count = static_cast<int>(kept.size());
  // Two counting sorts, each stable: by start, then by end.
  by_start_ = offsets(T, count, [&](int i) { return kept[i].start; });
  std::vector<std::int32_t> sorted(count);
  std::vector<std::int32_t> fill(by_start_.begin(), by_start_.end() - 1);
  for (int i = 0; i < count; ++i) sorted[fill[kept[i].start]++] = i;
  by_end_ = offsets(T + 1, count, [&](int i) { return kept[i].end; });
  fill.assign(by_end_.begin(), by_end_.end() - 1);
  potentials_.resize(count);
  for (int i = count - 1; i >= 0; --i) potentials_[fill[kept[sorted[i]].end]++] = kept[sorted[i]];
  closes_.assign(T + 1, input_.spans != nullptr);
  for (const Potential& p : potentials_) closes_[p.end] |= (p.flags & kOpenEnd) == 0;
  // And by start with ends going up: walk the ends upwards.
  starting_.resize(count);
  fill.assign(by_start_.begin(), by_start_.end() - 1);
  for (int i = 0; i < count; ++i) starting_[fill[potentials_[i].start]++] = i;
}

void Problem::sort_edges() {
  edges_ = input_.edges;
  for (Edge& edge : edges_) {
    edge.previous = rank_of_[edge.previous];
    edge.label = rank_of_[edge.label];
  }
  std::stable_sort(edges_.begin(), edges_.end(),
                   [](const Edge& a, const Edge& b) { return a.position < b.position; });
  by_position_ = offsets(input_.T + 1, static_cast<int>(edges_.size()),
                         [&](int i) { return edges_[i].position; });
}

void Problem::prepare(Method method) {
  Plan& plan = plans_[static_cast<int>(method)];
  if (plan.ready) return;
  const Automaton& a = *automaton_;
  const int T = input_.T, Y = input_.Y;
  Lattice& g = plan.lattice;
  g.T = T;
  g.Y = Y;
  g.Q = a.Q;
  g.stride = rounded(a.Q);
  g.label_stride = rounded(Y);
  g.emission = input_.emission;
  g.allowed = input_.allowed.empty() ? nullptr : input_.allowed.data();
  g.transition = input_.transition;
  g.start = input_.start;
  g.end = input_.end;
  g.spans = input_.spans;
  g.span_length = input_.span_length;
  g.boundary = input_.boundary.data();
  g.same_label_adjacent = input_.same_label_adjacent;
  g.plain_order = a.Q == Y && std::is_sorted(order_.begin(), order_.end());
  g.order = order_.data();
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
  g.potentials = potentials_.data();
  g.by_end = by_end_.data();
  g.closes = closes_.data();
  g.starting = starting_.data();
  g.by_start = by_start_.data();
  g.edges = edges_.data();
  g.by_position = by_position_.data();
  g.n_potentials = static_cast<int>(potentials_.size());
  g.fence = fence_.data();

  // Longest segments by rank; unbounded labels come first.
  auto bound = [&](int r) { return input_.bounds[order_[r]]; };
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
  for (const Potential& p : potentials_) {
    const int label = p.target < Y ? p.target : input_.histories[p.target - Y].back();
    if (input_.bounds[label] == 0) farthest[p.start] = std::max(farthest[p.start], p.end);
  }
  plan.reach.resize(T + 1);
  find_reach(T, farthest.data(), plan.reach.data());
  g.reach = plan.reach.data();
  plan.ready = true;
}

std::string Problem::invalid_score() const {
  const std::ptrdiff_t T = input_.T, Y = input_.Y;
  if (any_bad(input_.emission, T * Y)) return "emission";
  if (any_bad(input_.transition, Y * Y)) return "transition";
  if (any_bad(input_.start, Y)) return "start";
  if (any_bad(input_.end, Y)) return "end";
  // Only the segments that fit: entries for longer ones are padding.
  for (std::ptrdiff_t s = 0; input_.spans != nullptr && s < T; ++s) {
    const std::ptrdiff_t lengths = std::min<std::ptrdiff_t>(input_.span_length, T - s);
    if (any_bad(input_.spans + s * input_.span_length * Y, lengths * Y)) return "spans";
  }
  return "";
}

bool Problem::history_holds(int target, const std::vector<LabelledSegment>& segments, int k) const {
  if (target < input_.Y) return segments[k].label == target;
  const auto& history = input_.histories[target - input_.Y];
  const int length = static_cast<int>(history.size());
  if (k + 1 < length) return false;
  for (int i = 0; i < length; ++i) {
    if (segments[k + 1 - length + i].label != history[i]) return false;
  }
  return true;
}

double Problem::score(const std::vector<LabelledSegment>& segments) const {
  const int T = input_.T, Y = input_.Y, K = static_cast<int>(segments.size());
  if (T == 0) return automaton_->accepts_empty ? 0.0 : kMinusInfinity;
  Total total;
  bool possible = true;
  auto add = [&](double x) {
    if (x == kMinusInfinity)
      possible = false;
    else
      total.add(x);
  };
  std::vector<std::int32_t> segment_at(T);
  // The automaton, a step for each segment.
  const Automaton& a = *automaton_;
  int state = -1;
  for (int k = 0; k < K && possible; ++k) {
    const auto [s, e, y] = segments[k];
    const int r = rank_of_[y];
    if (k == 0) {
      state = a.start_state[r];
    } else if (a.first_order) {
      state = r;
    } else {
      int next = -1;
      for (int i = a.out_ptr[state]; i < a.out_ptr[state + 1]; ++i) {
        if (a.rank[a.out_state[i]] == r) next = a.out_state[i];
      }
      state = next;
    }
    if (state < 0) return kMinusInfinity;
    const int bound = input_.bounds[y];
    if (bound != 0 && e - s > bound) return kMinusInfinity;
    if (k > 0 && y == segments[k - 1].label && !input_.same_label_adjacent) return kMinusInfinity;
    if (e < T && (input_.boundary[e] & kBarred)) return kMinusInfinity;
    if (fence_[e] > s) return kMinusInfinity;
    add(k == 0 ? input_.start[y] : input_.transition[segments[k - 1].label * Y + y]);
    for (int t = s; t < e; ++t) {
      segment_at[t] = k;
      if (!input_.allowed.empty() && !input_.allowed[static_cast<std::size_t>(t) * Y + y]) {
        return kMinusInfinity;
      }
      add(input_.emission[static_cast<std::size_t>(t) * Y + y]);
    }
    if (input_.spans != nullptr) {
      add(input_.spans[(static_cast<std::size_t>(s) * input_.span_length + (e - s - 1)) * Y + y]);
    }
    for (std::size_t i = 0; i < input_.static_targets.size(); ++i) {
      if (history_holds(input_.static_targets[i], segments, k)) add(input_.static_scores[i]);
    }
  }
  if (!possible || !a.accepting[state]) return kMinusInfinity;
  add(input_.end[segments[K - 1].label]);
  for (const Potential& p : potentials_) {
    const int k = segment_at[p.start];
    const LabelledSegment& at = segments[k];
    if (applies(p.start, p.end, p.flags, at.start, at.end) &&
        history_holds(p.target, segments, k)) {
      add(p.score);
    }
  }
  for (const Edge& edge : edges_) {
    const int k = segment_at[edge.position];
    if (segments[k].start == edge.position && segments[k].label == order_[edge.label] &&
        segments[k - 1].label == order_[edge.previous]) {
      add(edge.score);
    }
  }
  return possible ? total.value() : kMinusInfinity;
}

void Problem::static_counts(const double* entered, double* out) const {
  for (std::size_t i = 0; i < input_.static_targets.size(); ++i) {
    const Target& z = targets_[input_.static_targets[i]];
    double total = 0.0;
    for (int k = z.begin; k < z.end; ++k) total += entered[z.list == nullptr ? k : z.list[k]];
    out[i] = total;
  }
}

}  // namespace caesura
