#include "automaton/rules.hpp"

#include <algorithm>

namespace caesura {
namespace {

// A rule in which no symbol changes the state; the other rules are built from it.
Rule unmoved(int states, int symbols) {
  Rule rule;
  rule.states = states;
  for (int state = 0; state < states; ++state)
    rule.next.insert(rule.next.end(), symbols, static_cast<std::int32_t>(state));
  rule.accepting.assign(states, 1);
  return rule;
}

// A rule whose states count the occurrences of one symbol: 0, 1 and, if `more`, 2 or more.  `zero`
// and `one` tell whether a sequence may end with that many occurrences.
Rule counting(int symbol, int symbols, bool zero, bool one, bool more) {
  Rule rule = unmoved(more ? 3 : 2, symbols);
  rule.next[symbol] = 1;
  rule.next[symbols + symbol] = more ? 2 : -1;
  rule.accepting[0] = zero;
  rule.accepting[1] = one;
  return rule;
}

// In state 0 no symbol of the order has occurred; in state k the latest one is order[k - 1].  If
// `broken`, the rule accepts exactly the sequences that break the order, which end in state n + 1.
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

// Calls visit(symbol) for each segment of a sequence of labels.
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

RuleMemory::RuleMemory(const RuleSet& rules, int Y, const std::uint8_t* follows)
    : set_(rules),
      Y_(Y),
      symbols_(rules.symbols(Y)),
      rules_(rules.compiled(Y)),
      moving_(symbols_),
      slots_(64, kEmpty) {
  int used = 0;  // number of bits used in the last word
  for (std::size_t r = 0; r < rules_.size(); ++r) {
    const Rule& rule = rules_[r];
    int bits = 1;
    while (std::int64_t{1} << bits < rule.states) ++bits;
    if (used + bits > 64) {
      ++words_;
      used = 0;
    }
    fields_.push_back({words_ - 1, used, (std::uint64_t{1} << bits) - 1});
    used += bits;
    for (int symbol = 0; symbol < symbols_; ++symbol) {
      bool moves = false;
      for (int q = 0; q < rule.states; ++q) moves |= rule.next[q * symbols_ + symbol] != q;
      if (moves) moving_[symbol].push_back(static_cast<std::int32_t>(r));
    }
  }
  packed_.assign(words_, 0);
  find_past(follows);
  number_of(packed_);  // all rules start in state 0
}

void RuleMemory::find_past(const std::uint8_t* follows) {
  const std::size_t n = symbols_, Y = Y_;
  // Adds the bit of the limit on a symbol.  The rules of limits come first, in the order of their
  // symbols.
  auto add_limit = [&](std::size_t symbol, Past& past) {
    if (symbol >= set_.once.size() || set_.once[symbol] == kNoLimit) return;
    std::size_t rule = 0;
    for (std::size_t k = 0; k < symbol; ++k) rule += set_.once[k] != kNoLimit ? 1 : 0;
    auto& bits = set_.once[symbol] == kAtMostOnce ? past.forgotten : past.needed;
    bits[fields_[rule].word] |= std::uint64_t{1} << fields_[rule].shift;
  };
  const Past none{std::vector<std::uint64_t>(words_, 0), std::vector<std::uint64_t>(words_, 0)};
  // later[k][z]: whether symbol z may occur after symbol k; by depth-first search from each label.
  after_.assign(n, none);
  std::vector<std::uint8_t> later(n * n, follows == nullptr);
  for (std::size_t x = 0; follows != nullptr && x < Y; ++x) {
    std::vector<std::uint8_t> reached(Y, 0);
    std::vector<std::size_t> stack{x};
    while (!stack.empty()) {
      const std::size_t from = stack.back();
      stack.pop_back();
      for (std::size_t y = 0; y < Y; ++y) {
        if (reached[y] || !follows[from * Y + y]) continue;
        reached[y] = 1;
        stack.push_back(y);
        later[set_.symbol_of(static_cast<int>(x)) * n + set_.symbol_of(static_cast<int>(y))] = 1;
      }
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t z = 0; z < n; ++z) {
      if (!later[k * n + z]) add_limit(z, after_[k]);
    }
  }
  // The states of an ordered rule only increase, so a symbol that it forbids stays forbidden.
  in_order_.resize(rules_.size());
  const auto first = static_cast<std::size_t>(set_.limits());
  for (std::size_t r = first; r < first + set_.ordered.size(); ++r) {
    in_order_[r].assign(rules_[r].states, none);
    for (int q = 0; q < rules_[r].states; ++q) {
      for (std::size_t z = 0; z < n; ++z) {
        if (rules_[r].next[q * n + z] < 0) add_limit(z, in_order_[r][q]);
      }
    }
  }
}

bool RuleMemory::forget(const Past& past) {
  for (std::size_t k = 0; k < words_; ++k) {
    if ((packed_[k] & past.needed[k]) != past.needed[k]) return false;
    packed_[k] &= ~past.forgotten[k];
  }
  return true;
}

// The slot of a memory in the hash table, or the free slot in which to insert it.
std::size_t RuleMemory::slot_of(const std::uint64_t* packed) const {
  std::uint64_t h = 0;
  for (std::size_t k = 0; k < words_; ++k) {
    h = (h ^ packed[k]) * 0x9e3779b97f4a7c15;
    h ^= h >> 32;
  }
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = h & mask;
  auto is_same = [&](const std::uint64_t* other) {  // memcmp would be slower: one word is usual
    for (std::size_t k = 0; k < words_; ++k) {
      if (packed[k] != other[k]) return false;
    }
    return true;
  };
  while (slots_[at] != kEmpty && !is_same(&known_[slots_[at] * words_])) at = (at + 1) & mask;
  return at;
}

std::int32_t RuleMemory::number_of(const std::vector<std::uint64_t>& packed) {
  const std::size_t at = slot_of(packed.data());
  if (slots_[at] != kEmpty) return slots_[at];
  const int number = slots_[at] = size();
  known_.insert(known_.end(), packed.begin(), packed.end());
  next_.insert(next_.end(), symbols_, kUnknown);
  if (2 * static_cast<std::size_t>(size()) > slots_.size()) {
    slots_.assign(2 * slots_.size(), kEmpty);
    for (std::int32_t k = 0; k < size(); ++k) slots_[slot_of(&known_[k * words_])] = k;
  }
  return number;
}

std::int32_t RuleMemory::next(std::int32_t memory, int previous, int y) {
  if (!set_.begins(previous, y, Y_)) return memory;
  const int symbol = set_.symbol_of(y);
  const std::size_t at = static_cast<std::size_t>(memory) * symbols_ + symbol;
  if (next_[at] != kUnknown) return next_[at];
  const std::uint64_t* before = &known_[memory * words_];
  packed_.assign(before, before + words_);
  for (const std::int32_t r : moving_[symbol]) {
    const std::int32_t to = rules_[r].next[state(before, r) * symbols_ + symbol];
    if (to < 0) return next_[at] = -1;
    const Field& field = fields_[r];
    packed_[field.word] &= ~(field.mask << field.shift);
    packed_[field.word] |= static_cast<std::uint64_t>(to) << field.shift;
  }
  bool possible = forget(after_[symbol]);
  for (std::size_t r = 0; r < in_order_.size() && possible; ++r) {
    if (!in_order_[r].empty()) possible = forget(in_order_[r][state(packed_.data(), r)]);
  }
  if (!possible) return next_[at] = -1;
  const std::int32_t number = number_of(packed_);  // may reallocate next_
  return next_[at] = number;
}

bool RuleMemory::accepts(std::int32_t memory) const {
  for (std::size_t r = 0; r < rules_.size(); ++r) {
    if (!rules_[r].accepting[state(&known_[memory * words_], r)]) return false;
  }
  return true;
}

}  // namespace caesura
