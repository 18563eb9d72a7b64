// Rules on the sequence of labels, by name, and the small automata that they compile to.
//
// Rules are defined over symbols.  In a segment model a symbol is a label.  In a chain the labels
// are tags, and the symbols are the labels of the segments that the tags encode; the state of a
// rule then changes only where a tag begins a new segment.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/errors.hpp"

namespace caesura {

// One rule as an automaton over symbols that starts in state 0.
struct Rule {
  int states = 0;
  std::vector<std::int32_t> next;  // [states][symbols]; -1 if the symbol is forbidden in this state
  std::vector<std::uint8_t> accepting;  // [states]
};

enum Limit : std::uint8_t { kNoLimit = 0, kAtMostOnce = 1, kExactlyOnce = 2 };

struct RuleSet {
  std::vector<std::uint8_t> once;  // [symbols] the Limit of each; empty if there are none
  std::vector<std::vector<std::int32_t>> ordered;  // symbols that may occur in this order only
  std::vector<Rule> tables;                        // any other rules
  std::vector<std::int32_t> symbol;  // [Y] the symbol of each label; empty if it is the label
  std::vector<std::uint8_t> joined;  // [Y][Y] whether the second label continues the segment of the
                                     // first; empty if every label begins a segment

  bool empty() const { return limits() == 0 && ordered.empty() && tables.empty(); }
  int limits() const;  // number of symbols with a limit
  int symbol_of(int y) const { return symbol.empty() ? y : symbol[y]; }
  bool begins(int previous, int y, int Y) const {
    return previous < 0 || joined.empty() || !joined[static_cast<std::size_t>(previous) * Y + y];
  }
  // The number of symbols, given the number of labels.
  int symbols(int Y) const;
  // Every rule as an automaton.  Rules about limits come first, in the order of their symbols.
  std::vector<Rule> compiled(int Y) const;
  // The same rules without the limits on symbols outside `tracked` ([symbols]).
  RuleSet tracking(const std::vector<std::uint8_t>& tracked) const;
  // Whether a complete sequence of labels satisfies all rules.
  bool kept_by(const std::vector<std::int32_t>& labels, int Y) const;
  // Whether it satisfies the given compiled rule.
  bool keeps(const Rule& rule, const std::vector<std::int32_t>& labels, int Y) const;
  // The symbols whose limits a complete sequence of labels violates.
  std::vector<std::int32_t> broken_by(const std::vector<std::int32_t>& labels, int Y) const;
};

// The joint state of all rules, called the memory of a label sequence, as one number.  Memories are
// numbered in the order in which they are reached; 0 is that of the empty sequence.  There may be
// millions.  Therefore the states of all rules are packed into a few words, and a symbol updates
// only the rules whose state it can change.
//
// A memory omits what can no longer matter: whether a symbol limited to one occurrence has
// occurred, once an ordered rule or the allowed pairs of labels exclude any further occurrence.  A
// sequence is forbidden as soon as a required symbol has not occurred and can no longer occur.
class RuleMemory {
 public:
  // follows: [Y][Y] whether a label may follow another; null if all may.
  RuleMemory(const RuleSet& rules, int Y, const std::uint8_t* follows = nullptr);
  // The memory after label y, or -1 if y is forbidden.  `previous` is the label before, or -1.
  std::int32_t next(std::int32_t memory, int previous, int y);
  bool accepts(std::int32_t memory) const;
  int size() const { return static_cast<int>(known_.size() / words_); }

 private:
  static constexpr std::int32_t kUnknown = -2, kEmpty = -1;
  // The position of the state of a rule in the words of a memory.
  struct Field {
    std::size_t word;
    int shift;
    std::uint64_t mask;
  };
  // The limits on symbols that can no longer occur, as masks of the bits of a memory.  forgotten:
  // symbols that occur at most once, whose bits are cleared.  needed: symbols that must occur,
  // whose bits must be set.
  struct Past {
    std::vector<std::uint64_t> forgotten, needed;  // [words]
  };
  void find_past(const std::uint8_t* follows);
  bool forget(const Past& past);  // updates packed_; false if a required symbol is missing
  std::int32_t number_of(const std::vector<std::uint64_t>& packed);
  std::size_t slot_of(const std::uint64_t* packed) const;
  std::int32_t state(const std::uint64_t* packed, std::size_t rule) const {
    const Field& field = fields_[rule];
    return static_cast<std::int32_t>(packed[field.word] >> field.shift & field.mask);
  }
  const RuleSet& set_;
  int Y_, symbols_;
  std::vector<Rule> rules_;
  std::vector<Field> fields_;                      // [rules]
  std::vector<std::vector<std::int32_t>> moving_;  // [symbols] rules whose state it may change
  std::vector<Past> after_;                        // [symbols] once the symbol has occurred
  std::vector<std::vector<Past>> in_order_;        // [rules][states] in a state of an ordered rule
  std::size_t words_ = 1;
  std::vector<std::uint64_t> known_, packed_;  // [memories][words], and [words] of scratch
  std::vector<std::int32_t> slots_;            // hash table of memories; its size is a power of two
  std::vector<std::int32_t> next_;             // [memories][symbols]
};

// Returns the rule "at most once", "exactly once" or "at least twice" (for one symbol), "ordered"
// or "disordered" (for several).  Throws std::invalid_argument for any other name and for invalid
// symbols.
Rule named_rule(const std::string& name, const std::vector<std::int32_t>& some, int symbols);

}  // namespace caesura
