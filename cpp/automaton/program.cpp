#include "automaton/program.hpp"

#include <algorithm>
#include <numeric>

namespace caesura {

ArcProgram::ArcProgram(const Histories& h, const RuleSet& rules, const PossibleLabels& possible,
                       int width)
    : Y(h.Y), plain(rules.empty()) {
  std::vector<std::int32_t> labels(Y);
  std::iota(labels.begin(), labels.end(), 0);
  // The sums S(h, m) need a lane even if no sequence reaches (h, m).
  const States states(h.suffixes, {labels, rules, &possible, true, true}, kMostArcs / Y);
  Q = static_cast<int>(states.found.size());
  std::vector<std::int32_t> lane_of(Q);
  // Calls visit(memory, state) for the states of a history, in the order of their memories.
  auto for_memories = [&](std::int32_t q, auto visit) {
    const std::vector<std::int32_t>& numbers = states.of_node(h.node[q]);
    for (std::size_t m = 0; m < numbers.size(); ++m) {
      if (numbers[m] >= 0) visit(m, numbers[m]);
    }
  };
  // Lanes, in the order of the histories.
  first.assign(1, 0);
  for (int y = 0; y < Y; ++y) {
    std::int32_t next = first.back();
    for (int q = h.first[y]; q < h.last[y]; ++q) {
      for_memories(q, [&](std::size_t m, std::int32_t state) {
        lane_of[state] = next++;
        history.push_back(q);
        accepting.push_back(states.accepts(static_cast<int>(m)));
      });
    }
    last.push_back(next);
    first.push_back(first.back() + (next - first.back() + width - 1) / width * width);
    history.resize(first.back(), -1);
    accepting.resize(first.back(), 0);
  }
  lanes = first.back();
  for (const std::int32_t q : history) {
    label.push_back(q < 0 ? -1 : h.label[q]);
    entry_class.push_back(q < 0 ? 0 : h.entry_class[q]);
  }
  for (int y = 0; y < Y; ++y) {
    start.push_back(states.starts[y] < 0 ? -1 : lane_of[states.starts[y]]);
    for_memories(h.single[y],
                 [&](std::size_t, std::int32_t state) { singles.push_back(lane_of[state]); });
  }
  for (const std::int32_t q : h.rising)
    for_memories(q, [&](std::size_t, std::int32_t state) { rising.push_back(lane_of[state]); });
  for (const Move& move : h.longer) {
    const std::vector<std::int32_t>& shorter = states.of_node(h.node[move.to]);
    for_memories(move.from, [&](std::size_t m, std::int32_t state) {
      longer.push_back({lane_of[shorter[m]], lane_of[state]});
    });
  }
  // Calls visit(source, target) for the arcs of label y from the states of a history.
  auto for_arcs = [&](std::int32_t q, int y, auto visit) {
    for_memories(q, [&](std::size_t, std::int32_t state) {
      const std::int32_t to = states.arcs[static_cast<std::size_t>(state) * Y + y];
      if (to >= 0) visit(lane_of[state], lane_of[to]);
    });
  };
  // The moves into each state: the first becomes its source, the others are `leading`.
  source.assign(lanes, 2 * lanes);
  auto enter = [&](std::int32_t from, int y, bool sum) {
    for_arcs(from, y, [&](std::int32_t lane, std::int32_t target) {
      const std::int32_t place = sum ? lanes + lane : lane;
      if (source[target] == 2 * lanes)
        source[target] = place;
      else
        leading.push_back({target, place});
    });
  };
  for (const std::int32_t q : h.rising) {
    enter(h.before[q], h.label[q], h.is_final(q));
    if (h.is_final(q)) continue;
    for (const std::int32_t x : h.leading_to(q)) enter(x, h.label[q], true);
  }
  take_turns(leading, lanes);
  for (int y = 0; y < Y; ++y) {
    for (int x = 0; x < Y; ++x) {
      if (h.pair[x * Y + y] >= 0) continue;
      for_arcs(h.single[x], y, [&](std::int32_t lane, std::int32_t target) {
        pairs.push_back({target, lane, x * Y + y});
      });
    }
  }
  auto sorted = [&](std::int32_t PairArc::* end) {
    std::vector<std::int32_t> order(pairs.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int32_t a, std::int32_t b) { return pairs[a].*end < pairs[b].*end; });
    return order;
  };
  by_target = sorted(&PairArc::to);
  by_source = sorted(&PairArc::from);
}

}  // namespace caesura
