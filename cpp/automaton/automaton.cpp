#include "automaton/automaton.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#ifndef _WIN32
#include <pthread.h>
#endif

namespace caesura {
namespace {

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
  const States states(suffixes, {order, rules, possible, same_label_adjacent, false}, most_states);
  const std::vector<States::State>& found = states.found;

  // Renumber the states by last label.
  a.Q = static_cast<int>(found.size());
  a.first.assign(Y + 1, 0);
  for (const States::State& state : found) ++a.first[suffixes.last[state.node] + 1];
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
    a.accepting[place[i]] = states.accepts(found[i].memory);
  }
  a.start_state.resize(Y);
  for (int y = 0; y < Y; ++y)
    a.start_state[y] = states.starts[y] < 0 ? -1 : place[states.starts[y]];

  if (!a.first_order) {
    a.out_ptr.assign(1, 0);
    for (int p = 0; p < a.Q; ++p) {
      for (int y = 0; y < Y; ++y) {
        const std::int32_t to = states.arcs[static_cast<std::size_t>(number_at[p]) * Y + y];
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
struct Cache {
  using Key = std::vector<std::int32_t>;
  std::mutex guard;
  std::shared_ptr<const Automaton> find(const Key& key) {
    const std::lock_guard<std::mutex> lock(guard);
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    recent_.splice(recent_.begin(), recent_, found->second);
    return found->second->second;
  }
  void add(const Key& key, std::shared_ptr<const Automaton> made) {
    const std::lock_guard<std::mutex> lock(guard);
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
  std::list<std::pair<Key, std::shared_ptr<const Automaton>>> recent_;
  std::map<Key, decltype(recent_)::iterator> places_;
  std::int64_t size_ = 0;
};

Cache& cache();

// fork() acquires the lock first, as that of the pool (base/pool.cpp).
void lock_cache() { cache().guard.lock(); }
void unlock_cache() { cache().guard.unlock(); }

Cache* make_cache() {
#ifndef _WIN32
  pthread_atfork(&lock_cache, &unlock_cache, &unlock_cache);
#endif
  return new Cache;
}

// Never destroyed, because threads may outlive static objects.
Cache& cache() {
  static Cache* const shared = make_cache();
  return *shared;
}

}  // namespace

std::shared_ptr<const Automaton> automaton_for(
    const std::vector<std::int32_t>& order, const std::vector<std::vector<std::int32_t>>& histories,
    const RuleSet& rules, bool same_label_adjacent, const PossibleLabels* possible) {
  const auto key = key_of(order, histories, rules, same_label_adjacent, possible);
  if (auto found = cache().find(key)) return found;
  // Built without holding the lock, so that other threads need not wait.  Two threads may build the
  // same automaton.
  const auto Y = static_cast<std::int64_t>(order.size());
  auto made = std::make_shared<const Automaton>(
      Automaton::build(order, histories, rules, same_label_adjacent, kMostArcs / Y, possible));
  cache().add(key, made);
  return made;
}

}  // namespace caesura
