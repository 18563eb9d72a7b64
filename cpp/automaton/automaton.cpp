#include "automaton/automaton.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/interrupt.hpp"

namespace caesura {
namespace {

// The Aho-Corasick automaton of the histories and of all single labels: a trie, completed by goto
// and failure links.
struct Suffixes {
  int Y;
  std::vector<std::int32_t> to;    // [node][Y] longest suffix of node + label that is a node
  std::vector<std::int32_t> fail;  // longest proper suffix that is a node
  std::vector<std::int32_t> last;  // last label, -1 at the root
  std::vector<std::int32_t> node_of_history;

  Suffixes(int labels, const std::vector<std::vector<std::int32_t>>& histories) : Y(labels) {
    add_node(-1);
    for (int y = 0; y < Y; ++y) child(0, y);
    for (const auto& history : histories) {
      int node = 0;
      for (const std::int32_t y : history) node = child(node, y);
      node_of_history.push_back(node);
    }
    link();
  }

 private:
  int add_node(int label) {
    to.insert(to.end(), Y, -1);
    fail.push_back(0);
    last.push_back(label);
    return static_cast<int>(last.size()) - 1;
  }
  int child(int node, int y) {
    const std::size_t at = static_cast<std::size_t>(node) * Y + y;
    if (to[at] < 0) {
      const int added = add_node(y);
      to[at] = added;
    }
    return to[at];
  }
  // Breadth first, so that the links of shorter suffixes are known before they are needed.
  void link() {
    std::vector<std::int32_t> queue;
    for (int y = 0; y < Y; ++y) queue.push_back(to[y]);
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const int node = queue[i];
      for (int y = 0; y < Y; ++y) {
        const int shorter = to[static_cast<std::size_t>(fail[node]) * Y + y];
        std::int32_t& next = to[static_cast<std::size_t>(node) * Y + y];
        if (next < 0) {
          next = shorter;
        } else {
          fail[next] = shorter;
          queue.push_back(next);
        }
      }
    }
  }
};

// Formats 1234567 as 1,234,567.
std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(at, ",");
  return text;
}

[[noreturn]] void refuse_states(const Automaton& a, const RuleSet& rules) {
  const std::int64_t Y = a.Y;
  if (a.first_order) {
    throw TooLarge("labels", with_commas(Y) + " labels have " + with_commas(Y * Y) + " transitions",
                   with_commas(kMostArcs) + " or fewer", "use fewer labels");
  }
  const std::string limits = rules.limits() == 0
                                 ? ""
                                 : ", with the sets of the " + std::to_string(rules.limits()) +
                                       " labels that may occur once,";
  throw TooLarge(
      "constrain, add_pattern",
      "label histories and rules" + limits + " have more than " + with_commas(kMostArcs / Y) +
          " states that can be reached",
      "at most " + with_commas(kMostArcs) + " arcs, " + with_commas(Y) + " for each state",
      "limit fewer labels or use shorter patterns");
}

struct Found {
  std::int32_t node, memory;
};

// Maps a pair (node, memory) to its number.
class Numbering {
 public:
  explicit Numbering(std::size_t nodes) : rows_(nodes) {}
  std::int32_t& at(int node, std::int32_t memory) {
    std::vector<std::int32_t>& row = rows_[node];
    if (memory >= static_cast<std::int32_t>(row.size())) row.resize(memory + 1, -1);
    return row[memory];
  }

 private:
  std::vector<std::vector<std::int32_t>> rows_;
};

void transpose(int Q, const std::vector<std::int32_t>& ptr, const std::vector<std::int32_t>& to,
               std::vector<std::int32_t>& out_ptr, std::vector<std::int32_t>& out) {
  out_ptr.assign(Q + 1, 0);
  for (const std::int32_t q : to) ++out_ptr[q + 1];
  for (int q = 0; q < Q; ++q) out_ptr[q + 1] += out_ptr[q];
  out.resize(to.size());
  std::vector<std::int32_t> fill(out_ptr.begin(), out_ptr.end() - 1);
  for (int p = 0; p < Q; ++p) {
    for (int k = ptr[p]; k < ptr[p + 1]; ++k) out[fill[to[k]]++] = p;
  }
}

}  // namespace

Automaton Automaton::build(const std::vector<std::int32_t>& order,
                           const std::vector<std::vector<std::int32_t>>& given,
                           const RuleSet& rules, bool same_label_adjacent, std::int64_t most_states,
                           const PossibleLabels* possible) {
  Automaton a;
  const int Y = a.Y = static_cast<int>(order.size());
  a.first_order = given.empty() && rules.empty();
  std::vector<std::int32_t> rank_of(Y);
  for (int r = 0; r < Y; ++r) rank_of[order[r]] = r;
  std::vector<std::vector<std::int32_t>> histories = given;
  for (auto& history : histories) {
    for (std::int32_t& y : history) y = rank_of[y];
  }
  const Suffixes suffixes(Y, histories);
  RuleMemory memories(
      rules, Y,
      possible == nullptr || possible->follows.empty() ? nullptr : possible->follows.data());
  a.accepts_empty = memories.accepts(0);

  // Every pair (node, memory) that some label sequence reaches.  arcs[p * Y + y] is the number of
  // the pair that rank y leads to from pair p, or -1.
  Numbering numbers(suffixes.last.size());
  std::vector<Found> found;
  std::vector<std::int32_t> arcs;
  auto visit = [&](int node, std::int32_t memory, int y) -> std::int32_t {
    const int previous = node == 0 ? -1 : order[suffixes.last[node]];
    const std::int32_t next_memory = memories.next(memory, previous, order[y]);
    if (next_memory < 0) return -1;
    const int next = suffixes.to[static_cast<std::size_t>(node) * Y + y];
    std::int32_t& number = numbers.at(next, next_memory);
    if (number < 0) {
      number = static_cast<std::int32_t>(found.size());
      found.push_back({next, next_memory});
      if (static_cast<std::int64_t>(found.size()) > most_states) {
        refuse_states(a, rules);
      }
    }
    return number;
  };
  auto is_first = [&](int y) {
    return possible == nullptr || possible->first.empty() || possible->first[order[y]] != 0;
  };
  auto follows = [&](int x, int y) {
    if (x == y && !same_label_adjacent) return false;
    return possible == nullptr || possible->follows.empty() ||
           possible->follows[static_cast<std::size_t>(order[x]) * Y + order[y]] != 0;
  };
  // Breadth first: states are found in the order of the shortest label sequence that reaches them.
  std::vector<std::int32_t> starts(Y);
  for (int y = 0; y < Y; ++y) starts[y] = is_first(y) ? visit(0, 0, y) : -1;
  std::size_t level_end = found.size();  // end of the states first reached by `length` labels
  for (std::size_t i = 0, length = 1; i < found.size(); ++i) {
    if (i % 256 == 0) check_interrupt();
    if (i == level_end) {
      level_end = found.size();
      ++length;
    }
    const bool at_end = possible != nullptr && length == static_cast<std::size_t>(possible->most);
    for (int y = 0; y < Y; ++y) {
      const Found state = found[i];
      const bool goes_on = !at_end && follows(suffixes.last[state.node], y);
      arcs.push_back(goes_on ? visit(state.node, state.memory, y) : -1);
    }
  }

  // Renumber the states by last label.
  a.Q = static_cast<int>(found.size());
  a.first.assign(Y + 1, 0);
  for (const Found& state : found) ++a.first[suffixes.last[state.node] + 1];
  for (int y = 0; y < Y; ++y) a.first[y + 1] += a.first[y];
  std::vector<std::int32_t> place(a.Q), fill(a.first.begin(), a.first.end() - 1);
  a.rank.resize(a.Q);
  a.accepting.resize(a.Q);
  std::vector<std::int32_t> number_at(a.Q);
  for (int i = 0; i < a.Q; ++i) {
    const int y = suffixes.last[found[i].node];
    place[i] = fill[y]++;
    number_at[place[i]] = i;
    a.rank[place[i]] = y;
    a.accepting[place[i]] = memories.accepts(found[i].memory);
  }
  a.start_state.resize(Y);
  for (int y = 0; y < Y; ++y) a.start_state[y] = starts[y] < 0 ? -1 : place[starts[y]];

  if (!a.first_order) {
    a.out_ptr.assign(1, 0);
    for (int p = 0; p < a.Q; ++p) {
      for (int y = 0; y < Y; ++y) {
        const std::int32_t to = arcs[static_cast<std::size_t>(number_at[p]) * Y + y];
        if (to >= 0) a.out_state.push_back(place[to]);
      }
      a.out_ptr.push_back(static_cast<std::int32_t>(a.out_state.size()));
    }
    transpose(a.Q, a.out_ptr, a.out_state, a.in_ptr, a.in_state);
  }

  // The states of each history: those whose failure links lead to its node.
  std::vector<std::int32_t> history_at(suffixes.last.size(), -1);
  std::vector<std::vector<std::int32_t>> lists(histories.size());
  for (std::size_t h = 0; h < histories.size(); ++h) {
    history_at[suffixes.node_of_history[h]] = static_cast<std::int32_t>(h);
  }
  for (int q = 0; q < a.Q && !histories.empty(); ++q) {
    for (int node = found[number_at[q]].node; node != 0; node = suffixes.fail[node]) {
      if (history_at[node] >= 0) lists[history_at[node]].push_back(q);
    }
  }
  a.history_ptr.assign(1, 0);
  for (const auto& list : lists) {
    a.history_state.insert(a.history_state.end(), list.begin(), list.end());
    a.history_ptr.push_back(static_cast<std::int32_t>(a.history_state.size()));
  }
  return a;
}

bool Automaton::ends_in(int state, int history) const {
  const auto begin = history_state.begin() + history_ptr[history];
  const auto end = history_state.begin() + history_ptr[history + 1];
  return std::binary_search(begin, end, state);
}

namespace {

// The cache key of an automaton: all inputs of its construction as one sequence of numbers.
std::vector<std::int32_t> key_of(const std::vector<std::int32_t>& order,
                                 const std::vector<std::vector<std::int32_t>>& histories,
                                 const RuleSet& rules, bool same_label_adjacent,
                                 const PossibleLabels* possible) {
  std::vector<std::int32_t> key{same_label_adjacent, possible == nullptr ? -1 : possible->most};
  auto add = [&](const auto& numbers) {
    key.push_back(static_cast<std::int32_t>(numbers.size()));
    key.insert(key.end(), numbers.begin(), numbers.end());
  };
  add(order);
  if (possible != nullptr) {
    add(possible->first);
    add(possible->follows);
  }
  key.push_back(static_cast<std::int32_t>(histories.size()));
  for (const auto& history : histories) add(history);
  add(rules.once);
  add(rules.symbol);
  add(rules.joined);
  key.push_back(static_cast<std::int32_t>(rules.ordered.size()));
  for (const auto& one : rules.ordered) add(one);
  for (const Rule& rule : rules.tables) {
    add(rule.next);
    add(rule.accepting);
  }
  return key;
}

// A cache of the most recently used automata, the latest first.
class Cache {
 public:
  using Key = std::vector<std::int32_t>;
  std::shared_ptr<const Automaton> find(const Key& key) {
    const std::lock_guard<std::mutex> lock(guard_);
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    recent_.splice(recent_.begin(), recent_, found->second);
    return found->second->second;
  }
  void add(const Key& key, std::shared_ptr<const Automaton> made) {
    const std::lock_guard<std::mutex> lock(guard_);
    if (places_.count(key) > 0) return;
    size_ += size(*made, key);
    recent_.emplace_front(key, std::move(made));
    places_.emplace(key, recent_.begin());
    while (recent_.size() > 1 && (recent_.size() > kMost || size_ > kMostNumbers)) {
      const auto& [oldest, automaton] = recent_.back();
      size_ -= size(*automaton, oldest);
      places_.erase(oldest);
      recent_.pop_back();
    }
  }

 private:
  static constexpr std::size_t kMost = 256;
  static constexpr std::int64_t kMostNumbers = 32'000'000;  // in all automata: 128 MB
  static std::int64_t size(const Automaton& a, const Key& key) {
    return static_cast<std::int64_t>(2 * a.out_state.size() + a.history_state.size() + 5 * a.Q +
                                     2 * key.size());
  }
  std::mutex guard_;
  std::list<std::pair<Key, std::shared_ptr<const Automaton>>> recent_;
  std::map<Key, decltype(recent_)::iterator> places_;
  std::int64_t size_ = 0;
};

}  // namespace

std::shared_ptr<const Automaton> automaton_for(
    const std::vector<std::int32_t>& order, const std::vector<std::vector<std::int32_t>>& histories,
    const RuleSet& rules, bool same_label_adjacent, const PossibleLabels* possible) {
  static Cache& cache = *new Cache;  // never destroyed: threads may outlive static objects
  const auto key = key_of(order, histories, rules, same_label_adjacent, possible);
  if (auto found = cache.find(key)) return found;
  // Built without holding the lock, so that other threads need not wait.  Two threads may build the
  // same automaton.
  const auto Y = static_cast<std::int64_t>(order.size());
  auto made = std::make_shared<const Automaton>(
      Automaton::build(order, histories, rules, same_label_adjacent, kMostArcs / Y, possible));
  cache.add(key, made);
  return made;
}

}  // namespace caesura
