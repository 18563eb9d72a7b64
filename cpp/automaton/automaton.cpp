#include "automaton/automaton.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "base/interrupt.hpp"

namespace caesura {
namespace {

// The trie of all prefixes of the histories, with every single label; then goto and failure links.
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
  // Breadth first, so that the shorter suffix is ready when it is needed.
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

// The states of all rules at once, as one mixed-radix number.
struct RuleProduct {
  const std::vector<Rule>& rules;
  int Y;
  std::vector<std::int64_t> radix;
  std::vector<std::vector<int>> affected;  // label -> rules that it may move or break
  std::int64_t size = 1;

  RuleProduct(const std::vector<Rule>& all, int labels) : rules(all), Y(labels), affected(labels) {
    for (std::size_t r = 0; r < rules.size(); ++r) {
      radix.push_back(size);
      if (size > (std::int64_t{1} << 50)) throw std::length_error("rules");
      size *= rules[r].states;
      for (int y = 0; y < Y; ++y) {
        for (int state = 0; state < rules[r].states; ++state) {
          if (rules[r].next[state * Y + y] != state) {
            affected[y].push_back(static_cast<int>(r));
            break;
          }
        }
      }
    }
  }
  int digit(std::int64_t memory, int r) const {
    return static_cast<int>(memory / radix[r] % rules[r].states);
  }
  // -1: a rule forbids it.
  std::int64_t next(std::int64_t memory, int y) const {
    for (const int r : affected[y]) {
      const int state = digit(memory, r);
      const int to = rules[r].next[state * Y + y];
      if (to < 0) return -1;
      memory += (to - state) * radix[r];
    }
    return memory;
  }
  bool accepts(std::int64_t memory) const {
    for (std::size_t r = 0; r < rules.size(); ++r) {
      if (!rules[r].accepting[digit(memory, static_cast<int>(r))]) return false;
    }
    return true;
  }
};

// (node, memory) -> number, in a table where it fits and in a hash map where not.
class Numbering {
 public:
  Numbering(std::int64_t nodes, std::int64_t memories) : memories_(memories) {
    if (memories <= kTable / nodes) table_.assign(nodes * memories, -1);
  }
  std::int32_t& at(int node, std::int64_t memory) {
    const std::int64_t key = node * memories_ + memory;
    if (!table_.empty()) return table_[key];
    return map_.try_emplace(key, -1).first->second;
  }

 private:
  static constexpr std::int64_t kTable = std::int64_t{1} << 24;
  std::int64_t memories_;
  std::vector<std::int32_t> table_;
  std::unordered_map<std::int64_t, std::int32_t> map_;
};

struct Found {
  std::int32_t node;
  std::int64_t memory;
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

Automaton Automaton::build(int Y, const std::vector<std::vector<std::int32_t>>& histories,
                           const std::vector<Rule>& rules, bool same_label_adjacent,
                           std::int64_t most_states) {
  Automaton a;
  a.Y = Y;
  a.first_order = histories.empty() && rules.empty();
  const Suffixes suffixes(Y, histories);
  const RuleProduct product(rules, Y);
  a.accepts_empty = product.accepts(0);

  // Every pair that some label sequence leads to; arcs[p * Y + y] is the number of the next one.
  Numbering numbers(static_cast<std::int64_t>(suffixes.last.size()), product.size);
  std::vector<Found> found;
  std::vector<std::int32_t> arcs;
  auto visit = [&](int node, std::int64_t memory, int y) -> std::int32_t {
    const std::int64_t next_memory = product.next(memory, y);
    if (next_memory < 0) return -1;
    const int next = suffixes.to[static_cast<std::size_t>(node) * Y + y];
    std::int32_t& number = numbers.at(next, next_memory);
    if (number < 0) {
      number = static_cast<std::int32_t>(found.size());
      found.push_back({next, next_memory});
      if (static_cast<std::int64_t>(found.size()) > most_states) {
        throw std::length_error("states");
      }
    }
    return number;
  };
  std::vector<std::int32_t> starts(Y);
  for (int y = 0; y < Y; ++y) starts[y] = visit(0, 0, y);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i % 256 == 0) check_interrupt();
    for (int y = 0; y < Y; ++y) {
      const Found state = found[i];
      const bool barred = !same_label_adjacent && suffixes.last[state.node] == y;
      arcs.push_back(barred ? -1 : visit(state.node, state.memory, y));
    }
  }

  // Renumber by last label.
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
    a.accepting[place[i]] = product.accepts(found[i].memory);
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

  // The states of each history: those whose suffixes include its node.
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

}  // namespace caesura
