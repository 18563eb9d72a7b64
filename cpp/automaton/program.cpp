#include "automaton/program.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace caesura {
namespace {

// The states (history, memory) that label sequences reach.
class States {
 public:
  States(const Histories& h, const RuleSet& rules, int most) : memories(rules, h.Y), lane(h.lanes) {
    std::vector<std::pair<std::int32_t, std::int32_t>> found;
    auto add = [&](std::int32_t q, std::int32_t m) {
      std::vector<std::int32_t>& row = lane[q];
      if (m >= static_cast<std::int32_t>(row.size())) row.resize(m + 1, kNone);
      if (row[m] != kNone) return;
      row[m] = kFound;
      found.emplace_back(q, m);
      if (static_cast<int>(found.size()) > most) {
        throw TooLarge(
            "constraints, patterns",
            "the label histories of the model times the states of its rules would be more than " +
                std::to_string(most) + " states",
            "limit fewer labels, lower order, or raise pattern_min_freq");
      }
    };
    for (int y = 0; y < h.Y; ++y) {
      const std::int32_t m = memories.next(0, -1, y);
      if (m >= 0) add(h.single[y], m);
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto [q, m] = found[i];
      // The sum S(h, m) over longer histories needs a lane even if no sequence reaches (h, m).
      if (h.shorter[q] >= 0) add(h.shorter[q], m);
      for (int y = 0; y < h.Y; ++y) {
        const std::int32_t next = memories.next(m, h.label[q], y);
        if (next >= 0) add(h.next(q, y), next);
      }
    }
    count = static_cast<int>(found.size());
  }
  // The lane of a state, or -1 if there is none.
  std::int32_t at(std::int32_t q, std::int32_t m) const {
    return m >= 0 && m < static_cast<std::int32_t>(lane[q].size()) ? lane[q][m] : kNone;
  }

  static constexpr std::int32_t kNone = -1, kFound = 0;
  RuleMemory memories;
  std::vector<std::vector<std::int32_t>> lane;  // [history lanes][memories]
  int count = 0;
};

}  // namespace

ArcProgram::ArcProgram(const Histories& h, const RuleSet& rules, int width, int most_states)
    : Y(h.Y), plain(rules.empty()) {
  States states(h, rules, most_states);
  Q = states.count;
  // Lanes, in the order of the histories.
  first.assign(1, 0);
  for (int y = 0; y < Y; ++y) {
    std::int32_t next = first.back();
    for (int q = h.first[y]; q < h.last[y]; ++q) {
      for (std::size_t m = 0; m < states.lane[q].size(); ++m) {
        if (states.lane[q][m] == States::kNone) continue;
        states.lane[q][m] = next++;
        history.push_back(q);
        accepting.push_back(states.memories.accepts(static_cast<std::int32_t>(m)));
      }
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
  auto for_memories = [&](std::int32_t q, auto visit) {
    for (std::size_t m = 0; m < states.lane[q].size(); ++m) {
      if (states.lane[q][m] != States::kNone)
        visit(static_cast<std::int32_t>(m), states.lane[q][m]);
    }
  };
  for (int y = 0; y < Y; ++y) {
    const std::int32_t m = states.memories.next(0, -1, y);
    start.push_back(m < 0 ? -1 : states.at(h.single[y], m));
    for_memories(h.single[y], [&](std::int32_t, std::int32_t q) { singles.push_back(q); });
  }
  for (const std::int32_t q : h.rising)
    for_memories(q, [&](std::int32_t, std::int32_t lane) { rising.push_back(lane); });
  for (const Move& move : h.longer) {
    for_memories(move.from, [&](std::int32_t m, std::int32_t lane) {
      longer.push_back({states.at(move.to, m), lane});
    });
  }
  // The moves into each state: the first becomes its source, the others are `leading`.
  source.assign(lanes, 2 * lanes);
  auto enter = [&](std::int32_t from, std::int32_t to, bool sum) {
    for_memories(from, [&](std::int32_t m, std::int32_t lane) {
      const std::int32_t next = states.memories.next(m, h.label[from], h.label[to]);
      if (next < 0) return;
      const std::int32_t target = states.at(to, next), place = sum ? lanes + lane : lane;
      if (source[target] == 2 * lanes)
        source[target] = place;
      else
        leading.push_back({target, place});
    });
  };
  for (const std::int32_t q : h.rising) {
    enter(h.before[q], q, h.is_final(q));
    if (h.is_final(q)) continue;
    for (const std::int32_t x : h.leading_to(q)) enter(x, q, true);
  }
  take_turns(leading, lanes);
  for (int y = 0; y < Y; ++y) {
    for (int x = 0; x < Y; ++x) {
      if (h.pair[x * Y + y] >= 0) continue;
      for_memories(h.single[x], [&](std::int32_t m, std::int32_t lane) {
        const std::int32_t next = states.memories.next(m, x, y);
        if (next >= 0) pairs.push_back({states.at(h.single[y], next), lane, x * Y + y});
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
