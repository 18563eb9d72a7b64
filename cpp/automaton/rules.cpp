#include "automaton/rules.hpp"

#include <algorithm>

namespace caesura {
namespace {

// A rule whose states do not change: the base of all others.
Rule unmoved(int states, int symbols) {
  Rule rule;
  rule.states = states;
  for (int state = 0; state < states; ++state)
    rule.next.insert(rule.next.end(), symbols, static_cast<std::int32_t>(state));
  rule.accepting.assign(states, 1);
  return rule;
}

// States count the occurrences of one symbol: 0, 1, and 2 or more where that is no error.
Rule counting(int symbol, int symbols, bool zero, bool one, bool more) {
  Rule rule = unmoved(more ? 3 : 2, symbols);
  rule.next[symbol] = 1;
  rule.next[symbols + symbol] = more ? 2 : -1;
  rule.accepting[0] = zero;
  rule.accepting[1] = one;
  return rule;
}

// In state k the latest symbol of the order is number k - 1; one more state for a broken order.
Rule ordering(const std::vector<std::int32_t>& order, int symbols, bool broken) {
  const int n = static_cast<int>(order.size());
  Rule rule = unmoved(broken ? n + 2 : n + 1, symbols);
  for (int state = 0; state <= n; ++state) {
    for (int k = 0; k < n; ++k)
      rule.next[state * symbols + order[k]] = k + 1 >= state ? k + 1 : broken ? n + 1 : -1;
    if (broken) rule.accepting[state] = 0;
  }
  return rule;
}

// Calls visit(symbol) for each segment that a sequence of labels begins.
template <class Visit>
void for_symbols(const RuleSet& rules, const std::vector<std::int32_t>& labels, int Y,
                 Visit visit) {
  std::int32_t previous = -1;
  for (const std::int32_t y : labels) {
    if (rules.begins(previous, y, Y)) visit(rules.symbol_of(y));
    previous = y;
  }
}

}  // namespace

Rule named_rule(const std::string& name, const std::vector<std::int32_t>& some, int symbols) {
  for (const std::int32_t symbol : some) {
    if (symbol < 0 || symbol >= symbols) throw std::invalid_argument("rules: label out of range");
  }
  if (name == "ordered" || name == "disordered")
    return ordering(some, symbols, name == "disordered");
  if (some.size() != 1) throw std::invalid_argument("rules: expected one label");
  if (name == "at most once") return counting(some[0], symbols, true, true, false);
  if (name == "exactly once") return counting(some[0], symbols, false, true, false);
  if (name == "at least twice") return counting(some[0], symbols, false, false, true);
  throw std::invalid_argument("rules: unknown name " + name);
}

int RuleSet::limits() const {
  return static_cast<int>(once.size() - std::count(once.begin(), once.end(), kNoLimit));
}

int RuleSet::symbols(int Y) const {
  return symbol.empty() ? Y : 1 + *std::max_element(symbol.begin(), symbol.end());
}

std::vector<Rule> RuleSet::compiled(int Y) const {
  const int n = symbols(Y);
  std::vector<Rule> rules;
  for (std::size_t k = 0; k < once.size(); ++k) {
    if (once[k] != kNoLimit)
      rules.push_back(counting(static_cast<int>(k), n, once[k] == kAtMostOnce, true, false));
  }
  for (const auto& order : ordered) rules.push_back(ordering(order, n, false));
  rules.insert(rules.end(), tables.begin(), tables.end());
  return rules;
}

RuleSet RuleSet::tracking(const std::vector<std::uint8_t>& tracked) const {
  RuleSet out = *this;
  for (std::size_t k = 0; k < out.once.size(); ++k) {
    if (!tracked[k]) out.once[k] = kNoLimit;
  }
  return out;
}

bool RuleSet::keeps(const Rule& rule, const std::vector<std::int32_t>& labels, int Y) const {
  const int n = symbols(Y);
  std::int32_t state = 0;
  for_symbols(*this, labels, Y, [&](int symbol) {
    if (state >= 0) state = rule.next[state * n + symbol];
  });
  return state >= 0 && rule.accepting[state];
}

bool RuleSet::kept_by(const std::vector<std::int32_t>& labels, int Y) const {
  const std::vector<Rule> rules = compiled(Y);
  return std::all_of(rules.begin(), rules.end(),
                     [&](const Rule& rule) { return keeps(rule, labels, Y); });
}

std::vector<std::int32_t> RuleSet::broken_by(const std::vector<std::int32_t>& labels, int Y) const {
  std::vector<std::int32_t> count(symbols(Y), 0), broken;
  for_symbols(*this, labels, Y, [&](int symbol) { ++count[symbol]; });
  for (std::size_t k = 0; k < once.size(); ++k) {
    if ((once[k] != kNoLimit && count[k] > 1) || (once[k] == kExactlyOnce && count[k] == 0))
      broken.push_back(static_cast<std::int32_t>(k));
  }
  return broken;
}

RuleMemory::RuleMemory(const RuleSet& rules, int Y)
    : set_(rules), Y_(Y), symbols_(rules.symbols(Y)), rules_(rules.compiled(Y)) {
  number_of(States(rules_.size(), 0));
}

std::int32_t RuleMemory::number_of(const States& states) {
  const auto [found, added] = numbers_.try_emplace(states, size());
  if (added) {
    known_.push_back(states);
    next_.insert(next_.end(), symbols_, kUnknown);
  }
  return found->second;
}

std::int32_t RuleMemory::next(std::int32_t memory, int previous, int y) {
  if (!set_.begins(previous, y, Y_)) return memory;
  const int symbol = set_.symbol_of(y);
  const std::size_t at = static_cast<std::size_t>(memory) * symbols_ + symbol;
  if (next_[at] != kUnknown) return next_[at];
  States states = known_[memory];
  std::int32_t to = 0;
  for (std::size_t r = 0; r < rules_.size() && to >= 0; ++r)
    to = states[r] = rules_[r].next[states[r] * symbols_ + symbol];
  to = to < 0 ? -1 : number_of(states);
  return next_[at] = to;
}

bool RuleMemory::accepts(std::int32_t memory) const {
  for (std::size_t r = 0; r < rules_.size(); ++r) {
    if (!rules_[r].accepting[known_[memory][r]]) return false;
  }
  return true;
}

}  // namespace caesura
