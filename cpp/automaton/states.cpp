#include "automaton/states.hpp"

#include <algorithm>
#include <string>

#include "base/interrupt.hpp"

namespace caesura {
namespace {

// Formats 1234567 as 1,234,567.
std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(at, ",");
  return text;
}

const std::uint8_t* pairs_of(const PossibleLabels* possible) {
  return possible == nullptr || possible->follows.empty() ? nullptr : possible->follows.data();
}

// A lower bound on the number of states, so that hopeless cases are refused at once.  If the
// n limited labels may follow each other in any order, and no other rule forbids a set of them,
// every set of them is reached with each of its labels as the last one:
//
//   sum over k = 1, ..., min(n, most labels) of k (n choose k)
double least_states(const States::Inputs& in) {
  const RuleSet& rules = in.rules;
  const std::size_t Y = in.order.size();
  if (!rules.symbol.empty() || !rules.ordered.empty() || !rules.tables.empty()) return 0.0;
  std::vector<std::size_t> limited;
  for (std::size_t y = 0; y < rules.once.size(); ++y) {
    if (rules.once[y] != kNoLimit) limited.push_back(y);
  }
  const std::uint8_t* follows = pairs_of(in.possible);
  for (const std::size_t x : limited) {
    if (in.possible != nullptr && !in.possible->first.empty() && !in.possible->first[x]) return 0.0;
    for (const std::size_t y : limited) {
      if (x != y && follows != nullptr && !follows[x * Y + y]) return 0.0;
    }
  }
  const auto n = static_cast<double>(limited.size());
  const double most = in.possible != nullptr && in.possible->most > 0 ? in.possible->most : n;
  double sets = 1.0, total = 0.0;
  // (n choose k) = (n choose k - 1) (n - k + 1) / k
  for (double k = 1; k <= std::min(n, most); ++k) {
    sets *= (n - k + 1) / k;
    total += k * sets;
  }
  return total;
}

[[noreturn]] void refuse(const States::Inputs& in, bool labels_alone) {
  const auto Y = static_cast<std::int64_t>(in.order.size());
  if (labels_alone) {
    throw TooLarge("labels", with_commas(Y) + " labels have " + with_commas(Y * Y) + " transitions",
                   with_commas(kMostArcs) + " or fewer", "use fewer labels");
  }
  const std::string limits = in.rules.limits() == 0
                                 ? ""
                                 : ", with the sets of the " + std::to_string(in.rules.limits()) +
                                       " labels that may occur once,";
  throw TooLarge(
      in.learning ? "constraints, patterns" : "constrain, add_pattern",
      "label histories and rules" + limits + " have more than " + with_commas(kMostArcs / Y) +
          " states that can be reached",
      "at most " + with_commas(kMostArcs) + " arcs, " + with_commas(Y) + " for each state",
      std::string("limit fewer labels") +
          (in.learning ? ", lower order, or raise pattern_min_freq" : " or use shorter patterns"));
}

}  // namespace

Suffixes::Suffixes(int labels, const std::vector<std::vector<std::int32_t>>& histories)
    : Y(labels), to(labels, -1), fail(1, 0), parent(1, -1), last(1, -1) {
  auto child = [&](int node, int y) {
    const std::size_t at = static_cast<std::size_t>(node) * Y + y;
    if (to[at] < 0) {
      to[at] = static_cast<std::int32_t>(last.size());
      to.insert(to.end(), Y, -1);
      fail.push_back(0);
      parent.push_back(node);
      last.push_back(y);
    }
    return next(node, y);
  };
  for (int y = 0; y < Y; ++y) child(0, y);
  for (const auto& history : histories) {
    int node = 0;
    for (const std::int32_t y : history) node = child(node, y);
    node_of_history.push_back(node);
  }
  // Breadth first, so that the links of shorter suffixes are known before they are needed:
  //
  //   fail(node y) = to(fail(node), y)
  //   to(node, y)  = to(fail(node), y)    if node y is not a node
  by_length.assign(to.begin(), to.begin() + Y);
  for (std::size_t i = 0; i < by_length.size(); ++i) {
    const int node = by_length[i];
    for (int y = 0; y < Y; ++y) {
      const int shorter = next(fail[node], y);
      std::int32_t& longer = to[static_cast<std::size_t>(node) * Y + y];
      if (longer < 0) {
        longer = shorter;
      } else {
        fail[longer] = shorter;
        by_length.push_back(longer);
      }
    }
  }
}

States::States(const Suffixes& suffixes, const Inputs& in, std::int64_t most)
    : memories_(in.rules, suffixes.Y, pairs_of(in.possible)), numbers_(suffixes.last.size()) {
  const int Y = suffixes.Y;
  const PossibleLabels* possible = in.possible;
  const std::uint8_t* follows = pairs_of(possible);
  const bool labels_alone = in.rules.empty() && static_cast<int>(suffixes.by_length.size()) == Y;
  if (least_states(in) > static_cast<double>(most)) refuse(in, labels_alone);
  auto add = [&](int node, std::int32_t memory) {
    std::vector<std::int32_t>& row = numbers_[node];
    if (memory >= static_cast<std::int32_t>(row.size())) row.resize(memory + 1, -1);
    if (row[memory] >= 0) return false;
    row[memory] = static_cast<std::int32_t>(found.size());
    found.push_back({node, memory});
    if (row[memory] >= most) refuse(in, labels_alone);
    return true;
  };
  // (h, m) goes to (longest suffix of h y that is a node, next(m, y)).
  auto visit = [&](int node, std::int32_t memory, int y) -> std::int32_t {
    const int previous = node == 0 ? -1 : in.order[suffixes.last[node]];
    const std::int32_t next_memory = memories_.next(memory, previous, in.order[y]);
    if (next_memory < 0) return -1;
    const int next = suffixes.next(node, y);
    if (add(next, next_memory) && in.learning) {
      for (int shorter = suffixes.fail[next]; shorter != 0; shorter = suffixes.fail[shorter])
        add(shorter, next_memory);
    }
    return numbers_[next][next_memory];
  };
  for (int y = 0; y < Y; ++y) {
    const bool is_first =
        possible == nullptr || possible->first.empty() || possible->first[in.order[y]];
    starts.push_back(is_first ? visit(0, 0, y) : -1);
  }
  // Breadth first: states are found in the order of the shortest label sequence that reaches them.
  std::size_t level_end = found.size();  // end of the states first reached by `length` labels
  int length = 1;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i % 256 == 0) check_interrupt();
    if (i == level_end) {
      level_end = found.size();
      ++length;
    }
    const bool at_end = possible != nullptr && length == possible->most;
    const auto [node, memory] = found[i];
    const int x = suffixes.last[node];
    for (int y = 0; y < Y; ++y) {
      const bool barred =
          at_end || (x == y && !in.same_label_adjacent) ||
          (follows != nullptr && !follows[static_cast<std::size_t>(in.order[x]) * Y + in.order[y]]);
      arcs.push_back(barred ? -1 : visit(node, memory, y));
    }
  }
}

}  // namespace caesura
